//! The command line: its verbs, and one message for each mistake in it.

use crate::context::Context;
use crate::examples::with_examples;
use crate::failure::{self, Done, Failure};
use crate::verb;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use numalab_model::spec::nearest;
use std::ffi::OsString;
use std::path::PathBuf;

/// First commands to try, printed below the help.
const FIRST_STEPS: &str = "\
First steps:
  numalab run first-steps         compare balancing off and on; takes some seconds
  numalab report out/first-steps  write the comparison as a page for a browser
  numalab list                    list machines, kernels, workloads and experiments";

/// A laboratory for automatic NUMA balancing.
///
/// Exit codes: 0 done, 1 done with a finding, 2 wrong command line or file, 3 this machine cannot do it, 4 a guest
/// panicked, 5 a run reached its time limit, 6 to 12 other failures of a run (docs/reference/exit-codes.md), 130 ended
/// by Ctrl-C, 143 ended by SIGTERM.
#[derive(Debug, Parser)]
#[command(name = "numalab", version = numalab_sim::VERSION, after_help = FIRST_STEPS)]
pub struct Command {
    /// Lay this folder over the built-in catalog: kernels/, machines/, …, columns.toml (docs/reference/kernels.md)
    #[arg(long, global = true, value_name = "DIR")]
    catalog: Option<PathBuf>,
    /// Print the result alone: no progress, no notes, and of a comparison the answer in one sentence
    #[arg(short, long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run an experiment, or machines × kernels × workloads, and keep a record of every run
    Run(Box<verb::run::Args>),
    /// Advise on a program: leave balancing on, turn it off, interleave or bind its memory; measured, or predicted
    Advise(Box<verb::advise::Args>),
    /// Put settings back when `advise` ends
    #[command(name = verb::advise::guard::VERB, hide = true)]
    GuardSettings,
    /// Fit a workload to a record, and show the record beside a simulated run of it
    Fit(verb::fit::Args),
    /// Repeat a simulated run from the files that its record keeps, and compare the outcomes
    Repeat(verb::repeat::Args),
    /// Compare the records of an experiment, in the layout of mmtests or lkp, or as Markdown, CSV or JSON
    Compare(verb::compare::Args),
    /// Write the records of an experiment as one self-contained HTML page
    Report(verb::report::Args),
    /// Explain a counter: its meaning, the release that introduced it, and what it does not count
    Counters(verb::counters::Args),
    /// Explain decisions of a run about a mapping, a page, a task or a node, or find where two runs diverge
    Explain(verb::explain::Args),
    /// Write the events of a run as a Perfetto trace
    Trace(verb::trace::Args),
    /// List the entries of the catalog
    List(verb::list::Args),
    /// Show entries of the catalog in full
    Show(verb::show::Args),
    /// Import the description of a machine, or show a machine
    Machine(verb::machine::Args),
    /// Show a kernel, compare two, build an image, or measure a change to the kernel's source
    Kernel(verb::kernel::Args),
    /// Check what this host can run, and name the commands that install what is missing
    Doctor(verb::doctor::Args),
    /// Run the experiments of a published table, and print the results beside the published figures
    Reproduce(verb::reproduce::Args),
    /// Compare the simulator with real kernels, counter by counter
    Validate(verb::validate::Args),
    /// Show where the threads and the memory of this machine's programs are, and what balancing does
    Watch(verb::watch::Args),
    /// Record a program's memory and threads over time, as a run that `compare` and `report` read
    Record(verb::record::Args),
    /// Move memory and threads of programs together, as the kernel's balancing would, without the kernel
    Balance(verb::balance::Args),
    /// Run a grid of plans, on this machine or on a cluster, and keep the figures as Parquet
    Sweep(verb::sweep::Args),
    /// Search the settings of a kernel under which a workload does best
    Tune(verb::tune::Args),
    /// Print a script with which a shell completes commands and options
    Completions(verb::completions::Args),
    /// Print the manual page of a command
    Man(verb::man::Args),
}

/// A request that the arguments make.
pub enum Request {
    /// A verb with its arguments.
    Command(Box<Command>),
    /// The text of `--help` or `--version`.
    Text(String),
}

/// Reads the arguments.
///
/// # Errors
/// One message that names the argument and what was expected.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Request, Failure> {
    let args: Vec<OsString> = args.into_iter().collect();
    match read(&args).or_else(|e| with_negatives(&args, e)) {
        Ok(command) => Ok(Request::Command(Box::new(command))),
        Err(e) => match e.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Request::Text(e.render().to_string())),
            ErrorKind::InvalidUtf8 => Err(Failure::usage(not_text(&args))),
            _ => Err(Failure::usage(surplus(&args, &e).unwrap_or_else(|| message(&args, &e)))),
        },
    }
}

