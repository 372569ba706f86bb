//! kswapd and kcompactd of each node, and proactive compaction.
//!
//! They run at every epoch: for all of it on an idle CPU of their node, else for the share of a task beside those there
//! ([`node_cpu_share_ns`]). What takes longer is charged to the epochs that follow.

use crate::mm::daemon_time::{background_ns, copied_by_daemon, node_cpu_share_ns, occupy_node_cpu};
use crate::mm::shrink_pages::reclaim_context;
use crate::state::memory_daemons::PROACTIVE_NS;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::compact::PROACTIVE_DEFERRED;
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
    let share = node_cpu_share_ns(sim, node);
    let mut used = sim.mm.daemons.over_ns[node];
    while used < share && sim.mm.physical.kswapd(node).is_running() {
        let mut work = Work::default();
        let (physical, mut env) = reclaim_context(sim);
        physical.kswapd_step(node, &mut env, &mut work);
        used += time_of(sim, node, &work, used);
    }
    if used < share && sim.mm.physical.kcompactd(node).is_woken() {
        let mut work = Work::default();
        sim.mm.physical.run_kcompactd(node, &mut work);
        // Work that was asked for ends a deferral (Linux 5.15).
        sim.mm.daemons.proactive_at_ns[node] = sim.now_ns + PROACTIVE_NS;
        used += time_of(sim, node, &work, used);
    }
    while used < share && sim.mm.physical.kcompactd(node).is_proactive() {
        let mut work = Work::default();
        if sim.mm.physical.proactive_step(node, &mut work) {
            sim.mm.daemons.proactive_at_ns[node] = sim.now_ns + PROACTIVE_NS * PROACTIVE_DEFERRED;
        }
        used += time_of(sim, node, &work, used);
    }
    occupy_node_cpu(sim, node, used.min(share));
    sim.mm.daemons.over_ns[node] = used.saturating_sub(share);
}

/// Time of a pass of a kernel thread of a node that begins `used` from now, ns.
fn time_of(sim: &mut Simulation<'_>, node: usize, work: &Work, used: u64) -> u64 {
    let ns = PASS_NS.max(background_ns(sim, work, used));
    copied_by_daemon(sim, node, work, used, ns)
}
