//! Names that a shell completes: machines, kernels, workloads, experiments, published tables, roles and tunables, kinds
//! of programs, counters.
//!
//! The script of `numalab completions` asks the command for the words at each TAB, with the variable [`VARIABLE`] set.
//! Words of the catalog with which the program was built are known; those of `--catalog` are not.

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _};
use clap_complete::env::Shells;
use clap_complete::CompleteEnv;
use numalab_kernel::registry;
use numalab_model::catalog::{Catalog, Kind, LIKES};
use numalab_model::counters;
use numalab_model::spec::Doc;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Environment variable with which a shell asks for words; its value is the name of the shell.
const VARIABLE: &str = "NUMALAB_COMPLETE";

/// What the words of an argument name.
#[derive(Clone, Copy)]
enum Names {
    Catalog(&'static [Kind]),
    Settings,
    Likes,
    Counters,
}

/// Arguments by command (empty for any) and id, with what they name.
const ARGUMENTS: [(&str, &str, Names); 15] = [
    ("", "machine", Names::Catalog(&[Kind::Machine])),
    ("", "kernel", Names::Catalog(&[Kind::Kernel])),
    ("run", "baseline", Names::Catalog(&[Kind::Kernel])),
    ("", "workload", Names::Catalog(&[Kind::Workload])),
    ("validate", "workloads", Names::Catalog(&[Kind::Workload])),
    ("", "experiment", Names::Catalog(&[Kind::Experiment])),
    ("reproduce", "table", Names::Catalog(&[Kind::Published])),
    ("show", "what", Names::Catalog(&Kind::ALL)),
    ("show", "names", Names::Catalog(&Kind::ALL)),
    ("advise", "like", Names::Likes),
    ("counters", "name", Names::Counters),
    ("compare", "metric", Names::Counters),
    ("", "set", Names::Settings),
    ("", "ab", Names::Settings),
    ("tune", "knob", Names::Settings),
];

/// The command line with the words of its arguments.
pub fn with_names(command: clap::Command) -> clap::Command {
    let shown = command.get_subcommands().filter(|c| !c.is_hide_set());
    let commands: Vec<String> = shown.map(|c| c.get_name().to_string()).collect();
    let with_commands = |arg: clap::Arg| {
        let words = move |current: &OsStr| begin_with(&commands, current);
        arg.add(ArgValueCompleter::new(words))
    };
    complete(command).mut_subcommand("man", |man| man.mut_arg("command", with_commands))
}

/// A command, and those below it, with the words of their arguments.
fn complete(command: clap::Command) -> clap::Command {
    let name = command.get_name().to_string();
    let of = |arg: &clap::Arg| {
        let named = |a: &&(&str, &str, Names)| a.1 == arg.get_id().as_str() && (a.0.is_empty() || a.0 == name);
        ARGUMENTS.iter().find(named).map(|a| a.2)
    };
    let command = command.mut_args(|arg| match of(&arg) {
        Some(names) => arg.add(ArgValueCompleter::new(move |current: &OsStr| words(names, current))),
        None => arg,
    });
    command.mut_subcommands(complete)
}

/// Those of `all` that begin with `current`.
fn begin_with(all: &[String], current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(text) = current.to_str() else { return Vec::new() };
    all.iter().filter(|word| word.starts_with(text)).map(CompletionCandidate::new).collect()
}

/// The words that begin with `current`, and the paths of files where a file may stand.
fn words(names: Names, current: &OsStr) -> Vec<CompletionCandidate> {
    let mut out = begin_with(&known(names), current);
    if let Names::Catalog(_) = names {
        let toml = |p: &Path| p.is_dir() || p.extension().is_some_and(|e| e == "toml");
        out.extend(PathCompleter::any().filter(toml).complete(current));
    }
    out
}

/// All words of some names.
fn known(names: Names) -> Vec<String> {
    match names {
        Names::Catalog(kinds) => {
            let catalog = Catalog::embedded();
            let mut all: Vec<String> = kinds.iter().flat_map(|k| catalog.names(*k)).map(str::to_string).collect();
            if kinds.contains(&Kind::Machine) {
                all.push(crate::context::HOST.into());
            }
            all
        }
        Names::Settings => {
            let v = registry::vocabulary();
            let of = |r: &numalab_model::kernel::RoleInfo| {
                r.implementations.iter().map(|i| format!("{}={}", r.name, i.name)).collect::<Vec<_>>()
            };
            let tunables = v.tunables.iter().map(|t| format!("{}=", t.name));
            v.roles.iter().flat_map(of).chain(tunables).collect()
        }
        Names::Likes => likes(),
        Names::Counters => counters::all().map(|c| c.name.to_string()).collect(),
    }
}

/// Kinds of programs that `advise --like` knows. None if their table is wrong: completion is silent.
fn likes() -> Vec<String> {
    let Ok(doc) = Doc::parse(LIKES.0, LIKES.1) else { return Vec::new() };
    let Ok(tables) = doc.root().tables("like") else { return Vec::new() };
    tables.iter().filter_map(|t| t.str("name").ok()).map(|name| name.value).collect()
}

/// Answers a shell that asks for words. Returns whether one did, and what is wrong with its question.
///
/// # Errors
/// An unknown shell, or standard output cannot be written.
pub fn answer(numalab: fn() -> clap::Command, args: &[OsString], here: Option<&Path>) -> clap::error::Result<bool> {
    CompleteEnv::with_factory(move || with_names(numalab())).var(VARIABLE).try_complete(args.iter().cloned(), here)
}

/// The script with which a shell asks for words; `None` for a shell that has none.
pub fn script(shell: &str) -> Option<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(shell)?;
    shell.write_registration(VARIABLE, "numalab", "numalab", "numalab", &mut script).ok()?;
    Some(script)
}
