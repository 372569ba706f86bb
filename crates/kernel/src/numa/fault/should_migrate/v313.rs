//! 3.13: a two-stage filter on the last cpupid. A page without a last fault moves at once.

use super::facts::MigrationFacts;
use crate::numa::counters::Denial;

/// Migrates unless the last fault came from another node.
///
/// # Errors
/// [`Denial::TwoStage`].
pub fn decide(f: &MigrationFacts<'_>) -> Result<(), Denial> {
    if !f.last.pid_unset() && f.last_node() != Some(f.dst) {
        return Err(Denial::TwoStage);
    }
    Ok(())
}
