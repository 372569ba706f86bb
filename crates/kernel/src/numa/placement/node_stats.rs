//! Load of a node and its class (kernel-numa-balancing.md §14.3).

use numalab_base::words;

words! {
    /// How loaded a node is (`enum numa_type`).
    pub enum NodeType {
        /// The node has CPUs to spare.
        HasSpare = "has_spare",
        /// The node is neither overloaded nor has it CPUs to spare.
        FullyBusy = "fully_busy",
        /// The node has more work than it can run.
        Overloaded = "overloaded",
    }
}

/// Sums over the CPUs of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStats {
    /// Σ load.
    pub load: u64,
    /// Σ runnable averages.
    pub runnable: u64,
    /// Σ utilisation.
    pub util: u64,
    /// Σ capacity.
    pub capacity: u64,
    /// Number of queued fair tasks.
    pub nr_running: u32,
    /// Number of CPUs.
    pub weight: u32,
    /// Class of the node.
    pub node_type: NodeType,
    /// An idle CPU that the task may use, on an idle core if there is one.
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
    /// Class of the node; `q` is the imbalance percentage.
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
