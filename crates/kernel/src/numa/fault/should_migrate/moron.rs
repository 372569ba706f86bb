//! Migrate On Reference Of pte_numa Node: balancenuma's first stage, without a filter (designs-2012.md section 3.3).

use super::facts::MigrationFacts;
use crate::numa::counters::Denial;

/// Every page migrates at its first fault from another node.
///
/// # Errors
/// None.
pub fn decide(_: &MigrationFacts<'_>) -> Result<(), Denial> {
    Ok(())
}
