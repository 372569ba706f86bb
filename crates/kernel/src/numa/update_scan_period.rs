//! Scan periods of tasks that move between nodes (kernel: `update_scan_period`).

use super::balancing::NumaBalancing;
use super::state::TaskId;

impl NumaBalancing {
    /// A task is being moved to another CPU: a move between nodes may restart its scan period. Call it for every move,
    /// except those that a [`TaskHost`](super::TaskHost) made as soon as it was told to. Before 4.19 only task
    /// placement restarts periods (`task_numa_migrate`), so there this does nothing.
    #[inline]
    pub fn update_scan_period(&mut self, task: TaskId, from_cpu: usize, to_cpu: usize, rss_pages: u64) {
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
        self.tasks[task as usize].numa_scan_period = self.task_scan_start(task, rss_pages);
    }
}
