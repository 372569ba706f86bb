//! 6.4, "numa scan enhancement": every VMA is free for the first two passes of the mm. Later a thread scans only VMAs in
//! which it faulted lately. VMAs of threads that never win the scan may remain unscanned for ever.

use super::filter::{Access, Filter, FilterContext, Shape};
use crate::numa::state::VmaNuma;

/// The filter of 6.4.
pub struct V64;

impl Filter for V64 {
    /// State and delay. Windows shift only for VMAs that passed the filter; there are no completion marks and no forced
    /// scan.
    const SHAPE: Shape = Shape { state: true, delay: true, ..Shape::NONE };

    fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
        Access::allow_if(c.seq < 2 || vma.accessed_by(c.tid))
    }
}
