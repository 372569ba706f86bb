//! Last-level caches shared by the threads that run on them, and the private L2 (machines.md section 7).
//!
//! Problem: whether an array stays in cache depends on the other threads that run on the same LLC. Approach: each
//! thread works on a *set* of data: its own arrays, or data shared with others, which counts once per LLC.
//! [`LlcLoads`] keeps the sum of the sets in use for each LLC and updates it when a thread starts or stops running
//! there. The hit shares follow from that sum:
//!
//! * cyclic sweeps under LRU hit fully up to 0.9 of the capacity and not at all from 1.2 on. What counts is what all
//!   touch until the sweep comes back: whole sets that are swept, and of others the distinct lines in that time;
//! * uniform random accesses hit in proportion to the capacity that their set holds. Sets hold capacity in proportion
//!   to their access rates; capacity that some sets cannot fill goes to the others;
//! * skewed accesses ([`CacheFit::Reuse`](numalab_nouns::access::CacheFit::Reuse)) hit by a power law. Their set holds
//!   what it touches in the time after which an unused line leaves the cache ([`reuse_window`]).
//!
//! Units: bytes, ns, GB/s, shares 0..=1. All sums are integers, so the order of arrivals and departures does not
//! change them.

use super::reuse_window::{self, AccessMix};
use numalab_base::math::{exp, ln_1p};
use numalab_nouns::machine::Machine;
use std::cell::Cell;

/// Part of an LLC that cyclic sweeps can fill before they evict their own lines.
const CLIFF_BEGIN: f64 = 0.9;
/// Range over which the hit share of cyclic sweeps falls from 1 to 0, as part of the capacity.
const CLIFF_WIDTH: f64 = 0.3;
/// Bytes of a cache line.
const LINE_BYTES: u64 = 64;
/// Streaming rate of a private L2, bytes per cycle (estimate: about half of what the load ports allow).
const L2_BYTES_PER_CYCLE: f64 = 16.0;

/// Hit share of cyclic sweeps over sets of `sum_bytes` in total, in a cache of `capacity_bytes`.
pub fn cyclic_hit(sum_bytes: u64, capacity_bytes: u64) -> f64 {
    let capacity = capacity_bytes as f64;
    let over = sum_bytes as f64 - CLIFF_BEGIN * capacity;
    if over <= 0.0 {
        return 1.0;
    }
    (1.0 - over / (CLIFF_WIDTH * capacity)).max(0.0)
}

/// Distinct bytes that `lines` accesses touch of a set of `set_bytes`, on average: `N (1 - (1 - 1/N)^k)` lines where
/// all lines are as likely (`alpha` 0), else by the power law with exponent `alpha`.
pub fn distinct_bytes(alpha: f64, set_bytes: u64, lines: f64) -> u64 {
    if alpha != 0.0 {
        return (reuse_window::touched_bytes(alpha, 1, lines) as u64).min(set_bytes);
    }
    let all = set_bytes.div_ceil(LINE_BYTES) as f64;
    if all <= 1.0 {
        return set_bytes;
    }
    let missed = exp(lines * ln_1p(-1.0 / all));
    ((all * (1.0 - missed) + 0.5) as u64 * LINE_BYTES).min(set_bytes)
}

/// Hit share of uniform random accesses to a set of `set_bytes` of which a cache holds `held_bytes`.
pub fn random_hit(set_bytes: u64, held_bytes: u64) -> f64 {
    if held_bytes >= set_bytes {
        1.0
    } else {
        held_bytes as f64 / set_bytes as f64
    }
}

/// Latencies and rates of cache hits on one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheTimes {
    /// Latency of an L2 hit, ns.
    pub l2_ns: f64,
    /// Latency of an LLC hit, ns.
    pub llc_ns: f64,
    /// Rate of one thread that streams from its L2, GB/s; at least that of its LLC.
    pub l2_gbps: f64,
    /// Rate of one thread that streams from its LLC, GB/s.
    pub llc_gbps: f64,
    /// Size of the private L2 of a core, bytes.
    pub l2_bytes: u64,
}

impl CacheTimes {
    /// Times at the sustained clock of `machine`.
    pub fn new(machine: &Machine) -> Self {
        let (cache, ghz) = (&machine.cache, machine.clock.sustained_ghz);
        Self {
            l2_ns: cache.l2_cycles / ghz,
            llc_ns: cache.llc_latency_ns,
            l2_gbps: (L2_BYTES_PER_CYCLE * ghz).max(cache.llc_stream_gbps),
            llc_gbps: cache.llc_stream_gbps,
            l2_bytes: cache.l2_bytes,
        }
    }

    /// L2 that a thread can use, bytes: half of it while its SMT sibling is busy.
    pub fn l2_share_bytes(&self, sibling_busy: bool) -> u64 {
        if sibling_busy {
            self.l2_bytes / 2
        } else {
            self.l2_bytes
        }
    }
}

/// How a thread uses a set.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// Its access rate, lines per ms, at least 1.
    pub weight: u32,
    /// Whether it sweeps the set.
    pub swept: bool,
}

