//! The trigger on the tick (kernel: `task_tick_numa`, kernel-numa-balancing.md §4).

use crate::numa::balancing::NumaBalancing;
use crate::numa::jiffies::{before, Jiffies, NSEC_PER_MSEC};
use crate::numa::rules::PeriodModel;
use crate::numa::state::TaskId;

impl NumaBalancing {
    /// The trigger on the tick of a running fair task. Returns whether scan work was queued, to run when the task next
    /// returns to user mode. `runtime_ns` is the task's CPU time.
    #[inline]
    pub fn task_tick_numa(&mut self, task: TaskId, runtime_ns: u64, now: Jiffies, rss_pages: u64) -> bool {
        let t = &mut self.tasks[task as usize];
        let Some(mm) = t.mm else { return false };
        if !self.cfg.enabled() || t.exiting || t.work_queued {
            return false;
        }
        let period_ns = u64::from(t.numa_scan_period) * NSEC_PER_MSEC;
        if !self.period_over(task, runtime_ns) {
            return false;
        }
        let t = &self.tasks[task as usize];
        if t.node_stamp == 0 {
            let start = self.task_scan_start(task, rss_pages);
            self.tasks[task as usize].numa_scan_period = start;
        }
        let t = &mut self.tasks[task as usize];
        t.node_stamp = match self.cfg.period_model {
            PeriodModel::V38 => runtime_ns,
            // The stamp advances by the old period, even if the period just changed, and not to the runtime: so a task
            // may catch up on consecutive ticks.
            _ => t.node_stamp.wrapping_add(period_ns),
        };
        t.work_queued = !before(now, self.mms[mm as usize].numa_next_scan);
        t.work_queued
    }

    /// Whether [`Self::task_tick_numa`] can do anything. A caller may skip computing its arguments otherwise.
    #[inline]
    pub fn trigger_due(&self, task: TaskId, runtime_ns: u64) -> bool {
        !self.tasks[task as usize].work_queued && self.period_over(task, runtime_ns)
    }

    /// Whether a period of runtime has passed since the stamp. Before 4.4 the difference underflows once the stamp is
    /// ahead of the runtime, as after each scan (two ticks) and after each trigger. Then only the wall clock limits
    /// scans.
    #[inline]
    fn period_over(&self, task: TaskId, runtime_ns: u64) -> bool {
        let t = &self.tasks[task as usize];
        let period_ns = u64::from(t.numa_scan_period) * NSEC_PER_MSEC;
        if self.cfg.switches.trigger_underflows {
            runtime_ns.wrapping_sub(t.node_stamp) > period_ns
        } else {
            runtime_ns > t.node_stamp.wrapping_add(period_ns)
        }
    }
}
