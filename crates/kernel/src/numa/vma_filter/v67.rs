//! 6.7, "Complete scanning of partial and inactive VMAs": the next thread that comes to a VMA in which a work stopped
//! finishes it, completed VMAs are remembered per pass, and a walk that ends forces one inactive VMA.

use super::filter::{Access, Filter, FilterContext, Shape};
use crate::numa::state::VmaNuma;

/// The filter of 6.7.
pub struct V67;

impl Filter for V67 {
    /// All steps of kernel-numa-balancing.md §5.
    const SHAPE: Shape = Shape {
        state: true,
        delay: true,
        shift_before_filter: true,
        completion: true,
        force_inactive: true,
        ..Shape::NONE
    };

    /// The free passes count from the first pass of the mm, as in 6.4.
    fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
        if c.seq < 2 {
            return Access::Allow;
        }
        by_thread_or_partial(vma, c)
    }
}

/// The two rules in the middle, which 6.7, 6.8 and 6.12 share.
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
