//! `random`: independent lines, each equally likely.

use super::access_pattern::{AccessPattern, Args};
use super::pattern::Pattern;
use super::vocabulary::{CacheFit, Lines, Traffic, Walk};

/// Independent uniform random lines.
pub(super) struct Random;

impl AccessPattern for Random {
    fn word(&self) -> &'static str {
        "random"
    }
    fn walk(&self, _: Args) -> Walk {
        Walk::Random(Lines::Uniform)
    }
    fn traffic(&self) -> Traffic {
        Traffic::Random
    }
    fn cache_fit(&self, _: Args) -> CacheFit {
        CacheFit::Uniform
    }
}

impl Pattern {
    /// Independent uniform random lines.
    pub fn random() -> Self {
        Self::new(&Random, [0.0; 2])
    }
}
