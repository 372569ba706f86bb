//! What the daemon sees at one moment.

use numalab_base::node_mask::NodeMask;
use numalab_base::words;

words! {
    /// Why a task or a mapping is left alone.
    pub enum Hold {
        /// Its thread may not run on all CPUs that its cpuset allows: someone has pinned it.
        Pinned = "pinned",
        /// It has a memory policy of its own.
        OwnPolicy = "own_policy",
        /// Other processes share its pages copy-on-write.
        SharedCow = "shared_cow",
        /// It is mapped shared with other processes.
        Shared = "shared",
        /// It is locked in memory, maps a device or a special file, or consists of reserved huge pages.
        Unmovable = "unmovable",
    }
}

/// A memory node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeLook {
    /// Free pages.
    pub free_pages: u64,
    /// All pages.
    pub total_pages: u64,
    /// Number of busy threads on it that do not belong to any group of the look.
    pub busy_elsewhere: u32,
}

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskLook {
    /// Id of the thread.
    pub task: u64,
    /// Id of its group: the process.
    pub group: u64,
    /// Node of the CPU that it last ran on.
    pub node: usize,
    /// CPU time since the last look, in thousandths of a CPU.
    pub busy_permille: u32,
    /// Why it must stay where it is, if it must.
    pub hold: Option<Hold>,
    /// Nodes on which it may run.
    pub allowed: NodeMask,
}

/// A mapping of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappingLook {
    /// Id of its group: the process.
    pub group: u64,
    /// First address, or another number that tells it from the group's other mappings.
    pub start: u64,
    /// Pages on each node.
    pub pages: Vec<u64>,
    /// Which of them are in use; `None` where that is not known, and all count.
    pub used: Option<Used>,
    /// It has huge pages: its pages move in multiples of 512.
    pub huge: bool,
    /// Why it must stay where it is, if it must.
    pub hold: Option<Hold>,
    /// Nodes on which its memory may be.
    pub allowed: NodeMask,
}

/// Pages of a mapping that are in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Pages in use on each node.
    pub pages: Vec<u64>,
    /// Those of them that CPUs of one node alone use, by the node of the pages and the node of the CPUs. Empty where it
    /// is not known who uses a page.
    pub alone: Vec<Vec<u64>>,
}

impl MappingLook {
    /// Pages on a node that count: those in use, or all where use is not known. Never more than are there.
    pub(super) fn counted(&self, node: usize) -> u64 {
        let here = self.pages.get(node).copied().unwrap_or(0);
        self.used.as_ref().map_or(here, |u| u.pages.get(node).copied().unwrap_or(0).min(here))
    }

    /// Pages on `node` that only CPUs of `user` use, as far as known. Never more than count there.
    pub(super) fn used_alone(&self, node: usize, user: usize) -> u64 {
        let known = self.used.as_ref().and_then(|u| u.alone.get(node)?.get(user)).copied().unwrap_or(0);
        known.min(self.counted(node))
    }
}

/// One look at the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Nodes in the order of the topology.
    pub nodes: Vec<NodeLook>,
    /// Threads of the groups that are balanced.
    pub tasks: Vec<TaskLook>,
    /// Mappings of the same groups.
    pub mappings: Vec<MappingLook>,
    /// Largest number of pages to move until the next look.
    pub budget_pages: u64,
}
