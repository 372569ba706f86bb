//! Clearing a new page, and what it costs.

use crate::state::simulation::Simulation;
use numalab_kernel::mm::CHUNK_BYTES;

/// Time of a fault in which a CPU of node `here` clears a page of `node`, ns.
pub(crate) fn fill_ns(sim: &mut Simulation<'_>, here: usize, node: usize, huge: bool) -> f64 {
    let slower = sim.hw.contention.latency_factor(here, node);
    if !huge {
        // The lines of a base page stay in the CPU's cache. The access that faulted finds them there and pays for them.
        return sim.hw.costs.minor_fault_ns(here, node, slower);
    }
    let ns = sim.hw.costs.huge_fault_ns(here, node, slower);
    sim.hw.contention.cleared(here, node, CHUNK_BYTES, ns);
    ns
}
