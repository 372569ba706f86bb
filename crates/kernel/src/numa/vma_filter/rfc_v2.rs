//! RFC V2 of the same series: the budget of V3 with one visit more, refilled in every 16th pass.

use super::filter::{Access, Filter, FilterContext, Shape};
use super::rfc_v3::{threshold, RfcV3};
use crate::numa::state::VmaNuma;

/// The filter of V2.
pub struct RfcV2;

impl Filter for RfcV2 {
    /// As V3, refilled.
    const SHAPE: Shape = Shape { refill_passes: 16, ..RfcV3::SHAPE };

    /// Visits so far ≤ threshold.
    fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
        Access::allow_if(vma.accessed_by(c.tid) || u64::from(vma.scan_counter) <= threshold(c))
    }
}
