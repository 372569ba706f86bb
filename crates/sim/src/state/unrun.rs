//! CPU time that a task still has to run for work that is carried out already.

use crate::state::cpu::Pending;

/// Rest of a slice in which a task lost its CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unrun {
    /// Its length, ns of CPU time.
    pub ns: u64,
    /// What was planned for its end.
    pub end: Option<Pending>,
}
