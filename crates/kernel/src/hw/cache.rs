//! Last-level caches shared by their running threads, and private L2 (machines.md section 7).
//!
//! Problem: whether an array stays in cache depends on who else runs on the same LLC right now.
//! Approach: each thread works on a *set* (its own arrays, or data shared with others, counted once per
//! LLC); [`LlcLoads`] keeps, per LLC, the sum of the sets now in use, updated when a thread starts or
//! stops running there. From it follow the hit shares:
//!
//! * cyclic sweeps under LRU fall off a cliff: 1 up to 0.9 of the capacity, 0 from 1.2 on;
//! * uniform random accesses hit in proportion to the capacity they hold, which is shared by access
//!   rate; what others cannot fill is left to those who can;
//! * skewed accesses ([`CacheFit::Reuse`](numalab_model::access::CacheFit::Reuse)) hit by the power law, and hold what
//!   they touch in the time after which an unused line leaves the cache ([`reuse_window`]).
//!
//! Units: bytes, ns, GB/s, shares 0..=1. All sums are integers, so that any order of arrivals and
//! departures ends at the same value.

use super::reuse_window::{self, Mix};
use numalab_model::machine::Machine;
use std::cell::Cell;

/// Part of an LLC that cyclic sweeps can fill before they start to evict themselves.
const CLIFF_BEGIN: f64 = 0.9;
/// Width of the cliff, as part of the capacity.
const CLIFF_WIDTH: f64 = 0.3;
/// Streaming from a private L2, bytes per cycle (estimate: about half of what load ports allow).
const L2_BYTES_PER_CYCLE: f64 = 16.0;

/// Hit share of cyclic sweeps over sets of `sum_bytes` together in a cache of `capacity_bytes`.
pub fn cyclic_hit(sum_bytes: u64, capacity_bytes: u64) -> f64 {
    let capacity = capacity_bytes as f64;
    let over = sum_bytes as f64 - CLIFF_BEGIN * capacity;
    if over <= 0.0 {
        return 1.0;
    }
    (1.0 - over / (CLIFF_WIDTH * capacity)).max(0.0)
}

/// Hit share of uniform random accesses to a set of `set_bytes` that holds `held_bytes` of a cache.
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
    /// L2 hit, ns.
    pub l2_ns: f64,
    /// LLC hit, ns.
    pub llc_ns: f64,
    /// One thread streaming from its L2, GB/s; never below its LLC.
    pub l2_gbps: f64,
    /// One thread streaming from its LLC, GB/s.
    pub llc_gbps: f64,
    /// Private L2 of a core, bytes.
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

    /// L2 a thread has: half of it while its sibling is busy.
    pub fn l2_share_bytes(&self, sibling_busy: bool) -> u64 {
        if sibling_busy {
            self.l2_bytes / 2
        } else {
            self.l2_bytes
        }
    }
}

/// Use of one set on one LLC.
#[derive(Clone, Copy, Debug, Default)]
struct SetUse {
    threads: u32,
    /// Cores they run on.
    cores: u32,
    weight: u64,
}

/// The sets in use on every LLC.
#[derive(Clone, Debug)]
pub struct LlcLoads {
    capacity_bytes: Vec<u64>,
    /// Sum of the sets in use, by LLC.
    sum_bytes: Vec<u64>,
    /// Sum of access weights, by LLC.
    weight: Vec<u64>,
    set_bytes: Vec<u64>,
    /// Power of the reuse of each set, 0 for sets that are swept or used evenly.
    alpha: Vec<f64>,
    /// By set, then LLC.
    uses: Vec<SetUse>,
    /// What threads bring into each LLC.
    mixes: Vec<Mix>,
    /// Time after which a line that nobody uses leaves each LLC, ms; NaN where it is not known.
    window_ms: Vec<Cell<f64>>,
}

impl LlcLoads {
    /// All caches of `machine`, unused.
    pub fn new(machine: &Machine) -> Self {
        let llcs = machine.llcs.len();
        Self {
            capacity_bytes: machine.llcs.iter().map(|l| l.size_bytes).collect(),
            sum_bytes: vec![0; llcs],
            weight: vec![0; llcs],
            set_bytes: Vec::new(),
            alpha: Vec::new(),
            uses: Vec::new(),
            mixes: vec![Mix::default(); llcs],
            window_ms: vec![Cell::new(f64::NAN); llcs],
        }
    }

