//! kswapd and kcompactd of each node, and proactive compaction.
//!
//! They run at every epoch. Each may use the time of the epoch once, on an idle CPU of its node if there is one, else at the cost
//! of a task there.

use crate::mm::khugepaged::collapse_in_background;
use crate::mm::reclaim::ReclaimContext;
use crate::mm::work::cpu_ns;
use crate::state::contention::EPOCH_NS;
use crate::state::memory_daemons::PROACTIVE_NS;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{Work, PAGE_BYTES};
use numalab_kernel::numa::counters::Refusal;

/// A pass that finds nothing to do takes this long at least, ns.
const PASS_NS: u64 = 10_000;

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

/// With memory tiering a hint fault that finds its target nearly full wakes the kswapd there, so that later ones
/// find room (`numamigrate_isolate_page`, later `migrate_misplaced_folio_prepare`). `pages` are those of the page.
pub(crate) fn wake_kswapd_after_refusal(sim: &mut Simulation<'_>, refusal: Option<Refusal>, target: usize, pages: u32) {
    if refusal == Some(Refusal::NearlyFull) && sim.kernel.numa.cfg.tiering() {
        // No allocation waits: the kernel passes no flags (gfp 0).
        sim.mm.physical.wake_kswapd(target, pages > 1, false);
    }
}

pub(crate) fn reclaim_in_background(sim: &mut Simulation<'_>, node: usize) {
    let mut used = sim.mm.daemons.over_ns[node];
    while used < EPOCH_NS && sim.mm.physical.kswapd(node).is_running() {
        let mut work = Work::default();
        let (processes, shared, hands) = (&mut sim.processes, &mut sim.mm.shared, &mut sim.mm.clock_hands);
        let mut env = ReclaimContext { processes, shared, hands, forget: sim.kernel.numa.cpupid_forgotten_from() };
        sim.mm.physical.kswapd_step(node, &mut env, &mut work);
        let ns = PASS_NS.max(background_ns(sim, &work, used));
        copied_by_daemon(sim, node, &work, ns);
        used += ns;
    }
    if used < EPOCH_NS && sim.mm.physical.kcompactd(node).is_woken() {
        let mut work = Work::default();
        sim.mm.physical.run_kcompactd(node, &mut work);
        let ns = PASS_NS.max(background_ns(sim, &work, used));
        copied_by_daemon(sim, node, &work, ns);
        used += ns;
    }
    occupy_node_cpu(sim, node, used.min(EPOCH_NS));
    sim.mm.daemons.over_ns[node] = used.saturating_sub(EPOCH_NS);
}

/// What a kernel thread of `node` copies in `ns`: pages that go to the slower tier, and those that compaction moves.
/// (What tasks do themselves in direct reclaim loads no memory.)
pub(crate) fn copied_by_daemon(sim: &mut Simulation<'_>, node: usize, work: &Work, ns: u64) {
    if let Some(to) = sim.mm.physical.demotion_target(node) {
        sim.hw.contention.copied(node, to, work.demoted * PAGE_BYTES, ns as f64);
    }
    sim.hw.contention.copied(node, node, work.compact_moved * PAGE_BYTES, ns as f64);
}

/// Time of a kernel thread's work, waits for the swap device included.
pub(crate) fn background_ns(sim: &mut Simulation<'_>, work: &Work, used: u64) -> u64 {
    let cpu = cpu_ns(work, &sim.machine.costs);
    cpu + sim.mm.swap_queue.wait(sim.now_ns + used + cpu, work, &sim.cfg.mm.swap)
}

/// A kernel thread runs for `ns` on a CPU of the node: an idle one, else it delays a task.
pub(crate) fn occupy_node_cpu(sim: &mut Simulation<'_>, node: usize, ns: u64) {
    let cpus = &sim.machine.nodes[node].cpus;
    if cpus.is_empty() || cpus.iter().any(|&c| sim.cpus[c].task.is_none()) {
        return;
    }
    let turn = (sim.now_ns / EPOCH_NS) as usize % cpus.len();
    sim.cpus[cpus[turn]].debt_ns += ns;
}
