//! The command `numalab`, which runs and compares the machines, kernels and workloads of an experiment.
//!
//! A command is read from the arguments and carried out. It ends with text for standard output, or with one message for
//! standard error; both have an exit code. Only this file prints either of them, so that tests can call a command as a
//! function. There is one exception: a page or a trace for `--out -` is written by `output_file`.
//!
//! The command is a library, so that the Python package has the same command, catalog and names ([`main`], [`call`],
//! [`context`], [`sources`]).

mod backend;
mod command;
mod completion;
pub mod context;
mod examples;
mod execute;
pub mod failure;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod file_arguments;
mod interrupt;
pub mod logs;
pub mod memory;
mod notes;
mod options;
mod output_file;
mod progress;
mod real_kernels;
mod records;
#[cfg(test)]
mod reference;
mod run_label;
mod run_order;
mod service;
pub mod sources;
mod terminal;
mod verb;

pub use records::AD_HOC;

use failure::{Done, Failure};
use std::ffi::OsString;
use std::io::Write;

/// Carries out the command that `args` ask for, the name of the program first, and prints its result. Returns its exit
/// code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    match completion::answer(command::numalab, &args, std::env::current_dir().ok().as_deref()) {
        Ok(true) => return failure::Exit::OK.code(),
        Ok(false) => {}
        Err(e) => return complain(&Failure::usage(e.to_string())).code(),
    }
    let exit = match command::parse(args).and_then(command::run) {
        Ok(done) => print(&done),
        Err(failure) => complain(&failure),
    };
    exit.code()
}

/// Carries out a command without printing. Returns its exit code, its text for standard output, and its message, of
/// which one is empty.
pub fn call(args: impl IntoIterator<Item = OsString>) -> (u8, String, String) {
    match command::parse(args).and_then(command::run) {
        Ok(done) => (done.exit.code(), done.text, String::new()),
        Err(failure) => (failure.exit.code(), String::new(), failure::printable(&failure.message)),
    }
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
