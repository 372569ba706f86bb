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
    /// Command the page is about (`run`, `kernel try`); numalab as a whole if not given. To read it: `numalab man run |
    /// man -l -`
    command: Vec<String>,
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
    // Pages refer to each other as `kernel-try(1)`; no command has a dash in its name.
    let words: Vec<&str> = args.command.iter().flat_map(|w| w.split('-')).collect();
    let mut page = &all;
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
            let page = man(&ManArgs { command: vec![name.clone()] }).unwrap().text;
            assert!(page.contains(&format!(".TH numalab-{name}")) && page.contains(".SH OPTIONS"), "{page}");
        }
        let whole = man(&ManArgs { command: vec![] }).unwrap().text;
        assert!(whole.contains(".TH numalab 1") && whole.contains("Exit codes"), "{whole}");
    }

    #[test]
    fn a_command_of_a_command_has_a_page_under_both_spellings() {
        let page = |words: &[&str]| man(&ManArgs { command: words.iter().map(|w| (*w).to_string()).collect() });
        let text = page(&["kernel", "try"]).unwrap().text;
        assert!(text.contains(".TH numalab-kernel-try") && text.contains("\\-\\-tree"), "{text}");
        assert_eq!(page(&["kernel-try"]).unwrap().text, text);
        assert!(page(&["kernel", "tyr"]).unwrap_err().message.contains("expected one of build, try, show, diff"));
    }

    #[test]
    fn an_unknown_command_is_named_with_those_that_there_are() {
        let e = man(&ManArgs { command: vec!["reprot".into()] }).unwrap_err();
        assert!(e.message.starts_with("command line: no command `reprot`; expected one of "), "{}", e.message);
        assert!(e.message.ends_with("did you mean `report`?"), "{}", e.message);
    }
}
