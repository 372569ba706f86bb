//! The numbers of the decisions.

use crate::numa::placement::SMALLIMP;

/// The numbers of the decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A thread counts as busy from this average on, in thousandths of a CPU.
    pub busy_permille: u32,
    /// Smallest gain in expected local accesses for which threads move, in thousandths.
    pub gain_permille: u64,
    /// Looks for which a group keeps its nodes after its threads have moved.
    pub settle_looks: u32,
    /// Part of a node that stays free, in thousandths.
    pub reserve_permille: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { busy_permille: 100, gain_permille: SMALLIMP as u64, settle_looks: 8, reserve_permille: 20 }
    }
}
