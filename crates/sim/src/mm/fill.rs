//! Clearing a new page, and what it costs.

use crate::state::simulation::Simulation;
use numalab_kernel::mm::CHUNK_BYTES;

/// The fault of a page of `node` that a CPU of `here` clears; returns its time.
pub(crate) fn fill_ns(sim: &mut Simulation<'_>, here: usize, node: usize, huge: bool) -> f64 {
    let slower = sim.hw.contention.latency_factor(here, node);
    if !huge {
        // Its lines stay in the CPU's cache: who faulted finds them there, and pays for them with its own access.
        return sim.hw.costs.minor_fault_ns(here, node, slower);
    }
    let ns = sim.hw.costs.huge_fault_ns(here, node, slower);
    sim.hw.contention.cleared(here, node, CHUNK_BYTES, ns);
    ns
}
