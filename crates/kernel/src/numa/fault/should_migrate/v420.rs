//! 4.19 to 6.12: as 4.6, with an exception. A task without preferred node, or in its first passes, takes pages whose
//! last fault is none or its own, on whatever node that was.

use super::facts::MigrationFacts;
use super::v46;
use crate::numa::counters::Denial;

/// Number of passes that count as early life.
const EARLY_PASSES: i32 = 4;

/// Applies §10 steps 5 to 10.
///
/// # Errors
/// The errors of [`v46::decide`].
pub fn decide(f: &MigrationFacts<'_>) -> Result<(), Denial> {
    let young = f.task.numa_preferred_nid.is_none() || f.task.numa_scan_seq <= EARLY_PASSES;
    if young && (f.last.pid_unset() || f.last.matches(f.task.pid)) {
        return Ok(());
    }
    v46::decide(f)
}
