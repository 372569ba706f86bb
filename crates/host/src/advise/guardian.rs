//! The guardian: a second process that puts settings back when the first one ends, even by SIGKILL.
//!
//! The two are joined by a pipe. The first process writes what is to be put back *before* it changes anything, and
//! waits for the answer. The guardian reads to the end of the pipe, which the kernel closes however the first process
//! ends. It is in a process group of its own, so that Ctrl-C in the terminal does not reach it, and ignores SIGTERM and
//! SIGHUP.

use super::{file_error, Error};
use crate::sys;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The first process's end.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Guardian {
    /// Starts one: `program` with `args` must call [`serve`].
    ///
    /// # Errors
    /// The program does not start.
    pub fn start(program: &Path, args: &[OsString]) -> Result<Self, Error> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().map_err(|e| file_error(program, e))?;
        let gone = || Error::Machine("the guardian has no pipe".into());
        let to = Some(child.stdin.take().ok_or_else(gone)?);
        let from = BufReader::new(child.stdout.take().ok_or_else(gone)?);
        Ok(Self { child, to, from })
    }

    /// From now on, `file` gets `value` when this process ends.
    ///
    /// # Errors
    /// The guardian is gone.
    pub fn restore_at_end(&mut self, file: &Path, value: &str) -> Result<(), Error> {
        self.ask(&format!("restore {} {}", value.trim(), file.display()))
    }

    /// The child that `command` starts gets SIGTERM when this process ends; until [`Guardian::child_ended`]. The child
    /// itself says so, before its program begins: this process may be killed as soon as it has started it. Once it is
    /// there, [`Guardian::child_started`] must be called.
    ///
    /// # Errors
    /// The guardian is gone.
    pub fn ends_with_session(&self, command: &mut Command) -> Result<(), Error> {
        let to = self.to.as_ref().and_then(|to| to.as_fd().try_clone_to_owned().ok()).ok_or_else(gone)?;
        sys::announces_itself(command, to);
        Ok(())
    }

    /// Reads the answer to what the child said.
    ///
    /// # Errors
    /// The guardian is gone.
    pub fn child_started(&mut self) -> Result<(), Error> {
        self.answer()
    }

    /// The process of [`Guardian::child_started`] has ended.
    ///
    /// # Errors
    /// The guardian is gone.
    pub fn child_ended(&mut self) -> Result<(), Error> {
        self.ask("child -")
    }

    /// Whether the guardian still answers.
    ///
    /// # Errors
    /// It does not: settings must not be changed without it.
    pub fn is_there(&mut self) -> Result<(), Error> {
        self.ask("there")
    }

    fn ask(&mut self, line: &str) -> Result<(), Error> {
        let to = self.to.as_mut().ok_or_else(gone)?;
        writeln!(to, "{line}").and_then(|()| to.flush()).map_err(|_| gone())?;
        self.answer()
    }

    fn answer(&mut self) -> Result<(), Error> {
        let mut answer = String::new();
        self.from.read_line(&mut answer).map_err(|_| gone())?;
        if answer.trim() == "ok" {
            Ok(())
        } else {
            Err(gone())
        }
    }
}

fn gone() -> Error {
    Error::Machine("the guardian that puts settings back has ended; nothing is changed without it".into())
}

impl Drop for Guardian {
    /// Lets the guardian put everything back, and waits for it.
    fn drop(&mut self) {
        self.to = None;
        let _ = self.child.wait();
    }
}

/// The guardian's own work: reads requests to the end, then puts everything back, last change first.
pub fn serve(input: impl BufRead, mut output: impl Write) {
    // Not even these end the guardian before its work is done.
    let ignored = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP, signal_hook::consts::SIGINT] {
        let _ = signal_hook::flag::register(signal, ignored.clone());
    }
    let mut settings: Vec<(PathBuf, String)> = Vec::new();
    let mut child = None;
    for line in input.lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("restore", rest)) => {
                if let Some((value, file)) = rest.split_once(' ') {
                    settings.push((file.into(), value.into()));
                }
            }
            Some(("child", pid)) => child = pid.parse().ok().and_then(open_process),
            _ => {}
        }
        if writeln!(output, "ok").and_then(|()| output.flush()).is_err() {
            break;
        }
    }
    if let Some(process) = child {
        let _ = rustix::process::pidfd_send_signal(process, rustix::process::Signal::TERM);
    }
    for (file, value) in settings.iter().rev() {
        let now = std::fs::read_to_string(file).unwrap_or_default();
        if now.trim() != value {
            let _ = std::fs::write(file, value);
        }
    }
}

/// A handle of a process, which no later process of the same id can take over.
fn open_process(pid: i32) -> Option<std::os::fd::OwnedFd> {
    let pid = rustix::process::Pid::from_raw(pid)?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn everything_is_put_back_at_the_end_of_the_input() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("numa balancing");
        std::fs::write(&file, "0\n").unwrap();
        let mut asleep = Command::new("sleep").arg("600").spawn().unwrap();
        let input = format!("restore 1 {}\nchild {}\nthere\n", file.display(), asleep.id());
        let mut answers = Vec::new();
        serve(input.as_bytes(), &mut answers);
        assert_eq!(answers, b"ok\nok\nok\n");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1");
        let ended = asleep.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(15));
    }

    #[test]
    fn a_child_that_ended_gets_no_signal() {
        let mut other = Command::new("sleep").arg("600").spawn().unwrap();
        serve(format!("child {}\nchild -\n", other.id()).as_bytes(), Vec::new());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
