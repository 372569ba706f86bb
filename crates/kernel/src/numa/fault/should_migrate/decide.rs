//! The migration rules by name.

use super::facts::MigrationFacts;
use super::{moron, v313, v315, v38, v420, v46};
use crate::numa::counters::Denial;
use crate::numa::rules::MigrateRule;

impl MigrateRule {
    /// Applies the rule.
    ///
    /// # Errors
    /// The reason why the page stays.
    #[inline]
    pub fn decide(self, f: &MigrationFacts<'_>) -> Result<(), Denial> {
        match self {
            Self::Moron => moron::decide(f),
            Self::V38 => v38::decide(f),
            Self::V313 => v313::decide(f),
            Self::V315 => v315::decide(f),
            Self::V46 => v46::decide(f),
            Self::V420 => v420::decide(f),
        }
    }
}
