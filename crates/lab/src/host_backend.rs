//! The `host` backend: the worker carries out a job on this machine.

use crate::child::ends_with_parent;
use crate::failure::{Failure, RunError};
use crate::program::Program;
use crate::setting;
use crate::worker::{Executable, Worker};
use numalab_model::machine::Machine;
use numalab_model::record::Outcome;
use numalab_model::workload::Workload;
use numalab_worker::job::{Job, Knob};
use numalab_worker::setting::{EXIT_SETTING, SETTING_LINE};
use rustix::fs::{flock, FlockOperation};
use rustix::io::Errno;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The `host` backend.
#[derive(Debug)]
pub struct Host {
    worker: Executable,
    digest: String,
    /// Time between samples, ns; at least 1 ms.
    pub sample_ns: u64,
}

impl Host {
    /// Takes the worker: the one that is built in, or the one that `NUMALAB_WORKER` names.
    ///
    /// # Errors
    /// There is none, or it cannot be started here; the message says what to do.
    pub fn open() -> Result<Self, String> {
        let worker = Worker::for_host()?;
        Ok(Self { digest: worker.digest()?, worker: worker.executable()?, sample_ns: 1_000_000_000 })
    }

    /// Carries out a program in place of a workload, or the workload; `progress` is called with the time since its
    /// start, ns.
    ///
    /// # Errors
    /// [`RunError`]: the machine file does not describe this machine, or the worker failed.
    pub fn run(
        &self,
        machine: &Machine,
        (workload, program): (&Workload, Option<&Program>),
        knobs: &[Knob],
        seed: u64,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Outcome, RunError> {
        let refused = |detail: String| RunError::new(Failure::Refused, detail);
        let nodes = machine.cpus.iter().map(|c| c.node as u32).collect();
        let mut job = Job::new(workload.clone(), seed, nodes, machine.node_count());
        job.cpu_ids = machine.cpus.iter().map(|c| c.id).collect();
        job.node_ids = machine.nodes.iter().map(|n| n.id).collect();
        job.sample_ns = self.sample_ns;
        job.knobs = knobs.to_vec();
        job.invocation = program.map(|p| p.invocation.clone());
        job.check_topology(Path::new("/sys"))
            .map_err(|e| refused(format!("{e}; describe this machine with `numalab machine import --host`")))?;
        let bytes = job.to_bytes().map_err(|e| refused(e.to_string()))?;
        let limit = Duration::from_nanos(workload.limit_ns).saturating_add(Duration::from_secs(120));
        let lock = MachineLock::wait(Path::new(MACHINE_FILE), &mut || progress(0))
            .map_err(|e| refused(format!("{MACHINE_FILE}: {e}")))?;
        run_worker(self.worker.path(), &bytes, limit, &lock, progress)
    }

    /// SHA-256 of the worker program, hexadecimal.
    pub fn worker_digest(&self) -> &str {
        &self.digest
    }
}

/// File that carries the lock of this machine: every Linux has it, once for all containers that share a kernel.
const MACHINE_FILE: &str = "/proc/sys/kernel/osrelease";

/// Lock of this machine, for changing its settings and measuring on it: one run at a time, whichever command starts it.
/// The worker inherits the lock, so it lasts until settings are undone even if the parent has ended.
struct MachineLock(File);

impl MachineLock {
    /// Time between two attempts.
    const RETRY: Duration = Duration::from_millis(100);

    /// Waits for the lock on a file ([`MACHINE_FILE`]); `beat` is called after every failed attempt.
    fn wait(path: &Path, beat: &mut dyn FnMut()) -> std::io::Result<Self> {
        let file = File::open(path)?;
        while let Err(e) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            match e {
                Errno::WOULDBLOCK => beat(),
                Errno::INTR => {}
                e => return Err(e.into()),
            }
            std::thread::sleep(Self::RETRY);
        }
        Ok(Self(file))
    }

    /// Lets a child inherit the lock.
    fn share(&self, command: &mut Command) {
        let own = self.0.as_raw_fd();
        // SAFETY: fcntl is async-signal-safe, and changes nothing but the new process, which has the descriptor.
        unsafe {
            command.pre_exec(move || match libc::fcntl(own, libc::F_SETFD, 0) {
                -1 => Err(std::io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
    }
}

/// Time that a worker has to undo its settings after SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

/// A started worker; dropping it kills the worker and its processes.
struct WorkerProcess(Child);

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            kill_group(self.0.id(), libc::SIGKILL);
            let _ = self.0.wait();
        }
    }
}

/// Sends a signal to a worker's process group. The worker must not have been reaped.
fn kill_group(worker: u32, signal: i32) {
    // SAFETY: the group was made for the worker alone, and lasts at least until the worker is reaped.
    unsafe { libc::kill(-(worker as i32), signal) };
}

/// Waits until a worker has ended, without reaping it, and kills its process group: processes that outlive a killed
/// worker would hold its pipes open.
fn wait_and_kill_group(worker: u32) {
    // SAFETY: the structure is plain data, filled by the call.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        while libc::waitid(libc::P_PID, worker, &mut info, libc::WEXITED | libc::WNOWAIT) != 0
            && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
        {}
    }
    kill_group(worker, libc::SIGKILL);
}

