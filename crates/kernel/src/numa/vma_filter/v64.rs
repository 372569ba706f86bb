//! 6.4, "numa scan enhancement": free for the first two passes of the mm, then only for threads that faulted
//! in the VMA lately. VMAs of threads that never win the scan may remain unscanned for ever.

use super::{Access, FilterContext, Shape};
use crate::numa::state::VmaNuma;

/// State and delay; windows shift only for VMAs that passed the filter; no completion marks, no forced scan.
pub const SHAPE: Shape =
    Shape { state: true, shift_before_filter: false, completion: false, counts_visits: false, refill_passes: 0 };

/// `vma_is_accessed` of 6.4.
pub fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
    Access::allow_if(c.seq < 2 || vma.accessed_by(c.tid))
}
