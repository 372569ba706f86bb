//! `numalab man`: a manual page of a command.

use crate::failure::{Done, Failure};
use numalab_model::spec::SpecError;

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Command that the page describes, such as `run` or `kernel try` [default: numalab as a whole]. To read the page:
    /// `numalab man run | man -l -`
    command: Vec<String>,
}

/// Prints a manual page (roff) of the command line `numalab`, derived from its own description.
///
/// # Errors
/// An unknown command.
pub fn run(args: &Args, mut numalab: clap::Command) -> Result<Done, Failure> {
    // Gives every command its full name and the global options.
    numalab.build();
    // Pages refer to each other as `kernel-try(1)`; no command has a dash in its name.
    let words: Vec<&str> = args.command.iter().flat_map(|w| w.split('-')).collect();
    let mut page = &numalab;
    for name in &words {
        let names: Vec<&str> = page.get_subcommands().map(clap::Command::get_name).collect();
        let expected = if names.is_empty() { "none after it".into() } else { format!("one of {}", names.join(", ")) };
        let unknown = || {
            SpecError::plain("command line", format!("no command `{name}`"), expected).near(name, names.iter().copied())
        };
        page = page.find_subcommand(name).ok_or_else(unknown)?;
    }
    let page = page.clone();
    let title = ["numalab"].iter().chain(&words).copied().collect::<Vec<_>>().join("-");
    let mut roff = Vec::new();
    clap_mangen::Man::new(page)
        .title(title)
        .render(&mut roff)
        .map_err(|e| Failure::environment(format!("the page: {e}")))?;
    Ok(Done::text(String::from_utf8_lossy(&roff).into_owned()))
}
