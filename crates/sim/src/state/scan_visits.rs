//! How often the scanner came to a mapping, and what it did there.

use numalab_kernel::numa::counters::SkipReason;

/// Visits of the scanner to one mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanVisits {
    /// It was scanned.
    pub scanned: u32,
    /// Passed over because the scanning thread was not seen there lately.
    pub inactive: u32,
    /// Passed over because its pages cannot or must not move, as the scanning thread's policy has it.
    pub unsuitable: u32,
    /// Passed over because it is young, small, or done in this pass.
    pub not_due: u32,
}

impl ScanVisits {
    /// The scanner passed over it.
    #[inline]
    pub fn pass_over(&mut self, reason: SkipReason) {
        let count = match reason {
            SkipReason::PidInactive => &mut self.inactive,
            SkipReason::Unsuitable | SkipReason::SharedRo | SkipReason::Inaccessible => &mut self.unsuitable,
            SkipReason::ScanDelay | SkipReason::SeqCompleted | SkipReason::Small => &mut self.not_due,
            // It is scanned.
            SkipReason::IgnorePidInactive => return,
        };
        *count += 1;
    }
}
