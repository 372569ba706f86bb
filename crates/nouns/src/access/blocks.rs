//! `blocks`: buffers that an allocator hands out. Blocks of `block` bytes lie anywhere in the span, aligned to their
//! size, and each is used in address order.
//!
//! The next block is anywhere and the span is larger than what a cache keeps of it, so nothing is found in a cache.

use super::access_pattern::{AccessPattern, Args};
use super::key::Key;
use super::pattern::Pattern;
use super::vocabulary::{CacheFit, Order, Traffic, Walk, LINE_BYTES};

const KEYS: &[Key] = &[Key::bytes("block", LINE_BYTES)];

/// Blocks anywhere in the span, each in address order.
pub(super) struct Blocks;

impl AccessPattern for Blocks {
    fn word(&self) -> &'static str {
        "blocks"
    }
    fn keys(&self) -> &'static [Key] {
        KEYS
    }
    /// The walk counts bytes.
    fn most_accesses(&self) -> Option<u64> {
        Some(u64::MAX / LINE_BYTES)
    }
    /// A block has whole lines and is no longer than the span.
    fn fit(&self, [block_bytes, rest]: Args, span_bytes: u64) -> Args {
        let lines = (block_bytes as u64).min(span_bytes) / LINE_BYTES;
        [(lines.max(1) * LINE_BYTES) as f64, rest]
    }
    fn walk(&self, [block_bytes, _]: Args) -> Walk {
        Walk::Sweep(Order::Blocks { block_bytes: block_bytes as u64, histogram: None })
    }
    fn traffic(&self) -> Traffic {
        Traffic::Sequential
    }
    fn cache_fit(&self, _: Args) -> CacheFit {
        CacheFit::None
    }
}

impl Pattern {
    /// Bytes of a block, where a walk goes through blocks anywhere in its span; `None` for other walks, and for blocks
    /// that a recording has visited unevenly.
    pub fn scattered_block_bytes(&self) -> Option<u64> {
        match self.walk() {
            Walk::Sweep(Order::Blocks { block_bytes, histogram: None }) => Some(block_bytes),
            _ => None,
        }
    }
    /// Blocks of `block_bytes`: whole lines, at least one, at most the span.
    pub fn blocks(block_bytes: u64) -> Self {
        Self::new(&Blocks, [block_bytes as f64, 0.0])
    }
}
