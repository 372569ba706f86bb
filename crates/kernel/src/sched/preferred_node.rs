//! The preferred node of a task (kernel: `numa_preferred_nid`, `sched_setnuma`). Run queues count tasks by it.

use crate::sched::rq::sched_entity::{TaskId, NO_NODE};
use crate::sched::rules::Locality;
use crate::sched::state::task_counts::TaskCounts;
use crate::sched::state::Scheduler;

impl Scheduler {
    /// Preferred node of a task.
    pub fn preferred_nid(&self, task: TaskId) -> Option<u32> {
        let nid = self.tasks[task as usize].preferred_nid;
        (nid != NO_NODE).then_some(nid)
    }
    /// Sets or clears the preferred node of a task, and updates the counts of its queue.
    pub fn set_preferred_nid(&mut self, task: TaskId, node: Option<u32>) {
        let t = &mut self.tasks[task as usize];
        let on_node = self.topo.node_of(t.cpu);
        let (cpu, rq) = (t.cpu, &mut self.rqs[t.cpu as usize]);
        let before = TaskCounts::of(rq);
        if t.on_rq() {
            rq.count_numa(t, on_node, false);
        }
        t.preferred_nid = node.unwrap_or(NO_NODE);
        if t.on_rq() {
            rq.count_numa(t, on_node, true);
        }
        let now = TaskCounts::of(rq);
        self.count_tasks(cpu, before, now);
    }
    /// Whether a task has a home node and is on another one (schednuma).
    pub(in crate::sched) fn off_home(&self, task: TaskId) -> bool {
        let t = &self.tasks[task as usize];
        t.preferred_nid != NO_NODE && t.preferred_nid != self.topo.node_of(t.cpu)
    }
    /// Whether a CPU is on the node that AutoNUMA has selected for the task, or the task has none
    /// (`task_autonuma_cpu`). Forks start on no other CPU. A wake-up looks at the waker's side only if the waker's CPU
    /// is on that node.
    pub(in crate::sched) fn selected_allows(&self, task: TaskId, cpu: u32) -> bool {
        let node = self.tasks[task as usize].preferred_nid;
        self.params.locality != Locality::Selected || node == NO_NODE || node == self.topo.node_of(cpu)
    }
}
