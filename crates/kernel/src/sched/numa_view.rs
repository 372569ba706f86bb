//! What the load balancer asks of NUMA balancing.

use crate::sched::rq::sched_entity::TaskId;

/// Questions of the load balancer to NUMA balancing. Preferred nodes are the scheduler's own state
/// ([`Scheduler::set_preferred_nid`](crate::sched::Scheduler::set_preferred_nid)), because queues count them.
pub trait NumaView {
    /// Whether NUMA balancing is switched on.
    fn enabled(&self) -> bool;
    /// Whether the task has fault statistics.
    fn has_faults(&self, task: TaskId) -> bool;
    /// Weight of `node` at `distance`: that of the task's NUMA group, or of the task if it is in no group
    /// (`group_weight`, `task_weight`).
    fn node_weight(&self, task: TaskId, node: u32, distance: u32) -> i64;
    /// Pages of 4 KiB that hint faults have counted for the task's process (`mm.footprint`, 7.2); 0 before the first.
    fn footprint_pages(&self, _task: TaskId) -> u64 {
        0
    }
}

/// NUMA balancing switched off.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNuma;

impl NumaView for NoNuma {
    fn enabled(&self) -> bool {
        false
    }
    fn has_faults(&self, _task: TaskId) -> bool {
        false
    }
    fn node_weight(&self, _task: TaskId, _node: u32, _distance: u32) -> i64 {
        0
    }
}
