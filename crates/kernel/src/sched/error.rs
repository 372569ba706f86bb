//! Errors of the scheduler.

use thiserror::Error;

/// A machine or request that the modelled scheduler cannot work with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SchedError {
    /// A machine without CPUs, or tables whose sizes do not match.
    #[error("{what}; expected {expected}")]
    Machine {
        /// What is wrong.
        what: String,
        /// What was expected.
        expected: String,
    },
    /// Node distances from which no domain tower can be built.
    #[error("{what}; expected {expected}")]
    Distances {
        /// What is wrong.
        what: String,
        /// What was expected.
        expected: String,
    },
    /// An affinity that names an absent CPU, or no CPU.
    #[error("{what}; expected {expected}")]
    Affinity {
        /// What is wrong.
        what: String,
        /// What was expected.
        expected: String,
    },
    /// A tunable whose word is not a choice. This occurs only when a configuration is built in code.
    #[error("{what}; expected {expected}")]
    Tunable {
        /// What is wrong.
        what: String,
        /// What was expected.
        expected: String,
    },
}

impl SchedError {
    /// What is wrong, and what was expected.
    pub fn parts(&self) -> (&str, &str) {
        match self {
            Self::Machine { what, expected }
            | Self::Distances { what, expected }
            | Self::Affinity { what, expected }
            | Self::Tunable { what, expected } => (what, expected),
        }
    }
}