/// The command line with its examples.
pub fn numalab() -> clap::Command {
    with_examples(Command::command())
}

/// Reads the arguments as they are.
fn read(args: &[OsString]) -> Result<Command, clap::Error> {
    let mut matches = numalab().try_get_matches_from(args)?;
    Command::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut numalab()))
}

/// The message about an argument that is not UTF-8, which the parser does not name. Paths need not be UTF-8.
fn not_text(args: &[OsString]) -> String {
    let bad = args.iter().enumerate().skip(1).find(|(_, a)| a.to_str().is_none());
    let (place, arg) = bad.map_or((0, "".into()), |(place, a)| (place, a.to_string_lossy()));
    format!("command line: argument {place} (`{arg}`) is not UTF-8; expected text here, bytes only in paths of folders")
}

/// Reads the arguments again with `--option -1` as `--option=-1`. The parser takes `-1` for an unknown option, but the
/// user means a value, and the message about the value is the helpful one.
fn with_negatives(args: &[OsString], e: clap::Error) -> Result<Command, clap::Error> {
    if e.kind() != ErrorKind::UnknownArgument {
        return Err(e);
    }
    let text = |a: &OsString| a.to_string_lossy().into_owned();
    let negative = |a: &str| a.strip_prefix('-').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
    let mut joined: Vec<OsString> = Vec::new();
    for arg in args {
        match joined.last_mut() {
            Some(option)
                if negative(&text(arg))
                    && text(option).len() > 2
                    && text(option).starts_with("--")
                    && !text(option).contains('=') =>
            {
                option.push("=");
                option.push(arg);
            }
            _ => joined.push(arg.clone()),
        }
    }
    match read(&joined) {
        Err(again) if !matches!(again.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) => Err(e),
        other => other,
    }
}

/// The message about an argument too many; `None` for any other mistake.
fn surplus(args: &[OsString], e: &clap::Error) -> Option<String> {
    let invalid = e.get(ContextKind::InvalidArg).map(words)?;
    if e.kind() != ErrorKind::UnknownArgument || invalid.starts_with('-') {
        return None;
    }
    let (name, command) = named(args);
    let names: Vec<String> = command
        .get_positionals()
        .filter(|p| !p.is_last_set())
        .map(|p| format!("<{}>", p.get_id().as_str().to_uppercase()))
        .collect();
    let expected = match names.len() {
        0 => "none".to_string(),
        1 => format!("at most one, {}", names[0]),
        n => format!("at most {n}, {}", names.join(" ")),
    };
    Some(format!("command line: `{invalid}` is one argument too many for `{name}`; expected {expected} (see --help)"))
}

/// Name and description of the command that the arguments name, such as `numalab` or `kernel diff`.
fn named(args: &[OsString]) -> (String, clap::Command) {
    let mut command = numalab();
    let mut name = Vec::new();
    for arg in args.iter().skip(1) {
        if let Some(inner) = command.find_subcommand(arg).cloned() {
            name.push(inner.get_name().to_string());
            command = inner;
        }
    }
    (if name.is_empty() { "numalab".into() } else { name.join(" ") }, command)
}

/// Carries out a request.
///
/// # Errors
/// See the verb's own `run`.
pub fn run(request: Request) -> Result<Done, Failure> {
    let command = match request {
        Request::Text(text) => return Ok(Done::text(text)),
        Request::Command(command) => command,
    };
    if command.quiet {
        failure::be_quiet();
    }
    let context = Context::new(command.catalog.as_deref())?;
    match command.verb {
        Verb::Run(args) => verb::run::run(&context, &args),
        Verb::Advise(args) => verb::advise::run(&context, &args),
        Verb::GuardSettings => Ok(verb::advise::guard::run()),
        Verb::Fit(args) => verb::fit::run(&context, &args),
        Verb::Repeat(args) => verb::repeat::run(&args),
        Verb::Compare(args) => verb::compare::run(&context, &args),
        Verb::Report(args) => verb::report::run(&context, &args),
        Verb::Counters(args) => verb::counters::run(&context, &args),
        Verb::Explain(args) => verb::explain::run(&context, &args),
        Verb::Trace(args) => verb::trace::run(&args),
        Verb::List(args) => verb::list::run(&context, &args),
        Verb::Show(args) => verb::show::run(&context, &args),
        Verb::Machine(args) => verb::machine::run(&context, &args),
        Verb::Kernel(args) => verb::kernel::run(&context, &args),
        Verb::Doctor(args) => verb::doctor::run(&args),
        Verb::Reproduce(args) => verb::reproduce::run(&context, &args),
        Verb::Validate(args) => verb::validate::run(&context, &args),
        Verb::Watch(args) => verb::watch::run(&args),
        Verb::Record(args) => verb::record::run(&context, &args),
        Verb::Balance(args) => verb::balance::run(&args),
        Verb::Sweep(args) => verb::sweep::run(&args),
        Verb::Tune(args) => verb::tune::run(&args),
        Verb::Completions(args) => verb::completions::run(&args),
        Verb::Man(args) => verb::man::run(&args, numalab()),
    }
}

