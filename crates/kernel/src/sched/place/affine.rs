//! Waker or previous CPU: wake_wide and wake_affine (kernel-scheduler.md §3.2, §3.3). There is no NUMA term.

use super::super::config::Form;
use super::super::rq::task::TaskId;
use super::super::scheduler::Scheduler;

/// Whether so many partners wake each other that they should not be pulled together; `llc` is the cache's CPU count.
pub fn is_wide(waker_flips: u32, wakee_flips: u32, llc: u32) -> bool {
    let (more, less) = (waker_flips.max(wakee_flips), waker_flips.min(wakee_flips));
    less >= llc && u64::from(more) >= u64::from(less) * u64::from(llc)
}

/// The weight rule: whether the waker's CPU, with load `this`, is lighter than the previous one, with load `prev`, after
/// moving a task of load `task`; `waker` is the waker's load if it is about to sleep. Capacities are equal.
pub fn weight_rule(this: u64, prev: u64, task: u64, waker: Option<u64>, imbalance_pct: u32) -> bool {
    let mut here = this as i64;
    if let Some(waker) = waker {
        if waker as i64 > here {
            return true;
        }
        here -= waker as i64;
    }
    let here = (here + task as i64) * 100;
    let there = (prev as i64 - task as i64) * (100 + (i64::from(imbalance_pct) - 100) / 2);
    here < there + i64::from(waker.is_some())
}

impl Scheduler {
    /// Counts how often `waker` switches between wakees.
    pub(super) fn record_wakee(&mut self, waker: TaskId, wakee: TaskId) {
        let jiffy = self.jiffy;
        let w = &mut self.tasks[waker as usize];
        if jiffy > w.flips_decayed_jiffy + self.p.hz {
            w.wakee_flips >>= 1;
            w.flips_decayed_jiffy = jiffy;
        }
        if w.last_wakee != wakee {
            w.last_wakee = wakee;
            w.wakee_flips += 1;
        }
    }
    /// [`is_wide`] for the current task of `this` and `wakee`.
    pub(super) fn wake_wide(&self, this: u32, wakee: TaskId) -> bool {
        let waker = self.current(this).map_or(0, |w| self.tasks[w as usize].wakee_flips);
        let llc = self.topo.cache(self.topo.cache_of(this)).size;
        is_wide(waker, self.tasks[wakee as usize].wakee_flips, llc)
    }
    /// `this` or `prev`, by the idle rule, then the weight rule; `pct` is of the lowest domain that holds both.
    pub(super) fn wake_affine(&mut self, pct: u32, task: TaskId, this: u32, prev: u32, sync: bool) -> u32 {
        let prev_idle = self.idle.contains(prev);
        if self.idle.contains(this) && self.topo.share_cache(this, prev) {
            return if prev_idle { prev } else { this };
        }
        let rq = &self.rqs[this as usize];
        let delayed = if self.p.form == Form::V612 { rq.delayed } else { 0 };
        if sync && rq.nr() - delayed == 1 {
            return this;
        }
        if prev_idle {
            return prev;
        }
        self.refresh_task(task);
        let waker = self.current(this).filter(|_| sync);
        if let Some(w) = waker {
            self.refresh_task(w);
        }
        self.rqs[this as usize].refresh(self.now);
        self.rqs[prev as usize].refresh(self.now);
        let load = |cpu: u32| self.rqs[cpu as usize].pelt.load;
        let of = |t: TaskId| self.tasks[t as usize].pelt.load;
        // An idle waker (a timer) has no load of its own.
        let waker = if sync { Some(waker.map_or(0, of)) } else { None };
        if weight_rule(load(this), load(prev), of(task), waker, pct) {
            this
        } else {
            prev
        }
    }
}
