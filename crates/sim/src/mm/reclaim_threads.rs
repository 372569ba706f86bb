//! kswapd and kcompactd of each node, and proactive compaction.
//!
//! They run at every epoch. Each may use the time of the epoch once, on an idle CPU of its node if there is one, else
//! at the cost of a task there.

use crate::hardware::access_rates::EPOCH_NS;
use crate::mm::daemon_time::{background_ns, copied_by_daemon, occupy_node_cpu};
use crate::mm::shrink_pages::reclaim_context;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{PhysicalMemory, Work};
use numalab_kernel::numa::counters::Refusal;
use numalab_kernel::numa::NumaBalancing;

/// A pass that finds nothing to do takes this long at least, ns.
const PASS_NS: u64 = 10_000;

/// With memory tiering a hint fault that finds its target nearly full wakes the kswapd there, so that later ones
/// find room (`numamigrate_isolate_page`, later `migrate_misplaced_folio_prepare`). `pages` are those of the page.
pub(crate) fn wake_kswapd_after_refusal(
    physical: &mut PhysicalMemory,
    numa: &NumaBalancing,
    refusal: Option<Refusal>,
    target: usize,
    pages: u32,
) {
    if refusal == Some(Refusal::NearlyFull) && numa.cfg.tiering() {
        // No allocation waits: the kernel passes no flags (gfp 0).
        physical.wake_kswapd(target, pages > 1, false);
    }
}

pub(crate) fn reclaim_in_background(sim: &mut Simulation<'_>, node: usize) {
    let mut used = sim.mm.daemons.over_ns[node];
    while used < EPOCH_NS && sim.mm.physical.kswapd(node).is_running() {
        let mut work = Work::default();
        let (physical, mut env) = reclaim_context(sim);
        physical.kswapd_step(node, &mut env, &mut work);
        let ns = PASS_NS.max(background_ns(sim, &work, used));
        used += copied_by_daemon(sim, node, &work, used, ns);
    }
    if used < EPOCH_NS && sim.mm.physical.kcompactd(node).is_woken() {
        let mut work = Work::default();
        sim.mm.physical.run_kcompactd(node, &mut work);
        let ns = PASS_NS.max(background_ns(sim, &work, used));
        used += copied_by_daemon(sim, node, &work, used, ns);
    }
    occupy_node_cpu(sim, node, used.min(EPOCH_NS));
    sim.mm.daemons.over_ns[node] = used.saturating_sub(EPOCH_NS);
}
