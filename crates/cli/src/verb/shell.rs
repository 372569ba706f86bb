//! `numalab completions` and `numalab man`: what a shell and `man` want to know of the command line, from its own
//! description, so that neither can differ from it.

use crate::command::Command;
use crate::failure::{Done, Failure};
use clap::CommandFactory;
use clap_complete::Shell;
use numalab_model::spec::SpecError;

/// Arguments of `numalab completions`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// Shell to write for; e.g. `numalab completions bash > ~/.local/share/bash-completion/completions/numalab`
    shell: Shell,
}

/// Arguments of `numalab man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Command the page is about; numalab as a whole if not given. To read it: `numalab man run | man -l -`
    command: Option<String>,
}

/// Prints a completion script.
///
/// # Errors
/// None at present.
pub fn completions(args: &CompletionsArgs) -> Result<Done, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Command::command(), "numalab", &mut script);
    Ok(Done::text(String::from_utf8_lossy(&script).into_owned()))
}

/// Prints a manual page (roff).
///
/// # Errors
/// A command that there is not.
pub fn man(args: &ManArgs) -> Result<Done, Failure> {
    let mut all = Command::command();
    // Gives every command its full name and the global options.
    all.build();
    let page = match &args.command {
        None => all,
        Some(name) => {
            let names: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
            let unknown = || {
                let expected = format!("one of {}", names.join(", "));
                SpecError::plain("command line", format!("no command `{name}`"), expected)
                    .near(name, names.iter().copied())
            };
            let found = all.find_subcommand(name).ok_or_else(unknown)?;
            found.clone()
        }
    };
    let title = args.command.as_ref().map_or("numalab".into(), |name| format!("numalab-{name}"));
    let mut roff = Vec::new();
    clap_mangen::Man::new(page)
        .title(title)
        .render(&mut roff)
        .map_err(|e| Failure::environment(format!("the page: {e}")))?;
    Ok(Done::text(String::from_utf8_lossy(&roff).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
            let script = completions(&CompletionsArgs { shell }).unwrap().text;
            for command in Command::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }

    #[test]
    fn every_command_has_a_page() {
        let names: Vec<String> = Command::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
        for name in names {
            let page = man(&ManArgs { command: Some(name.clone()) }).unwrap().text;
            assert!(page.contains(&format!(".TH numalab-{name}")) && page.contains(".SH OPTIONS"), "{page}");
        }
        let whole = man(&ManArgs { command: None }).unwrap().text;
        assert!(whole.contains(".TH numalab 1") && whole.contains("Exit codes"), "{whole}");
    }

    #[test]
    fn an_unknown_command_is_named_with_those_that_there_are() {
        let e = man(&ManArgs { command: Some("reprot".into()) }).unwrap_err();
        assert!(e.message.starts_with("command line: no command `reprot`; expected one of "), "{}", e.message);
        assert!(e.message.ends_with("did you mean `report`?"), "{}", e.message);
    }
}
