//! 3.8: a two-stage filter by node alone. A page moves only if two faults in a row came from this node. That release
//! kept the node in the page; here it is the node of the recorded CPU.

use super::facts::MigrationFacts;
use crate::numa::counters::Denial;

/// Migrates only if the last fault came from the faulting node.
///
/// # Errors
/// [`Denial::TwoStage`].
pub fn decide(f: &MigrationFacts<'_>) -> Result<(), Denial> {
    if f.last_node() == Some(f.dst) {
        Ok(())
    } else {
        Err(Denial::TwoStage)
    }
}