/// The message about a wrong command line, in one line and in the form of all other messages.
fn message(args: &[OsString], e: &clap::Error) -> String {
    let (command, verbs) = named(args);
    let shown = verbs.get_subcommands().filter(|c| !c.is_hide_set());
    let verbs = shown.map(|c| c.get_name().to_string()).collect::<Vec<_>>().join(", ");
    let of = |kind: ContextKind| e.get(kind).map(words).unwrap_or_default();
    let invalid = of(ContextKind::InvalidArg);
    let (what, expected) = match e.kind() {
        ErrorKind::UnknownArgument => {
            (format!("unexpected `{invalid}`"), "an option of this command (see --help)".into())
        }
        ErrorKind::InvalidSubcommand => (
            format!("unknown command `{}`", of(ContextKind::InvalidSubcommand)),
            format!("a command of {command} (see --help)"),
        ),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let first = "(see --help; a first experiment: `numalab run first-steps`)";
            match command.as_str() {
                "numalab" => ("no command".into(), format!("one of {verbs} {first}")),
                _ => (format!("no command of `{command}`"), format!("one of {verbs} (see --help)")),
            }
        }
        ErrorKind::MissingRequiredArgument => {
            // An option whose value is optional takes the next argument as its value.
            let first = if invalid == "<RUN>" { ", before what is asked about it" } else { "" };
            (format!("`{invalid}` is missing"), format!("it on the command line{first} (see --help)"))
        }
        ErrorKind::ArgumentConflict => {
            let other = of(ContextKind::PriorArg);
            if invalid.is_empty() {
                // The parser takes a further word for a subcommand, and does not name it.
                (format!("a word too many beside `{other}`"), "one".into())
            } else if invalid == other {
                (format!("`{invalid}` is given twice"), "it once".into())
            } else {
                (format!("`{invalid}` together with `{other}`"), "one of the two".into())
            }
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::WrongNumberOfValues => {
            value_refused(e, &invalid, &of(ContextKind::InvalidValue), &of(ContextKind::ValidValue))
        }
        _ => (
            e.render().to_string().lines().next().unwrap_or("error").trim_start_matches("error: ").into(),
            String::new(),
        ),
    };
    let unknown = of(ContextKind::InvalidSubcommand);
    let near = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        .into_iter()
        .map(of)
        .find(|s| !s.is_empty())
        // Of several names, the parser gives the nearest last.
        .map(|s| s.rsplit(", ").next().unwrap_or(&s).to_string())
        // Without an unknown name, no name is near.
        .or_else(|| if unknown.is_empty() { None } else { nearest(&unknown, verbs.split(", ")) })
        .map(|name| format!("; did you mean `{name}`?"));
    let expected = if expected.is_empty() { expected } else { format!("; expected {expected}") };
    format!("command line: {what}{expected}{}", near.unwrap_or_default())
}

/// What is wrong with the `value` of the argument `name`, and what was expected. `valid` lists the only valid values,
/// or is empty.
fn value_refused(e: &clap::Error, name: &str, value: &str, valid: &str) -> (String, String) {
    let why = match std::error::Error::source(e) {
        // The error of the standard library does not name what was expected.
        Some(why) if why.is::<std::num::ParseIntError>() => "a whole number, at least 0".into(),
        why => why.map(|why| in_range(&why.to_string())).unwrap_or_default(),
    };
    let what = if value.is_empty() { format!("`{name}` has no value") } else { format!("`{name}` is {value:?}") };
    let expected = match (valid.is_empty(), why.is_empty()) {
        (false, _) => format!("one of {valid}"),
        (true, false) => why,
        (true, true) => "a value".into(),
    };
    (what, expected)
}

/// The range of the parser's message `-1 is not in 0..=9` as what was expected; other messages unchanged.
fn in_range(why: &str) -> String {
    let range = why.split_once(" is not in ").and_then(|(_, range)| range.split_once("..="));
    range.map_or_else(|| why.to_string(), |(from, to)| format!("a whole number from {from} to {to}"))
}

