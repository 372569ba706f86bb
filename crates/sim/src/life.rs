//! Birth and death of processes and threads.

use crate::config::Harness;
use crate::engine::{Pending, World};
use crate::event::Event;
use crate::fault::Site;
use crate::place::Placed;
use crate::process::{ProcessState, CONTROL_BLOCK, DATA_PAGES, FRAME};
use crate::task::{Activity, Stage, Task};
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::{Copied, CHUNK_PAGES};
use numalab_kernel::numa::fork::CloneKind;
use numalab_model::record::Status;
use numalab_model::workload::ForkPoint;

/// Kernel time of creating a thread (`clone`), beside its page-table work, ns: about ten exceptions.
const CLONE_EXCEPTIONS: f64 = 10.0;
/// Part of all that creating a thread takes that is exponentially distributed (512 `pthread_create` on a Zen 5 core,
/// CPU time: 5th percentile 13.5 us, median 15, mean 18, 95th 28).
const CLONE_CHANCE: f64 = 0.25;

impl<'a> World<'a> {
    /// Program of a process's thread.
    pub(crate) fn program(&self, process: usize, thread: usize) -> &'a [numalab_model::workload::Op] {
        &self.workload.processes[process].threads[thread].ops
    }

    /// Stage of a task.
    pub(crate) fn stage(&self, task: u32) -> Stage {
        self.tasks[task as usize].stage
    }

    /// Starts every process that has no parent, each on a CPU drawn from the run's generator.
    pub(crate) fn start_roots(&mut self) {
        for i in 0..self.workload.processes.len() {
            if self.workload.processes[i].parent.is_none() {
                let cpu = self.rng.below(self.cpus.len() as u64) as u32;
                self.start_process(i, cpu, None);
            }
        }
        self.after_sched();
    }

    /// Starts a process; a forked one gets the mappings it inherits. Returns what the fork copied.
    fn start_process(&mut self, process: usize, parent_cpu: u32, parent: Option<u32>) -> Copied {
        let spec = &self.workload.processes[process];
        let (nodes, mems) = (self.machine.node_count(), self.processes[process].mems);
        let mut p = std::mem::replace(&mut self.processes[process], ProcessState::new(nodes, mems));
        let mut copied = Copied::default();
        p.started = true;
        if let Some(of) = spec.parent.filter(|_| parent.is_some()) {
            let all = spec.fork == ForkPoint::AfterPrologue;
            copied = p.inherit(
                &mut self.processes[of],
                (of as u32, process as u32),
                all,
                (&mut self.memory, &mut self.shared),
            );
        }
        if copied.ptes + copied.pmds > 0 {
            p.table_node = Some(self.cpus[parent_cpu as usize].node);
        }
        p.map_program(nodes);
        p.map_regions(process as u32, spec, &self.cfg.mm.thp, &self.memory, &mut self.shared);
        self.processes[process] = p;
        self.create_task(process, 0, parent_cpu, parent);
        copied
    }

    fn create_task(&mut self, process: usize, thread: usize, parent_cpu: u32, parent: Option<u32>) {
        let first = thread == 0;
        let stage = if first { Stage::ForkEarly(0) } else { Stage::Body };
        let ops = if first { &[] } else { self.program(process, thread) };
        let pid = self.next_pid;
        self.next_pid += 1;
        let affinity = self.workload.processes[process].threads[thread].affinity.clone();
        let id = match self.sched.add_task(affinity.as_deref(), 0) {
            Ok(id) => id,
            Err(e) => {
                self.status = Status::Failed(e.to_string());
                return;
            }
        };
        debug_assert_eq!(id as usize, self.tasks.len());
        let mut t = Task::new(process as u32, thread as u32, ops, stage);
        if let Some(parent) = parent.filter(|_| !first) {
            t.policy = self.tasks[parent as usize].policy.clone();
        }
        self.tasks.push(t);
        let p = &mut self.processes[process];
        p.live_threads += 1;
        if !first {
            p.map_stack(self.machine.node_count(), self.cfg.harness);
        }
        let now = self.now_ns / self.cfg.jiffy_ns();
        match parent {
            None => self.numa.start(id, Some(process as u32), pid),
            Some(parent) => {
                let rss = self.processes[self.tasks[parent as usize].process as usize].space.rss_pages();
                let clone = if first { CloneKind::Process(process as u32) } else { CloneKind::Thread };
                self.numa.fork(parent, id, clone, pid, now, rss);
            }
        }
        let selected = self.designs_fork(process, parent);
        let preferred = self.numa.tasks[id as usize].numa_preferred_nid.map(|n| n as u32);
        self.sched.set_preferred_nid(id, preferred.or(selected));
        self.sched.fork(parent_cpu, id, self.now_ns);
        if parent.is_some() {
            self.cpus[parent_cpu as usize].debt_ns += self.clone_ns(parent_cpu);
            if !first {
                // The C library maps the stack first, for which it waits until no fault is in progress.
                let filling = self.processes[process].filling_until_ns.saturating_sub(self.now_ns);
                self.cpus[parent_cpu as usize].debt_ns += filling;
            }
        }
        self.log_born(id);
    }

    /// The program of the current stage has ended: the task goes on to the next stage.
    pub(crate) fn next_stage(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].task else { return };
        let process = self.tasks[task as usize].process as usize;
        if self.stage(task) == Stage::ForkEarly(0) {
            // exec and the C library use both before the program's first own step and under no policy of its.
            self.touch_program(cpu, task);
        }
        let next = match self.stage(task) {
            Stage::ForkEarly(from) => match self.fork_child(cpu, task, ForkPoint::BeforePrologue, from) {
                Some(child) => Stage::ForkEarly(child + 1),
                None => {
                    let ops = &self.workload.processes[process].prologue;
                    self.tasks[task as usize].load(ops);
                    Stage::Prologue
                }
            },
            Stage::Prologue => Stage::ForkLate(0),
            Stage::ForkLate(from) => match self.fork_child(cpu, task, ForkPoint::AfterPrologue, from) {
                Some(child) => Stage::ForkLate(child + 1),
                None => Stage::Clone(1),
            },
            Stage::Clone(n) if n < self.workload.processes[process].threads.len() => {
                if !self.put_off(process, n) {
                    self.clone_thread(cpu, task, process, n);
                }
                Stage::Clone(n + 1)
            }
            Stage::Clone(_) => {
                let ops = self.program(process, 0);
                self.tasks[task as usize].load(ops);
                Stage::Body
            }
            Stage::Body | Stage::Join => {
                self.end_program(cpu, task);
                return;
            }
        };
        self.tasks[task as usize].stage = next;
    }

    /// Time of one `clone` in the kernel, beside page tables. Without chance in it two processes that create threads at
    /// the same time would take strict turns, and each would get a node of its own.
    fn clone_ns(&mut self, cpu: u32) -> u64 {
        // The slow path of the placement looks at every CPU of every domain it descends.
        let domains = self.sched.domains();
        let looked: u32 = domains.ids(cpu).map(|d| domains.domain(d).weight).sum();
        let mean = CLONE_EXCEPTIONS * self.machine.costs.exception_ns + self.costs.balance_ns(looked);
        (mean * (1.0 - CLONE_CHANCE) + self.rng.exponential(mean * CLONE_CHANCE)) as u64
    }

    /// `task` creates thread `n` of `process`.
    pub(crate) fn clone_thread(&mut self, cpu: usize, task: u32, process: usize, n: usize) {
        self.create_task(process, n, cpu as u32, Some(task));
        // The creator writes the control block of the new thread, which lies at the top of its stack.
        if let Some(stack) = self.processes[process].stack_of(n as u32) {
            let top = self.processes[process].space.vma(stack).chunk_count() - 1;
            self.use_page(cpu, task, (stack, top, CHUNK_PAGES as usize - CONTROL_BLOCK), true);
        }
    }

    /// Forks the first child at or after `from` that is due at this point; returns its number.
    fn fork_child(&mut self, cpu: usize, task: u32, point: ForkPoint, from: usize) -> Option<usize> {
        let process = self.tasks[task as usize].process as usize;
        let all = &self.workload.processes;
        let child = (from..all.len()).find(|&i| all[i].parent == Some(process) && all[i].fork == point)?;
        let copied = self.start_process(child, cpu as u32, Some(task));
        self.fork_tables(cpu, task, child);
        let tables = self.costs.fork_ns(copied.ptes, copied.pmds);
        self.cpus[cpu].debt_ns += tables as u64;
        let changed = copied.ptes + copied.pmds;
        for _ in 0..shootdowns(FlushOp::ForkProtect { changed }, &self.cfg.flush, false) {
            let ns = self.shoot_down(cpu, task, changed);
            self.cpus[cpu].debt_ns += ns;
        }
        self.leave_stack(cpu, task, child);
        Some(child)
    }

    /// After a fork the parent goes on before the child is there, and writes to its stack first: it gets the copy, and the
    /// child keeps the page that both had, on the parent's node.
    fn leave_stack(&mut self, cpu: usize, task: u32, child: usize) {
        let Some(vma) = self.processes[child].stack_of(0) else { return };
        let chunk = self.processes[child].space.vma(vma).chunk_count() - 1;
        let page = CHUNK_PAGES as usize - self.frames();
        let s = Site { cpu, task, process: child, vma, chunk, page, write: true };
        let mut ns = 0;
        if let Some(Placed { got, .. }) = self.place(&s, self.now_ns, &mut ns) {
            self.processes[child].space.vma_mut(vma).populate(chunk, page, got.node, got.frame);
            self.vm.pgfault += 1;
            self.cpus[cpu].debt_ns += ns + self.costs.cow_fault_ns(got.node, got.node, 1.0) as u64;
        }
    }

    /// An initial thread waits for the others before it ends; others end at once.
    fn end_program(&mut self, cpu: usize, task: u32) {
        let process = self.tasks[task as usize].process as usize;
        let initial = self.tasks[task as usize].thread == 0;
        if initial && self.processes[process].live_threads > 1 {
            self.tasks[task as usize].stage = Stage::Join;
            self.processes[process].joiner = Some(task);
            self.tasks[task as usize].activity = Activity::Asleep;
            self.plan(cpu, self.now_ns, Pending::Wait);
        } else {
            self.exit_task(cpu);
        }
    }

    /// Ends the task running on `cpu`.
    pub(crate) fn exit_task(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].task else { return };
        self.use_group(cpu, task, crate::sets::NO_GROUP);
        let now = self.now_ns;
        self.sched.account(cpu as u32, now);
        self.sched.exit_current(cpu as u32, now);
        self.numa.exit(task);
        self.due_moves.retain(|m| m.task != task);
        let t = &mut self.tasks[task as usize];
        t.activity = Activity::Dead;
        t.pc = 0;
        t.ops = &[];
        let process = t.process as usize;
        let p = &mut self.processes[process];
        p.live_threads -= 1;
        self.log_ended(task);
        let p = &mut self.processes[process];
        if p.live_threads == 0 {
            p.ended = true;
            let foreground = process + self.cfg.background < self.workload.processes.len();
            self.live_processes -= usize::from(foreground);
            self.end_ns = self.end_ns.max(now);
            if self.live_processes == 0 {
                self.sample_now(true);
            }
            self.lru_batches.drain(cpu, &mut self.shared);
            let p = &mut self.processes[process];
            p.space.release(process as u32, &mut self.memory, &mut self.shared);
        } else if p.live_threads == 1 {
            if let Some(joiner) = p.joiner.take() {
                let sleep = self.tasks[joiner as usize].sleep;
                self.queue.push(now, Event::Wake { task: joiner, waker: task, sleep });
            }
        }
    }

    /// Uses the thread's control block, its stack and the program's data.
    pub(crate) fn touch_program(&mut self, cpu: usize, task: u32) {
        self.touch_stack_page(cpu, task, CONTROL_BLOCK);
        self.touch_stack(cpu, task);
        let (process, thread) = (self.tasks[task as usize].process as usize, self.tasks[task as usize].thread);
        let data = self.processes[process].data();
        for page in 0..DATA_PAGES as usize {
            // The initial thread sets up what the others only read.
            self.use_page(cpu, task, (data, 0, page), thread == 0);
        }
    }

    /// A thread that starts a pass calls functions, so it touches its stack; not its control block, which only starts
    /// and ends of threads need.
    pub(crate) fn touch_stack(&mut self, cpu: usize, task: u32) {
        self.touch_stack_page(cpu, task, self.frames());
    }

    /// Page of a stack, counted from 1 at the top, that frames are in.
    fn frames(&self) -> usize {
        match self.cfg.harness {
            Harness::Program => FRAME,
            // Its C library is smaller and so are its frames: a thread's stack has one page in all (read in /proc/PID/smaps).
            Harness::Worker => CONTROL_BLOCK,
        }
    }

    /// Touches a page of the thread's stack, counted from 1 at the top.
    fn touch_stack_page(&mut self, cpu: usize, task: u32, page: usize) {
        let (process, thread) = (self.tasks[task as usize].process as usize, self.tasks[task as usize].thread);
        let p = &self.processes[process];
        if let Some(stack) = p.stack_of(thread) {
            let top = p.space.vma(stack).chunk_count() - 1;
            self.use_page(cpu, task, (stack, top, CHUNK_PAGES as usize - page), true);
        }
    }

    /// Takes the fault of one access to page (mapping, chunk, page), if there is one.
    fn use_page(&mut self, cpu: usize, task: u32, (vma, chunk, page): (usize, usize, usize), write: bool) {
        let process = self.tasks[task as usize].process as usize;
        if self.processes[process].space.vma(vma).next_fault(chunk, page, page + 1, write).is_some() {
            let clock = self.now_ns;
            let (ns, _) = self.fault(cpu, task, vma, chunk, page, write, clock);
            self.cpus[cpu].debt_ns += ns;
        }
    }
}