/// Use of one set on one LLC.
#[derive(Clone, Copy, Debug, Default)]
struct SetUse {
    /// Number of running threads that work on it; machines have few thousand CPUs.
    threads: u16,
    /// Number of cores that these threads run on.
    cores: u16,
    /// Number of threads that sweep it.
    sweepers: u16,
    weight: u64,
}

impl SetUse {
    /// Somebody works on it, and nobody sweeps it.
    fn is_random(&self) -> bool {
        self.threads > 0 && self.sweepers == 0
    }
}

/// The sets in use on every LLC.
#[derive(Clone, Debug)]
pub struct LlcLoads {
    capacity_bytes: Vec<u64>,
    /// Sum of the sets in use on each LLC, bytes.
    sum_bytes: Vec<u64>,
    /// The part of that sum that is swept, bytes.
    swept_bytes: Vec<u64>,
    /// Sets in use on each LLC that nobody there sweeps, in any order.
    random_sets: Vec<Vec<u32>>,
    /// What was last asked of the cyclic sweeps of each LLC: time of their round, ms, and the answer.
    last_hit: Vec<Cell<(f64, f64)>>,
    /// Sum of the access rates on each LLC, lines per ms.
    weight: Vec<u64>,
    set_bytes: Vec<u64>,
    /// Exponent of the power law of each set; 0 for sets that are swept or accessed uniformly.
    alpha: Vec<f64>,
    /// Index: set * number of LLCs + LLC.
    uses: Vec<SetUse>,
    /// Accesses of the running threads on each LLC.
    mixes: Vec<AccessMix>,
    /// Time after which an unused line leaves each LLC, ms; NaN where it must be computed.
    window_ms: Vec<Cell<f64>>,
}

impl LlcLoads {
    /// All caches of `machine`, unused.
    pub fn new(machine: &Machine) -> Self {
        let llcs = machine.llcs.len();
        Self {
            capacity_bytes: machine.llcs.iter().map(|l| l.size_bytes).collect(),
            sum_bytes: vec![0; llcs],
            swept_bytes: vec![0; llcs],
            random_sets: vec![Vec::new(); llcs],
            last_hit: vec![Cell::new((f64::NAN, 0.0)); llcs],
            weight: vec![0; llcs],
            set_bytes: Vec::new(),
            alpha: Vec::new(),
            uses: Vec::new(),
            mixes: vec![AccessMix::default(); llcs],
            window_ms: vec![Cell::new(f64::NAN); llcs],
        }
    }

    /// Adds a set of `bytes` whose accesses follow a power law with exponent `alpha` (0: swept, or accessed
    /// uniformly); returns its number. Allocates, so call it before the run.
    pub fn add_set(&mut self, bytes: u64, alpha: f64) -> usize {
        self.set_bytes.push(bytes);
        self.alpha.push(alpha);
        for mix in &mut self.mixes {
            mix.declare(alpha);
        }
        self.uses.resize(self.set_bytes.len() * self.llcs(), SetUse::default());
        self.set_bytes.len() - 1
    }

    /// A thread that works on `set` as `used` says starts to run on `llc`. `alone` is true if no other thread of its
    /// core works on the set.
    pub fn enter(&mut self, llc: usize, set: usize, used: Used, alone: bool) {
        let Used { weight, swept } = used;
        let at = set * self.llcs() + llc;
        let entry = &mut self.uses[at];
        let was_random = entry.is_random();
        if entry.threads == 0 {
            self.sum_bytes[llc] += self.set_bytes[set];
        }
        if swept && entry.sweepers == 0 {
            self.swept_bytes[llc] += self.set_bytes[set];
        }
        entry.sweepers += u16::from(swept);
        entry.threads += 1;
        entry.cores += u16::from(alone);
        let (before, after) = (entry.weight, entry.weight + u64::from(weight));
        entry.weight = after;
        let is_random = entry.is_random();
        self.weight[llc] += u64::from(weight);
        self.list(llc, set, was_random, is_random);
        self.reweigh(llc, set, before, after);
    }

    /// Keeps the list of the sets on `llc` that nobody sweeps.
    #[inline]
    fn list(&mut self, llc: usize, set: usize, was_random: bool, is_random: bool) {
        let sets = &mut self.random_sets[llc];
        if is_random && !was_random {
            sets.push(set as u32);
        } else if was_random && !is_random {
            sets.retain(|&s| s as usize != set);
        }
    }

    /// Notes that the total access rate to `set` on `llc` has changed.
    fn reweigh(&mut self, llc: usize, set: usize, before: u64, after: u64) {
        self.mixes[llc].change(self.alpha[set], before, after);
        self.window_ms[llc].set(f64::NAN);
        self.last_hit[llc].set((f64::NAN, 0.0));
    }

