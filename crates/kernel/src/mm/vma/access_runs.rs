//! Accesses that have been noted and not yet turned into accessed bits.

use crate::mm::block::Bits512;

/// Number of entries in a run, as a power of two.
const RUN: usize = 6;
/// Bits of all runs of a chunk.
pub(in crate::mm) const ALL_RUNS: u8 = u8::MAX;
/// Expected number of accesses from which an entry counts as used; the chance that it is not is e^-40.
pub(super) const SURELY: f64 = 40.0;

/// Random accesses to a byte range of the mapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct RandomUse {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) accesses: u64,
}

/// Random accesses to a mapping, and how many of them each chunk has seen.
#[derive(Clone, Debug, Default)]
pub(in crate::mm) struct RandomUses {
    pub(super) spans: Vec<RandomUse>,
    /// Number of accesses to all ranges.
    pub(super) total: u64,
    /// For each chunk at its last update: `total`, and the expected accesses of one of its entries until then.
    pub(super) looked: Vec<(u64, f64)>,
}

/// Bits of the runs that contain the entries `from..to` (not empty).
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
