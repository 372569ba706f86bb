//! A process of the workload: maps its regions, runs its prologue, forks, runs its threads, and stores its figures.
//!
//! A process without parent is a new execution of this program, so it has a new address space. The others are real
//! forks, made while the parent has one thread.

use crate::access::Draw;
use crate::control::{Control, Layout, ProcessCell, State, ThreadCell};
use crate::job::Job;
use crate::memory::{self, Placed};
use crate::program::{Compiler, Costs, Files, Program};
use crate::sample::{placement, sched};
use crate::sys;
use crate::thread::Thread;
use numalab_nouns::workload::ForkPoint;
use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, RawFd};
use std::sync::atomic::Ordering;

/// Stack of a workload thread, bytes; ops need little.
const STACK_BYTES: usize = 128 << 10;

/// Programs of a process: its prologue, and one per thread.
struct Programs {
    prologue: Program,
    threads: Vec<Program>,
}

/// A process started by exec with everything forked from it, and their common data.
struct ProcessTree<'a> {
    job: &'a Job,
    control: &'a Control,
    plan: Vec<Vec<Placed>>,
    /// Programs of each process; `None` for processes of other trees.
    programs: Vec<Option<Programs>>,
    files: Files,
}

/// Entry point of process `index`, which the coordinator starts by exec with two inherited descriptors.
///
/// Returns the exit status. It is 3, with a line on standard error, if the shared block cannot hold the reason.
pub fn main(index: usize, control_fd: RawFd, job_fd: RawFd) -> i32 {
    sys::die_with_parent();
    let fail = |what: &dyn std::fmt::Display| {
        crate::say(&format!("numalab-worker: process {index}: {what}"));
        3
    };
    let mut bytes = Vec::new();
    // SAFETY: the coordinator passes this descriptor to this process alone.
    let mut file = unsafe { File::from_raw_fd(job_fd) };
    if let Err(e) = file.read_to_end(&mut bytes) {
        return fail(&e);
    }
    let job = match Job::from_bytes(&bytes) {
        Ok(job) => job,
        Err(e) => return fail(&e),
    };
    drop((bytes, file));
    let control = match Control::attach(control_fd, Layout::of(&job)) {
        Ok(control) => control,
        Err(e) => return fail(&format!("shared block: {e}")),
    };
    if index >= job.workload.processes.len() {
        return fail(&"no such process in the job");
    }
    match prepare(&job, &control, index) {
        Ok(tree) => {
            control.set_state(index, State::Ready);
            control.wait_gate();
            tree.run(index)
        }
        Err(reason) => {
            control.fail(index, &reason);
            1
        }
    }
}

/// Compiles the programs of process `root` and of everything forked from it.
fn prepare<'a>(job: &'a Job, control: &'a Control, root: usize) -> Result<ProcessTree<'a>, String> {
    let plan = memory::plan(job).map_err(|e| e.to_string())?;
    let mut family = vec![false; job.workload.processes.len()];
    let mut programs: Vec<Option<Programs>> = Vec::new();
    let mut compiler = Compiler::new(job, &plan, Costs::read(control));
    for (p, process) in job.workload.processes.iter().enumerate() {
        family[p] = p == root || process.parent.is_some_and(|q| family[q]);
        if !family[p] {
            programs.push(None);
            continue;
        }
        let mut compile = |ops| compiler.compile(p, ops).map_err(|e| format!("{}: {e}", process.name));
        let prologue = compile(&process.prologue)?;
        let threads = process.threads.iter().map(|t| compile(&t.ops)).collect::<Result<_, _>>()?;
        programs.push(Some(Programs { prologue, threads }));
    }
    let files = compiler.into_files();
    Ok(ProcessTree { job, control, plan, programs, files })
}