/// The text of a part of the parser's error.
fn words(value: &ContextValue) -> String {
    match value {
        ContextValue::String(s) => s.clone(),
        ContextValue::Strings(list) => list.join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_a_command_too() {
        let text = |line: &str| match parse(line.split_whitespace().map(OsString::from)) {
            Ok(Request::Text(text)) => text,
            _ => panic!("{line} gives no text"),
        };
        assert_eq!(text("numalab help"), text("numalab --help"));
        assert_eq!(text("numalab help run"), text("numalab run --help"));
        assert_eq!(text("numalab help kernel diff"), text("numalab kernel diff --help"));
        let message = refused("help rnu");
        assert!(message.contains("unknown command `rnu`") && message.contains("did you mean `run`?"), "{message}");
    }

    fn refused(line: &str) -> String {
        let args = std::iter::once("numalab").chain(line.split_whitespace()).map(OsString::from);
        match parse(args) {
            Ok(_) => panic!("{line} was accepted"),
            Err(f) => {
                assert_eq!(f.exit, crate::failure::Exit::USAGE);
                assert_eq!(f.message.lines().count(), 1, "one line: {}", f.message);
                f.message
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_argument_that_is_no_text_is_named() {
        use std::os::unix::ffi::OsStringExt;
        let args = ["numalab", "run", "--seed"].map(OsString::from).into_iter();
        let message = match parse(args.chain([OsString::from_vec(b"a\xff".to_vec())])) {
            Ok(_) => panic!("accepted"),
            Err(f) => f.message,
        };
        assert!(message.starts_with("command line: argument 3 (`a\u{fffd}`) is not UTF-8; expected text"), "{message}");
    }

    #[test]
    fn the_definition_is_consistent() {
        Command::command().debug_assert();
    }

    #[test]
    fn wrong_command_lines_give_one_message() {
        for (line, part) in [
            ("", "no command; expected one of run, advise, fit, repeat, compare"),
            (
                "comapre",
                "unknown command `comapre`; expected a command of numalab (see --help); did you mean `compare`?",
            ),
            ("kernel", "no command of `kernel`; expected one of build, try, sides, show, diff (see --help)"),
            ("machine", "no command of `machine`; expected one of import, show (see --help)"),
            ("kernel dif", "`dif`; expected a command of kernel (see --help); did you mean `diff`?"),
            ("run --kernle 6.1", "did you mean `--kernel`?"),
            ("run --iterations 0 x", "is \"0\"; expected "),
            ("run --jobs none x", "is \"none\"; expected "),
            ("run --seed -1 x", "is \"-1\"; expected a whole number from 0 to "),
            ("run --iterations -1 x", "is \"-1\"; expected a whole number from 1 to 100000"),
            ("run x --machine 1x1x1x1", "together with"),
            ("explain a b", "a word too many beside `<RUN>`; expected one"),
            ("list kernel_s", "did you mean `kernels`?"),
            ("kernel diff 6.1", "is missing"),
            ("trace d --out x --seed abc", "`--seed <S>` is \"abc\"; expected a whole number, at least 0"),
            ("trace d --out x --seed 18446744073709551616", "expected a whole number, at least 0"),
            (
                "explain ladder --machine m --node abc",
                "`--node <NODE>` is \"abc\"; expected a whole number, at least 0",
            ),
            ("run a b", "`b` is one argument too many for `run`; expected at most one, <EXPERIMENT> (see --help)"),
            ("list machines kernels", "`kernels` is one argument too many for `list`; expected at most one, <KIND>"),
            ("kernel diff a b c", "`c` is one argument too many for `kernel diff`; expected at most 2, <A> <B>"),
            ("doctor x", "`x` is one argument too many for `doctor`; expected none"),
            ("validate --run-budget -1", "`--run-budget <S>` is \"-1\"; expected a whole number from 1 to 1000000"),
            ("validate --guest-memory -5GiB", "`--guest-memory <SIZE>` is \"-5GiB\"; expected a size such as 8GiB"),
            ("explain ladder --machine m --node -1", "`--node <NODE>` is \"-1\"; expected a whole number, at least 0"),
            ("doctor --json -1", "unexpected `-1`"),
            ("list --catalog a --catalog b", "`--catalog <DIR>` is given twice; expected it once"),
            ("reproduce", "is missing"),
            (
                "machine show m --domains --cpu -1",
                "`--cpu <N>` is \"-1\"; expected a whole number from 0 to 4294967295",
            ),
        ] {
            let message = refused(line);
            assert!(message.contains(part), "{line}: {message}");
            assert!(!message.contains("did you mean ``"), "{line}: {message}");
        }
    }
}
