//! The user's own program in place of a workload: it is started, sampled with all that it starts, and measured.
//!
//! The run ends with the program. What it has left behind, such as a server in the background, is ended too, and its
//! CPU time counts.

use crate::collect::scalar;
use crate::ending::{add_oom_kill, RunError};
use crate::job::{Invocation, Job};
use crate::mark::{Mark, Marks};
use crate::program_sampler::ProgramSampler;
use crate::sample::interrupts;
use crate::sample::trace::Trace;
use crate::sample::vmstat::Vmstat;
use crate::{descendants, kernel_layout, sys};
use numalab_nouns::record::{Outcome, Status};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// Longest sleep between two looks at the program, ns.
const LOOK_NS: u64 = 100_000_000;
/// Most of the program's last output that a failure shows, bytes and lines.
const TAIL_BYTES: usize = 4096;
const TAIL_LINES: usize = 12;
/// Longest time in which what the program left behind must have ended, ns.
const CLEAN_UP_NS: u64 = 10_000_000_000;

/// Carries out a program; `beat` is called at every sample with the time since the start, ns.
///
/// # Errors
/// The program cannot be started or observed, or a signal ended the run. A program that fails is a [`Status`].
pub fn run(
    job: &Job,
    program: &Invocation,
    beat: &mut dyn FnMut(u64),
    warnings: &mut Vec<String>,
) -> Result<Outcome, RunError> {
    let marks = Marks::new();
    if job.recorded {
        marks.describe(&kernel_layout::read()?)?;
    }
    let mut trace = None;
    match job.trace.then(Trace::start) {
        Some(Ok(t)) => trace = Some(t),
        Some(Err(e)) => warnings.push(format!("balancing tracepoints are not counted: {e}")),
        None => {}
    }
    let start = Vmstat::read().map_err(|e| format!("/proc/vmstat: {e}"))?;
    let interrupts = interrupts::read();
    let cpu_before = sys::children_times_ns();
    let mut sampler = ProgramSampler::new(job, start.clone());
    let start_ns = sys::now_ns();
    let mut child = begin(program)?;
    let tail = child.stdout.take().map(|pipe| std::thread::spawn(move || last_bytes(pipe)));
    marks.set(Mark::Begin);
    let ended = watch(job, &mut child, start_ns, &mut |now| {
        marks.set(Mark::Sample);
        sampler.take(now - start_ns);
        if let Some(trace) = trace.as_mut() {
            trace.drain();
        }
        beat(now - start_ns);
    });
    marks.set(Mark::End);
    let elapsed_ns = sys::now_ns() - start_ns;
    let end = Vmstat::read().map_err(|e| format!("/proc/vmstat: {e}"));
    let received = interrupts.zip(interrupts::read()).map(|(before, now)| now.saturating_sub(before));
    let left = clean_up();
    if left > 0 {
        warnings.push(format!("{left} processes that the program left behind did not end"));
    }
    let output = match left {
        0 => tail.and_then(|t| t.join().ok()).unwrap_or_default(),
        // One of them may hold the pipe open for ever.
        _ => Vec::new(),
    };
    let status = match ended? {
        Some(status) => status_of(&job.workload.name, status, &output),
        None => Status::Timeout,
    };
    let end = end?;
    let counts = trace.map(Trace::stop).unwrap_or_default();
    if counts.lost > 0 {
        warnings.push(format!("{} trace events were lost: reasons are lower bounds", counts.lost));
    }
    let cpu = sys::children_times_ns();
    let seconds = |ns: u64| ns as f64 / 1e9;
    let mut counters = end.since(&start);
    counters.extend(received.map(|n| ("nr_tlb_remote_flush_received".to_string(), n)));
    Ok(Outcome {
        status: add_oom_kill(status, &start, &end),
        scalars: vec![
            scalar("elapsed_s", seconds(elapsed_ns), "s", false),
            scalar("user_s", seconds(cpu.0 - cpu_before.0), "s", false),
            scalar("system_s", seconds(cpu.1 - cpu_before.1), "s", false),
        ],
        counters,
        reasons: counts.reasons(),
        series: sampler.finish(),
        ..Outcome::default()
    })
}

/// Starts the program.
fn begin(program: &Invocation) -> Result<Child, RunError> {
    let mut command = Command::new(&program.path);
    let (name, arguments) = program.argv.split_first().ok_or_else(|| "a program without a name".to_string())?;
    command.arg0(name).args(arguments).envs(program.environment.iter().map(|(n, v)| (n, v)));
    command.current_dir(&program.directory).stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    // SAFETY: the function only makes system calls that are async-signal-safe.
    unsafe { command.pre_exec(sys::before_exec) };
    command.spawn().map_err(|e| format!("cannot start {}: {e}", program.path).into())
}

