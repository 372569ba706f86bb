//! One advice from what all sizes and times of a prediction say.

use super::columns::Way;
use numalab_report::data::Comparison;
use numalab_report::verdict::{Decision, Verdict};

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Run the program in this way.
    Take(Way),
    /// Every way gives the same as leaving balancing on.
    NoDifference,
    /// Sizes and times do not agree on anything.
    NoVerdict,
}

impl Advice {
    /// The advice of a comparison whose baseline is [`Way::On`]. Only what all simulated sizes and times agree on is
    /// advised.
    pub fn of(c: &Comparison, decision: &Decision, ways: &[Way]) -> Self {
        let named = |k: usize| ways.iter().find(|w| w.name() == c.kernels[k].name).cloned();
        match decision.agreement.as_ref().map(|a| a.verdict) {
            Some(Verdict::Take(k)) => named(k).map_or(Advice::NoVerdict, Advice::Take),
            Some(Verdict::Keep) => Advice::Take(Way::On),
            Some(Verdict::Even) => Advice::NoDifference,
            Some(Verdict::NoVerdict) | None => Advice::NoVerdict,
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
            Advice::NoVerdict => "no_verdict",
        }
    }

    /// The advice in a sentence or two.
    pub fn text(&self, decision: &Decision) -> String {
        match self {
            Advice::Take(way) => way.advice().into(),
            Advice::NoDifference => "No difference in any simulated size and time: leave it as it is.".into(),
            Advice::NoVerdict => format!("{} Leave it as it is, and measure.", decision.answer),
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
