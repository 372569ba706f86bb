//! `advise -- COMMAND` and `advise --pid`: the program itself, under each setting in turn.

use super::guard::VERB;
use super::keep;
use super::measured::{self, Measured};
use super::Args;
use crate::context::Context;
use crate::failure::{note, Done, Exit, Failure};
use numalab_host::advise::command::CommandRuns;
use numalab_host::advise::decide::Rules;
use numalab_host::advise::guardian::Guardian;
use numalab_host::advise::metric::Metric;
use numalab_host::advise::nodes::{self, Node};
use numalab_host::advise::service::ServiceWindows;
use numalab_host::advise::session::{carry_out, Measure, Plan, Session};
use numalab_host::advise::switch::{self, Switch};
use numalab_host::advise::tree::Size;
use numalab_host::advise::{Error, Way};
use numalab_model::machine::size;
use std::path::Path;
use std::time::{Duration, Instant};

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
    if args.command.is_empty() {
        service(context, args, rules)
    } else {
        command(context, args, nodes, rules)
    }
}

/// What a failed measurement means for the command.
fn failure(e: Error) -> Failure {
    match e {
        Error::Machine(message) => Failure::environment(message),
        Error::Program(message) => Failure { exit: Exit::FINDING, message },
    }
}

/// The switch with its guardian.
fn take_switch(root: &Path) -> Result<Switch, Error> {
    // The guardian starts only if there is something to put back.
    switch::state(root)?;
    Switch::take(root, Guardian::start(Path::new("/proc/self/exe"), &[VERB.into()])?)
}

/// Runs of a command.
fn command(context: &Context, args: &Args, nodes: Vec<Node>, rules: Rules) -> Result<Done, Failure> {
    let mut left_out = Vec::new();
    let present = switch::state(&args.root).unwrap_or(Way::Off);
    let switch = match take_switch(&args.root) {
        Ok(switch) => Some(switch),
        Err(e) => {
            left_out.push(format!("balancing on and off are not compared: {e}; root may turn the switch"));
            None
        }
    };
    let mut runs = CommandRuns {
        line: args.command.clone(),
        metric: args.metric_cmd.clone(),
        switch,
        nodes,
        root: args.root.clone(),
        peak: Size::default(),
        start: Instant::now(),
    };
    // A first run warms up, and shows how large the program is.
    let begin = runs.now_s();
    runs.measure(&present).map_err(failure)?;
    let took_s = runs.now_s() - begin;
    let peak = runs.peak;
    note(&format!("numalab: a first run, which does not count, took {took_s:.2} s{}", sized(peak)));
    let mut ways = vec![present.clone()];
    if runs.switch.is_some() {
        ways.push(if present == Way::On { Way::Off } else { Way::On });
    }
    let bind = bound(&runs.nodes, peak);
    for (name, way) in [("interleaving", Ok(Way::Interleave)), ("binding to a node", bind)] {
        match way.and_then(|way| runs.refusal(&way).map_or(Ok(way), Err)) {
            Ok(way) => ways.push(way),
            Err(why) => left_out.push(format!("{name} is not compared: {why}")),
        }
    }
    if ways.len() < 2 {
        return Err(Failure::environment(format!("nothing can be compared here: {}", left_out.join("; "))));
    }
    let plan = Plan { ways, rules, budget_s: args.budget - took_s };
    let program = args.command.join(" ");
    let session = measured(context, args, (&plan, &program), &mut runs)?;
    let unit = if args.metric_cmd.is_some() { "" } else { "s" };
    Measured {
        plan: &plan,
        session: &session,
        present,
        program: &program,
        unit,
        left_out,
        windows: None,
        kept: args.out.as_deref(),
    }
    .done(args.json)
}

/// Carries out a session. Each sample is a line on standard error, and a record if they are to be kept, however the
/// session ends.
fn measured(
    context: &Context,
    args: &Args,
    (plan, program): (&Plan, &str),
    by: &mut impl Measure,
) -> Result<Session, Failure> {
    let mut all = Vec::new();
    let session = carry_out(plan, by, |round, way, sample| {
        note(&format!("numalab: round {round}: {}: {:.4}", way.name(), sample.score));
        all.push((round, way.clone(), *sample));
    });
    keep::keep(context, args, program, &all)?;
    session.map_err(failure)
}

/// Size of a program in words; nothing if it ended before it could be seen.
fn sized(peak: Size) -> String {
    match peak.threads {
        0 => String::new(),
        threads => format!(", with {} and {threads} threads at most", size::short(peak.resident_bytes)),
    }
}

/// The node to bind a program of that size to, or why none is.
fn bound(nodes: &[Node], peak: Size) -> Result<Way, String> {
    if peak.threads == 0 {
        return Err("the program ended before its size could be seen".into());
    }
    let node = nodes::roomiest(nodes, peak.resident_bytes, peak.threads);
    let too_large = || {
        let memory = size::short(peak.resident_bytes);
        format!("no node has room for {memory} and a CPU for each of {} threads", peak.threads)
    };
    node.map(|n| Way::Bind(n.id)).ok_or_else(too_large)
}

/// Windows of a service that goes on running.
fn service(context: &Context, args: &Args, rules: Rules) -> Result<Done, Failure> {
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
    let present = switch::state(&args.root).map_err(failure)?;
    let switch = take_switch(&args.root).map_err(failure)?;
    let seconds = Duration::from_secs_f64;
    let mut windows = ServiceWindows {
        pid: args.pid,
        metric,
        switch,
        window: seconds(args.window),
        settle: seconds(args.settle),
        root: args.root.clone(),
        start: Instant::now(),
    };
    let other = if present == Way::On { Way::Off } else { Way::On };
    let plan = Plan { ways: vec![present.clone(), other], rules, budget_s: args.budget };
    let program = args.pid.map_or_else(|| "the service".to_string(), |pid| format!("process {pid}"));
    let session = measured(context, args, (&plan, &program), &mut windows)?;
    let left_out = vec!["interleaving and binding are not compared: they need a restart".to_string()];
    let windows = Some(args.window);
    Measured {
        plan: &plan,
        session: &session,
        present,
        program: &program,
        unit: "",
        left_out,
        windows,
        kept: args.out.as_deref(),
    }
    .done(args.json)
}
