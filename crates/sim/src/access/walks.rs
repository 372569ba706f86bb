//! The visible list of walks: a new one is its file here, its module, and its line in this list.

use crate::access::random::Random;
use crate::access::stride::Stride;
use crate::access::sweep::Sweep;
use crate::access::walk::{go, Walker};
use crate::state::simulation::Simulation;
use crate::state::step::Step;
use numalab_model::access::Walk;
use numalab_model::workload::Access;

/// Does something with the walker of an access.
macro_rules! with_walker {
    ($access:expr, $walker:ident => $what:expr) => {
        match $access.pattern.walk() {
            Walk::Sweep(order) => {
                let $walker = &mut Sweep::new(order);
                $what
            }
            Walk::Stride { stride_bytes } => {
                let $walker = &mut Stride::new(stride_bytes);
                $what
            }
            Walk::Random(_) => {
                let $walker = &mut Random::default();
                $what
            }
        }
    };
}

/// Carries out an access up to `end`.
pub(crate) fn walk(sim: &mut Simulation<'_>, by: (usize, u32), access: &Access, clock: &mut u64, end: u64) -> Step {
    with_walker!(access, walker => go(walker, sim, by, access, clock, end))
}

/// Draws from `chunks` chunks that find as many as an access touches when it is made `times` times, and as it writes to.
pub(crate) fn draws(access: &Access, chunks: u64, times: f64) -> (f64, f64) {
    with_walker!(access, walker => walker.draws(access, chunks, times))
}
