//! Clearing a new page, and what it costs.

use crate::charge::core::sibling;
use crate::state::contention::When;
use crate::state::simulation::Simulation;
use numalab_kernel::hw::smt::{self, stream_share};
use numalab_kernel::mm::{CHUNK_BYTES, PAGE_BYTES};

/// Time of a fault in which `cpu` clears a page of `node` from `clock` on, ns. Beside a busy hardware thread it takes longer, as user
/// work does: the way into the kernel as computing, the clear as a stream.
pub(crate) fn fill_ns(sim: &mut Simulation<'_>, cpu: usize, node: usize, huge: bool, clock: u64) -> f64 {
    let here = sim.cpus[cpu].node;
    let (slower, sibling) = (sim.hw.contention.latency_factor(here, node), sibling(sim, cpu));
    let costs = &sim.hw.costs;
    let (all, clear) = if huge {
        (costs.huge_fault_ns(here, node, slower), costs.clear_2m_ns(here, node, slower))
    } else {
        (costs.minor_fault_ns(here, node, slower), costs.clear_4k_ns(here, node, slower))
    };
    let ns = (all - clear) / smt::speed(0.0, sibling) + clear / stream_share(sibling);
    if !huge {
        // The lines stay in the CPU's cache. A sweep behind the fault finds them there and is charged for them as for any others.
        sim.mm.cleared_page = Some(node as u16);
        return ns;
    }
    let when = When { now_ns: sim.now_ns, from_ns: clock };
    sim.hw.contention.cleared(here, node, CHUNK_BYTES, when, ns)
}

/// Sends the lines of a page to its memory that the last fault, from `clock` on for `fault_ns`, has cleared, for an access that does
/// not go over them. They are written back meanwhile. Returns how long the thread stands still because a pipe is full, ns.
pub(crate) fn write_back_cleared(sim: &mut Simulation<'_>, cpu: usize, clock: u64, fault_ns: u64) -> u64 {
    let Some(node) = sim.mm.cleared_page.take() else { return 0 };
    let here = sim.cpus[cpu].node;
    let when = When { now_ns: sim.now_ns, from_ns: clock };
    let ns = sim.hw.contention.cleared(here, usize::from(node), PAGE_BYTES, when, fault_ns as f64);
    (ns as u64).saturating_sub(fault_ns)
}
