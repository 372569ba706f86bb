//! What checks look at.

use crate::state::event_queue::EventQueue;
use crate::state::simulation::Simulation;

/// Counters with their names.
pub(crate) type Counts = Vec<(String, u64)>;

/// What a check looks at.
pub(crate) struct View<'v, 'a> {
    /// The simulated machine.
    pub sim: &'v Simulation<'a>,
    /// What happens next.
    pub queue: &'v EventQueue,
    /// Instant of the check before, ns.
    pub before_ns: u64,
    /// Counters at the check before.
    pub before: &'v Counts,
}