/// Terminates a worker that has not ended by itself within `limit`; returns whether that was necessary. SIGTERM comes
/// first, so that the worker can undo its settings. The sender of `ended` is dropped when the worker has ended.
fn terminate_after(worker: u32, limit: Duration, ended: &Receiver<()>) -> bool {
    let late = |limit| ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
    if !late(limit) {
        return false;
    }
    kill_group(worker, libc::SIGTERM);
    if late(GRACE) {
        kill_group(worker, libc::SIGKILL);
    }
    true
}

/// Starts a worker. It ends, and undoes its settings, when the thread that started it ends. The worker reads its job
/// from standard input, a nameless file, so no file can be left behind.
fn start(program: &Path, job: &[u8], lock: &MachineLock) -> std::io::Result<Child> {
    let mut file = tempfile::tempfile()?;
    file.write_all(job)?;
    let mut command = Command::new(program);
    command
        .arg0("numalab-worker")
        .args(["run", "/dev/stdin"])
        .stdin(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    lock.share(&mut command);
    ends_with_parent(&mut command, libc::SIGTERM).spawn()
}

fn run_worker(
    program: &Path,
    job: &[u8],
    limit: Duration,
    lock: &MachineLock,
    progress: &mut dyn FnMut(u64),
) -> Result<Outcome, RunError> {
    let refused = |detail: String| RunError::new(Failure::Refused, detail);
    let child = start(program, job, lock).map_err(|e| refused(format!("{}: {e}", program.display())))?;
    let worker = child.id();
    let mut child = WorkerProcess(child);
    let (stdout, stderr) = (child.0.stdout.take(), child.0.stderr.take());
    let (Some(mut stdout), Some(stderr)) = (stdout, stderr) else {
        return Err(refused("no pipes".into()));
    };
    let (running, ended) = std::sync::mpsc::channel::<()>();
    let (json, lines, late) = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut json = Vec::new();
            stdout.read_to_end(&mut json).map(|_| json)
        });
        scope.spawn(move || {
            wait_and_kill_group(worker);
            drop(running);
        });
        // The worker ends a run at the workload's limit; this limit is for a worker that does not.
        let timer = scope.spawn(move || terminate_after(worker, limit, &ended));
        let mut lines = Vec::new();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            match line.strip_prefix("beat ").and_then(|n| n.parse().ok()) {
                Some(ns) => progress(ns),
                None => lines.push(line),
            }
        }
        (reader.join().ok().and_then(Result::ok).unwrap_or_default(), lines, timer.join().unwrap_or(false))
    });
    let status = child.0.wait().map_err(|e| refused(e.to_string()))?;
    match status.signal() {
        _ if status.success() => {
            serde_json::from_slice(&json).map_err(|e| RunError::new(Failure::Garbage, format!("outcome: {e}")))
        }
        _ if late => {
            Err(RunError::new(Failure::RunTimeout, format!("the worker did not end within {} s", limit.as_secs())))
        }
        Some(signal) => Err(RunError::new(Failure::WorkerKilled, killed_by(signal))),
        None => Err(setting_of(status.code(), &lines).unwrap_or_else(|| refused(lines.join("; ")))),
    }
}

/// The setting for which a worker ended, if it did for one.
fn setting_of(code: Option<i32>, lines: &[String]) -> Option<RunError> {
    let line = lines.iter().find_map(|l| l.strip_prefix(SETTING_LINE)).filter(|_| code == Some(EXIT_SETTING))?;
    let error = serde_json::from_str(line).ok()?;
    Some(RunError::new(Failure::Setting, setting::told(&error)))
}

