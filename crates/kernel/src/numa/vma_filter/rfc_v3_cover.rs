//! RFC V3 as its covering letter words it: "total unconditional scans allowed = half of vma_size/scan_size". The fraction
//! is exact, so that even the smallest VMA is visited once.

use super::filter::{Access, Filter, FilterContext, Shape};
use super::rfc_v3::RfcV3;
use crate::numa::state::VmaNuma;

/// The filter of the covering letter.
pub struct RfcV3Cover;

impl Filter for RfcV3Cover {
    /// As the posted form.
    const SHAPE: Shape = RfcV3::SHAPE;

    /// Visits so far < ½·vma_bytes/scan_bytes.
    fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
        let scan_bytes = u128::from(c.scan_size_mb) << 20;
        let allowed = 2 * u128::from(vma.scan_counter) * scan_bytes < u128::from(c.end - c.start);
        Access::allow_if(vma.accessed_by(c.tid) || allowed)
    }
}
