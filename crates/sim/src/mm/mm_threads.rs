//! The kernel threads of memory management at an epoch: proactive compaction, kswapd, kcompactd, khugepaged.

use crate::mm::collapse::collapse_in_background;
use crate::mm::reclaim_threads::reclaim_in_background;
use crate::mm::work::cpu_ns;
use crate::state::memory_daemons::PROACTIVE_NS;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::Work;

/// Lets the kernel threads work for an epoch.
pub(crate) fn memory_daemons(sim: &mut Simulation<'_>) {
    let proactive = sim.now_ns >= sim.mm.daemons.proactive_at_ns;
    if proactive {
        sim.mm.daemons.proactive_at_ns = sim.now_ns + PROACTIVE_NS;
    }
    for node in 0..sim.mm.physical.nodes() {
        if proactive && sim.mm.physical.memory_nodes().contains(node) {
            let mut work = Work::default();
            sim.mm.physical.proactive_compaction(node, &mut work);
            sim.mm.daemons.over_ns[node] += cpu_ns(&work, &sim.machine.costs);
        }
        let busy = sim.mm.physical.kswapd(node).is_running() || sim.mm.physical.kcompactd(node).is_woken();
        if busy || sim.mm.daemons.over_ns[node] > 0 {
            reclaim_in_background(sim, node);
        }
    }
    collapse_in_background(sim);
}
