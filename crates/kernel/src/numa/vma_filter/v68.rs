//! 6.8: as 6.7, with the two free passes counted from the pass in which the VMA's state was created.

use super::filter::{Access, Filter, FilterContext, Shape};
use super::v67::{by_thread_or_partial, V67};
use crate::numa::state::VmaNuma;

/// The filter of 6.8.
pub struct V68;

impl Filter for V68 {
    /// As 6.7.
    const SHAPE: Shape = V67::SHAPE;

    fn access(vma: &VmaNuma, c: &FilterContext) -> Access {
        // Signed: a fork may have reset the pass counter below the VMA's.
        if c.seq.wrapping_sub(vma.start_scan_seq) < 2 {
            return Access::Allow;
        }
        by_thread_or_partial(vma, c)
    }
}
