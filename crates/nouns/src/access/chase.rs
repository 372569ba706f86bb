//! `chase`: a pointer chase. Every line is equally likely, and its address depends on the value read before.

use super::access_pattern::{AccessPattern, Args};
use super::pattern::Pattern;
use super::vocabulary::{CacheFit, Lines, Traffic, Walk};

/// Dependent random lines, one in flight.
pub(super) struct Chase;

impl AccessPattern for Chase {
    fn word(&self) -> &'static str {
        "chase"
    }
    fn walk(&self, _: Args) -> Walk {
        Walk::Random(Lines::Uniform)
    }
    fn traffic(&self) -> Traffic {
        Traffic::Dependent
    }
    fn cache_fit(&self, _: Args) -> CacheFit {
        CacheFit::Uniform
    }
}

impl Pattern {
    /// Dependent random lines, one in flight.
    pub fn chase() -> Self {
        Self::new(&Chase, [0.0; 2])
    }
}
