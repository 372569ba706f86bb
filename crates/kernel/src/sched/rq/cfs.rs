//! CFS as in 6.1 (5.11 to 6.5): virtual runtime, slices checked at the tick, buddies (kernel-scheduler.md §7.1).

use super::runqueue::{Arrival, Rq};
use super::sched_entity::{Task, TaskId, NONE};
use crate::sched::config::Params;

/// Queue length from which the period grows and the pre-empted task is remembered (`sched_nr_latency`).
const NR_LATENCY: u32 = 8;

/// Slice, ns, of a task of `weight` among `nr` tasks with weights of `total`.
pub fn sched_slice(params: &Params, nr: u32, weight: u64, total: u64) -> i64 {
    let period = if nr <= NR_LATENCY { params.latency_ns } else { i64::from(nr) * params.min_granularity_ns };
    let share = i128::from(period) * i128::from(weight) / i128::from(total.max(1));
    (share as i64).max(params.min_granularity_ns)
}

/// vruntime of a new task, relative to the minimum of the queue it was forked on: one slice behind (START_DEBIT).
pub(in crate::sched) fn task_fork_fair(params: &Params, rq: &Rq, tasks: &[Task], child: &Task) -> i64 {
    let start = if rq.cur == NONE { 0 } else { tasks[rq.cur as usize].vruntime };
    let slice = sched_slice(params, rq.nr() + 1, child.weight, rq.weight + child.weight);
    start.max(rq.min_vruntime + child.virtual_ns(slice)) - rq.min_vruntime
}

/// Sets the vruntime of an arriving task. A woken task gets a credit of at most half the latency.
pub(in crate::sched) fn place_entity(params: &Params, rq: &Rq, task: &mut Task, arrival: Arrival) {
    match arrival {
        Arrival::Fork | Arrival::Move => task.vruntime += rq.min_vruntime,
        Arrival::Wake { moved } => {
            if moved {
                task.vruntime += rq.min_vruntime;
            }
            task.vruntime = task.vruntime.max(rq.min_vruntime - (params.latency_ns >> 1));
        }
    }
}

/// 1 if `se` should pre-empt `cur`, −1 if it is behind, 0 within the granularity.
fn wakeup_preempt_entity(params: &Params, cur: &Task, se: &Task) -> i32 {
    let lead = cur.vruntime - se.vruntime;
    if lead <= 0 {
        -1
    } else {
        i32::from(lead > se.virtual_ns(params.wakeup_granularity_ns))
    }
}

/// Whether the arrival of `wakee` pre-empts the current task. Remembers buddies.
pub(in crate::sched) fn check_preempt_wakeup(params: &Params, rq: &mut Rq, tasks: &[Task], wakee: TaskId) -> bool {
    if wakeup_preempt_entity(params, &tasks[rq.cur as usize], &tasks[wakee as usize]) != 1 {
        return false;
    }
    rq.next_buddy = wakee;
    if rq.nr() >= NR_LATENCY {
        rq.last_buddy = rq.cur;
    }
    true
}

pub(in crate::sched) fn leftmost(rq: &Rq, tasks: &[Task], but: TaskId) -> Option<TaskId> {
    let key = |t: &TaskId| (tasks[*t as usize].vruntime, tasks[*t as usize].seq);
    rq.list.iter().copied().filter(|t| *t != but).min_by_key(key)
}

/// The next task to run. The current task, if any, competes.
pub(in crate::sched) fn pick_next_entity(params: &Params, rq: &Rq, tasks: &[Task]) -> Option<TaskId> {
    let task = |t: TaskId| &tasks[t as usize];
    let left = match leftmost(rq, tasks, rq.cur) {
        Some(left) if rq.cur != NONE && task(rq.cur).vruntime < task(left).vruntime => rq.cur,
        Some(left) => left,
        None => return (rq.cur != NONE).then_some(rq.cur),
    };
    for buddy in [rq.next_buddy, rq.last_buddy] {
        if buddy != NONE && wakeup_preempt_entity(params, task(buddy), task(left)) < 1 {
            return Some(buddy);
        }
    }
    Some(left)
}

/// Whether the tick takes the CPU from the current task, which has been accounted.
pub(in crate::sched) fn check_preempt_tick(params: &Params, rq: &mut Rq, tasks: &[Task]) -> bool {
    if rq.nr() < 2 {
        return false;
    }
    let cur = &tasks[rq.cur as usize];
    let slice = sched_slice(params, rq.nr(), cur.weight, rq.weight);
    let ran = (cur.runtime_ns - cur.picked_runtime_ns) as i64;
    if ran > slice {
        rq.clear_buddies(rq.cur);
        return true;
    }
    if ran < params.min_granularity_ns {
        return false;
    }
    leftmost(rq, tasks, rq.cur).is_some_and(|l| cur.vruntime - tasks[l as usize].vruntime > slice)
}
