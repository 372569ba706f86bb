//! Programs that are not to outlive the one that started them.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes a program get `signal` when the thread that starts it ends, however it ends.
pub fn ends_with_parent(command: &mut Command, signal: i32) -> &mut Command {
    // SAFETY: prctl is async-signal-safe, and touches nothing but the new process.
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

    /// Makes an executable shell script. A child writes it: if this process had it open for writing, a child that another
    /// test forks at that moment would have it open too, and the script could not be executed (`ETXTBSY`).
    pub(crate) fn script(path: &Path, text: &str) {
        let mut command = Command::new("sh");
        command.args(["-c", "cat >\"$0\" && chmod +x \"$0\""]).arg(path).stdin(Stdio::piped());
        let mut writer = command.spawn().unwrap();
        writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{text}\n").as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
    }

    /// Whether something becomes true; waits for it up to five minutes, which only a failing test takes.
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
