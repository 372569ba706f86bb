//! A run queue: the tasks of a CPU, their order for balancing, and their averages (kernel: `struct rq`, `struct
//! cfs_rq`).
//!
//! The tasks are a plain vector in the order in which balancing looks at them. Queues are short, so the leftmost task
//! or the earliest eligible deadline is found by a look at all of them. That is faster than a tree for fewer than some
//! dozens of tasks. [`cfs`](super::cfs) holds the rules of 6.1, [`eevdf`](super::eevdf) those of 6.12
//! (kernel-scheduler.md §7).

use super::newidle_search::NewidleSearch;
use super::rounding::Departures;
use super::sched_entity::{Task, TaskId, NONE, NO_NODE};
use super::sis_prop::SisProp;
use crate::sched::pelt::Pelt;

/// How a task enters a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) enum Arrival {
    /// The task is new.
    Fork,
    /// The task wakes up; `moved`: on another CPU than it slept on.
    Wake { moved: bool },
    /// The task moves while queued.
    Move,
}

/// Run queue of a CPU. Fields that ticks and group counts read come first, in one cache line: the queues of a large
/// machine do not fit the cache of the CPU that simulates it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(in crate::sched) struct Rq {
    /// The running task.
    pub cur: TaskId,
    /// The idle task runs. False also where no task has been picked yet.
    pub in_idle: bool,
    pub need_resched: bool,
    /// The CPU is in the set of tickless idle CPUs.
    pub tickless: bool,
    /// The CPU's stopper has been asked to push a task.
    pub active_balance: bool,
    /// Queued tasks, including the current and delayed ones, in the order in which balancing looks at them
    /// ([`QueueOrder`]).
    ///
    /// [`QueueOrder`]: crate::sched::rules::QueueOrder
    pub list: Vec<TaskId>,
    /// Queued tasks with a preferred node (`nr_numa_running`), and those on it (`nr_preferred_running`).
    pub nr_numa: u32,
    pub nr_preferred: u32,
    /// Earliest jiffy of the next periodic balance.
    pub next_balance: u64,
    pub min_vruntime: i64,
    /// Σ weights of `list`.
    pub weight: u64,
    pub pelt: Pelt,
    pub util_est: u64,
    pub delayed: u32,
    /// Buddies of 6.1: the task to run next, and the task pre-empted last.
    pub next_buddy: TaskId,
    pub last_buddy: TaskId,
    pub seq: u64,
    /// Time at which the CPU became idle, ns; 0 if it is not idle.
    pub idle_stamp: u64,
    pub avg_idle_ns: u64,
    pub max_idle_cost_ns: u64,
    /// Idle time and search cost, for idle searches before 6.0.
    pub sis_prop: SisProp,
    /// Loads at past ticks; the i-th is an average over about 2^i ticks (`cpu_load`, for [`Balancer::by_past_load`]).
    ///
    /// [`Balancer::by_past_load`]: crate::sched::rules::Balancer::by_past_load
    pub past_load: [u64; 3],
    /// Jiffy of the last update of `past_load`.
    pub past_jiffy: u64,
    /// Start of the present idle period, or of its part since the last tick, ns.
    pub idle_since: u64,
    /// The last eight idle periods, the latest in the lowest bit; 1: shorter than a tick.
    pub short_idles: u8,
    /// The newly-idle search, if the CPU has nothing to run and a pass is under way.
    pub newidle: Option<NewidleSearch>,
    /// The task that last went to sleep here, until another one runs. It is still on the CPU (`on_cpu`) during the
    /// CPU's newly-idle search.
    pub last_sleeper: TaskId,
    /// What rounding may have left in `pelt` of tasks that went.
    pub departures: Departures,
    /// When its lock is free again, ns.
    pub lock_free_ns: u64,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(Rq, weight) == 56, "what ticks read is in one line of 64 bytes");

