//! Values of `system.numa_balancing` under which tunables are read.

use numalab_base::tunable::Needs;

/// Hint faults and scans happen.
pub const BALANCING_ON: Needs = Needs::OneOf(&["1", "2", "3", "4"]);
/// The memory-tiering bit is set.
pub const TIERING_ON: Needs = Needs::OneOf(&["2", "3"]);
