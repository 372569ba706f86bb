//! A whole measurement: which ways can be compared here, the session, and what it comes to.
//!
//! The caller asks once ([`measure`]) and gets one [`Measurement`]. What it tells or keeps on the way, it hears as a
//! [`Listener`].

use super::command::CommandRuns;
use super::decide::{decide, standings, Decision, Rules, Standing};
use super::guardian::Guardian;
use super::metric::Metric;
use super::nodes::{self, Node};
use super::service::ServiceWindows;
use super::session::{carry_out, Measure, Plan, Sample, Session};
use super::switch::{self, Switch};
use super::tree::Size;
use super::{Error, Way};
use numalab_model::machine::size;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Where `/proc` and `/sys` are.
    pub root: &'a Path,
    /// When a decision is reached.
    pub rules: Rules,
    /// Time for all runs, s. At least one round is measured.
    pub budget_s: f64,
    /// Arguments with which this program serves as the guardian ([`super::guardian::serve`]).
    pub guardian: &'a [OsString],
}

/// What is measured.
#[derive(Debug)]
pub enum Target {
    /// Runs of a command.
    Command {
        /// Program and arguments; at least the program.
        line: Vec<String>,
        /// A shell command that prints the score; without one, the elapsed time is the score.
        metric: Option<String>,
        /// Nodes that have memory.
        nodes: Vec<Node>,
    },
    /// Windows of a service that goes on running.
    Service {
        /// Its process; without one, CPU time is that of the machine.
        pid: Option<u32>,
        /// Its throughput.
        metric: Metric,
        /// Length of a window.
        window: Duration,
        /// Time between turning the switch and the begin of a window.
        settle: Duration,
    },
}

/// Who hears of a measurement while it goes on.
pub trait Listener {
    /// A first run of a command has ended, which does not count. It took `took_s` seconds.
    fn warmed_up(&mut self, took_s: f64, peak: Size);
    /// A sample of a round, counted from 1.
    fn sampled(&mut self, round: usize, way: &Way, sample: &Sample);
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// What was to be done.
    pub plan: Plan,
    /// The rounds.
    pub session: Session,
    /// State of the switch before and after.
    pub present: Way,
    /// Ways that were not compared, and why.
    pub left_out: Vec<String>,
}

impl Measurement {
    /// What to do.
    pub fn decision(&self) -> Decision {
        decide(&self.session.scores(), self.plan.rules)
    }

    /// How each way stands against the present one, in the order of the plan; `None` for the present one, and for all
    /// before the second round.
    pub fn standings(&self) -> Vec<Option<Standing>> {
        let all = standings(&self.session.scores(), self.plan.rules);
        let ways = self.plan.ways.len();
        let others = all.map_or_else(|| vec![None; ways - 1], |all| all.into_iter().map(Some).collect());
        std::iter::once(None).chain(others).collect()
    }

    /// Commands that follow the decision, and those that undo them. `program` is the user's command line.
    pub fn commands(&self, program: &str) -> (Vec<String>, Vec<String>) {
        match self.decision() {
            Decision::Take(way) => self.plan.ways[way].commands(&self.present, program),
            _ => (Vec::new(), Vec::new()),
        }
    }
}

/// Measures the target under each way that this machine allows.
///
/// # Errors
/// The program or the metric fails, this machine refuses, or there is nothing to compare.
pub fn measure(wish: &Wish<'_>, target: Target, to: &mut impl Listener) -> Result<Measurement, Error> {
    match target {
        Target::Command { line, metric, nodes } => {
            let mut left_out = Vec::new();
            let present = switch::state(wish.root).unwrap_or(Way::Off);
            let switch = take_switch(wish)
                .inspect_err(|e| {
                    left_out.push(format!("balancing on and off are not compared: {e}; root may turn the switch"));
                })
                .ok();
            let (root, peak) = (wish.root.to_path_buf(), Size::default());
            let runs = CommandRuns { line, metric, switch, nodes, root, peak, start: Instant::now() };
            command(wish, runs, (present, left_out), to)
        }
        Target::Service { pid, metric, window, settle } => {
            let present = switch::state(wish.root)?;
            let switch = take_switch(wish)?;
            let root = wish.root.to_path_buf();
            let mut windows = ServiceWindows { pid, metric, switch, window, settle, root, start: Instant::now() };
            let ways = vec![present.clone(), other(&present)];
            let plan = Plan { ways, rules: wish.rules, budget_s: wish.budget_s };
            let session = session(&plan, &mut windows, to)?;
            let left_out = vec!["interleaving and binding are not compared: they need a restart".to_string()];
            Ok(Measurement { plan, session, present, left_out })
        }
    }
}

