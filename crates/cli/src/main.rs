//! The command `numalab`, which runs and compares the machines, kernels and workloads of an experiment.
//!
//! A command is read from the arguments and carried out. It ends with text for standard output, or with one message for
//! standard error; both have an exit code. Only this file prints either of them, so that tests can call a command as a
//! function. There is one exception: a page or a trace for `--out -` is written by `output_file`.

mod backend;
mod command;
mod context;
mod execute;
mod failure;
mod interrupt;
mod logs;
mod options;
mod output_file;
mod progress;
mod real_kernels;
mod records;
#[cfg(test)]
mod reference;
mod run_label;
mod sources;
mod terminal;
mod verb;

use failure::{Done, Failure};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The stacks of threads are as large as the code needs. No thread runs yet that could read the environment.
    std::env::remove_var("RUST_MIN_STACK");
    let exit = match command::parse(std::env::args_os()).and_then(command::run) {
        Ok(done) => print(&done),
        Err(failure) => complain(&failure),
    };
    ExitCode::from(exit.code())
}

/// Prints a result. A closed pipe is no failure, since the reader may want only the beginning (`numalab list | head`).
fn print(done: &Done) -> failure::Exit {
    let mut out = std::io::stdout().lock();
    match out.write_all(done.text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            complain(&Failure::environment(format!("standard output: {e}")))
        }
        _ => done.exit,
    }
}

/// Prints the message of a failure.
fn complain(failure: &Failure) -> failure::Exit {
    // If standard error is closed, the exit code still tells the failure.
    let _ = writeln!(std::io::stderr(), "numalab: {}", failure::printable(&failure.message));
    failure.exit
}
