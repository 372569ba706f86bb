//! The two ways to choose a CPU: for a forked task and for a wake-up (kernel: `select_task_rq_fair`,
//! kernel-scheduler.md §3.1, §3.5).

use crate::sched::domains::{DomId, Flags};
use crate::sched::rq::sched_entity::TaskId;
use crate::sched::rules::RecentCpu;
use crate::sched::state::Scheduler;

impl Scheduler {
    /// The CPU for a task forked on `cpu`. The walk starts at the highest domain that is reachable through domains with
    /// SD_BALANCE_FORK.
    pub(in crate::sched) fn select_task_rq_fork(&mut self, task: TaskId, cpu: u32) -> u32 {
        let mut start = None;
        for d in self.topo.ids(cpu) {
            if !self.topo.domain(d).flags.has(Flags::FORK) {
                break;
            }
            start = Some(d);
        }
        match start {
            Some(top) => self.sched_balance_find_dst_cpu(task, cpu, top),
            None => cpu,
        }
    }
    pub(in crate::sched) fn select_task_rq_wakeup(&mut self, task: TaskId, prev: u32, this: u32, sync: bool) -> u32 {
        if let Some(waker) = self.current(this) {
            self.record_wakee(waker, task);
        }
        // AutoNUMA (18/33): without a choice between two CPUs, 3.7 does not look for an idle CPU either.
        if !self.selected_allows(task, this) {
            return prev;
        }
        let mut target = prev;
        let affine = self.allowed(task, this) && !(self.params.wake_wide && self.wake_wide(this, task));
        if affine && this != prev {
            let both = |d: DomId| {
                let domain = self.topo.domain(d);
                domain.flags.has(Flags::WAKE_AFFINE) && domain.span.contains(prev)
            };
            if let Some(d) = self.topo.ids(this).find(|d| both(*d)) {
                let pct = self.topo.domain(d).imbalance_pct;
                target = self.wake_affine(pct, task, this, prev, sync);
            }
        }
        let chosen = self.select_idle_sibling(task, prev, target, this);
        if affine && self.params.recent_used_cpu == RecentCpu::Waker {
            if let Some(waker) = self.current(this) {
                self.tasks[waker as usize].recent_used_cpu = this;
            }
        }
        chosen
    }
}
