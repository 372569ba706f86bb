//! The call on a measurement: better, worse, no clear difference, or that nothing can be told.

use crate::assess::{Assessment, LEVEL};
use crate::data::Metric;
use crate::format::shows;
use crate::trust::ModelError;
use numalab_stats::Better;

/// Without a clear difference, runs count as even if their detectable change is at most this, percent. Other runs could
/// have missed such a change, so nothing can be told.
const MAX_DETECTABLE_PERCENT: f64 = 5.0;

/// What can be said about a measurement on a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Clearly better than the baseline.
    Better,
    /// Clearly worse than the baseline.
    Worse,
    /// No clear difference; one of more than a few percent would have been seen.
    Even,
    /// Nothing can be told: too few runs, too much spread, runs too short for balancing to act, different work, or a
    /// change that is smaller than the model's own error.
    CannotTell,
}

impl Call {
    /// Sign and words for a badge. The sign says the same without colour.
    pub fn badge(self) -> (&'static str, &'static str) {
        match self {
            Call::Better => ("▲", "better"),
            Call::Worse => ("▼", "worse"),
            Call::Even => ("=", "no clear difference"),
            Call::CannotTell => ("?", "cannot tell"),
        }
    }
    /// Class in the style of the page.
    pub fn class(self) -> &'static str {
        match self {
            Call::Better => "better",
            Call::Worse => "worse",
            Call::Even => "even",
            Call::CannotTell => "unknown",
        }
    }
}

/// The call on a metric whose mean in the tables changed by `change` percent. `error` is the model's, if both sides are
/// simulated: a change within it is not the kernel's.
pub(super) fn call(m: &Metric, a: &Assessment, change: Option<f64>, error: Option<&ModelError>) -> Call {
    if a.identical && a.can_judge() {
        return Call::Even;
    }
    let Some(p) = a.p_holm.filter(|_| a.can_judge()) else { return Call::CannotTell };
    if p < LEVEL && change.or(a.change_percent).is_none_or(shows) {
        if means_disagree(a, change) || error.is_some_and(|e| e.hides(change.or(a.change_percent))) {
            return Call::CannotTell;
        }
        return if grew(a.change_percent) == (m.better == Better::Higher) { Call::Better } else { Call::Worse };
    }
    match a.detectable_percent {
        Some(d) if d <= MAX_DETECTABLE_PERCENT || p < LEVEL => Call::Even,
        _ => Call::CannotTell,
    }
}

/// Whether the number grew. From a baseline of 0 there is no percentage, but the number can only have grown.
fn grew(change: Option<f64>) -> bool {
    change.is_none_or(|change| change > 0.0)
}

/// Whether the arithmetic means changed the other way than the means in the tables. The test is about arithmetic means,
/// so it says nothing about the others then.
pub(super) fn means_disagree(a: &Assessment, change: Option<f64>) -> bool {
    change.is_some() && grew(change) != grew(a.change_percent)
}
