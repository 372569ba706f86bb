//! The kernel threads of memory management at an epoch: proactive compaction, kswapd, kcompactd, khugepaged.

use crate::mm::collapse::collapse_in_background;
use crate::mm::reclaim_threads::reclaim_in_background;
use crate::state::memory_daemons::PROACTIVE_NS;
use crate::state::simulation::Simulation;

/// Lets the kernel threads work for an epoch.
pub(crate) fn memory_daemons(sim: &mut Simulation<'_>) {
    for node in 0..sim.mm.physical.nodes() {
        if sim.now_ns >= sim.mm.daemons.proactive_at_ns[node] {
            sim.mm.daemons.proactive_at_ns[node] = sim.now_ns + PROACTIVE_NS;
            if sim.mm.physical.memory_nodes().contains(node) && !sim.mm.physical.kcompactd(node).is_proactive() {
                sim.mm.physical.start_proactive(node);
            }
        }
        let kcompactd = sim.mm.physical.kcompactd(node);
        let busy = sim.mm.physical.kswapd(node).is_running() || kcompactd.is_woken() || kcompactd.is_proactive();
        if busy || sim.mm.daemons.over_ns[node] > 0 {
            reclaim_in_background(sim, node);
        }
    }
    collapse_in_background(sim);
}
