//! Per-entity load tracking in the kernel's integer arithmetic (kernel-scheduler.md §6; kernel: `pelt.c`).
//!
//! Problem: load, runnable time and utilisation are geometric averages with a half-life of 32 periods. The kernel
//! refreshes them at every tick; here a tick must cost nanoseconds.
//!
//! Approach: the state of an entity (weight, runnable count, running or not) is constant between scheduling events. One
//! update over the whole interval gives the same sums as many small ones, up to one unit of rounding. Entities are
//! refreshed only when their state changes or their averages are read.
//!
//! Units: time in ns, internally in 1024 ns; a period is 1024 of those. In averages 1024 is one CPU, or the weight of
//! nice 0.

/// Sum of a signal that has been active for an infinite time.
pub const LOAD_AVG_MAX: u64 = 47_742;
/// Smallest divisor of an average (phase 0).
const MIN_DIVIDER: u64 = LOAD_AVG_MAX - 1024;

/// ⌊(2³²−1)·2^(−k/32)⌋.
const INVERSE: [u32; 32] = [
    0xffff_ffff,
    0xfa83_b2da,
    0xf525_7d14,
    0xefe4_b99a,
    0xeac0_c6e6,
    0xe5b9_06e6,
    0xe0cc_deeb,
    0xdbfb_b796,
    0xd744_fcc9,
    0xd2a8_1d91,
    0xce24_8c14,
    0xc9b9_bd85,
    0xc567_2a10,
    0xc12c_4cc9,
    0xbd08_a39e,
    0xb8fb_af46,
    0xb504_f333,
    0xb123_f581,
    0xad58_3ee9,
    0xa9a1_5ab4,
    0xa5fe_d6a9,
    0xa270_4302,
    0x9ef5_325f,
    0x9b8d_39b9,
    0x9837_f050,
    0x94f4_efa8,
    0x91c3_d373,
    0x8ea4_398a,
    0x8b95_c1e3,
    0x8898_0e80,
    0x85aa_c367,
    0x82cd_8698,
];

/// `v` decayed by `n` periods (`decay_load`).
pub fn decay(v: u64, n: u64) -> u64 {
    if n > 2016 {
        return 0;
    }
    let shifted = v >> (n / 32);
    ((u128::from(shifted) * u128::from(INVERSE[(n % 32) as usize])) >> 32) as u64
}

/// The tracked signals of a task or a queue (`struct sched_avg`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pelt {
    last_ns: u64,
    phase: u64,
    load_sum: u64,
    runnable_sum: u64,
    util_sum: u64,
    /// Load average: weight × share of time runnable.
    pub load: u64,
    /// Runnable average: 1024 × mean number of runnable tasks.
    pub runnable: u64,
    /// Utilisation: 1024 × share of time running.
    pub util: u64,
}

