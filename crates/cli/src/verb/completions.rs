//! `numalab completions`: a script with which a shell completes commands, options and names.

use crate::completion;
use crate::failure::{Done, Failure};
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell to write for
    shell: Shell,
}

/// Prints the completion script of a shell. It asks the command for words at each TAB.
///
/// # Errors
/// A shell that has no such script.
pub fn run(args: &Args) -> Result<Done, Failure> {
    let shell = args.shell.to_string();
    let script = completion::script(&shell);
    let script = script
        .ok_or_else(|| Failure::usage(format!("completions: no script for {shell}; expected bash, zsh or fish")))?;
    Ok(Done::text(String::from_utf8_lossy(&script).into_owned()))
}
