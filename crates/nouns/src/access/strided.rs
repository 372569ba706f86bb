//! `strided`: one line every `stride`, in address order.

use super::access_pattern::{AccessPattern, Args};
use super::key::Key;
use super::pattern::Pattern;
use super::vocabulary::{CacheFit, Traffic, Walk, LINE_BYTES};

const KEYS: &[Key] = &[Key::bytes("stride", LINE_BYTES)];

/// One line every `stride`.
pub(super) struct Strided;

impl AccessPattern for Strided {
    fn word(&self) -> &'static str {
        "strided"
    }
    fn keys(&self) -> &'static [Key] {
        KEYS
    }
    fn most_accesses(&self) -> Option<u64> {
        None
    }
    fn walk(&self, [stride_bytes, _]: Args) -> Walk {
        Walk::Stride { stride_bytes: stride_bytes as u64 }
    }
    fn traffic(&self) -> Traffic {
        Traffic::Sequential
    }
    fn cache_fit(&self, _: Args) -> CacheFit {
        CacheFit::Cyclic
    }
}

impl Pattern {
    /// One line every `stride_bytes`, at least 64.
    pub fn strided(stride_bytes: u64) -> Self {
        Self::new(&Strided, [stride_bytes as f64, 0.0])
    }
}
