//! The time at which a tick takes the CPU from the current task, computed without ticking.

use crate::sched::config::Params;
use crate::sched::rq::runqueue::Rq;
use crate::sched::rq::sched_entity::{Task, NONE};
use crate::sched::rq::{cfs, eevdf};
use crate::sched::rules::Form;
use crate::sched::state::Scheduler;

/// Earliest time at which a tick takes `cpu` from its current task if nothing else happens. It is `u64::MAX` if the
/// task is alone or there is none, and now if a reschedule is pending. Tests compare every tick with it.
pub fn next_resched_ns(s: &Scheduler, cpu: u32) -> u64 {
    let rq = &s.rqs[cpu as usize];
    if rq.need_resched {
        return s.now;
    }
    if rq.cur == NONE || rq.nr() < 2 {
        return u64::MAX;
    }
    let left = match s.params.form {
        Form::V61 => cfs_time_left_ns(&s.params, rq, &s.tasks),
        Form::V612 => eevdf_time_left_ns(&s.params, rq, &s.tasks),
    };
    let at = (s.tasks[rq.cur as usize].exec_start + left.max(0)).max(0) as u64;
    s.tick_at_or_after(cpu, at.max(s.now))
}

/// Earliest time at which a tick takes the CPU, ns after the last accounting, not rounded to a tick.
fn cfs_time_left_ns(params: &Params, rq: &Rq, tasks: &[Task]) -> i64 {
    let cur = &tasks[rq.cur as usize];
    let slice = cfs::sched_slice(params, rq.nr(), cur.weight, rq.weight);
    let ran = (cur.runtime_ns - cur.picked_runtime_ns) as i64;
    // Both conditions are strict, so one nanosecond is added.
    let by_slice = slice - ran + 1;
    let by_lead = cfs::leftmost(rq, tasks, rq.cur).map_or(i64::MAX, |l| {
        let lead = cur.vruntime - tasks[l as usize].vruntime;
        real_ns(cur, slice - lead + 1).max(params.min_granularity_ns - ran)
    });
    by_slice.min(by_lead)
}

/// Time until the current request is used up or the current task has had its share, ns after the last accounting.
fn eevdf_time_left_ns(params: &Params, rq: &Rq, tasks: &[Task]) -> i64 {
    let cur = &tasks[rq.cur as usize];
    let by_request = cur.deadline - cur.vruntime;
    let (s, w) = eevdf::sums(rq, tasks);
    let others = w - cur.weight as i64;
    if !params.complete_eevdf || eevdf::is_protected(cur) || others <= 0 {
        return real_ns(cur, by_request);
    }
    // V follows the task at its share of the weight; a task is eligible up to and including V.
    let ahead = s - (cur.vruntime - rq.min_vruntime) * w;
    let by_share = ahead.div_euclid(others) + 1;
    real_ns(cur, by_request.min(by_share.max(0)))
}

/// Converts virtual time to real time, rounded up.
fn real_ns(task: &Task, virtual_ns: i64) -> i64 {
    if task.weight == 1024 {
        virtual_ns
    } else {
        let scaled = i128::from(virtual_ns) * i128::from(task.weight);
        (scaled.div_euclid(1024) + i128::from(scaled.rem_euclid(1024) != 0)) as i64
    }
}
