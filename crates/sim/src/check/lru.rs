//! The LRU lists hold the pages that say so.

use crate::check::frames::in_flight;
use crate::check::view::View;
use numalab_kernel::mm::pageblock::Frame;

/// As many pages as are active, on each node, are on its active list. The batches of the CPUs can be found by page.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    let sim = v.sim;
    let mut active = vec![0u64; sim.machine.node_count()];
    sim.processes.iter().for_each(|p| p.space.add_active_on_node(&mut active));
    sim.mm.shared.add_active_on_node(&mut active);
    for (node, frame, pages, anon) in in_flight(sim) {
        active[node] += if anon && frame.has(Frame::ACTIVE) { pages } else { 0 };
    }
    if let Some(n) = (0..active.len()).find(|&n| active[n] != sim.mm.physical.account(n).lru.active_anon) {
        return Err(format!("node {n}: {} active pages, {:?}", active[n], sim.mm.physical.account(n).lru));
    }
    sim.mm.lru_batches.check()
}
