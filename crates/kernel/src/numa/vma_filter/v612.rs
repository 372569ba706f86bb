//! 6.12: as 6.8, and a VMA that was not completed for more passes than the process has threads is free.

use super::{v68, Access, FilterContext, Shape};
use crate::numa::state::VmaNuma;

/// As 6.8.
pub const SHAPE: Shape = v68::SHAPE;

/// `vma_is_accessed` of 6.12.
pub fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
    match v68::access(vma, c) {
        Access::Deny => Access::allow_if(c.seq > vma.prev_scan_seq.wrapping_add(c.nr_threads as i32)),
        allowed => allowed,
    }
}