impl Rq {
    /// An empty run queue. Its average idle time starts at twice `migration_cost_ns`.
    pub fn new(migration_cost_ns: u64) -> Self {
        Self {
            cur: NONE,
            in_idle: true,
            need_resched: false,
            active_balance: false,
            list: Vec::with_capacity(16),
            delayed: 0,
            weight: 0,
            min_vruntime: 0,
            next_buddy: NONE,
            last_buddy: NONE,
            seq: 0,
            pelt: Pelt::default(),
            util_est: 0,
            nr_numa: 0,
            nr_preferred: 0,
            next_balance: 0,
            idle_stamp: 0,
            avg_idle_ns: 2 * migration_cost_ns,
            max_idle_cost_ns: migration_cost_ns,
            sis_prop: SisProp::default(),
            past_load: [0; 3],
            past_jiffy: 0,
            tickless: true,
            idle_since: 0,
            short_idles: 0,
            newidle: None,
            last_sleeper: NONE,
            departures: Departures::default(),
            lock_free_ns: 0,
        }
    }
    /// Number of queued tasks (`nr_running`), including current and delayed ones.
    pub fn nr(&self) -> u32 {
        self.list.len() as u32
    }
    /// Whether the idle task runs and no task waits.
    pub fn is_idle(&self) -> bool {
        self.in_idle && self.list.is_empty()
    }
    /// Brings the averages to `now_ns`.
    pub fn refresh(&mut self, now_ns: u64) {
        if self.list.is_empty() && self.pelt.is_zero() {
            self.pelt.skip_to(now_ns);
            return;
        }
        let runnable = u64::from(self.nr() - self.delayed);
        self.pelt.update(now_ns, 1, self.weight, runnable, self.cur != NONE);
    }
    /// The averages as [`Self::refresh`] would leave them.
    pub fn averages_at(&self, now_ns: u64) -> Pelt {
        let mut pelt = self.pelt;
        let runnable = u64::from(self.nr() - self.delayed);
        pelt.update(now_ns, 1, self.weight, runnable, self.cur != NONE);
        pelt
    }
    /// Σ load averages of the tasks queued here, brought to `now_ns` (`runnable_load_avg`). Sleeping tasks do not
    /// count.
    pub fn queued_load(&self, tasks: &[Task], now_ns: u64) -> u64 {
        self.list.iter().map(|t| tasks[*t as usize].average_at(now_ns, self.cur == *t).load).sum()
    }
    /// Utilisation as group statistics count it (`cpu_util_cfs`). Call [`Self::refresh`] before.
    pub fn util(&self) -> u64 {
        self.pelt.util.max(self.util_est).min(1024)
    }
    /// Adds the present load to the averages of past loads, at a tick. In missed ticks the CPU was idle.
    pub fn update_cpu_load(&mut self, load: u64, jiffy: u64) {
        if jiffy == self.past_jiffy {
            return;
        }
        for i in 0..self.past_load.len() {
            let old = faded(self.past_load[i], i, jiffy - self.past_jiffy - 1);
            let keep = (1 << i) - 1;
            // Rounded up while it grows.
            let new = if load > old { load + keep } else { load };
            self.past_load[i] = (old * keep + new) >> i;
        }
        self.past_jiffy = jiffy;
    }
    /// The `i`-th average of past loads. An idle CPU's averages decay.
    pub fn past_load(&self, i: usize, jiffy: u64) -> u64 {
        let missed = if self.list.is_empty() { jiffy.saturating_sub(self.past_jiffy) } else { 0 };
        faded(self.past_load[i], i, missed)
    }
    /// Makes `t` the task that was run or queued last.
    pub fn move_to_head(&mut self, t: TaskId) {
        if self.list.last() == Some(&t) {
            return;
        }
        if let Some(i) = self.list.iter().position(|x| *x == t) {
            self.list[i..].rotate_left(1);
        }
    }
    /// Moves the task at index `at` to the end, since it was looked at and stays.
    pub fn requeue_tail(&mut self, at: usize) {
        if at < self.list.len() {
            self.list[at..].rotate_left(1);
        }
    }
    /// Ends an idle period. A period that only a tick interrupts counts as long, as in the menu governor.
    pub fn record_idle(&mut self, now_ns: u64, tick_ns: u64) {
        let short = now_ns - self.idle_since < tick_ns;
        self.short_idles = self.short_idles << 1 | u8::from(short);
    }
    /// Whether the next idle period is expected to be shorter than a tick: at least six of the last eight were. The
    /// menu governor asks for as many in a pattern.
    pub fn expects_short_idle(&self) -> bool {
        self.short_idles.count_ones() >= 6
    }
    /// The next number that orders tasks with equal keys.
    pub fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }
    /// Raises the queue's minimum vruntime to the lowest queued one.
    pub fn update_min_vruntime(&mut self, tasks: &[Task]) {
        if let Some(v) = self.list.iter().map(|t| tasks[*t as usize].vruntime).min() {
            self.min_vruntime = self.min_vruntime.max(v);
        }
    }
    /// Forgets `t` as a buddy.
    pub fn clear_buddies(&mut self, t: TaskId) {
        if self.next_buddy == t {
            self.next_buddy = NONE;
        }
        if self.last_buddy == t {
            self.last_buddy = NONE;
        }
    }
    /// Adds the utilisation estimate of a task that becomes runnable here (`util_est_enqueue`).
    pub fn util_est_add(&mut self, t: &mut Task) {
        t.util_est_queued = t.util_est.max(t.util_enqueued);
        t.util_changed = false;
        self.util_est += t.util_est_queued;
    }
    /// Removes the utilisation estimate of a task (`util_est_dequeue`).
    pub fn util_est_remove(&mut self, t: &mut Task) {
        self.util_est = self.util_est.saturating_sub(t.util_est_queued);
        t.util_est_queued = 0;
    }
    /// Adds or removes a task in the counts by preferred node (`account_numa_enqueue`, `account_numa_dequeue`).
    pub fn count_numa(&mut self, t: &Task, node: u32, add: bool) {
        if t.preferred_nid == NO_NODE {
            return;
        }
        let home = u32::from(t.preferred_nid == node);
        if add {
            self.nr_numa += 1;
            self.nr_preferred += home;
        } else {
            self.nr_numa = self.nr_numa.saturating_sub(1);
            self.nr_preferred = self.nr_preferred.saturating_sub(home);
        }
    }
}

/// A past load after `ticks` more ticks without load. After more than 32 ticks it is taken as 0.
fn faded(load: u64, i: usize, ticks: u64) -> u64 {
    if ticks > 32 || (i == 0 && ticks > 0) {
        return 0;
    }
    (0..ticks).fold(load, |x, _| (x * ((1 << i) - 1)) >> i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_loads_follow_by_halves_and_quarters() {
        let mut rq = Rq::new(500_000);
        rq.list.push(0);
        rq.update_cpu_load(2048, 1);
        assert_eq!(rq.past_load, [2048, 1024, 512]);
        rq.update_cpu_load(2048, 1);
        assert_eq!(rq.past_load, [2048, 1024, 512], "once a jiffy");
        rq.update_cpu_load(2048, 2);
        assert_eq!(rq.past_load, [2048, 1536, 896]);
        assert_eq!(rq.past_load(1, 9), 1536, "a busy CPU's stays");
        rq.list.clear();
        assert_eq!([0, 1, 2].map(|i| rq.past_load(i, 4)), [0, 384, 504]);
        rq.past_load = [1024; 3];
        rq.update_cpu_load(1024, 100);
        assert_eq!(rq.past_load, [1024, 512, 256], "what was before a long idle period is forgotten");
    }
}