impl ProcessTree<'_> {
    /// Runs process `p` to its end; returns the exit status.
    fn run(&self, p: usize) -> i32 {
        match self.carry_out(p) {
            Ok(()) => {
                self.finish(p);
                0
            }
            Err(reason) => {
                self.control.fail(p, &format!("{}: {reason}", self.job.workload.processes[p].name));
                1
            }
        }
    }

    fn carry_out(&self, p: usize) -> Result<(), String> {
        let process = &self.job.workload.processes[p];
        self.control.process(p, ProcessCell::Pid).store(std::process::id().into(), Ordering::Relaxed);
        self.control.process(p, ProcessCell::StartNs).store(sys::now_ns(), Ordering::Relaxed);
        self.control.set_state(p, State::Running);
        let Some(programs) = &self.programs[p] else { return Err("no program".into()) };
        self.set_affinity(p, 0)?;
        self.fork_children(p, ForkPoint::BeforePrologue)?;
        for (region, placed) in process.regions.iter().zip(self.own_regions(p)) {
            let policies = memory::Policies::of(region, &self.job.node_ids).map_err(|e| e.to_string())?;
            let file = self.files.get(&(p, placed.index)).cloned();
            memory::map(region, placed.address, policies, file)?;
        }
        let index = self.control.layout().thread(p, 0);
        self.control.thread(index, ThreadCell::Tid).store(sys::thread_id() as u64, Ordering::Relaxed);
        let mut initial = Thread { control: self.control, index, draw: Draw::new(self.job.seed, index as u64) };
        initial.run(&programs.prologue, &mut || {})?;
        self.fork_children(p, ForkPoint::AfterPrologue)?;
        self.run_threads(p, programs, &mut initial)
    }

    fn own_regions(&self, p: usize) -> impl Iterator<Item = &Placed> {
        self.plan[p].iter().filter(move |r| r.owner == p)
    }

    fn set_affinity(&self, p: usize, t: usize) -> Result<(), String> {
        let dense = self.job.workload.processes[p].threads[t].affinity.as_deref().unwrap_or(&[]);
        let mut cpus = Vec::new();
        for &c in dense {
            let id = self.job.cpu_ids.get(c as usize);
            cpus.push(*id.ok_or_else(|| format!("thread {t} is bound to CPU {c}, which this system lacks"))?);
        }
        sys::set_affinity(&cpus).map_err(|e| format!("affinity of thread {t}: {e}"))
    }

    fn fork_children(&self, p: usize, point: ForkPoint) -> Result<(), String> {
        for child in self.job.children(p, point) {
            // SAFETY: forks happen before the process creates threads.
            let pid = unsafe { sys::fork() }.map_err(|e| format!("fork: {e}"))?;
            if pid == 0 {
                // The child stores its own result in the shared block.
                let status = self.run(child);
                sys::exit_now(status);
            }
        }
        Ok(())
    }

    fn run_threads(&self, p: usize, programs: &Programs, initial: &mut Thread<'_>) -> Result<(), String> {
        std::thread::scope(|scope| {
            let mut handles = Vec::new();
            for (t, program) in programs.threads.iter().enumerate().skip(1) {
                let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
                let body = move || self.run_thread(p, t, program);
                match builder.spawn_scoped(scope, body) {
                    Ok(handle) => handles.push(handle),
                    Err(e) => {
                        // The running threads may wait for this one for ever. The coordinator will kill the process.
                        let reason = format!("thread {t}: {e}");
                        self.control.fail(p, &format!("{}: {reason}", self.job.workload.processes[p].name));
                        return Err(reason);
                    }
                }
            }
            let mut failed = None;
            let mut join = || {
                for handle in handles.drain(..) {
                    let result = handle.join().unwrap_or_else(|_| Err("a thread panicked".into()));
                    failed = failed.take().or(result.err());
                }
            };
            let result = initial.run(&programs.threads[0], &mut join);
            self.record_thread(initial.index);
            if result.is_err() {
                // The other threads may wait for this one for ever. The coordinator will kill the process.
                let reason = result.as_ref().err().cloned().unwrap_or_default();
                self.control.fail(p, &format!("{}: {reason}", self.job.workload.processes[p].name));
            }
            join();
            failed.map_or(result, Err)
        })
    }

    fn run_thread(&self, p: usize, t: usize, program: &Program) -> Result<(), String> {
        let index = self.control.layout().thread(p, t);
        self.control.thread(index, ThreadCell::Tid).store(sys::thread_id() as u64, Ordering::Relaxed);
        let mut thread = Thread { control: self.control, index, draw: Draw::new(self.job.seed, index as u64) };
        let result = self.set_affinity(p, t).and_then(|()| thread.run(program, &mut || {}));
        self.record_thread(index);
        if let Err(reason) = &result {
            self.control.fail(p, &format!("{} thread {t}: {reason}", self.job.workload.processes[p].name));
        }
        result
    }

    /// Stores the kernel's figures of the calling thread, which is about to end.
    fn record_thread(&self, index: usize) {
        let fields = sched::read("/proc/thread-self/sched").unwrap_or_default();
        let put = |cell, value: u64| self.control.thread(index, cell).store(value, Ordering::Relaxed);
        put(ThreadCell::Preferred, (fields.preferred_nid + 1).max(0) as u64);
        put(ThreadCell::Faults, fields.total_numa_faults);
        put(ThreadCell::Migrated, fields.pages_migrated);
        put(ThreadCell::Group, fields.group);
        put(ThreadCell::ScanSeq, fields.scan_seq);
        put(ThreadCell::BlockNs, fields.block_ns);
        put(ThreadCell::BlockMaxNs, fields.block_max_ns);
        put(ThreadCell::PageWaits, fields.page_waits);
        for (node, &id) in self.job.node_ids.iter().enumerate() {
            let faults = fields.node_faults.iter().find(|f| f.0 == id).map_or(0, |f| f.1);
            self.control.faults(index, node).store(faults, Ordering::Relaxed);
        }
        put(ThreadCell::Done, 1);
    }

    /// Stores end time, CPU time and page placement, and marks the process as finished.
    fn finish(&self, p: usize) {
        self.control.process(p, ProcessCell::EndNs).store(sys::now_ns(), Ordering::Relaxed);
        let (user, system) = sys::process_times_ns();
        self.control.process(p, ProcessCell::UserNs).store(user, Ordering::Relaxed);
        self.control.process(p, ProcessCell::SystemNs).store(system, Ordering::Relaxed);
        for (r, placed) in self.plan[p].iter().enumerate() {
            let counts = placement::count(placed.address, placed.bytes, &self.job.node_ids);
            for (node, count) in counts.iter().enumerate() {
                self.control.placement(p, r, node).store(*count, Ordering::Relaxed);
            }
        }
        self.control.set_state(p, State::Finished);
    }
}
