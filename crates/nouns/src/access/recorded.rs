//! `recorded`: independent lines or blocks, as often as a recording has visited each part of the span.
//!
//! The histogram stands in a file beside the workload ([`Histogram`](super::Histogram)); `visit` is its number there.
//! A `block` of one line draws single lines as `random` does, and longer ones are used as those of `blocks`.

use super::access_pattern::{AccessPattern, Args};
use super::key::Key;
use super::pattern::Pattern;
use super::vocabulary::{CacheFit, Lines, Order, Traffic, Walk, LINE_BYTES};

/// Most histograms of a workload.
pub const MAX_HISTOGRAMS: usize = 4096;

const KEYS: &[Key] = &[Key::whole("visit", MAX_HISTOGRAMS as u64 - 1), Key::bytes("block", LINE_BYTES)];

/// Lines or blocks of a recorded histogram.
pub(super) struct Recorded;

/// Whether blocks are longer than a line.
fn has_blocks([_, block_bytes]: Args) -> bool {
    block_bytes as u64 > LINE_BYTES
}

impl AccessPattern for Recorded {
    fn word(&self) -> &'static str {
        "recorded"
    }
    fn keys(&self) -> &'static [Key] {
        KEYS
    }
    /// A walk by blocks counts bytes.
    fn most_accesses(&self) -> Option<u64> {
        Some(u64::MAX / LINE_BYTES)
    }
    /// A block has whole lines and is no longer than the span.
    fn fit(&self, [visit, block_bytes]: Args, span_bytes: u64) -> Args {
        let lines = (block_bytes as u64).min(span_bytes) / LINE_BYTES;
        [visit, (lines.max(1) * LINE_BYTES) as f64]
    }
    fn walk(&self, args: Args) -> Walk {
        let (histogram, block_bytes) = (args[0] as u32, args[1] as u64);
        match has_blocks(args) {
            true => Walk::Sweep(Order::Blocks { block_bytes, histogram: Some(histogram) }),
            false => Walk::Random(Lines::Recorded { histogram }),
        }
    }
    fn traffic(&self) -> Traffic {
        Traffic::Random
    }
    fn traffic_of(&self, args: Args) -> Traffic {
        match has_blocks(args) {
            true => Traffic::Sequential,
            false => Traffic::Random,
        }
    }
    fn cache_fit(&self, args: Args) -> CacheFit {
        match has_blocks(args) {
            true => CacheFit::None,
            false => CacheFit::Uniform,
        }
    }
}

impl Pattern {
    /// Independent lines of histogram number `visit` of the workload, or blocks of `block_bytes`, at least a line.
    pub fn recorded(visit: u32, block_bytes: u64) -> Self {
        Self::new(&Recorded, [f64::from(visit), block_bytes as f64])
    }
    /// The number of the histogram that it draws from, if it is recorded.
    #[inline]
    pub fn histogram(&self) -> Option<u32> {
        match self.walk() {
            Walk::Random(Lines::Recorded { histogram }) => Some(histogram),
            Walk::Sweep(Order::Blocks { histogram, .. }) => histogram,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_one_line_is_a_random_line() {
        let lines = Pattern::recorded(3, 64);
        assert_eq!((lines.walk(), lines.traffic()), (Walk::Random(Lines::Recorded { histogram: 3 }), Traffic::Random));
        let blocks = Pattern::recorded(3, 4096);
        let walk = Walk::Sweep(Order::Blocks { block_bytes: 4096, histogram: Some(3) });
        assert_eq!((blocks.walk(), blocks.traffic(), blocks.cache_fit()), (walk, Traffic::Sequential, CacheFit::None));
        assert_eq!((lines.histogram(), blocks.histogram(), Pattern::blocks(64).histogram()), (Some(3), Some(3), None));
        assert_eq!(format!("{blocks:?}"), "Recorded { visit: 3, block_bytes: 4096 }");
        assert_eq!(Recorded.fit([0.0, 1e9], 4096), [0.0, 4096.0]);
    }
}
