//! The opinion of NUMA balancing on a pull (kernel-scheduler.md §4.6, kernel-numa-balancing.md §14.6).

use crate::sched::numa_view::NumaView;
use crate::sched::rq::sched_entity::TaskId;
use crate::sched::state::CpuIdleType;

/// A pull that the load balancer considers, in a domain that spans nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePull {
    /// Node of the source queue.
    pub src: u32,
    /// Node of the CPU that pulls.
    pub dst: u32,
    /// Distance between the two nodes (10 is local).
    pub distance: u32,
    /// Tasks in the source queue.
    pub nr: u32,
    /// Tasks in the source queue that are on their preferred node.
    pub nr_preferred: u32,
    /// State of the CPU that pulls.
    pub idle: CpuIdleType,
}

/// The same as a number (6.14 on, c3856c9ce6b8): above 0 the pull degrades locality, below 0 it improves it, 0 is no
/// opinion. Equal weights are 0.
pub fn locality_verdict<V: NumaView>(task: TaskId, preferred: Option<u32>, pull: &NodePull, view: &V) -> i64 {
    let NodePull { src, dst, distance, .. } = *pull;
    if src == dst || !view.enabled() || !view.has_faults(task) {
        return 0;
    }
    if preferred == Some(src) {
        return i64::from(pull.nr > pull.nr_preferred);
    }
    if preferred == Some(dst) {
        return -1;
    }
    if pull.idle == CpuIdleType::Idle {
        return 0;
    }
    view.node_weight(task, src, distance) - view.node_weight(task, dst, distance)
}

/// Whether a pull degrades the locality of `task`, whose preferred node is `preferred`. 1: it does, and needs more
/// failures than `cache_nice_tries`. 0: it keeps or improves locality. −1: NUMA balancing has no opinion, and cache
/// heat decides.
pub fn migrate_degrades_locality<V: NumaView>(task: TaskId, preferred: Option<u32>, pull: &NodePull, view: &V) -> i32 {
    let NodePull { src, dst, distance, .. } = *pull;
    if src == dst || !view.enabled() || !view.has_faults(task) {
        return -1;
    }
    if preferred == Some(src) {
        return if pull.nr > pull.nr_preferred { 1 } else { -1 };
    }
    if preferred == Some(dst) {
        return 0;
    }
    if pull.idle == CpuIdleType::Idle {
        return -1;
    }
    i32::from(view.node_weight(task, dst, distance) < view.node_weight(task, src, distance))
}
