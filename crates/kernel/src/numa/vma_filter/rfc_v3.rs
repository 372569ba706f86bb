//! RFC V3 of May 2023, "Fix disjoint set vma scan regression" (on 6.4-rc2, not merged): instead of two free passes a VMA
//! has a budget of unconditional visits, 1 + half its size in scan windows, which is never refilled. Visits by threads
//! that did fault in the VMA use the budget up too.

use super::filter::{Access, Filter, FilterContext, Shape};
use super::v64::V64;
use crate::numa::state::VmaNuma;

/// The filter as posted.
pub struct RfcV3;

/// Unconditional visits of a VMA: 1 + ⌊⌊MiB/scan_size⌋/2⌋.
pub fn threshold(c: &FilterContext) -> u64 {
    let vma_mb = (c.end - c.start) >> 20;
    1 + vma_mb / u64::from(c.scan_size_mb) / 2
}

impl Filter for RfcV3 {
    /// As 6.4, with a count of visits.
    const SHAPE: Shape = Shape { counts_visits: true, ..V64::SHAPE };

    fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
        Access::allow_if(vma.accessed_by(c.tid) || u64::from(vma.scan_counter) < threshold(c))
    }
}
