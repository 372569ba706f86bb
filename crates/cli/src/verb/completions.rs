//! `numalab completions`: a script with which a shell completes commands and options.

use crate::failure::{Done, Failure};
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell to write for, such as `numalab completions bash > ~/.local/share/bash-completion/completions/numalab`
    shell: Shell,
}

/// Prints the completion script of the command line `numalab`, which is derived from its own description.
///
/// # Errors
/// Never at present.
pub fn run(args: &Args, mut numalab: clap::Command) -> Result<Done, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut numalab, "numalab", &mut script);
    Ok(Done::text(String::from_utf8_lossy(&script).into_owned()))
}
