//! One advice from what all sizes and times of a prediction say.

use super::columns::Way;
use super::places::{self, Place};
use numalab_report::data::Comparison;
use numalab_report::verdict::{Call, Decision, Verdict, Way as Compared};

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
            Advice::Take(Way::Extra(extra)) => extra.word,
            Advice::NoDifference => "no_difference",
            Advice::NoVerdict => "no_verdict",
        }
    }

    /// The advice in a sentence or two.
    pub fn text(&self, decision: &Decision) -> String {
        match self {
            Advice::Take(way) => way.advice().into(),
            Advice::NoDifference => "No difference in any simulated size: leave it as it is.".into(),
            Advice::NoVerdict => format!("{} Leave it as it is, and measure.", decision.answer),
        }
    }

    /// From when on the advice holds, and what is otherwise before: "It holds once the program has settled, by 14 s.
    /// Until then interleave is up to 61.9 % faster." `None` without an advice, or if nothing settled.
    pub fn until_then(&self, c: &Comparison, decision: &Decision) -> Option<String> {
        let agreement = decision.agreement.as_ref().filter(|a| a.settled)?;
        let before = |w: &Compared, call: Call| {
            let cells = w.cells.iter().filter(|cell| !cell.decides && cell.call == call);
            cells.filter_map(|cell| cell.gain_percent).max_by(|a, b| a.abs().total_cmp(&b.abs()))
        };
        let simulated = &c.origin.as_ref()?.prediction.as_ref()?.simulated;
        let settled_ms = simulated.iter().filter_map(|s| s.settled_after_ms).max()?;
        let holds = format!("It holds once the program has settled, by {} s.", settled_ms.div_ceil(1000));
        let name = |w: &Compared| c.kernels[w.kernel].name.clone();
        match self {
            Advice::Take(Way::On) => {
                let faster = agreement.ways.iter().filter_map(|w| Some((before(w, Call::Better)?, name(w))));
                let fastest = faster.max_by(|a, b| a.0.total_cmp(&b.0));
                let then = fastest.map(|(gain, name)| format!(" Until then {name} is up to {gain:.1} % faster."));
                Some(holds + &then.unwrap_or_default())
            }
            Advice::Take(way) => {
                let own = agreement.ways.iter().find(|w| c.kernels[w.kernel].name == way.name())?;
                let slower = before(own, Call::Worse)
                    .map(|gain| format!(" Until then it is up to {:.1} % slower than leaving balancing on.", -gain));
                Some(holds + &slower.unwrap_or_default())
            }
            Advice::NoDifference | Advice::NoVerdict => None,
        }
    }

    /// The same for services, containers, virtual machines and Kubernetes.
    pub fn places(&self) -> Vec<Place> {
        match self {
            Advice::Take(way) => places::of(way),
            _ => Vec::new(),
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
