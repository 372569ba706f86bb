//! No filter (until 6.3): every thread scans every suitable VMA, and VMAs carry no state.

use super::Shape;

/// Nothing.
pub const SHAPE: Shape =
    Shape { state: false, shift_before_filter: false, completion: false, counts_visits: false, refill_passes: 0 };
