//! `fill`: one call of `memset` for the span. It only writes, in address order; machines that are known to do so send a
//! long one past the caches ([`Fill`](crate::machine::Fill), docs/reference/workloads.md "Threads that write one
//! buffer, and fills").

use super::access_pattern::{AccessPattern, Args};
use super::pattern::Pattern;
use super::vocabulary::{CacheFit, Order, Traffic, Walk};

/// Every line in address order, written by one call.
pub(super) struct Fill;

impl AccessPattern for Fill {
    fn word(&self) -> &'static str {
        "fill"
    }
    fn most_accesses(&self) -> Option<u64> {
        None
    }
    fn fills(&self) -> bool {
        true
    }
    /// The access says that it writes, and whether it bypasses the caches.
    fn identity(&self) -> &'static str {
        "sequential"
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
    /// Every line in address order, written by one call.
    pub fn fill() -> Self {
        Self::new(&Fill, [0.0; 2])
    }
}
