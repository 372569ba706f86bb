//! The program `numalab`: the command of the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The stacks of threads are as large as the code needs. No thread runs yet that could read the environment.
    std::env::remove_var("RUST_MIN_STACK");
    ExitCode::from(numalab_cli::main(std::env::args_os()))
}
