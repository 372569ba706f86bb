//! The coordinator: starts the processes of a job together, samples, waits for them, and collects the figures.

use crate::access;
use crate::collect;
use crate::control::{Control, HeaderCell, Layout, ProcessCell, State};
use crate::ending::add_oom_kill;
pub use crate::ending::RunError;
use crate::invocation;
use crate::job::Job;
use crate::mark::{Mark, Marks};
use crate::program::{accesses, slowest_walk, Costs};
use crate::sample::interrupts;
use crate::sample::sched;
use crate::sample::trace::Trace;
use crate::sample::vmstat::Vmstat;
use crate::sampler::Sampler;
use crate::settings::{Settings, NODES, WEIGHTS};
use crate::{memory, spin, stalls, sys};
use numalab_nouns::record::{Outcome, Status};

use std::collections::BTreeSet;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;

/// Longest time that processes may take to reach the start gate, ns.
const GATE_NS: u64 = 60_000_000_000;
/// Longest sleep between two checks of the processes, ns.
pub const POLL_NS: u64 = 250_000_000;

/// Carries out a job; `beat` is called at every sample with the time since the start, ns. In any case settings are
/// undone at the end ([`crate::settings`]), tracing is off, and no process of the workload is left.
///
/// # Errors
/// The job could not be started (a setting that the kernel refuses, no memory for the shared block), or a signal ended
/// it. A failure of the workload itself is a [`Status`] of the outcome.
pub fn run(job: &Job, beat: &mut dyn FnMut(u64)) -> Result<Outcome, RunError> {
    sys::block_signals();
    sys::adopt_orphans();
    memory::plan(job).map_err(|e| e.to_string())?;
    job.check_topology(Path::new("/sys")).map_err(|e| e.to_string())?;
    let mut warnings = Vec::new();
    let mut settings = Settings::default();
    let tunables = settings.knobs(&job.knobs, &mut warnings)?;
    settings.weights(job, Path::new(WEIGHTS))?;
    settings.hugetlb(job, Path::new(NODES))?;
    let mut outcome = match &job.invocation {
        Some(program) => invocation::run(job, program, beat, &mut warnings)?,
        None => run_prepared(job, beat, &mut warnings)?,
    };
    warnings.extend(settings.restore());
    outcome.tunables = tunables;
    outcome.warnings = warnings;
    Ok(outcome)
}

/// Measures what the loops that the job needs cost by themselves.
fn calibrate(job: &Job, control: &Control) -> Costs {
    control.head(HeaderCell::SpinPerSecond).store(spin::calibrate(), Ordering::Release);
    let needed: BTreeSet<usize> = accesses(job).map(|a| access::loop_of(&a.pattern)).collect();
    for number in needed {
        control.access_cost(number).store(access::cost_ps(number), Ordering::Release);
    }
    Costs::read(control)
}

fn run_prepared(job: &Job, beat: &mut dyn FnMut(u64), warnings: &mut Vec<String>) -> Result<Outcome, RunError> {
    let (control, control_fd) = Control::create(Layout::of(job)).map_err(|e| format!("shared block: {e}"))?;
    let costs = calibrate(job, &control);
    if let Some((own, asked)) = slowest_walk(job, &costs) {
        if own > 2.0 * asked.max(0.1) {
            warnings.push(format!(
                "an access costs {own:.1} ns of instructions per line here, {asked:.1} ns are asked for: \
                 memory weighs less than it should"
            ));
        }
    }
    let marks = Marks::new();
    let mut children = Children::start(job, &control, control_fd)?;
    children.wait_ready()?;
    let mut trace = None;
    if job.trace {
        match Trace::start() {
            Ok(t) => trace = Some(t),
            Err(e) => warnings.push(format!("balancing tracepoints are not counted: {e}")),
        }
    }
    let start = Vmstat::read().map_err(|e| format!("/proc/vmstat: {e}"))?;
    let interrupts = interrupts::read();
    let start_ns = sys::now_ns();
    control.head(HeaderCell::StartNs).store(start_ns, Ordering::Release);
    let mut sampler = Sampler::new(job, &control, start.clone(), start_ns);
    marks.set(Mark::Begin);
    control.open_gate();
    let status = watch(job, &mut children, start_ns, &mut |now| {
        sampler.take(now, &marks, trace.as_mut());
        beat(now - start_ns);
    })?;
    marks.set(Mark::End);
    let end_ns = sys::now_ns();
    let end = Vmstat::read().map_err(|e| format!("/proc/vmstat: {e}"))?;
    // Read before the processes are ended: freeing their memory takes time, in which scores and their clocks go on.
    let elapsed_ns = collect::elapsed_ns(job, &control, start_ns, end_ns);
    let scalars = collect::scalars(job, &control, elapsed_ns, end_ns, warnings);
    let received = interrupts.zip(interrupts::read()).map(|(before, now)| now.saturating_sub(before));
    drop(children);
    let counts = trace.map(Trace::stop).unwrap_or_default();
    if counts.lost > 0 {
        warnings.push(format!("{} trace events were lost: reasons are lower bounds", counts.lost));
    }
    let mut series = sampler.finish();
    series.extend(collect::final_series(job, &control, elapsed_ns));
    let (stalled, stall_series) = stalls::collect(job, &control, counts.numa_work.as_ref(), received, elapsed_ns);
    series.extend(stall_series);
    let mut counters = end.since(&start);
    counters.extend(stalled.into_iter().filter(|(name, _)| end.get(name).is_none()));
    Ok(Outcome {
        status: add_oom_kill(status, &start, &end),
        scalars,
        counters,
        reasons: counts.reasons(),
        series,
        ..Outcome::default()
    })
}

