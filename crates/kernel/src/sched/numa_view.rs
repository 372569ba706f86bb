//! What the load balancer asks of NUMA balancing.

use crate::sched::rq::task::TaskId;

/// What the balancer needs to know of NUMA balancing. Preferred nodes are the scheduler's own state
/// ([`Scheduler::set_preferred_nid`]), because queues count them.
pub trait NumaView {
    /// NUMA balancing is switched on.
    fn enabled(&self) -> bool;
    /// The task has fault statistics.
    fn has_faults(&self, task: TaskId) -> bool;
    /// Weight of `node` for the task at `distance`: the group's if it is in one, else its own.
    fn node_weight(&self, task: TaskId, node: u32, distance: u32) -> i64;
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
