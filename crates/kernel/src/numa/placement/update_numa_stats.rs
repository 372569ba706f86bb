//! Sums over the CPUs of a node (kernel: `update_numa_stats`), and whether loads are too far apart.

use super::node_stats::NodeStats;
use super::search::Search;
use crate::numa::balancing::NumaBalancing;
use crate::numa::host::TaskHost;

/// Whether loads `src` and `dst` after a move are further apart, relative to capacity, than before. `stats` are those
/// of source and destination before it.
pub fn load_too_imbalanced(src: i64, dst: i64, stats: (&NodeStats, &NodeStats)) -> bool {
    let (src_cap, dst_cap) = (stats.0.capacity as i64, stats.1.capacity as i64);
    let apart = |s: i64, d: i64| d.wrapping_mul(src_cap).wrapping_sub(s.wrapping_mul(dst_cap)).wrapping_abs();
    apart(src, dst) > apart(stats.0.load as i64, stats.1.load as i64)
}

impl NumaBalancing {
    /// Sums over the CPUs of `nid`; with `find_idle` also an idle CPU for the task.
    pub(super) fn update_numa_stats<H: TaskHost>(
        &self,
        s: &Search,
        nid: usize,
        find_idle: bool,
        host: &H,
    ) -> NodeStats {
        let mut stats = NodeStats::default();
        let mut idle_core = None;
        for &cpu in self.topo.cpus(nid) {
            let c = host.cpu_stats(cpu);
            stats.load += c.load;
            stats.runnable += c.runnable;
            stats.util += c.util;
            stats.nr_running += c.nr_running;
            stats.capacity += c.capacity;
            if find_idle && idle_core.is_none() && host.idle(cpu) && !host.claimed(cpu) && host.allowed(s.task, cpu) {
                stats.idle_cpu = stats.idle_cpu.or(Some(cpu));
                // Whole idle cores come first, so that the balancer need not spread siblings later.
                idle_core = host.core_idle(cpu).then_some(cpu);
            }
        }
        stats.weight = self.topo.cpus(nid).len() as u32;
        stats.node_type = stats.numa_classify(s.imbalance_pct);
        stats.idle_cpu = idle_core.or(stats.idle_cpu);
        stats
    }
}
