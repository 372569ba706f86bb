//! Child processes that must not outlive their parent.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// A shell that runs its arguments as a program, and ends everything of its process group when it is told to end.
const GUARD: &str = "trap 'trap \"\" TERM; kill -TERM 0; wait; exit 143' TERM INT HUP; \"$@\" & wait $!";

/// A command for a program whose own children must not outlive this process either, however it ends. A program that is
/// told to end does not tell the children of its children: a `make` under the shell of a recipe would go on.
///
/// The program is in a process group of its own, so Ctrl-C reaches it by the end of this process.
pub fn with_its_children(program: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", GUARD, "sh"]).arg(program).process_group(0);
    ends_with_parent(&mut command, libc::SIGTERM);
    command
}

/// Sets `PR_SET_PDEATHSIG`: the child gets `signal` when the thread that starts it ends, however it ends.
pub fn ends_with_parent(command: &mut Command, signal: i32) -> &mut Command {
    // SAFETY: prctl is async-signal-safe, and changes nothing but the new process.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0);
            Ok(())
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    /// Creates an executable shell script. A child process writes it, because a file that is open for writing cannot be
    /// executed (`ETXTBSY`), and a child that another test forks at that moment inherits the open file.
    pub(crate) fn script(path: &Path, text: &str) {
        let mut command = Command::new("sh");
        command.args(["-c", "cat >\"$0\" && chmod +x \"$0\""]).arg(path).stdin(Stdio::piped());
        let mut writer = command.spawn().unwrap();
        writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{text}\n").as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
    }

    /// Whether a condition becomes true within five minutes. Only a failing test takes that long.
    pub(crate) fn comes_true(it: &dyn Fn() -> bool) -> bool {
        let limit = Instant::now() + Duration::from_secs(300);
        while !it() && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(10));
        }
        it()
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let start = || ends_with_parent(Command::new("sleep").arg("3600"), libc::SIGTERM).spawn();
        let mut child = std::thread::spawn(start).join().unwrap().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    }
}
