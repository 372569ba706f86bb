//! 6.12 with the idea of RFC V3 of 2023: instead of two free passes a VMA has a budget of unconditional visits that grows
//! with its size. `catalog/guest/disjoint-vma-budget.patch` is the same rule as a patch of the real kernel.

use super::filter::{Access, Filter, FilterContext, Shape};
use super::rfc_v3::threshold;
use super::v612::{without_free_passes, V612};
use crate::numa::state::VmaNuma;

/// The filter of the patched 6.12.
pub struct V612Budget;

impl Filter for V612Budget {
    /// As 6.12, with a count of visits.
    const SHAPE: Shape = Shape { counts_visits: true, ..V612::SHAPE };

    fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
        if u64::from(vma.scan_counter) < threshold(c) {
            return Access::Allow;
        }
        without_free_passes(vma, c)
    }
}
