//! What the scheduler refuses.

use std::fmt;

/// A machine or request the modelled scheduler cannot work with: what, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedError {
    /// A machine without CPUs, or tables whose sizes do not match.
    Machine {
        /// What is wrong.
        what: String,
        /// What was expected.
        expected: String,
    },
    /// Node distances from which no domain tower can be built.
    Distances {
        /// What is wrong.
        what: String,
        /// What was expected.
        expected: String,
    },
    /// An affinity that names an absent CPU, or none.
    Affinity {
        /// What is wrong.
        what: String,
        /// What was expected.
        expected: String,
    },
    /// A tunable out of its choices (only reachable when a configuration is built in code).
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

impl fmt::Display for SchedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, expected) = self.parts();
        write!(f, "{what}; expected {expected}")
    }
}

impl std::error::Error for SchedError {}
