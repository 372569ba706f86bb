//! EEVDF as in 6.12: lag, deadlines, eligibility, delayed dequeue (kernel-scheduler.md §7.2). 6.6 to 6.11 lack what the
//! tunable `complete_eevdf` names.
//!
//! V is the weighted mean vruntime of all queued tasks, including the current one. A task is eligible while its
//! vruntime is at most V. Of the eligible tasks the one with the earliest deadline runs.

use super::runqueue::{Arrival, Rq};
use super::sched_entity::{Task, TaskId, NONE};
use crate::sched::config::Params;

/// Σ w·(v − v₀) and Σ w over the queue; v₀ is its minimum vruntime.
pub(in crate::sched) fn sums(rq: &Rq, tasks: &[Task]) -> (i64, i64) {
    rq.list.iter().fold((0, 0), |(s, w), t| {
        let task = &tasks[*t as usize];
        let weight = task.weight as i64;
        (s + weight * (task.vruntime - rq.min_vruntime), w + weight)
    })
}

/// V of the queue.
fn avg_vruntime(rq: &Rq, tasks: &[Task]) -> i64 {
    let (s, w) = sums(rq, tasks);
    rq.min_vruntime + if w == 0 { 0 } else { s.div_euclid(w) }
}

/// Whether a queued task is eligible.
pub(in crate::sched) fn entity_eligible(rq: &Rq, tasks: &[Task], t: TaskId) -> bool {
    if rq.list.len() == 1 {
        return true;
    }
    let (s, w) = sums(rq, tasks);
    (tasks[t as usize].vruntime - rq.min_vruntime) * w <= s
}

/// Lag of a queued task that leaves, clamped.
pub(in crate::sched) fn entity_lag(params: &Params, rq: &Rq, tasks: &[Task], t: TaskId) -> i64 {
    let task = &tasks[t as usize];
    let limit = task.virtual_ns((2 * params.base_slice_ns).max(params.jiffy_ns as i64));
    (avg_vruntime(rq, tasks) - task.vruntime).clamp(-limit, limit)
}

/// Sets vruntime and deadline of an arriving task from its saved lag. The task is not in the list yet.
pub(in crate::sched) fn place_entity(params: &Params, rq: &Rq, tasks: &mut [Task], t: TaskId, arrival: Arrival) {
    let (s, w) = sums(rq, tasks);
    let task = &mut tasks[t as usize];
    let mut lag = 0;
    let mut mean = rq.min_vruntime;
    if w > 0 {
        mean += s.div_euclid(w);
        // The arrival shifts V towards the task. The lag is inflated so that it ends as the saved one.
        let weight = task.weight as i64;
        lag = (i128::from(task.vlag) * i128::from(w + weight) / i128::from(w)) as i64;
    }
    task.vruntime = mean - lag;
    if task.relative_deadline {
        task.deadline += task.vruntime;
        task.relative_deadline = false;
        return;
    }
    let slice = task.virtual_ns(params.base_slice_ns);
    // Up to 6.11 the half that `task_fork_fair` gave is replaced by a full slice when the task is first queued.
    let halved = arrival == Arrival::Fork && params.complete_eevdf;
    task.deadline = task.vruntime + if halved { slice / 2 } else { slice };
}

/// What changes with the weight of a task: lag and deadline in the inverse proportion, so that V stays as it is
/// (`reweight_eevdf`). `queued`: it is in the list. The weight itself is changed by the caller.
pub(in crate::sched) fn reweight(rq: &Rq, tasks: &mut [Task], t: TaskId, weight: u64, queued: bool) {
    let mean = avg_vruntime(rq, tasks);
    let task = &mut tasks[t as usize];
    let old = task.weight;
    let scaled = |ns: i64| (i128::from(ns) * i128::from(old) / i128::from(weight)) as i64;
    task.vlag = scaled(task.vlag);
    if !queued {
        if task.relative_deadline {
            task.deadline = scaled(task.deadline);
        }
        return;
    }
    let (vruntime, protected) = (task.vruntime, is_protected(task));
    task.vruntime = mean - scaled(mean - vruntime);
    task.deadline = task.vruntime + scaled(task.deadline - vruntime);
    if protected {
        task.picked_deadline = Some(task.deadline);
    }
}

/// Gives the task a new deadline if its request is used up; returns whether it did.
pub(in crate::sched) fn update_deadline(params: &Params, task: &mut Task) -> bool {
    if task.vruntime < task.deadline {
        return false;
    }
    task.deadline = task.vruntime + task.virtual_ns(params.base_slice_ns);
    true
}

/// Whether the current task keeps the CPU while it is eligible: its request is the one it was picked with
/// (RUN_TO_PARITY).
pub(in crate::sched) fn is_protected(task: &Task) -> bool {
    task.picked_deadline == Some(task.deadline)
}

/// Whether the current task, just accounted, must yield before its request is used up. It must if it is not eligible
/// and its request is a later one than it was picked with. That also applies to a task that was alone for a while.
pub(in crate::sched) fn did_preempt_short(rq: &Rq, tasks: &[Task]) -> bool {
    !is_protected(&tasks[rq.cur as usize]) && !entity_eligible(rq, tasks, rq.cur)
}

/// The next task to run. The current task, if any, competes. The result may be a delayed task.
pub(in crate::sched) fn pick_eevdf(rq: &Rq, tasks: &[Task]) -> Option<TaskId> {
    if rq.list.len() <= 1 {
        return rq.list.first().copied();
    }
    let (s, w) = sums(rq, tasks);
    let eligible = |t: &Task| (t.vruntime - rq.min_vruntime) * w <= s;
    let cur = if rq.cur != NONE && eligible(&tasks[rq.cur as usize]) { rq.cur } else { NONE };
    if cur != NONE && is_protected(&tasks[cur as usize]) {
        return Some(cur);
    }
    let key = |t: &TaskId| (tasks[*t as usize].deadline, tasks[*t as usize].seq);
    let waiting = rq.list.iter().copied().filter(|t| *t != rq.cur && eligible(&tasks[*t as usize]));
    match waiting.min_by_key(key) {
        Some(best) if cur != NONE && tasks[cur as usize].deadline < tasks[best as usize].deadline => Some(cur),
        Some(best) => Some(best),
        None if cur != NONE => Some(cur),
        // Some task is always at or below the mean.
        None => rq.list.first().copied(),
    }
}
