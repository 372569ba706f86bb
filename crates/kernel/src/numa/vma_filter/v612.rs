//! 6.12: as 6.8, and a VMA that was not completed for more passes than the process has threads is free.

use super::{v67, v68, Access, FilterContext, Shape};
use crate::numa::state::VmaNuma;

/// As 6.8.
pub const SHAPE: Shape = v68::SHAPE;

/// `vma_is_accessed` of 6.12.
pub fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
    match v68::access(vma, c) {
        Access::Deny => starved(vma, c),
        allowed => allowed,
    }
}

/// The same, had the VMA no free passes.
pub(super) fn without_free_passes(vma: &VmaNuma, c: &FilterContext) -> Access {
    match v67::by_thread_or_partial(vma, c) {
        Access::Deny => starved(vma, c),
        allowed => allowed,
    }
}

fn starved(vma: &VmaNuma, c: &FilterContext) -> Access {
    Access::allow_if(c.seq > vma.prev_scan_seq.wrapping_add(c.nr_threads as i32))
}
