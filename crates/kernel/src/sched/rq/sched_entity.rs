//! What the scheduler knows of a task (kernel: `struct task_struct`, `struct sched_entity`).

use super::task_group::{GroupId, NO_GROUP};
use crate::sched::pelt::Pelt;

/// Number of a task, counted from 0; never reused.
pub type TaskId = u32;
/// No task.
pub(in crate::sched) const NONE: TaskId = u32::MAX;
/// No node.
pub(in crate::sched) const NO_NODE: u32 = u32::MAX;
/// `exec_start` of a task that is cache-cold.
pub(in crate::sched) const COLD: i64 = i64::MIN / 4;

/// Weights of nice −20 to 19 (`sched_prio_to_weight`).
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
    1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// Weight of a nice value, clamped to −20..=19.
pub fn weight_of_nice(nice: i32) -> u32 {
    WEIGHTS[(nice.clamp(-20, 19) + 20) as usize]
}

/// Run state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The task was added and has not been forked.
    New,
    /// The task sleeps.
    Blocked,
    /// The task is on a run queue, running or waiting.
    Queued,
    /// The task sleeps, and stays queued until its lag is worked off (6.12).
    Delayed,
    /// The task has exited.
    Dead,
}

/// A task. Fields that ticks read come first, in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(in crate::sched) struct Task {
    pub cpu: u32,
    pub state: State,
    /// `deadline` is relative to `vruntime`, while the task moves between queues (6.12).
    pub relative_deadline: bool,
    /// The averages are part of a queue's.
    pub attached: bool,
    pub util_changed: bool,
    /// What it weighs among all tasks of its queue.
    pub weight: u64,
    /// Virtual runtime. While the task moves it is relative to the queue's minimum (6.1).
    pub vruntime: i64,
    /// Time of the last accounting, ns; [`COLD`] after a migration.
    pub exec_start: i64,
    pub runtime_ns: u64,
    pub deadline: i64,
    /// `runtime_ns` when the task was last picked.
    pub picked_runtime_ns: u64,
    pub vlag: i64,
    /// Deadline when the task was last picked. While it is unchanged, the task keeps the CPU (RUN_TO_PARITY).
    pub picked_deadline: Option<i64>,
    /// Order of insertion, for tasks with equal keys.
    pub seq: u64,
    pub pelt: Pelt,
    pub util_est: u64,
    /// Utilisation at the last sleep (6.1).
    pub util_enqueued: u64,
    /// The estimate that was added to the queue.
    pub util_est_queued: u64,
    pub wakee_flips: u32,
    pub last_wakee: TaskId,
    pub flips_decayed_jiffy: u64,
    pub recent_used_cpu: u32,
    /// The CPU on which the task counts as having slept, if it is not `cpu`: a swap found it asleep (`wake_cpu`).
    pub wake_cpu: Option<u32>,
    pub preferred_nid: u32,
    /// Index of the affinity mask; 0 is every CPU.
    pub allowed: u32,
    pub nr_allowed: u32,
    /// Its control group, or [`NO_GROUP`].
    pub group: GroupId,
    /// What it weighs inside its group, by its nice value.
    pub weight_in_group: u64,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(Task, vlag) == 56, "what ticks read is in one line of 64 bytes");

impl Task {
    /// A task of load weight `weight` that has not run. `allowed` is the index of its affinity mask, `nr_allowed` the
    /// number of CPUs in it, and `cpu` the CPU it starts from.
    pub fn new(weight: u32, allowed: u32, nr_allowed: u32, cpu: u32) -> Self {
        let weight = u64::from(weight);
        Self {
            state: State::New,
            cpu,
            weight,
            vruntime: 0,
            deadline: 0,
            vlag: 0,
            relative_deadline: false,
            picked_deadline: None,
            seq: 0,
            exec_start: COLD,
            runtime_ns: 0,
            picked_runtime_ns: 0,
            pelt: Pelt::with_averages(0, weight, weight, 0, 0),
            attached: false,
            util_est: 0,
            util_enqueued: 0,
            util_est_queued: 0,
            util_changed: false,
            wakee_flips: 0,
            last_wakee: NONE,
            flips_decayed_jiffy: 0,
            recent_used_cpu: cpu,
            wake_cpu: None,
            preferred_nid: NO_NODE,
            allowed,
            nr_allowed,
            group: NO_GROUP,
            weight_in_group: weight,
        }
    }
    /// Whether the task is on a run queue, also as a delayed sleeper.
    pub fn on_rq(&self) -> bool {
        matches!(self.state, State::Queued | State::Delayed)
    }
    /// Converts real time to virtual time.
    pub fn virtual_ns(&self, ns: i64) -> i64 {
        if self.weight == 1024 {
            ns
        } else {
            (i128::from(ns) * 1024 / i128::from(self.weight)) as i64
        }
    }
    /// Brings the averages to `now_ns`. `running`: the task was current until now.
    pub fn refresh(&mut self, now_ns: u64, running: bool) {
        let runnable = u64::from(self.state == State::Queued);
        let queued = u64::from(self.on_rq());
        if self.attached && self.pelt.update(now_ns, self.weight, queued, runnable, running) {
            self.util_changed |= self.on_rq();
        }
    }
    /// The averages as [`Self::refresh`] would leave them.
    pub fn average_at(&self, now_ns: u64, running: bool) -> Pelt {
        let mut pelt = self.pelt;
        if self.attached {
            let (queued, runnable) = (u64::from(self.on_rq()), u64::from(self.state == State::Queued));
            pelt.update(now_ns, self.weight, queued, runnable, running);
        }
        pelt
    }
    /// Utilisation for migration decisions: the larger of average and estimate (`task_util_est`).
    pub fn util_estimate(&self) -> u64 {
        self.pelt.util.max(self.util_est).max(self.util_enqueued)
    }
}
