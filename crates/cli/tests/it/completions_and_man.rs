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

/// The words that a shell is offered after `line`, whose last word is being typed.
fn words(lab: &Lab, line: &str) -> Vec<String> {
    let index = line.split(' ').count() - 1;
    let asked =
        lab.shell(&format!("_CLAP_IFS='\n' _CLAP_COMPLETE_INDEX={index} NUMALAB_COMPLETE=fish numalab -- {line}"));
    assert_eq!(asked.code, 0, "{line}: {asked:?}");
    asked.out.lines().map(|l| l.split('\t').next().unwrap().to_string()).collect()
}

#[test]
fn every_shell_has_a_script_that_asks_the_command() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = lab.ok(&format!("completions {shell}")).out;
        assert!(script.contains("NUMALAB_COMPLETE") && script.contains(shell), "{shell}: {script}");
    }
    let wrong = lab.shell("NUMALAB_COMPLETE=tcsh numalab -- numalab ''");
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

#[test]
fn commands_options_and_names_are_completed() {
    let lab = Lab::new();
    let has = |line: &str, word: &str| {
        let words = words(&lab, line);
        assert!(words.iter().any(|w| w == word), "{line}: {words:?}");
        words
    };
    for command in commands(&lab) {
        has(&format!("numalab {}", &command[..1]), &command);
    }
    has("numalab run --mach", "--machine");
    has("numalab run --machine mil", "milan-2s-nps1");
    has("numalab advise --machine ho", "host");
    has("numalab run --kernel off,6.1", "off,6.12");
    has("numalab run --workload numa0", "numa02");
    has("numalab run fir", "first-steps");
    has("numalab advise --like pos", "postgres");
    has("numalab reproduce dis", "disjoint-vma-2023");
    has("numalab run first-steps --ab vma_filter=o", "vma_filter=off");
    has("numalab counters numa_hint_faults_l", "numa_hint_faults_local");
    let machines = has("numalab machine show mil", "milan-2s-nps1");
    assert!(machines.iter().all(|m| m.starts_with("mil")), "{machines:?}");
    // A file of one's own is completed, too.
    lab.write("mine.toml", "");
    lab.write("mine.txt", "");
    let files = has("numalab run --machine min", "mine.toml");
    assert!(!files.contains(&"mine.txt".to_string()), "{files:?}");
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
    lab.refused("man kernel tyr", &["expected one of build, try, sides, show, diff"]);
}

#[test]
fn an_unknown_command_is_refused_with_the_known_ones() {
    let message = Lab::new().refused("man reprot", &["numalab: command line: no command `reprot`; expected one of "]);
    assert!(message.ends_with("did you mean `report`?\n"), "{message}");
}
