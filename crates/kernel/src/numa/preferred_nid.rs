//! The preferred node of a task.

use super::balancing::NumaBalancing;
use super::host::TaskHost;
use super::state::TaskId;

impl NumaBalancing {
    /// Sets the preferred node and tells the scheduler.
    pub(crate) fn sched_setnuma<H: TaskHost>(&mut self, task: TaskId, node: Option<usize>, host: &mut H) {
        let old = self.tasks[task as usize].numa_preferred_nid;
        if old != node {
            self.tasks[task as usize].numa_preferred_nid = node;
            host.preferred_changed(task, old, node);
        }
    }
    /// Whether a task prefers a node.
    pub(in crate::numa) fn prefers(&self, task: TaskId, nid: usize) -> bool {
        self.tasks[task as usize].numa_preferred_nid == Some(nid)
    }
}
