//! One advice from the decision of a comparison.

use super::columns::Way;
use numalab_report::data::Comparison;
use numalab_report::verdict::{Choice, Decision};

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Run the program in this way.
    Take(Way),
    /// No way clearly differs from leaving balancing on.
    NoDifference,
    /// Some figures got better and some worse.
    Depends,
    /// The runs tell nothing.
    CannotTell,
}

impl Advice {
    /// The advice of a comparison whose baseline is [`Way::On`]. Of ways that no test tells apart, the first of `ways` is
    /// taken, since it asks for the least.
    pub fn of(c: &Comparison, decision: &Decision, ways: &[Way]) -> Self {
        let Some(workload) = decision.workloads.first() else { return Advice::CannotTell };
        match &workload.choice {
            Choice::Take(list) => {
                let taken = |way: &&Way| list.iter().any(|k| c.kernels[*k].name == way.name());
                ways.iter().find(taken).cloned().map_or(Advice::CannotTell, Advice::Take)
            }
            Choice::Even => Advice::NoDifference,
            Choice::Mixed => Advice::Depends,
            Choice::CannotTell => Advice::CannotTell,
        }
    }

    /// Word for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Advice::Take(Way::On) => "leave_on",
            Advice::Take(Way::Off) => "turn_off",
            Advice::Take(Way::Interleave) => "interleave",
            Advice::Take(Way::Bind(_)) => "bind",
            Advice::NoDifference => "no_difference",
            Advice::Depends => "depends",
            Advice::CannotTell => "cannot_tell",
        }
    }

    /// The advice in a sentence, from `runs` runs of each way.
    pub fn text(&self, runs: u32) -> String {
        match self {
            Advice::Take(way) => way.advice().into(),
            Advice::NoDifference => format!("No difference that {runs} runs could show: leave it as it is."),
            Advice::Depends => "It depends: some figures get better and some worse.".into(),
            Advice::CannotTell => format!("Cannot tell from {runs} runs: leave it as it is, and measure."),
        }
    }

    /// The commands that follow the advice, and those that undo them.
    pub fn commands(&self) -> (Vec<String>, Vec<String>) {
        match self {
            Advice::Take(way) => way.commands(),
            _ => (Vec::new(), Vec::new()),
        }
    }
}
