//! The coordinator: starts the processes of a job together, samples, waits, collects.

use crate::access::{self, KINDS};
use crate::collect;
use crate::control::{Control, Head, Layout, ProcessCell, State};
use crate::job::{Job, Knob};
use crate::mark::{Mark, Marks};
use crate::program::{slowest_walk, Costs};
use crate::sample::sched;
use crate::sample::trace::Trace;
use crate::sample::vmstat::Vmstat;
use crate::sampler::Sampler;
use crate::{knob, memory, spin, sys};
use numalab_model::record::{EffectiveTunable, Outcome, Status};
use numalab_model::workload::{Op, Policy};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;

/// How long processes may take to come to the start gate, ns.
const GATE_NS: u64 = 60_000_000_000;
/// Longest sleep between looks at the processes, ns.
const LOOK_NS: u64 = 250_000_000;

/// Carries out a job; `beat` is called at every sample with the time since the start, ns.
///
/// # Errors
/// The job could not be started (a setting the kernel refuses, no memory for the shared block). What goes
/// wrong while it runs is a [`Status`] of the outcome.
pub fn run(job: &Job, beat: &mut dyn FnMut(u64)) -> Result<Outcome, String> {
    sys::block_sigchld();
    sys::adopt_orphans();
    memory::plan(job).map_err(|e| e.to_string())?;
    job.check_topology(std::path::Path::new("/sys")).map_err(|e| e.to_string())?;
    let mut warnings = Vec::new();
    let (tunables, undo) = apply_knobs(&job.knobs, &mut warnings)?;
    let result = weights(job).and_then(|()| run_prepared(job, beat, &mut warnings));
    if std::process::id() != 1 {
        for (knob, before) in undo.iter().rev() {
            knob::restore(knob, before);
        }
    }
    let mut outcome = result?;
    outcome.tunables = tunables;
    outcome.warnings = warnings;
    Ok(outcome)
}

type Undo<'a> = Vec<(&'a Knob, String)>;

