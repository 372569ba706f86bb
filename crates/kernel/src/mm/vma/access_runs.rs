//! Accesses that have been noted but not yet turned into accessed bits.

use crate::mm::block::Bits512;

/// Entries of a run, as a shift.
const RUN: usize = 6;
/// Every run of a chunk.
pub(in crate::mm) const ALL_RUNS: u8 = u8::MAX;
/// Expected accesses of an entry beyond which it has surely been used: e^-40 is nothing.
pub(super) const SURELY: f64 = 40.0;

/// Random accesses to a part of the mapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct RandomUse {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) accesses: u64,
}

/// What random accesses have done to the bits of a mapping.
#[derive(Clone, Debug, Default)]
pub(in crate::mm) struct RandomUses {
    pub(super) spans: Vec<RandomUse>,
    /// Accesses to all spans.
    pub(super) total: u64,
    /// By chunk, from the first look on: `total` then, and the expected accesses of one of its entries until then.
    pub(super) looked: Vec<(u64, f64)>,
}

/// The runs that entries `from..to` (not empty) lie in.
#[inline]
pub(in crate::mm) fn runs(from: usize, to: usize) -> u8 {
    let (first, last) = (from >> RUN, (to - 1) >> RUN);
    (ALL_RUNS << first) & (ALL_RUNS >> (7 - last))
}

pub(super) fn entries_of(runs: u8) -> Bits512 {
    let mut out = Bits512::default();
    for (run, word) in out.0.iter_mut().enumerate() {
        *word = if runs >> run & 1 != 0 { u64::MAX } else { 0 };
    }
    out
}
