//! The stages of a thread's life: forking children, prologue, creating threads, its own program, the end.

use crate::charge::late_ticks::catch_up_all;
use crate::charge::working_set::use_group;
use crate::engine::carry_out::Engine;
use crate::process::fork::{clone_thread, fork_child, program, stage, start_process};
use crate::process::program_pages::{touch_frame_of_fork, touch_program_at_start};
use crate::record::log::log_task_ended;
use crate::record::samples::sample_now;
use crate::state::cpu::Pending;
use crate::state::event_queue::Event;
use crate::state::task::{Activity, Stage};
use numalab_nouns::workload::ForkPoint;

impl Engine<'_> {
    /// Starts every process that has no parent, each on a CPU drawn from the run's generator.
    pub(crate) fn start_roots(&mut self) {
        for i in 0..self.sim.workload.processes.len() {
            if self.sim.workload.processes[i].parent.is_none() {
                let cpu = self.sim.rng.below(self.sim.cpus.len() as u64) as u32;
                start_process(&mut self.sim, i, cpu, None);
            }
        }
        self.after_sched();
    }

    /// The program of the current stage has ended: the task goes on to the next stage.
    pub(crate) fn next_stage(&mut self, cpu: usize) {
        let Some(task) = self.sim.cpus[cpu].task else { return };
        let process = self.sim.tasks[task as usize].process as usize;
        if stage(&self.sim.tasks, task) == Stage::ForkEarly(0) {
            // exec and the C library touch stack and data before the program's own first step, under the default
            // policy.
            touch_program_at_start(&mut self.sim, cpu, task);
        }
        let next = match stage(&self.sim.tasks, task) {
            Stage::ForkEarly(from) => match fork_child(&mut self.sim, cpu, task, ForkPoint::BeforePrologue, from) {
                Some(child) => Stage::ForkEarly(child + 1),
                None => {
                    let ops = &self.sim.workload.processes[process].prologue;
                    self.sim.tasks[task as usize].load(ops);
                    Stage::Prologue
                }
            },
            Stage::Prologue => Stage::ForkLate(0),
            Stage::ForkLate(from) => match fork_child(&mut self.sim, cpu, task, ForkPoint::AfterPrologue, from) {
                Some(child) => Stage::ForkLate(child + 1),
                None => Stage::Clone(1),
            },
            Stage::Clone(n) if n < self.sim.workload.processes[process].threads.len() => {
                if !self.defer_clone(process, n) {
                    clone_thread(&mut self.sim, cpu, task, process, n);
                }
                Stage::Clone(n + 1)
            }
            Stage::Clone(_) => {
                let ops = program(self.sim.workload, process, 0);
                self.sim.tasks[task as usize].load(ops);
                Stage::Body
            }
            Stage::Body | Stage::Join => {
                touch_frame_of_fork(&mut self.sim, cpu, task);
                self.end_program(cpu, task);
                return;
            }
        };
        self.sim.tasks[task as usize].stage = next;
    }

    /// An initial thread waits for the others before it ends; others end at once.
    fn end_program(&mut self, cpu: usize, task: u32) {
        let process = self.sim.tasks[task as usize].process as usize;
        let initial = self.sim.tasks[task as usize].thread == 0;
        if initial && self.sim.processes[process].live_threads > 1 {
            self.sim.tasks[task as usize].stage = Stage::Join;
            self.sim.processes[process].joiner = Some(task);
            self.sim.tasks[task as usize].activity = Activity::Asleep;
            self.plan(cpu, self.sim.now_ns, Pending::Wait);
        } else {
            self.exit_task(cpu);
        }
    }

    /// Ends the task running on `cpu`.
    pub(crate) fn exit_task(&mut self, cpu: usize) {
        let Some(task) = self.sim.cpus[cpu].task else { return };
        use_group(&mut self.sim, cpu, task, crate::hardware::working_sets::NO_GROUP);
        let now = self.sim.now_ns;
        self.sim.kernel.sched.account(cpu as u32, now);
        self.sim.kernel.sched.exit_current(cpu as u32, now);
        self.sim.kernel.numa.exit(task);
        self.sim.task_migrations.due.retain(|m| m.task != task);
        let t = &mut self.sim.tasks[task as usize];
        t.activity = Activity::Dead;
        t.pc = 0;
        t.ops = &[];
        let process = t.process as usize;
        let p = &mut self.sim.processes[process];
        p.live_threads -= 1;
        log_task_ended(&mut self.sim, task);
        let p = &mut self.sim.processes[process];
        if p.live_threads == 0 {
            p.ended = true;
            let foreground = process + self.sim.cfg.background < self.sim.workload.processes.len();
            self.live_processes -= usize::from(foreground);
            self.sim.end_ns = self.sim.end_ns.max(now);
            if self.live_processes == 0 {
                catch_up_all(&mut self.sim, now);
                sample_now(&mut self.sim, true);
            }
            self.sim.mm.lru_batches.drain(cpu, &mut self.sim.mm.shared);
            let p = &mut self.sim.processes[process];
            p.space.exit_mmap(process as u32, &mut self.sim.mm.physical, &mut self.sim.mm.shared);
        } else if p.live_threads == 1 {
            if let Some(joiner) = p.joiner.take() {
                let sleep = self.sim.tasks[joiner as usize].wait.sleep;
                self.queue.push(now, Event::Wake { task: joiner, waker: task, sleep });
            }
        }
    }
}
