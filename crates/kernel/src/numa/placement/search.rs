//! A search for a better CPU (kernel: `struct task_numa_env`).

use super::node_stats::NodeStats;
use crate::numa::jiffies::Jiffies;
use crate::numa::state::TaskId;

/// A search for a better CPU (`task_numa_env`).
pub(super) struct Search {
    pub task: TaskId,
    pub now: Jiffies,
    pub src_cpu: usize,
    pub src_nid: usize,
    pub dst_nid: usize,
    pub dst_cpu: usize,
    pub dist: u8,
    pub imbalance_pct: u64,
    pub imb_numa_nr: u32,
    pub src: NodeStats,
    pub dst: NodeStats,
    pub best_cpu: Option<usize>,
    pub best_task: Option<TaskId>,
    pub best_imp: i64,
    /// Gain of the task and of its group on the node being examined, in thousandths of faults.
    pub task_imp: i64,
    pub group_imp: i64,
}

impl Search {
    /// Records a better choice (`task_numa_assign`). The kernel claims the CPU for this search (`numa_migrate_on`), and
    /// looks for another one if a concurrent search was faster. Searches run one at a time here, so an unclaimed CPU
    /// stays unclaimed.
    pub fn assign(&mut self, swap_with: Option<TaskId>, imp: i64) {
        self.best_task = swap_with;
        self.best_imp = imp;
        self.best_cpu = Some(self.dst_cpu);
    }
}
