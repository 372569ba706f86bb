//! What the load balancer asks NUMA balancing (kernel-numa-balancing.md §14.6).

use super::state::TaskId;
use super::weights::Whose;
use super::words::words;
use super::NumaBalancing;

words! {
    /// Opinion on pulling a task to another node (`migrate_degrades_locality`).
    pub enum Locality {
        /// None: fall back to the cache-hot test (−1).
        NoOpinion = "no_opinion",
        /// Move it (0).
        Move = "move",
        /// Resist: move only after more failed balances than `cache_nice_tries` (1).
        Resist = "resist",
    }
}

/// Class of a run queue or group by the NUMA preferences of its tasks; the order is the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FbqClass {
    /// Has tasks without a preferred node.
    Regular,
    /// Has tasks that are not on their preferred node.
    Remote,
    /// All tasks are where they prefer to be.
    All,
}

/// Class of a queue with so many fair tasks, of which so many have, and so many are on, a preferred node
/// (`fbq_classify_rq`, and of a group with the sums).
#[inline]
pub fn fbq_class(nr_running: u32, nr_numa_running: u32, nr_preferred_running: u32) -> FbqClass {
    if nr_running > nr_numa_running {
        FbqClass::Regular
    } else if nr_running > nr_preferred_running {
        FbqClass::Remote
    } else {
        FbqClass::All
    }
}

/// A pull the load balancer considers, in a domain that spans nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Source CPU.
    pub src_cpu: usize,
    /// Destination CPU.
    pub dst_cpu: usize,
    /// Fair tasks of the source queue.
    pub src_nr_running: u32,
    /// Of these, running on their preferred node.
    pub src_nr_preferred: u32,
    /// The pulling CPU is fully idle (not newly idle).
    pub dst_idle: bool,
}

impl NumaBalancing {
    /// Whether a pull would take a task away from its memory; to be asked only in domains that span nodes.
    pub fn degrades_locality(&self, task: TaskId, pull: &Pull) -> Locality {
        let t = &self.tasks[task as usize];
        let (src, dst) = (self.topo.node_of(pull.src_cpu), self.topo.node_of(pull.dst_cpu));
        if !self.cfg.enabled() || t.faults.is_empty() || src == dst {
            return Locality::NoOpinion;
        }
        if t.numa_preferred_nid == Some(src) {
            let others = pull.src_nr_running > pull.src_nr_preferred;
            return if others { Locality::Resist } else { Locality::NoOpinion };
        }
        if t.numa_preferred_nid == Some(dst) {
            return Locality::Move;
        }
        if pull.dst_idle {
            return Locality::NoOpinion;
        }
        let dist = self.topo.distance(src, dst);
        let whose = if t.numa_group.is_some() { Whose::Group } else { Whose::Task };
        if self.weight(whose, task, dst, dist) < self.weight(whose, task, src, dist) {
            Locality::Resist
        } else {
            Locality::Move
        }
    }

    /// A task is being moved to another CPU (`update_scan_period`): a move between nodes may restart its scan period.
    /// To be called for every move except those a [`TaskHost`](super::TaskHost) made as soon as it was told to.
    /// Before 4.19 only task placement restarted periods (`task_numa_migrate`), so there this does nothing.
    #[inline]
    pub fn migration_happened(&mut self, task: TaskId, from_cpu: usize, to_cpu: usize, rss_pages: u64) {
        let (src, dst) = (self.topo.node_of(from_cpu), self.topo.node_of(to_cpu));
        let t = &self.tasks[task as usize];
        if src == dst || !self.cfg.switches.conditional_period_reset || !self.cfg.enabled() {
            return;
        }
        if t.mm.is_none() || t.faults.is_empty() || t.exiting {
            return;
        }
        if t.numa_scan_seq != 0 {
            let preferred = t.numa_preferred_nid;
            if preferred == Some(dst) || (preferred.is_some() && preferred != Some(src)) {
                return;
            }
        }
        self.tasks[task as usize].numa_scan_period = self.scan_start(task, rss_pages);
    }
}