/// Text for a signal that ended a worker, with a hint.
fn killed_by(signal: i32) -> String {
    let name = match signal {
        libc::SIGKILL => "SIGKILL: `dmesg` says whether memory ran out; then give the workload less",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGABRT => "SIGABRT",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT, from a user",
        libc::SIGTERM => "SIGTERM, from a user",
        libc::SIGHUP => "SIGHUP",
        _ => "signal(7) has its name",
    };
    format!("signal {signal} ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A limit that no test reaches, however busy the host.
    const AMPLE: Duration = Duration::from_secs(3600);

    fn script(directory: &Path, text: &str) -> PathBuf {
        let path = directory.join("worker");
        crate::child::tests::script(&path, text);
        path
    }

    /// A lock that only this test uses, on the worker's file.
    fn lock(program: &Path) -> MachineLock {
        MachineLock::wait(program, &mut || panic!("another process has it")).unwrap()
    }

    #[test]
    fn a_second_run_waits_until_the_first_worker_has_ended() {
        let directory = tempfile::tempdir().unwrap();
        let may_end = directory.path().join("may-end");
        let text = format!("while ! [ -e {} ]; do sleep 0.01; done", may_end.display());
        let program = script(directory.path(), &text);
        let first = lock(&program);
        let mut worker = start(&program, b"job", &first).unwrap();
        // The parent may end before the worker has undone its settings.
        drop(first);
        let mut beats = 0;
        let mut beat = || {
            beats += 1;
            std::fs::write(&may_end, "").unwrap();
        };
        let second = MachineLock::wait(&program, &mut beat).unwrap();
        assert!(beats > 0, "the worker still held it");
        drop(second);
        assert!(worker.wait().unwrap().success());
    }

    #[test]
    fn outcomes_refusals_and_endless_workers_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let mut beats = Vec::new();
        let mut run = |text: &str, limit: Duration| {
            let program = script(directory.path(), text);
            run_worker(&program, b"job", limit, &lock(&program), &mut |ns| beats.push(ns))
        };
        let outcome = serde_json::to_string(&Outcome::default()).unwrap();
        assert_eq!(run(&format!("echo beat 17 >&2; echo '{outcome}'"), AMPLE).unwrap(), Outcome::default());
        let e = run("echo no such knob >&2; exit 1", AMPLE).unwrap_err();
        assert_eq!((e.kind, e.detail.as_str()), (Failure::Refused, "no such knob"));
        let setting = r#"setting {"name":"vm.x","problem":"NoName"}"#;
        let e = run(&format!("echo '{setting}' >&2; exit {EXIT_SETTING}"), AMPLE).unwrap_err();
        assert_eq!((e.kind, e.detail.as_str()), (Failure::Setting, "`vm.x`: no file of a running kernel"));
        let e = run("cat $2 >&2; exit 1", AMPLE).unwrap_err();
        assert_eq!(e.detail, "job", "the worker reads its job");
        assert_eq!(run("echo nonsense", AMPLE).unwrap_err().kind, Failure::Garbage);
        assert_eq!(run("sleep 3600 & sleep 3600", Duration::ZERO).unwrap_err().kind, Failure::RunTimeout);
        assert_eq!(beats, vec![17]);
    }

    #[test]
    fn a_signal_from_elsewhere_is_no_timeout() {
        let directory = tempfile::tempdir().unwrap();
        let left = directory.path().join("left");
        for (name, signal, hint) in [("SEGV", 11, "SIGSEGV"), ("KILL", 9, "dmesg"), ("TERM", 15, "SIGTERM")] {
            // A process that outlives the worker holds its pipes open: waiting for it would be a timeout.
            let text = format!("sleep 600 &\necho $! >{}\nkill -{name} $$", left.display());
            let program = script(directory.path(), &text);
            let limit = Duration::from_secs(300);
            let e = run_worker(&program, b"job", limit, &lock(&program), &mut |_| {}).unwrap_err();
            assert_eq!(e.kind, Failure::WorkerKilled, "{e}");
            assert!(e.detail.contains(&format!("signal {signal} (")) && e.detail.contains(hint), "{e}");
            assert_eq!(e.kind.exit_code(), 1);
            let pid = std::fs::read_to_string(&left).unwrap();
            // SIGKILL has been sent by now; the kernel takes a moment to end the process.
            let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
            let gone = || state().is_empty() || state().contains(") Z");
            assert!(crate::child::tests::comes_true(&gone), "a process of the worker still runs: {}", state());
        }
    }

    #[test]
    fn an_endless_worker_can_undo_its_settings() {
        let directory = tempfile::tempdir().unwrap();
        let undone = directory.path().join("undone");
        let text =
            format!("trap 'echo yes >{}; exit 1' TERM\necho ready\nwhile :; do sleep 0.05; done", undone.display());
        let program = script(directory.path(), &text);
        let mut child = WorkerProcess(start(&program, b"job", &lock(&program)).unwrap());
        let mut line = String::new();
        BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let worker = child.0.id();
        let (running, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                wait_and_kill_group(worker);
                drop(running);
            });
            assert!(terminate_after(worker, Duration::ZERO, &ended), "it does not end by itself");
        });
        assert_eq!(child.0.wait().unwrap().code(), Some(1));
        assert_eq!(std::fs::read_to_string(&undone).unwrap(), "yes\n");
    }

    #[test]
    fn a_foreign_machine_file_is_refused_with_the_remedy() {
        let mut machine = crate::topology::tests::machine(1, 1, 1, 1, false);
        machine.nodes[0].id = 4000;
        machine.cpus[0].id = 4000;
        let worker = Worker::Named("/no/such/worker".into()).executable().unwrap();
        let host = Host { worker, digest: String::new(), sample_ns: 1_000_000_000 };
        let workload = crate::shrink::tests::workload(8192);
        let e = host.run(&machine, (&workload, None), &[], 1, &mut |_| {}).unwrap_err();
        assert_eq!(e.kind, Failure::Refused);
        assert!(e.detail.contains("`numalab machine import --host`"), "{e}");
    }
}
