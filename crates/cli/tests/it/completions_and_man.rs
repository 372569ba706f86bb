//! Completion scripts and manual pages cover every command.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::Lab;

/// The commands that `--help` lists, `help` left out.
fn commands(lab: &Lab) -> Vec<String> {
    let help = lab.ok("--help").out;
    let list = help.split_once("\nCommands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    // A command stands at the third column; the rest of its description is further right.
    let names = list.lines().filter_map(|l| l.strip_prefix("  ").filter(|l| !l.starts_with(' ')));
    names.filter_map(|l| l.split_whitespace().next()).filter(|n| *n != "help").map(str::to_string).collect()
}

#[test]
fn every_shell_completes_every_command() {
    let lab = Lab::new();
    let commands = commands(&lab);
    assert!(commands.len() > 10 && commands.contains(&"validate".to_string()), "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = lab.ok(&format!("completions {shell}")).out;
        for command in &commands {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn every_command_has_a_page() {
    let lab = Lab::new();
    for name in commands(&lab) {
        let page = lab.ok(&format!("man {name}")).out;
        assert!(page.contains(&format!(".TH numalab-{name}")) && page.contains(".SH OPTIONS"), "{page}");
    }
    let whole = lab.ok("man").out;
    assert!(whole.contains(".TH numalab 1") && whole.contains("Exit codes"), "{whole}");
}

#[test]
fn a_command_of_a_command_has_a_page_under_both_spellings() {
    let lab = Lab::new();
    let text = lab.ok("man kernel try").out;
    assert!(text.contains(".TH numalab-kernel-try") && text.contains("\\-\\-tree"), "{text}");
    assert_eq!(lab.ok("man kernel-try").out, text);
    lab.refused("man kernel tyr", &["expected one of build, try, show, diff"]);
}

#[test]
fn an_unknown_command_is_refused_with_the_known_ones() {
    let message = Lab::new().refused("man reprot", &["numalab: command line: no command `reprot`; expected one of "]);
    assert!(message.ends_with("did you mean `report`?\n"), "{message}");
}