    /// A thread that works on `set` stops running on `llc`. `used` is what was given to [`Self::enter`]; `alone` is
    /// true if no other thread of its core works on the set. Does nothing if no thread on `llc` works on `set`.
    pub fn leave(&mut self, llc: usize, set: usize, used: Used, alone: bool) {
        let Used { weight, swept } = used;
        let at = set * self.llcs() + llc;
        let entry = &mut self.uses[at];
        if entry.threads == 0 {
            return;
        }
        let was_random = entry.is_random();
        if swept && entry.sweepers == 1 {
            self.swept_bytes[llc] -= self.set_bytes[set];
        }
        entry.sweepers -= u16::from(swept).min(entry.sweepers);
        entry.threads -= 1;
        entry.cores = if entry.threads == 0 { 0 } else { entry.cores.saturating_sub(u16::from(alone)) };
        let weight = u64::from(weight).min(entry.weight);
        let before = entry.weight;
        entry.weight -= weight;
        let is_random = entry.is_random();
        self.weight[llc] -= weight;
        if entry.threads == 0 {
            self.sum_bytes[llc] -= self.set_bytes[set];
        }
        self.list(llc, set, was_random, is_random);
        self.reweigh(llc, set, before, before - weight);
    }

    /// Size of a set, bytes.
    #[inline]
    pub fn set_bytes(&self, set: usize) -> u64 {
        self.set_bytes[set]
    }

    /// Sum of the sets in use on `llc`, bytes.
    pub fn sum_bytes(&self, llc: usize) -> u64 {
        self.sum_bytes[llc]
    }

    /// Number of threads on `llc` that work on `set`, and number of cores they run on.
    pub fn users(&self, llc: usize, set: usize) -> (u32, u32) {
        let entry = &self.uses[set * self.llcs() + llc];
        (entry.threads.into(), entry.cores.into())
    }

    /// Whether what is used on `llc` in a round of `round_ms` fits into it, so that cyclic sweeps hit fully.
    pub fn fits(&self, llc: usize, round_ms: f64) -> bool {
        self.cyclic_hit(llc, round_ms) >= 1.0
    }

    /// Hit share of the cyclic sweeps that run on `llc` and come back to a line after `round_ms`.
    pub fn cyclic_hit(&self, llc: usize, round_ms: f64) -> f64 {
        let (asked, hit) = self.last_hit[llc].get();
        if asked == round_ms {
            return hit;
        }
        let hit = cyclic_hit(self.round_bytes(llc, round_ms), self.capacity_bytes[llc]);
        self.last_hit[llc].set((round_ms, hit));
        hit
    }

    /// Bytes that all threads on `llc` touch in `round_ms`, in which every sweep comes round.
    fn round_bytes(&self, llc: usize, round_ms: f64) -> u64 {
        let touched = self.random_sets[llc].iter().map(|&set| {
            let set = set as usize;
            let lines = self.uses[set * self.llcs() + llc].weight as f64 * round_ms;
            distinct_bytes(self.alpha[set], self.set_bytes[set], lines)
        });
        self.swept_bytes[llc] + touched.sum::<u64>()
    }

    /// Share of `set` that `llc` has room for beside what is used there now, whether or not the set is.
    #[inline]
    pub fn could_hold(&self, llc: usize, set: usize) -> f64 {
        let bytes = self.sum_bytes[llc].max(self.set_bytes[set]).max(1);
        (self.capacity_bytes[llc] as f64 / bytes as f64).min(1.0)
    }

    /// Hit share of uniform random accesses to `set` on `llc`.
    pub fn random_hit(&self, llc: usize, set: usize) -> f64 {
        random_hit(self.set_bytes[set], self.held_bytes(llc, set))
    }

    /// Hit share of accesses to `set` on `llc` that follow the power law of the set.
    pub fn reuse_hit(&self, llc: usize, set: usize) -> f64 {
        1.0 - reuse_window::reuse_miss(self.alpha[set], self.held_bytes(llc, set), self.set_bytes[set])
    }

    /// Bytes of `llc` that `set` holds: its part by access rate, or the capacity that the other sets leave, whichever
    /// is larger. If skewed sets are in use, its part is what it touches before an unused line leaves the cache.
    pub fn held_bytes(&self, llc: usize, set: usize) -> u64 {
        let entry = &self.uses[set * self.llcs() + llc];
        if entry.threads == 0 {
            return 0;
        }
        let capacity = self.capacity_bytes[llc];
        let part = if self.mixes[llc].is_even() {
            u128::from(capacity) * u128::from(entry.weight) / u128::from(self.weight[llc].max(1))
        } else {
            reuse_window::touched_bytes(self.alpha[set], entry.weight, self.window_ms(llc)) as u128
        };
        let others = self.sum_bytes[llc] - self.set_bytes[set];
        // The part is at most about the capacity, so the cast is exact.
        (part as u64).max(capacity.saturating_sub(others)).min(self.set_bytes[set])
    }

    /// Time after which an unused line leaves `llc`, ms.
    fn window_ms(&self, llc: usize) -> f64 {
        let known = &self.window_ms[llc];
        if known.get().is_nan() {
            known.set(self.mixes[llc].window_ms(self.capacity_bytes[llc]));
        }
        known.get()
    }

    fn llcs(&self) -> usize {
        self.capacity_bytes.len()
    }
}
