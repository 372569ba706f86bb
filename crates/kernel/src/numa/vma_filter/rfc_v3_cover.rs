//! RFC V3 as its covering letter words it: "total unconditional scans allowed = half of vma_size/scan_size",
//! taken as an exact fraction, so even the smallest VMA is visited once.

use super::{rfc_v3, Access, FilterContext, Shape};
use crate::numa::state::VmaNuma;

/// As the posted form.
pub const SHAPE: Shape = rfc_v3::SHAPE;

/// The filter of the covering letter: visits so far < ½·vma_bytes/scan_bytes.
pub fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
    let scan_bytes = u128::from(c.scan_size_mb) << 20;
    let allowed = 2 * u128::from(vma.scan_counter) * scan_bytes < u128::from(c.end - c.start);
    Access::allow_if(vma.accessed_by(c.tid) || allowed)
}