/// Samples and waits until all processes have finished, one has failed, or the limit is reached.
///
/// # Errors
/// A signal that ends the run.
fn watch(
    job: &Job,
    children: &mut Children<'_>,
    start_ns: u64,
    sample: &mut dyn FnMut(u64),
) -> Result<Status, RunError> {
    let control = children.control;
    let limit = start_ns.saturating_add(job.workload.limit_ns);
    let mut next = start_ns.saturating_add(job.sample_ns);
    loop {
        let now = sys::now_ns();
        if (0..control.layout().processes()).all(|p| control.state(p) == State::Finished) {
            return Ok(Status::Completed);
        }
        if let Some(reason) = children.failure(job) {
            return Ok(Status::Failed(reason));
        }
        if now >= limit {
            return Ok(Status::Timeout);
        }
        if now >= next {
            sample(now);
            // Missed samples are skipped.
            let due = next.saturating_add(job.sample_ns);
            next = if due > now { due } else { now.saturating_add(job.sample_ns) };
            continue;
        }
        if let Some(signal) = sys::wait_child_or((next.min(limit) - now).min(POLL_NS)) {
            return Err(RunError::Stopped(signal));
        }
    }
}

/// The processes of the workload: those started by exec, and through the shared block all others. Dropping it kills
/// them.
struct Children<'a> {
    control: &'a Control,
    roots: Vec<(usize, Child)>,
    // The descriptors stay open until the children have started.
    control_fd: OwnedFd,
    job_fds: Vec<OwnedFd>,
}

impl Drop for Children<'_> {
    fn drop(&mut self) {
        self.kill_all();
    }
}

impl<'a> Children<'a> {
    fn start(job: &Job, control: &'a Control, control_fd: OwnedFd) -> Result<Self, String> {
        let bytes = job.to_bytes().map_err(|e| e.to_string())?;
        let mut all = Self { control, roots: Vec::new(), control_fd, job_fds: Vec::new() };
        for (p, process) in job.workload.processes.iter().enumerate() {
            if process.parent.is_some() {
                continue;
            }
            // Each process gets a file of its own, because readers of one open file would share its offset.
            let fd = sys::memfd("numalab-job", 0, true).map_err(|e| format!("job: {e}"))?;
            let mut file = std::fs::File::from(fd);
            file.write_all(&bytes).map_err(|e| format!("job: {e}"))?;
            std::io::Seek::rewind(&mut file).map_err(|e| format!("job: {e}"))?;
            let (control, job_fd) = (all.control_fd.as_raw_fd().to_string(), file.as_raw_fd().to_string());
            let mut command = Command::new("/proc/self/exe");
            command.args(["process", &p.to_string(), &control, &job_fd]).stdin(Stdio::null()).stdout(Stdio::null());
            all.job_fds.push(file.into());
            let child = command.spawn().map_err(|e| format!("cannot start {}: {e}", process.name))?;
            all.roots.push((p, child));
        }
        Ok(all)
    }

    /// Waits until the processes started by exec are at the start gate.
    fn wait_ready(&mut self) -> Result<(), RunError> {
        let control = self.control;
        let limit = sys::now_ns() + GATE_NS;
        loop {
            let mut waiting = false;
            for (p, child) in &mut self.roots {
                match control.state(*p) {
                    State::Failed => return Err(control.reason(*p).into()),
                    State::Absent => {
                        waiting = true;
                        if let Ok(Some(status)) = child.try_wait() {
                            return Err(format!("process {p} ended before its start: {status}").into());
                        }
                    }
                    _ => {}
                }
            }
            if !waiting {
                return Ok(());
            }
            if let Some(signal) = sys::stop_signal() {
                return Err(RunError::Stopped(signal));
            }
            if sys::now_ns() > limit {
                let what = format!("processes did not come to the start gate within {} s", GATE_NS / 1_000_000_000);
                return Err(what.into());
            }
            sys::sleep_ns(1_000_000);
        }
    }

    /// Why a process failed, if one did.
    fn failure(&mut self, job: &Job) -> Option<String> {
        let control = self.control;
        sys::reap();
        for (p, process) in job.workload.processes.iter().enumerate() {
            match control.state(p) {
                State::Failed => return Some(control.reason(p)),
                State::Running | State::Ready => {}
                State::Absent | State::Finished => continue,
            }
            let pid = self.pid(p);
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            let dead = stat.map_or(true, |s| matches!(sched::state_of_stat(&s), Some('Z' | 'X') | None));
            // Read the state again, because the process may have finished since.
            if dead && matches!(control.state(p), State::Running | State::Ready) {
                return Some(format!("process {} was killed", process.name));
            }
        }
        None
    }

    fn pid(&self, p: usize) -> u64 {
        let known = self.control.process(p, ProcessCell::Pid).load(Ordering::Relaxed);
        let root = self.roots.iter().find(|r| r.0 == p).map(|r| u64::from(r.1.id()));
        root.unwrap_or(known)
    }

    /// Kills all processes and waits up to two seconds until they have ended. Orphans become children of the
    /// coordinator, so it also waits for a fork that has not stored its process id yet, and kills it as soon as it has.
    fn kill_all(&mut self) {
        let limit = sys::now_ns() + 2_000_000_000;
        while sys::reap() && sys::now_ns() < limit {
            for p in 0..self.control.layout().processes() {
                if self.control.state(p) != State::Finished {
                    sys::kill(self.pid(p) as i32);
                }
            }
            sys::sleep_ns(2_000_000);
        }
    }
}