fn apply_knobs<'a>(knobs: &'a [Knob], warnings: &mut Vec<String>) -> Result<(Vec<EffectiveTunable>, Undo<'a>), String> {
    let (mut tunables, mut undo): (Vec<EffectiveTunable>, Undo<'a>) = (Vec::new(), Vec::new());
    for knob in knobs {
        match knob::apply(knob) {
            Ok((before, effective)) => {
                undo.push((knob, before));
                tunables.push(effective);
            }
            // What is only to be reported may be missing from this kernel.
            Err(_) if knob.value.is_empty() => {}
            Err(e) if !knob.required => warnings.push(format!("not set: {e}")),
            Err(e) => {
                undo.iter().rev().for_each(|(k, before)| knob::restore(k, before));
                return Err(e);
            }
        }
    }
    Ok((tunables, undo))
}

/// Sets the system-wide interleave weights that the policies of the job name.
fn weights(job: &Job) -> Result<(), String> {
    let mut policies: Vec<&Policy> = Vec::new();
    for process in &job.workload.processes {
        policies.extend(process.regions.iter().filter_map(|r| r.policy.as_ref()));
        let ops = process.prologue.iter().chain(process.threads.iter().flat_map(|t| t.ops.iter()));
        policies.extend(ops.filter_map(|o| if let Op::SetPolicy(p) = o { Some(p) } else { None }));
    }
    for policy in policies {
        for (node, weight) in policy.nodes.iter().zip(&policy.weights) {
            let id = job.node_ids.get(*node as usize).ok_or_else(|| format!("policy names node {node}"))?;
            let path = format!("/sys/kernel/mm/mempolicy/weighted_interleave/node{id}");
            std::fs::write(&path, weight.to_string())
                .map_err(|e| format!("weighted interleave (Linux 6.9 and later) {path}: {e}"))?;
        }
    }
    Ok(())
}

fn calibrate(control: &Control) -> Costs {
    control.head(Head::SpinPerSecond).store(spin::calibrate(), Ordering::Release);
    for kind in KINDS {
        control.access_cost(kind as usize).store(access::cost_ps(kind), Ordering::Release);
    }
    Costs::read(control)
}

fn run_prepared(job: &Job, beat: &mut dyn FnMut(u64), warnings: &mut Vec<String>) -> Result<Outcome, String> {
    let (control, control_fd) = Control::create(Layout::of(job)).map_err(|e| format!("shared block: {e}"))?;
    let costs = calibrate(&control);
    if let Some((own, asked)) = slowest_walk(job, &costs) {
        if own > 2.0 * asked.max(0.1) {
            warnings.push(format!(
                "an access costs {own:.1} ns of instructions per line here, {asked:.1} ns are asked for: \
                 memory weighs less than it should"
            ));
        }
    }
    let marks = Marks::new();
    let mut children = Children::start(job, control_fd)?;
    if let Err(reason) = children.wait_ready(&control) {
        children.kill_all(&control);
        return Err(reason);
    }
    let mut trace = None;
    if job.trace {
        match Trace::start() {
            Ok(t) => trace = Some(t),
            Err(e) => warnings.push(format!("balancing tracepoints are not counted: {e}")),
        }
    }
    let start = Vmstat::read().map_err(|e| format!("/proc/vmstat: {e}"))?;
    let start_ns = sys::now_ns();
    control.head(Head::StartNs).store(start_ns, Ordering::Release);
    let mut sampler = Sampler::new(job, &control, start.clone(), start_ns);
    marks.set(Mark::Begin);
    control.open_gate();
    let status = watch(job, &control, &mut children, start_ns, &mut |now| {
        sampler.take(now, &marks, trace.as_mut());
        beat(now - start_ns);
    });
    marks.set(Mark::End);
    let end_ns = sys::now_ns();
    let end = Vmstat::read().map_err(|e| format!("/proc/vmstat: {e}"))?;
    children.kill_all(&control);
    let reasons = trace.map(Trace::stop).map(|counts| {
        if counts.lost > 0 {
            warnings.push(format!("{} trace events were lost: reasons are lower bounds", counts.lost));
        }
        counts.reasons()
    });
    let elapsed_ns = collect::elapsed_ns(job, &control, start_ns, end_ns);
    let mut series = sampler.finish();
    series.extend(collect::final_series(job, &control, elapsed_ns));
    Ok(Outcome {
        status: explain(status, &start, &end),
        scalars: collect::scalars(job, &control, elapsed_ns),
        counters: end.since(&start),
        reasons: reasons.unwrap_or_default(),
        series,
        ..Outcome::default()
    })
}

/// Adds the kernel's own reason to a failure.
fn explain(status: Status, start: &Vmstat, end: &Vmstat) -> Status {
    let kills = end.get("oom_kill").unwrap_or(0).saturating_sub(start.get("oom_kill").unwrap_or(0));
    match status {
        Status::Failed(reason) if kills > 0 => Status::Failed(format!("out of memory: {reason}")),
        other => other,
    }
}

/// Samples and waits until all processes have finished, one failed, or the limit is reached.
fn watch(job: &Job, control: &Control, children: &mut Children, start_ns: u64, sample: &mut dyn FnMut(u64)) -> Status {
    let limit = start_ns.saturating_add(job.workload.limit_ns);
    let mut next = start_ns + job.sample_ns;
    loop {
        let now = sys::now_ns();
        if (0..control.layout().processes()).all(|p| control.state(p) == State::Finished) {
            return Status::Completed;
        }
        if let Some(reason) = children.failure(job, control) {
            return Status::Failed(reason);
        }
        if now >= limit {
            return Status::Timeout;
        }
        if now >= next {
            sample(now);
            // Missed samples are not caught up.
            next = if next + job.sample_ns > now { next + job.sample_ns } else { now + job.sample_ns };
            continue;
        }
        sys::wait_child_or((next.min(limit) - now).min(LOOK_NS));
    }
}

/// The processes started by exec, and the knowledge of all others through the shared block.
struct Children {
    roots: Vec<(usize, Child)>,
    // Kept open for the children until they have started.
    _fds: (OwnedFd, Vec<OwnedFd>),
}

impl Children {
    fn start(job: &Job, control_fd: OwnedFd) -> Result<Self, String> {
        let bytes = job.to_bytes().map_err(|e| e.to_string())?;
        let mut roots = Vec::new();
        let mut fds = Vec::new();
        for (p, process) in job.workload.processes.iter().enumerate() {
            if process.parent.is_some() {
                continue;
            }
            // One descriptor each: readers of one description would share its offset.
            let fd = sys::memfd("numalab-job", 0, true).map_err(|e| format!("job: {e}"))?;
            let mut file = std::fs::File::from(fd);
            file.write_all(&bytes).map_err(|e| format!("job: {e}"))?;
            std::io::Seek::rewind(&mut file).map_err(|e| format!("job: {e}"))?;
            let (control, job_fd) = (control_fd.as_raw_fd().to_string(), file.as_raw_fd().to_string());
            let mut command = Command::new("/proc/self/exe");
            command.args(["process", &p.to_string(), &control, &job_fd]).stdin(Stdio::null()).stdout(Stdio::null());
            let child = command.spawn().map_err(|e| format!("cannot start {}: {e}", process.name));
            fds.push(file.into());
            match child {
                Ok(child) => roots.push((p, child)),
                Err(reason) => {
                    roots.iter_mut().for_each(|(_, c): &mut (usize, Child)| drop(c.kill()));
                    return Err(reason);
                }
            }
        }
        Ok(Self { roots, _fds: (control_fd, fds) })
    }

    fn wait_ready(&mut self, control: &Control) -> Result<(), String> {
        let limit = sys::now_ns() + GATE_NS;
        loop {
            let mut waiting = false;
            for (p, child) in &mut self.roots {
                match control.state(*p) {
                    State::Failed => return Err(control.reason(*p)),
                    State::Absent => {
                        waiting = true;
                        if let Ok(Some(status)) = child.try_wait() {
                            return Err(format!("process {p} ended before its start: {status}"));
                        }
                    }
                    _ => {}
                }
            }
            if !waiting {
                return Ok(());
            }
            if sys::now_ns() > limit {
                return Err("processes did not come to the start gate".into());
            }
            sys::sleep_ns(1_000_000);
        }
    }

    /// Why a process failed, if one did.
    fn failure(&mut self, job: &Job, control: &Control) -> Option<String> {
        while sys::reap().is_some() {}
        for (p, process) in job.workload.processes.iter().enumerate() {
            match control.state(p) {
                State::Failed => return Some(control.reason(p)),
                State::Running | State::Ready => {}
                State::Absent | State::Finished => continue,
            }
            let pid = self.pid(p, control);
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            let dead = stat.map_or(true, |s| matches!(sched::state_of_stat(&s), Some('Z' | 'X') | None));
            // It may have finished between the two looks.
            if dead && matches!(control.state(p), State::Running | State::Ready) {
                return Some(format!("process {} was killed", process.name));
            }
        }
        None
    }

    fn pid(&self, p: usize, control: &Control) -> u64 {
        let known = control.process(p, ProcessCell::Pid).load(Ordering::Relaxed);
        let root = self.roots.iter().find(|r| r.0 == p).map(|r| u64::from(r.1.id()));
        root.unwrap_or(known)
    }

    /// Ends everything that still runs and waits until it is gone.
    fn kill_all(&mut self, control: &Control) {
        let limit = sys::now_ns() + 2_000_000_000;
        loop {
            let mut alive = false;
            for p in 0..control.layout().processes() {
                let pid = self.pid(p, control);
                if pid > 1 && std::path::Path::new(&format!("/proc/{pid}")).exists() {
                    alive = true;
                    if control.state(p) != State::Finished {
                        sys::kill(pid as i32);
                    }
                }
            }
            while sys::reap().is_some() {}
            if !alive || sys::now_ns() > limit {
                return;
            }
            sys::sleep_ns(2_000_000);
        }
    }
}
