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
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let start = || ends_with_parent(Command::new("sleep").arg("60"), libc::SIGTERM).spawn();
        let mut child = std::thread::spawn(start).join().unwrap().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    }
}
