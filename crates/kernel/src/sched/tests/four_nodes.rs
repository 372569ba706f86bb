//! Four nodes of six cores with two threads each, for the tests of the older balancers.

use super::super::domains::DomId;
use super::super::event::Why;
use super::super::rq::sched_entity::TaskId;
use super::super::state::CpuIdleType;
use super::Lab;

/// The domain of `cpu` that has `weight` CPUs.
pub fn dom(lab: &Lab, cpu: u32, weight: u32) -> DomId {
    lab.s.topo.ids(cpu).find(|d| lab.s.topo.domain(*d).weight == weight).unwrap()
}

/// Makes a periodic pass over that domain; returns the number of tasks it moved.
pub fn pass(lab: &mut Lab, cpu: u32, weight: u32, idle: CpuIdleType) -> u32 {
    let d = dom(lab, cpu, weight);
    let moved = lab.s.sched_balance_rq(cpu, d, idle, Why::Periodic, &lab.view).moved;
    lab.settle();
    moved
}

/// Starts `nr` tasks on the CPUs of a node, one CPU after the other; they may then run anywhere.
pub fn hogs(lab: &mut Lab, node: u32, nr: u32) -> Vec<TaskId> {
    let tasks = (0..nr).map(|i| lab.start(12 * node + i % 12, None)).collect();
    // The past loads equal the present ones.
    for rq in &mut lab.s.rqs {
        rq.past_load = [rq.weight; 3];
    }
    tasks
}

/// Number of tasks on the CPUs of a node.
pub fn tasks_on(lab: &Lab, node: u32) -> u32 {
    (12 * node..12 * node + 12).map(|c| lab.s.nr_running(c)).sum()
}
