//! Waker's or previous CPU: `wake_wide` and `wake_affine` (kernel-scheduler.md §3.2, §3.3). There is no NUMA term.
//!
//! Before 4.14 only loads decide, as if the task were on either CPU. At the root of cgroups `effective_load` adds the
//! task's weight to the waker's CPU and nothing to the other. [`WakeAffine`] lists what changed later. Loads are
//! weights up to 3.10 (`rq->load.weight`; `wake_idx` is 0), loads of queued tasks up to 5.4, then loads of sleeping
//! tasks too (11f10e5420f6).
//!
//! Read in `kernel/sched/fair.c` of 3.4, 3.10, 3.18, 4.15, 4.19 and 5.4. The releases of 05bfb65f52cb, 082f764a2f3f and
//! d8fcb81f1acf are from memory. 4.13, which compares the loads of whole nodes or caches, is not modelled and has the
//! rule of 3.18.

use crate::sched::rq::sched_entity::TaskId;
use crate::sched::rules::{Balancer, Form, WakeAffine};
use crate::sched::state::Scheduler;

/// Whether so many partners wake each other that they should not be pulled together (`wake_wide`). `llc` is the number
/// of CPUs of the cache.
pub fn is_wide(waker_flips: u32, wakee_flips: u32, llc: u32) -> bool {
    let (more, less) = (waker_flips.max(wakee_flips), waker_flips.min(wakee_flips));
    less >= llc && u64::from(more) >= u64::from(less) * u64::from(llc)
}

/// Whether the waker's CPU, with load `this`, is lighter than the previous one, with load `prev`, after a task of load
/// `task` has moved (`wake_affine_weight`). `waker` is the waker's load if it is about to sleep. Capacities are equal.
pub fn weight_rule(this: u64, prev: u64, task: u64, waker: Option<u64>, imbalance_pct: u32) -> bool {
    sides(this, prev, task, waker, imbalance_pct).is_none_or(|(here, there)| here < there + i64::from(waker.is_some()))
}

/// [`weight_rule`] before 4.17: equal loads pull.
pub fn weight_rule_v414(this: u64, prev: u64, task: u64, waker: Option<u64>, imbalance_pct: u32) -> bool {
    sides(this, prev, task, waker, imbalance_pct).is_none_or(|(here, there)| here <= there)
}

/// The two loads that the rule compares; `None` if the waker is the only load of its CPU.
fn sides(this: u64, prev: u64, task: u64, waker: Option<u64>, imbalance_pct: u32) -> Option<(i64, i64)> {
    let here = this.checked_sub(waker.unwrap_or(0))? as i64;
    let there = (prev as i64 - task as i64) * slack(imbalance_pct);
    Some(((here + task as i64) * 100, there))
}

/// Percentage at which the previous CPU's load counts.
fn slack(imbalance_pct: u32) -> i64 {
    100 + (i64::from(imbalance_pct) - 100) / 2
}

/// The rule up to 4.13. Whether the waker's CPU `this` (queued load, queued tasks), with a task of `weight`, has at
/// most the load of `prev`. `waker` is the weight of a waker that is about to sleep. With `little` (up to 3.17) it is
/// also enough that both CPUs together have no more load than an average task.
pub fn load_rule(
    this: (u64, u32),
    prev: u64,
    weight: u64,
    waker: Option<u64>,
    imbalance_pct: u32,
    little: bool,
) -> bool {
    let here = this.0 as i64 - waker.unwrap_or(0) as i64;
    let prev = prev as i64;
    if here <= 0 || 100 * (here + weight as i64) <= slack(imbalance_pct) * prev {
        return true;
    }
    little && here <= prev && here + prev <= (this.0 / u64::from(this.1.max(1))) as i64
}

impl Scheduler {
    /// Counts how often `waker` switches between wakees.
    pub(super) fn record_wakee(&mut self, waker: TaskId, wakee: TaskId) {
        let jiffy = self.jiffy;
        let w = &mut self.tasks[waker as usize];
        if jiffy > w.flips_decayed_jiffy + self.params.hz {
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
    /// `this` or `prev`, by the rule of the release. `pct` is the `imbalance_pct` of the lowest domain that holds both.
    pub(in crate::sched) fn wake_affine(&mut self, pct: u32, task: TaskId, this: u32, prev: u32, sync: bool) -> u32 {
        let rules = self.params.wake_affine;
        if rules < WakeAffine::V414 {
            let waker = sync.then(|| self.current(this).map_or(0, |w| self.tasks[w as usize].weight));
            let weight = self.tasks[task as usize].weight;
            let [here, there] = [this, prev].map(|cpu| match self.params.balancer {
                Balancer::V37 => self.rqs[cpu as usize].weight,
                _ => self.queued_load(cpu),
            });
            let nr = self.rqs[this as usize].nr();
            let pull = load_rule((here, nr), there, weight, waker, pct, rules < WakeAffine::V318);
            return if pull { this } else { prev };
        }
        self.wake_affine_idle(this, prev, sync).unwrap_or_else(|| self.wake_affine_weight(pct, task, this, prev, sync))
    }
    /// The CPU that is idle or will be idle, if one is.
    fn wake_affine_idle(&self, this: u32, prev: u32, sync: bool) -> Option<u32> {
        let rules = self.params.wake_affine;
        let prev_idle = self.idle.contains(prev);
        if self.idle.contains(this) {
            if rules < WakeAffine::V416 {
                return Some(this);
            }
            if self.topo.share_cache(this, prev) {
                return Some(if prev_idle { prev } else { this });
            }
        }
        let rq = &self.rqs[this as usize];
        let delayed = if self.params.form == Form::V612 { rq.delayed } else { 0 };
        if sync && rq.nr() - delayed == 1 {
            return Some(this);
        }
        (prev_idle && rules >= WakeAffine::V511).then_some(prev)
    }
    /// The CPU with less load. The waking task's load is that of its last sleep; it has not been brought up to date.
    fn wake_affine_weight(&mut self, pct: u32, task: TaskId, this: u32, prev: u32, sync: bool) -> u32 {
        let waker = self.current(this).filter(|_| sync);
        if let Some(w) = waker {
            self.refresh_task(w);
        }
        let loads = [this, prev].map(|cpu| match self.params.balancer.by_queued_load() {
            true => self.queued_load(cpu),
            false => {
                self.rqs[cpu as usize].refresh(self.now);
                self.rqs[cpu as usize].pelt.load
            }
        });
        let of = |t: TaskId| self.tasks[t as usize].pelt.load;
        // An idle waker (a timer) has no load.
        let waker = if sync { Some(waker.map_or(0, of)) } else { None };
        let rule = if self.params.wake_affine < WakeAffine::V417 { weight_rule_v414 } else { weight_rule };
        if rule(loads[0], loads[1], of(task), waker, pct) {
            this
        } else {
            prev
        }
    }
}
