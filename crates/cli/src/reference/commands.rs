//! `docs/reference/commands.md`: every command with its arguments and options, from the definition of the command line.

use super::{fresh, page, prose};
use crate::command::numalab;
use clap::{Arg, ArgAction};

const HEAD: &str = "\
`numalab help VERB` prints the same for a terminal, and `numalab man VERB` as a manual page. Completions for a shell come
from `numalab completions SHELL`.

* An unknown option, or one without effect, is an error.
* Results go to standard output. Messages and progress go to standard error.
* A command that was interrupted is given again: runs that have a record are not repeated.
* How a command ends: [exit codes](exit-codes.md). What `--json` prints: [JSON output](json.md).
";

/// Verbs that tests and this page do not show.
fn shown(c: &&clap::Command) -> bool {
    !c.is_hide_set() && c.get_name() != "help"
}

fn commands() -> String {
    let mut root = numalab();
    root.build();
    let mut rest = String::from("\n| command | what it does |\n|---|---|\n");
    let mut sections = String::new();
    for verb in root.get_subcommands().filter(shown) {
        let inner: Vec<_> = verb.get_subcommands().filter(shown).collect();
        if verb.get_arguments().any(own) || inner.is_empty() {
            rest.push_str(&row(verb, verb.get_name()));
            sections.push_str(&section(verb, verb.get_name()));
        }
        for sub in inner {
            let name = format!("{} {}", verb.get_name(), sub.get_name());
            rest.push_str(&row(sub, &name));
            sections.push_str(&section(sub, &name));
        }
    }
    rest.push_str("\n## Options of every command\n");
    rest.push_str(&list(root.get_arguments().filter(|a| a.is_global_set()).collect()));
    page("Commands", HEAD, &(rest + &sections))
}

/// The line of a command in the table at the top.
fn row(c: &clap::Command, name: &str) -> String {
    let about = c.get_about().map(|a| prose(&a.to_string())).unwrap_or_default();
    format!("| [`{name}`](#{}) | {about} |\n", name.replace(' ', "-"))
}

/// Whether an argument belongs to the command itself.
fn own(a: &Arg) -> bool {
    !a.is_global_set()
        && !a.is_hide_set()
        && !matches!(a.get_action(), ArgAction::Help | ArgAction::HelpLong | ArgAction::HelpShort | ArgAction::Version)
}

/// Heading, usage, arguments and options of a command.
fn section(c: &clap::Command, name: &str) -> String {
    let about = c.get_long_about().or(c.get_about()).map(|a| prose(&a.to_string())).unwrap_or_default();
    let usage = c.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let mut out = format!("\n## {name}\n\n{about}.\n\n```text\n{usage}\n```\n");
    if let Some(examples) = c.get_after_help() {
        let text = examples.to_string();
        let lines: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
        out.push_str(&format!("\n```text\n{}\n```\n", lines.join("\n")));
    }
    out.push_str(&list(c.get_positionals().filter(|a| own(a)).collect()));
    let mut headings: Vec<Option<&str>> = Vec::new();
    let options: Vec<_> = c.get_arguments().filter(|a| !a.is_positional() && own(a)).collect();
    for a in &options {
        if !headings.contains(&a.get_help_heading()) {
            headings.push(a.get_help_heading());
        }
    }
    for heading in headings {
        if let Some(heading) = heading {
            out.push_str(&format!("\n*{}*\n", prose(heading)));
        }
        out.push_str(&list(options.iter().copied().filter(|a| a.get_help_heading() == heading).collect()));
    }
    out
}

/// Arguments as a list; nothing if there are none.
fn list(args: Vec<&Arg>) -> String {
    let mut out = String::new();
    for a in &args {
        let help = a.get_long_help().or(a.get_help()).map(ToString::to_string).unwrap_or_default();
        let (help, default) = match help.split_once(" [default:") {
            Some((text, default)) => (text.to_string(), Some(default.trim().trim_end_matches(']').to_string())),
            None => (help, None),
        };
        let set = a.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect::<Vec<_>>().join(",");
        let takes = a.get_action().takes_values();
        let default = default.or_else(|| (takes && !set.is_empty()).then_some(set));
        let default = default.map(|d| format!(" Default: {}.", prose(&d))).unwrap_or_default();
        out.push_str(&format!("\n* `{}`: {}.{default}", form(a), prose(&help)));
        if !takes {
            continue;
        }
        let values: Vec<_> = a.get_possible_values().into_iter().filter(|v| !v.is_hide_set()).collect();
        let described = values.iter().any(|v| v.get_help().is_some());
        let words = values.iter().map(|v| format!("`{}`", v.get_name())).collect::<Vec<_>>();
        match (values.is_empty(), described) {
            (true, _) => {}
            (false, false) => out.push_str(&format!(" One of {}.", words.join(", "))),
            (false, true) => values.iter().for_each(|v| {
                let help = v.get_help().map(|h| prose(&h.to_string())).unwrap_or_default();
                out.push_str(&format!("\n    * `{}`: {help}.", v.get_name()));
            }),
        }
    }
    if out.is_empty() {
        out
    } else {
        format!("{out}\n")
    }
}

/// How an argument is written, such as `-q, --quiet` or `--out <DIR>`.
fn form(a: &Arg) -> String {
    let names = a.get_value_names().unwrap_or_default();
    let value = names.iter().map(|n| format!("<{n}>")).collect::<Vec<_>>().join(" ");
    if a.is_positional() {
        return if a.is_required_set() { value } else { format!("[{}]", value.trim_matches(['<', '>'])) };
    }
    let short = a.get_short().map(|s| format!("-{s}"));
    let long = a.get_long().map(|l| format!("--{l}"));
    let name = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    match (a.get_action().takes_values(), a.get_num_args().is_some_and(|n| n.min_values() == 0)) {
        (false, _) => name,
        (true, true) => format!("{name} [{}]", value.trim_matches(['<', '>'])),
        (true, false) => format!("{name} {value}"),
    }
}

#[test]
fn the_page_of_commands_is_fresh() {
    let text = commands();
    for part in ["\n## run\n", "\n## kernel try\n", "`--fail-if <", "* `sim`: "] {
        assert!(text.contains(part), "{part}");
    }
    fresh("commands.md", &text);
}
