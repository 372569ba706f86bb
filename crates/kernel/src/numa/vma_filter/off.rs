//! No filter (up to 6.3): every thread scans every suitable VMA, and VMAs carry no state.

use super::filter::{Access, Filter, FilterContext, Shape};
use crate::numa::state::VmaNuma;

/// No filter.
pub struct Off;

impl Filter for Off {
    const SHAPE: Shape = Shape::NONE;

    fn access(_vma: &VmaNuma, _c: &FilterContext) -> Access {
        Access::Allow
    }
}
