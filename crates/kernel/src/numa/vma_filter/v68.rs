//! 6.8: as 6.7, with the two free passes counted from the pass in which the VMA's state was created.

use super::{v67, Access, FilterContext, Shape};
use crate::numa::state::VmaNuma;

/// As 6.7.
pub const SHAPE: Shape = v67::SHAPE;

/// `vma_is_accessed` of 6.8.
pub fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
    // Signed: a fork may have reset the pass counter below the VMA's.
    if c.seq.wrapping_sub(vma.start_scan_seq) < 2 {
        return Access::Allow;
    }
    v67::by_thread_or_partial(vma, c)
}