/// Runs of a command. A first one warms up, and shows how large the program is.
fn command(
    wish: &Wish<'_>,
    mut runs: CommandRuns,
    (present, mut left_out): (Way, Vec<String>),
    to: &mut impl Listener,
) -> Result<Measurement, Error> {
    let begin = runs.now_s();
    runs.measure(&present)?;
    let took_s = runs.now_s() - begin;
    to.warmed_up(took_s, runs.peak);
    let mut ways = vec![present.clone()];
    if runs.switch.is_some() {
        ways.push(other(&present));
    }
    let bind = bound(&runs.nodes, runs.peak);
    for (name, way) in [("interleaving", Ok(Way::Interleave)), ("binding to a node", bind)] {
        match way.and_then(|way| runs.refusal(&way).map_or(Ok(way), Err)) {
            Ok(way) => ways.push(way),
            Err(why) => left_out.push(format!("{name} is not compared: {why}")),
        }
    }
    if ways.len() < 2 {
        return Err(Error::Machine(format!("nothing can be compared here: {}", left_out.join("; "))));
    }
    let plan = Plan { ways, rules: wish.rules, budget_s: wish.budget_s - took_s };
    let session = session(&plan, &mut runs, to)?;
    Ok(Measurement { plan, session, present, left_out })
}

fn session(plan: &Plan, by: &mut impl Measure, to: &mut impl Listener) -> Result<Session, Error> {
    carry_out(plan, by, |round, way, sample| to.sampled(round, way, sample))
}

/// The state of the switch beside the present one.
fn other(present: &Way) -> Way {
    if *present == Way::On {
        Way::Off
    } else {
        Way::On
    }
}

/// The switch with its guardian.
fn take_switch(wish: &Wish<'_>) -> Result<Switch, Error> {
    // The guardian starts only if there is something to put back.
    switch::state(wish.root)?;
    Switch::take(wish.root, Guardian::start(Path::new("/proc/self/exe"), wish.guardian)?)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use numalab_stats::Better;

    /// What a listener is told.
    #[derive(Default)]
    struct Told(Vec<String>);

    impl Listener for Told {
        fn warmed_up(&mut self, _: f64, _: Size) {
            self.0.push("warm".into());
        }
        fn sampled(&mut self, round: usize, way: &Way, _: &Sample) {
            self.0.push(format!("{round} {}", way.name()));
        }
    }

    /// A machine without a switch: only places can be compared, and the listener hears every sample, the first run
    /// before them.
    #[test]
    fn a_command_is_measured_without_the_switch() {
        let dir = tempfile::tempdir().unwrap();
        let rules = Rules { better: Better::Higher, least_percent: 1.0 };
        let wish = Wish { root: dir.path(), rules, budget_s: 0.0, guardian: &[] };
        let nodes = vec![Node { id: 0, memory_bytes: 1, free_bytes: 1, cpus: vec![0] }];
        let line = ["sh", "-c", "echo 7"].map(String::from).to_vec();
        let mut told = Told::default();
        let target = Target::Command { line, metric: Some("cat".into()), nodes };
        let found = measure(&wish, target, &mut told).unwrap();
        assert_eq!(found.plan.ways, [Way::Off, Way::Interleave]);
        assert_eq!(told.0, ["warm", "1 off", "1 interleave"]);
        assert_eq!((found.decision(), found.standings()), (Decision::CannotTell, vec![None, None]));
        assert!(found.left_out[0].contains("root may turn the switch"), "{:?}", found.left_out);
        assert!(found.left_out[1].starts_with("binding to a node is not compared: "), "{:?}", found.left_out);
    }

    #[test]
    fn a_service_needs_the_switch() {
        let dir = tempfile::tempdir().unwrap();
        let rules = Rules { better: Better::Higher, least_percent: 1.0 };
        let wish = Wish { root: dir.path(), rules, budget_s: 0.0, guardian: &[] };
        let metric = Metric::Command { line: "echo 1".into(), counter: false };
        let target = Target::Service { pid: None, metric, window: Duration::ZERO, settle: Duration::ZERO };
        let e = measure(&wish, target, &mut Told::default()).unwrap_err().to_string();
        assert!(e.contains("numa_balancing"), "{e}");
    }
}
