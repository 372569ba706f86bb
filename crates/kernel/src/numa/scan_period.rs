//! Bounds of a task's scan period as of now (kernel: `task_scan_start`, `task_scan_max`).

use super::balancing::NumaBalancing;
use super::period;
use super::state::TaskId;

impl NumaBalancing {
    /// First scan period of a task as of now, ms.
    pub fn task_scan_start(&self, task: TaskId, rss_pages: u64) -> u32 {
        period::scan_start(&self.cfg, rss_pages, self.group_scale(task))
    }

    /// Longest scan period of a task as of now, ms.
    pub fn task_scan_max(&self, task: TaskId, rss_pages: u64) -> u32 {
        period::scan_max(&self.cfg, rss_pages, self.group_scale(task))
    }
}
