//! `numalab`: one experiment file says which machines, kernels and workloads; this runs and compares them.
//!
//! A command is read from the arguments, carried out, and ends in one of two ways: text for standard
//! output with an exit code, or one message on standard error with an exit code. Only this file writes
//! either of them, so that a command can be tested as a function; a page or a trace that goes to `--out -` is written where
//! files are (`options`).

mod backend;
mod calibrate;
mod command;
mod context;
mod execute;
mod failure;
mod figures;
mod guest;
mod interrupt;
mod logs;
mod options;
mod programs;
mod progress;
mod real;
mod records;
mod sources;
mod unlike;
mod verb;

use failure::{Done, Failure};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let exit = match command::parse(std::env::args_os()).and_then(command::run) {
        Ok(done) => print(&done),
        Err(failure) => complain(&failure),
    };
    ExitCode::from(exit.code())
}

/// Prints a result; a reader that has gone away (`numalab list kernels | head -1`) is no failure.
fn print(done: &Done) -> failure::Exit {
    let mut out = std::io::stdout().lock();
    match out.write_all(done.text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            complain(&Failure::environment(format!("standard output: {e}")))
        }
        _ => done.exit,
    }
}

fn complain(failure: &Failure) -> failure::Exit {
    // If standard error is gone too, the exit code still says it.
    let _ = writeln!(std::io::stderr(), "numalab: {}", failure::printable(&failure.message));
    failure.exit
}
