//! 6.12 with the idea of RFC V3 of 2023: instead of two free passes a VMA has a budget of unconditional visits that
//! grows with its size. `catalog/guest/disjoint-vma-budget.patch` is the same rule as a patch of the real kernel.

use super::{rfc_v3, v612, Access, FilterContext, Shape};
use crate::numa::state::VmaNuma;

/// As 6.12, with a count of visits.
pub const SHAPE: Shape = Shape { counts_visits: true, ..v612::SHAPE };

/// `vma_is_accessed` of the patched 6.12.
pub fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
    if u64::from(vma.scan_counter) < rfc_v3::threshold(c) {
        return Access::Allow;
    }
    v612::without_free_passes(vma, c)
}
