//! Load of a node and its class (kernel-numa-balancing.md §14.3).

use super::Search;
use crate::numa::host::TaskHost;
use crate::numa::NumaBalancing;
use numalab_base::words;

words! {
    /// How loaded a node is.
    pub enum NodeType {
        /// CPUs to spare.
        HasSpare = "has_spare",
        /// Neither.
        FullyBusy = "fully_busy",
        /// More than it can run.
        Overloaded = "overloaded",
    }
}

/// Sums over the CPUs of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStats {
    /// Load.
    pub load: u64,
    /// Runnable.
    pub runnable: u64,
    /// Utilisation.
    pub util: u64,
    /// Capacity.
    pub capacity: u64,
    /// Queued fair tasks.
    pub nr_running: u32,
    /// CPUs.
    pub weight: u32,
    /// Class.
    pub node_type: NodeType,
    /// An idle CPU the task may use, on an idle core if there is one.
    pub idle_cpu: Option<usize>,
}

impl Default for NodeStats {
    fn default() -> Self {
        Self {
            load: 0,
            runnable: 0,
            util: 0,
            capacity: 0,
            nr_running: 0,
            weight: 0,
            node_type: NodeType::HasSpare,
            idle_cpu: None,
        }
    }
}

impl NodeStats {
    /// Class with imbalance percentage `q` (`numa_classify`).
    pub fn classify(&self, q: u64) -> NodeType {
        let (cap, util, runnable) = (self.capacity, self.util, self.runnable);
        if self.nr_running > self.weight && (cap * 100 < util * q || cap * q < runnable * 100) {
            NodeType::Overloaded
        } else if self.nr_running < self.weight || (cap * 100 > util * q && cap * q > runnable * 100) {
            NodeType::HasSpare
        } else {
            NodeType::FullyBusy
        }
    }
}

/// Whether loads `src`/`dst` after a move are further apart, relative to capacity, than those before
/// (`load_too_imbalanced`). `stats` are (source, destination) before it.
pub fn too_imbalanced(src: i64, dst: i64, stats: (&NodeStats, &NodeStats)) -> bool {
    let (src_cap, dst_cap) = (stats.0.capacity as i64, stats.1.capacity as i64);
    let apart = |s: i64, d: i64| d.wrapping_mul(src_cap).wrapping_sub(s.wrapping_mul(dst_cap)).wrapping_abs();
    apart(src, dst) > apart(stats.0.load as i64, stats.1.load as i64)
}

impl NumaBalancing {
    /// `update_numa_stats`; the idle CPU is searched for on request.
    pub(super) fn node_stats<H: TaskHost>(&self, s: &Search, nid: usize, find_idle: bool, host: &H) -> NodeStats {
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
                // Whole cores first, so that the balancer need not spread siblings later.
                idle_core = host.core_idle(cpu).then_some(cpu);
            }
        }
        stats.weight = self.topo.cpus(nid).len() as u32;
        stats.node_type = stats.classify(s.imbalance_pct);
        stats.idle_cpu = idle_core.or(stats.idle_cpu);
        stats
    }
}