/// Samples and waits until the program has ended, or the limit is reached (`None`).
///
/// # Errors
/// A signal that ends the run.
fn watch(
    job: &Job,
    child: &mut Child,
    start_ns: u64,
    sample: &mut dyn FnMut(u64),
) -> Result<Option<ExitStatus>, RunError> {
    let limit = start_ns.saturating_add(job.workload.limit_ns);
    let mut next = start_ns.saturating_add(job.sample_ns);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(status)),
            Ok(None) => {}
            Err(e) => return Err(format!("the program cannot be waited for: {e}").into()),
        }
        let now = sys::now_ns();
        if now >= limit {
            return Ok(None);
        }
        if now >= next {
            sample(now);
            let due = next.saturating_add(job.sample_ns);
            next = if due > now { due } else { now.saturating_add(job.sample_ns) };
            continue;
        }
        if let Some(signal) = sys::wait_child_or((next.min(limit) - now).min(LOOK_NS)) {
            clean_up();
            return Err(RunError::Stopped(signal));
        }
    }
}

/// Ends all processes below this one, and waits for them. Returns how many are left after [`CLEAN_UP_NS`].
fn clean_up() -> usize {
    let limit = sys::now_ns() + CLEAN_UP_NS;
    while sys::reap() {
        let left = descendants::of(std::process::id());
        left.iter().for_each(|&pid| sys::kill(pid as i32));
        if sys::now_ns() >= limit {
            return left.len();
        }
        sys::sleep_ns(2_000_000);
    }
    0
}

/// The last bytes of what a program prints, until all its writers have ended.
fn last_bytes(mut pipe: ChildStdout) -> Vec<u8> {
    let mut tail = Vec::new();
    let mut buffer = [0u8; 16384];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return tail,
            Ok(n) => tail.extend_from_slice(&buffer[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return tail,
        }
        if tail.len() > 2 * TAIL_BYTES {
            tail.drain(..tail.len() - TAIL_BYTES);
        }
    }
}

/// What the end of the program means; a failure shows its last output.
fn status_of(name: &str, status: ExitStatus, output: &[u8]) -> Status {
    let how = match (status.success(), status.code(), status.signal()) {
        (true, _, _) => return Status::Completed,
        (_, Some(127), _) => {
            format!("{name} exited with 127, as shells do where a program is missing; --with names what is to be there")
        }
        (_, Some(code), _) => format!("{name} exited with {code}"),
        (_, None, signal) => format!("{name} was ended by signal {}", signal.unwrap_or(0)),
    };
    let text = String::from_utf8_lossy(output);
    let clean = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
    let lines: Vec<String> = text.lines().map(clean).filter(|l| !l.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    match last.is_empty() {
        true => Status::Failed(format!("{how}; it printed nothing")),
        false => Status::Failed(format!("{how}; it printed last: {}", last.join(" | "))),
    }
}

/// What a [`Status`] of [`run`] says of the end of the program `name`: its exit code, or the signal that ended it.
/// `None` where it did not end by itself.
pub fn end_of(name: &str, status: &Status) -> Option<Result<i32, i32>> {
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok());
    match status {
        Status::Completed => Some(Ok(0)),
        Status::Failed(text) => {
            let how = text.strip_prefix(name)?;
            let code = how.strip_prefix(" exited with ").and_then(number).map(Ok);
            code.or_else(|| how.strip_prefix(" was ended by signal ").and_then(number).map(Err))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_the_last_lines_without_control_characters() {
        let output: String = (0..40).map(|i| format!("line \u{1b}{i}\n\n")).collect();
        let Status::Failed(text) = status_of("p", ExitStatus::from_raw(3 << 8), output.as_bytes()) else { panic!() };
        assert!(text.starts_with("p exited with 3; it printed last: line 28 | line 29"), "{text}");
        assert!(text.ends_with("line 39"), "{text}");
        assert_eq!(end_of("p", &Status::Failed(text)), Some(Ok(3)));
        let killed = status_of("p", ExitStatus::from_raw(11), b"");
        assert_eq!((end_of("p", &killed), end_of("p", &Status::Timeout)), (Some(Err(11)), None));
        let missing = status_of("p", ExitStatus::from_raw(127 << 8), b"");
        assert_eq!((end_of("p", &missing), end_of("p", &Status::Completed)), (Some(Ok(127)), Some(Ok(0))));
        assert_eq!(killed, Status::Failed("p was ended by signal 11; it printed nothing".into()));
        assert_eq!(status_of("p", ExitStatus::from_raw(0), b"x"), Status::Completed);
    }
}
