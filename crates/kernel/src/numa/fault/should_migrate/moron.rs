//! Migrate On Reference Of pte_numa Node: balancenuma's first stage, before it had a filter (designs-2012.md section 3.3).

use super::facts::MigrationFacts;
use crate::numa::counters::Denial;

/// Migrates whatever faults, whoever faulted before.
///
/// # Errors
/// None.
pub fn decide(_: &MigrationFacts<'_>) -> Result<(), Denial> {
    Ok(())
}
