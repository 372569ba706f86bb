//! RFC V2 of the same series: the budget of V3, with one visit more and refilled in every 16th pass.

use super::{rfc_v3, Access, FilterContext, Shape};
use crate::numa::state::VmaNuma;

/// As V3, refilled.
pub const SHAPE: Shape = Shape { refill_passes: 16, ..rfc_v3::SHAPE };

/// The filter of V2: visits so far ≤ threshold.
pub fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
    Access::allow_if(vma.accessed_by(c.tid) || u64::from(vma.scan_counter) <= rfc_v3::threshold(c))
}
