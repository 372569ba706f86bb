//! `advise -- COMMAND` and `advise --pid`: the program itself, under each setting in turn. `numalab_host::advise`
//! carries out the measurement; here stand the request, what is said on the way, and what is kept.

use super::args::Args;
use super::guard::VERB;
use super::keep;
use super::measured::{self, Measured};
use crate::context::Context;
use crate::failure::{note, Done, Exit, Failure};
use numalab_host::advise::decide::Rules;
use numalab_host::advise::measurement::{measure, Listener, Target, Wish};
use numalab_host::advise::metric::Metric;
use numalab_host::advise::nodes::{self, Node};
use numalab_host::advise::session::Sample;
use numalab_host::advise::tree::Size;
use numalab_host::advise::{Error, Way};
use numalab_model::machine::size;
use std::time::Duration;

/// Measures, and gives the advice.
///
/// # Errors
/// The command or the metric fails, or this machine refuses.
pub fn run(context: &Context, args: &Args) -> Result<Done, Failure> {
    let nodes = nodes::with_memory(&args.root).map_err(failure)?;
    if nodes.len() < 2 {
        return measured::nothing_to_balance(&args.command, args.json);
    }
    keep::check(args)?;
    let rules = Rules { better: args.better(), least_percent: args.least };
    let guardian = [VERB.into()];
    let wish = Wish { root: &args.root, rules, budget_s: args.budget, guardian: &guardian };
    let mut heard = Heard::default();
    let found = measure(&wish, target(args, nodes)?, &mut heard);
    // Samples are kept however the session ended.
    let program = program(args);
    keep::keep(context, args, &program, &heard.samples)?;
    let found = found.map_err(failure)?;
    let is_command = !args.command.is_empty();
    let unit = if is_command && args.metric_cmd.is_none() { "s" } else { "" };
    let windows = (!is_command).then_some(args.window);
    Measured { found: &found, program: &program, unit, windows, kept: args.out.as_deref() }.done(args.json)
}

/// What a failed measurement means for the command.
fn failure(e: Error) -> Failure {
    match e {
        Error::Machine(message) => Failure::environment(message),
        Error::Program(message) => Failure { exit: Exit::FINDING, message },
    }
}

/// The samples of a session. Each is a line on standard error, too.
#[derive(Default)]
struct Heard {
    samples: Vec<keep::Measured>,
}

impl Listener for Heard {
    fn warmed_up(&mut self, took_s: f64, peak: Size) {
        note(&format!("numalab: a first run, which does not count, took {took_s:.2} s{}", sized(peak)));
    }
    fn sampled(&mut self, round: usize, way: &Way, sample: &Sample) {
        note(&format!("numalab: round {round}: {}: {:.4}", way.name(), sample.score));
        self.samples.push((round, way.clone(), *sample));
    }
}

/// Size of a program in words; nothing if it ended before it could be seen.
fn sized(peak: Size) -> String {
    match peak.threads {
        0 => String::new(),
        threads => format!(", with {} and {threads} threads at most", size::short(peak.resident_bytes)),
    }
}

/// What is measured, in words.
fn program(args: &Args) -> String {
    match args.pid {
        _ if !args.command.is_empty() => args.command.join(" "),
        Some(pid) => format!("process {pid}"),
        None => "the service".into(),
    }
}

/// What the arguments ask to measure.
fn target(args: &Args, nodes: Vec<Node>) -> Result<Target, Failure> {
    if !args.command.is_empty() {
        return Ok(Target::Command { line: args.command.clone(), metric: args.metric_cmd.clone(), nodes });
    }
    let metric = match (&args.metric_cmd, &args.metric_url, &args.metric) {
        (Some(line), ..) => Metric::Command { line: line.clone(), counter: args.counter },
        (None, Some(url), Some(series)) => Metric::Page { url: url.clone(), series: series.clone() },
        _ => {
            return Err(Failure::usage(
                "command line: a running service has no score of its own; expected --metric-cmd COMMAND, or --metric-url URL with \
                 --metric NAME",
            ))
        }
    };
    if let Some(pid) = args.pid.filter(|pid| !args.root.join(format!("proc/{pid}")).exists()) {
        return Err(Failure::usage(format!("command line: `--pid` is {pid}; expected a process of this machine")));
    }
    let seconds = Duration::from_secs_f64;
    Ok(Target::Service { pid: args.pid, metric, window: seconds(args.window), settle: seconds(args.settle) })
}
