//! The `host` backend: the same job on the machine at hand.

use crate::failure::{Failure, VmError};
use crate::worker;
use numalab_model::machine::Machine;
use numalab_model::record::Outcome;
use numalab_model::workload::Workload;
use numalab_worker::job::{Job, Knob};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What the host backend needs.
#[derive(Clone, Debug)]
pub struct Host {
    worker: PathBuf,
    /// Time between samples, ns; at least 1 ms.
    pub sample_ns: u64,
}

impl Host {
    /// Finds the worker.
    ///
    /// # Errors
    /// It is not there, with the command that builds it.
    pub fn open() -> Result<Self, String> {
        Ok(Self { worker: worker::find_native()?, sample_ns: 1_000_000_000 })
    }

    /// Carries out a workload here; `progress` is told the time since its start, ns.
    ///
    /// # Errors
    /// The worker could not do it.
    pub fn run(
        &self,
        machine: &Machine,
        workload: &Workload,
        knobs: &[Knob],
        seed: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Outcome, VmError> {
        let refused = |detail: String| VmError { kind: Failure::Refused, detail, console: Vec::new() };
        let nodes = machine.cpus.iter().map(|c| c.node as u32).collect();
        let mut job = Job::new(workload.clone(), seed, nodes, machine.node_count());
        job.cpu_ids = machine.cpus.iter().map(|c| c.id).collect();
        job.node_ids = machine.nodes.iter().map(|n| n.id).collect();
        job.sample_ns = self.sample_ns;
        job.knobs = knobs.to_vec();
        job.check_topology(Path::new("/sys"))
            .map_err(|e| refused(format!("{e}; describe this machine with `numalab machine import --live`")))?;
        let bytes = job.to_bytes().map_err(|e| refused(e.to_string()))?;
        let directory = tempfile::tempdir().map_err(|e| refused(e.to_string()))?;
        let path = directory.path().join("job.json");
        std::fs::write(&path, bytes).map_err(|e| refused(format!("{}: {e}", path.display())))?;
        let limit = Duration::from_nanos(workload.limit_ns).saturating_add(Duration::from_secs(120));
        run_worker(&self.worker, &path, limit, progress)
    }
}

/// A worker whose processes end with it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            // SAFETY: the group was made for this child alone.
            unsafe { libc::kill(-(self.0.id() as i32), libc::SIGKILL) };
            let _ = self.0.wait();
        }
    }
}

fn run_worker(program: &Path, job: &Path, limit: Duration, progress: &mut dyn FnMut(u64)) -> Result<Outcome, VmError> {
    let error = |kind, detail: String| VmError { kind, detail, console: Vec::new() };
    let mut command = Command::new(program);
    command.arg("run").arg(job).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().map_err(|e| error(Failure::Refused, format!("{}: {e}", program.display())))?;
    let group = child.id() as i32;
    let mut child = Running(child);
    let (stdout, stderr) = (child.0.stdout.take(), child.0.stderr.take());
    let (Some(mut stdout), Some(stderr)) = (stdout, stderr) else {
        return Err(error(Failure::Refused, "no pipes".into()));
    };
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    let (result, lines) = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut json = Vec::new();
            stdout.read_to_end(&mut json).map(|_| json)
        });
        // The worker ends a run at its own limit; this is for one that does not.
        scope.spawn(move || {
            if waiting.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                // SAFETY: the group was made for the worker alone.
                unsafe { libc::kill(-group, libc::SIGKILL) };
            }
        });
        let mut lines = Vec::new();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            match line.strip_prefix("beat ").and_then(|n| n.parse().ok()) {
                Some(ns) => progress(ns),
                None => lines.push(line),
            }
        }
        let json = reader.join();
        drop(done);
        (json, lines)
    });
    let status = child.0.wait().map_err(|e| error(Failure::Refused, e.to_string()))?;
    if let Some(signal) = status.signal() {
        return Err(error(Failure::RunTimeout, format!("the worker was killed (signal {signal})")));
    }
    if !status.success() {
        return Err(error(Failure::Refused, lines.join("; ")));
    }
    let json = result.ok().and_then(Result::ok).unwrap_or_default();
    serde_json::from_slice(&json).map_err(|e| error(Failure::Garbage, format!("outcome: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(directory: &Path, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = directory.join("worker");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn outcomes_refusals_and_endless_workers_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let mut beats = Vec::new();
        let mut run = |text: &str| {
            let program = script(directory.path(), text);
            run_worker(&program, Path::new("job"), Duration::from_millis(300), &mut |ns| beats.push(ns))
        };
        let outcome = serde_json::to_string(&Outcome::default()).unwrap();
        assert_eq!(run(&format!("echo beat 17 >&2; echo '{outcome}'")).unwrap(), Outcome::default());
        let e = run("echo no such knob >&2; exit 1").unwrap_err();
        assert_eq!((e.kind, e.detail.as_str()), (Failure::Refused, "no such knob"));
        assert_eq!(run("echo nonsense").unwrap_err().kind, Failure::Garbage);
        assert_eq!(run("sleep 60 & sleep 60").unwrap_err().kind, Failure::RunTimeout);
        assert_eq!(beats, vec![17]);
    }
}