    /// Declares a set of data of `bytes`, reused with power `alpha` (0: swept, or used evenly), and returns its number
    /// (allocates; to be done before the run).
    pub fn add_set(&mut self, bytes: u64, alpha: f64) -> usize {
        self.set_bytes.push(bytes);
        self.alpha.push(alpha);
        for mix in &mut self.mixes {
            mix.declare(alpha);
        }
        self.uses.resize(self.set_bytes.len() * self.llcs(), SetUse::default());
        self.set_bytes.len() - 1
    }

    /// A thread working on `set` starts running on `llc`; `weight` is its access rate in lines per ms, at least 1, and
    /// `alone` says that no other thread of its core works on it.
    pub fn enter(&mut self, llc: usize, set: usize, weight: u32, alone: bool) {
        let at = set * self.llcs() + llc;
        let entry = &mut self.uses[at];
        if entry.threads == 0 {
            self.sum_bytes[llc] += self.set_bytes[set];
        }
        entry.threads += 1;
        entry.cores += u32::from(alone);
        let (before, after) = (entry.weight, entry.weight + u64::from(weight));
        entry.weight = after;
        self.weight[llc] += u64::from(weight);
        self.reweigh(llc, set, before, after);
    }

    /// The threads on `llc` use `set` at another rate.
    fn reweigh(&mut self, llc: usize, set: usize, before: u64, after: u64) {
        self.mixes[llc].change(self.alpha[set], before, after);
        self.window_ms[llc].set(f64::NAN);
    }

    /// It stops; `weight` as it entered, `alone` if no other thread of its core goes on. Ignored if nobody on `llc` works
    /// on `set`.
    pub fn leave(&mut self, llc: usize, set: usize, weight: u32, alone: bool) {
        let at = set * self.llcs() + llc;
        let entry = &mut self.uses[at];
        if entry.threads == 0 {
            return;
        }
        entry.threads -= 1;
        entry.cores = if entry.threads == 0 { 0 } else { entry.cores.saturating_sub(u32::from(alone)) };
        let weight = u64::from(weight).min(entry.weight);
        let before = entry.weight;
        entry.weight -= weight;
        self.weight[llc] -= weight;
        if entry.threads == 0 {
            self.sum_bytes[llc] -= self.set_bytes[set];
        }
        self.reweigh(llc, set, before, before - weight);
    }

    /// Sum of the sets in use on `llc`, bytes.
    pub fn sum_bytes(&self, llc: usize) -> u64 {
        self.sum_bytes[llc]
    }

    /// Threads on `llc` that work on `set`, and cores they run on.
    pub fn users(&self, llc: usize, set: usize) -> (u32, u32) {
        let entry = &self.uses[set * self.llcs() + llc];
        (entry.threads, entry.cores)
    }

    /// Whether the sets in use on `llc` stay there from pass to pass.
    pub fn fits(&self, llc: usize) -> bool {
        self.cyclic_hit(llc) >= 1.0
    }

    /// Hit share of the cyclic sweeps now running on `llc`.
    pub fn cyclic_hit(&self, llc: usize) -> f64 {
        cyclic_hit(self.sum_bytes[llc], self.capacity_bytes[llc])
    }

    /// Hit share of uniform random accesses to `set` on `llc`.
    pub fn random_hit(&self, llc: usize, set: usize) -> f64 {
        random_hit(self.set_bytes[set], self.held_bytes(llc, set))
    }

    /// Hit share of accesses to `set` on `llc` that favour some lines.
    pub fn reuse_hit(&self, llc: usize, set: usize) -> f64 {
        1.0 - reuse_window::reuse_miss(self.alpha[set], self.held_bytes(llc, set), self.set_bytes[set])
    }

    /// Bytes of `llc` that `set` holds: its part by access rate, or what the others leave if that is more. Beside skewed
    /// sets, what it touches while a line that nobody uses stays.
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
        // The part is at most about the capacity, so the cast loses nothing.
        (part as u64).max(capacity.saturating_sub(others)).min(self.set_bytes[set])
    }

    /// Time after which a line that nobody uses leaves `llc`, ms.
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
