//! 6.12: as 6.8, and a VMA that was not completed for more passes than the process has threads is free.

use super::filter::{Access, Filter, FilterContext, Shape};
use super::v67::by_thread_or_partial;
use super::v68::V68;
use crate::numa::state::VmaNuma;

/// The filter of 6.12.
pub struct V612;

impl Filter for V612 {
    /// As 6.8.
    const SHAPE: Shape = V68::SHAPE;

    fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
        match V68::access(vma, c) {
            Access::Deny => starved(vma, c),
            allowed => allowed,
        }
    }
}

/// The filter of 6.12 for a VMA without free passes.
pub(super) fn without_free_passes(vma: &VmaNuma, c: &FilterContext) -> Access {
    match by_thread_or_partial(vma, c) {
        Access::Deny => starved(vma, c),
        allowed => allowed,
    }
}

fn starved(vma: &VmaNuma, c: &FilterContext) -> Access {
    Access::allow_if(c.seq > vma.prev_scan_seq.wrapping_add(c.nr_threads as i32))
}
