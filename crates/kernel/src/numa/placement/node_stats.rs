//! Load of a node and its class (kernel-numa-balancing.md §14.3).

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
    pub fn numa_classify(&self, q: u64) -> NodeType {
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
