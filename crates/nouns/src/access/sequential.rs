//! `sequential`: every line of the span in address order (bzero, STREAM).

use super::access_pattern::{AccessPattern, Args};
use super::pattern::Pattern;
use super::vocabulary::{CacheFit, Order, Traffic, Walk};

/// Every line in address order.
pub(super) struct Sequential;

impl AccessPattern for Sequential {
    fn word(&self) -> &'static str {
        "sequential"
    }
    fn most_accesses(&self) -> Option<u64> {
        None
    }
    fn walk(&self, _: Args) -> Walk {
        Walk::Sweep(Order::Address)
    }
    fn traffic(&self) -> Traffic {
        Traffic::Sequential
    }
    fn cache_fit(&self, _: Args) -> CacheFit {
        CacheFit::Cyclic
    }
}

impl Pattern {
    /// Every line in address order.
    pub fn sequential() -> Self {
        Self::new(&Sequential, [0.0; 2])
    }
}
