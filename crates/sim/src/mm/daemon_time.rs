//! What the work of kernel threads costs: CPU time of their node, the swap device, memory bandwidth.

use crate::charge::late_ticks::end_quiet;
use crate::hardware::access_rates::{When, EPOCH_NS};
use crate::mm::work::cpu_ns;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::Work;

/// Notes what a kernel thread of `node` copies in `ns`, which begin `used` from now: pages that are demoted, and pages
/// that compaction moves. Returns how long that takes, ns. (Copies of direct reclaim load no memory: a simplification.)
pub(crate) fn copied_by_daemon(sim: &mut Simulation<'_>, node: usize, work: &Work, used: u64, ns: u64) -> u64 {
    let when = When { now_ns: sim.now_ns, from_ns: sim.now_ns + used };
    let (page, mut all_ns) = (sim.cfg.base_page(), ns as f64);
    if let Some(to) = sim.mm.physical.demotion_target(node) {
        all_ns = sim.hw.contention.copied(node, to, page.bytes_of(work.demoted), when, all_ns);
    }
    sim.hw.contention.copied(node, node, page.bytes_of(work.compact_moved), when, all_ns) as u64
}

/// Time of a kernel thread's work, waits for the swap device included.
pub(crate) fn background_ns(sim: &mut Simulation<'_>, work: &Work, used: u64) -> u64 {
    let cpu = cpu_ns(work, &sim.machine.costs);
    cpu + sim.mm.swap_queue.wait(sim.now_ns + used + cpu, work, &sim.cfg.mm.swap)
}

/// Time that a kernel thread of the node gets of an epoch, ns. kswapd and kcompactd may run on the CPUs of their node
/// alone, with the weight of any task: on an idle one all the time, else by turns with the tasks of the least busy one.
pub(crate) fn node_cpu_share_ns(sim: &Simulation<'_>, node: usize) -> u64 {
    let waiting = |&cpu: &usize| match sim.cpus[cpu].task {
        None => 0,
        Some(_) => u64::from(sim.kernel.sched.nr_running(cpu as u32)).max(1),
    };
    EPOCH_NS / (1 + sim.machine.nodes[node].cpus.iter().map(waiting).min().unwrap_or(0))
}

/// A kernel thread runs for `ns` on a CPU of the node: an idle one, else it delays a task.
pub(crate) fn occupy_node_cpu(sim: &mut Simulation<'_>, node: usize, ns: u64) {
    let cpus = &sim.machine.nodes[node].cpus;
    if cpus.is_empty() || cpus.iter().any(|&c| sim.cpus[c].task.is_none()) {
        return;
    }
    let turn = (sim.now_ns / EPOCH_NS) as usize % cpus.len();
    let cpu = cpus[turn];
    end_quiet(sim, cpu);
    sim.cpus[cpu].debt_ns += ns;
}
