//! 6.7, "Complete scanning of partial and inactive VMAs": a VMA in which a work stopped is finished by whoever
//! comes next, completed VMAs are remembered per pass, and a walk that ends forces one inactive VMA.

use super::{Access, FilterContext, Shape};
use crate::numa::state::VmaNuma;

/// All steps of kernel-numa-balancing.md §5.
pub const SHAPE: Shape =
    Shape { state: true, shift_before_filter: true, completion: true, counts_visits: false, refill_passes: 0 };

/// `vma_is_accessed` of 6.7: the free passes still count from the mm's first.
pub fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
    if c.seq < 2 {
        return Access::Allow;
    }
    by_thread_or_partial(vma, c)
}

/// The two rules in the middle that 6.7, 6.8 and 6.12 share.
pub(super) fn by_thread_or_partial(vma: &VmaNuma, c: &FilterContext) -> Access {
    if vma.accessed_by(c.tid) {
        Access::Allow
    } else if c.scan_offset > c.start {
        // The stored offset: during one work it changes only by completion and reset.
        Access::AllowPartial
    } else {
        Access::Deny
    }
}