impl Pelt {
    /// Signals with the given averages. Their sums are in phase 0, for an entity of `weight` attached at `now_ns`.
    pub fn with_averages(now_ns: u64, weight: u64, load: u64, runnable: u64, util: u64) -> Self {
        let mut p = Self { last_ns: now_ns, load, runnable, util, ..Self::default() };
        p.set_sums(weight);
        p
    }
    /// Signals of a task that has long slept on this queue: all 0, in the queue's phase.
    pub fn resting(&self) -> Self {
        Self { last_ns: self.last_ns, phase: self.phase, ..Self::default() }
    }
    /// Position in the current period at the last update, in 1024 ns; a period has 1024 of them.
    pub fn phase(&self) -> u64 {
        self.phase
    }
    /// Decayed load sum; at most 47742 for a task.
    pub fn load_sum(&self) -> u64 {
        self.load_sum
    }
    fn divider(&self) -> u64 {
        MIN_DIVIDER + self.phase
    }
    fn set_sums(&mut self, weight: u64) {
        let v = self.divider();
        self.util_sum = self.util * v;
        self.runnable_sum = self.runnable * v;
        self.load_sum = (self.load * v / weight.max(1)).max(1);
    }
    /// Accounts the time up to `now_ns` (`___update_load_sum`). In that time the entity had `load` (Σ weights of a
    /// queue, 0 or 1 of a task), `runnable` tasks and was `running` or not. `weight` is that of the task, 1 for a
    /// queue. Returns whether the averages changed; they change only when a period boundary was crossed.
    pub fn update(&mut self, now_ns: u64, weight: u64, load: u64, runnable: u64, running: bool) -> bool {
        let elapsed = now_ns.saturating_sub(self.last_ns) >> 10;
        if elapsed == 0 {
            return false;
        }
        self.last_ns += elapsed << 10;
        let total = elapsed + self.phase;
        let periods = total >> 10;
        let mut contribution = elapsed;
        if periods > 0 {
            let head = decay(1024 - self.phase, periods);
            self.phase = total & 1023;
            self.load_sum = decay(self.load_sum, periods);
            self.runnable_sum = decay(self.runnable_sum, periods);
            self.util_sum = decay(self.util_sum, periods);
            contribution = head + (LOAD_AVG_MAX - decay(LOAD_AVG_MAX, periods) - 1024) + self.phase;
        } else {
            self.phase = total;
        }
        if load > 0 {
            self.load_sum += load * contribution;
            self.runnable_sum += (runnable * contribution) << 10;
            self.util_sum += (u64::from(running) * contribution) << 10;
        }
        if periods == 0 {
            return false;
        }
        self.settle(weight);
        true
    }
    /// Computes the averages from the sums (`___update_load_avg`). Updates do so at period boundaries only. Two
    /// entities that were read at different times inside a period may differ by up to 22 units although their sums
    /// agree.
    pub fn settle(&mut self, weight: u64) {
        let v = self.divider();
        self.load = weight * self.load_sum / v;
        self.runnable = self.runnable_sum / v;
        self.util = self.util_sum / v;
    }
    /// Whether all sums are 0, so that there is nothing to decay.
    pub fn is_zero(&self) -> bool {
        self.load_sum == 0 && self.runnable_sum == 0 && self.util_sum == 0
    }
    /// Moves the clock of an all-zero entity to `now_ns`; the time before does not matter.
    pub fn skip_to(&mut self, now_ns: u64) {
        let elapsed = now_ns.saturating_sub(self.last_ns) >> 10;
        self.last_ns += elapsed << 10;
        self.phase = (self.phase + elapsed) & 1023;
    }
    /// Adds `task`, of `weight`, to this queue, and aligns its phase (`attach_entity_load_avg`). Both must be up to
    /// date.
    pub fn attach(&mut self, task: &mut Pelt, weight: u64) {
        task.last_ns = self.last_ns;
        task.phase = self.phase;
        task.set_sums(weight);
        self.load += task.load;
        self.load_sum += weight * task.load_sum;
        self.runnable += task.runnable;
        self.runnable_sum += task.runnable_sum;
        self.util += task.util;
        self.util_sum += task.util_sum;
    }
    /// Changes the weight of `task`, which is part of this queue, from `old` to `new` (`reweight_entity`). Both must be
    /// up to date.
    pub fn reweight(&mut self, task: &mut Pelt, old: u64, new: u64) {
        self.settle(1);
        task.settle(old);
        self.load = self.load.saturating_sub(task.load);
        self.load_sum = self.load_sum.saturating_sub(old * task.load_sum).max(self.load * MIN_DIVIDER);
        task.settle(new);
        self.load += task.load;
        self.load_sum += new * task.load_sum;
    }
    /// Removes `task`, of `weight`, from this queue (`detach_entity_load_avg`). Both must be up to date.
    pub fn detach(&mut self, task: &mut Pelt, weight: u64) {
        self.settle(1);
        task.settle(weight);
        let take = |avg: &mut u64, sum: &mut u64, a: u64, s: u64| {
            *avg = avg.saturating_sub(a);
            // Rounding must not leave an average without the sum that carries it.
            *sum = sum.saturating_sub(s).max(*avg * MIN_DIVIDER);
        };
        take(&mut self.load, &mut self.load_sum, task.load, weight * task.load_sum);
        take(&mut self.runnable, &mut self.runnable_sum, task.runnable, task.runnable_sum);
        take(&mut self.util, &mut self.util_sum, task.util, task.util_sum);
    }
}

/// First utilisation of a new task on a queue with averages `util` and `load` (`post_init_entity_util_avg`, §6.4).
/// `unscaled_weight` is 1024·1024 in 6.1. It is 1024 in 6.12, where the queue's own ratio therefore limits the result.
pub fn new_task_util(util: u64, load: u64, unscaled_weight: u64) -> u64 {
    let cap = (1024 - util as i64) / 2;
    if cap <= 0 {
        return 0;
    }
    let cap = cap as u64;
    if util == 0 {
        cap
    } else {
        cap.min(util * unscaled_weight / (load + 1))
    }
}
