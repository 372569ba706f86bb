//! Load balancing: idle and, rarely, busy CPUs pull tasks from the busiest group of each of their domains
//! (kernel-scheduler.md §4).
//!
//! Three entries share one pass (`pass`): `periodic` at the tick, `nohz` on behalf of tickless idle CPUs,
//! `newidle` when a CPU runs dry. A pass classifies groups ([`stats`]), decides what to move ([`decide`]), picks the
//! queue and the tasks (`detach`), and after repeated failure pushes a running task. Kernels before 5.5 compared
//! loads: [`v37`] and [`v311`] find and weigh groups in their place.
//! Invariants: interval, last balance and failures are per (CPU, domain); a running task moves only after failures.

pub mod decide;
mod detach;
pub(in crate::sched) mod newidle;
mod nohz;
pub(super) mod pass;
mod periodic;
pub mod stats;
pub mod v311;
pub mod v37;

pub use periodic::interval_jiffies;

use numalab_base::cpu_set::CpuSet;

/// How busy the balancing CPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// It runs a task.
    Busy,
    /// It is idle.
    Idle,
    /// It is about to go idle.
    Newly,
}

/// Run-time fields of a domain of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DomState {
    /// Current interval of an idle CPU, ms.
    pub interval_ms: u64,
    /// Jiffy of the last pass.
    pub last_balance: u64,
    pub nr_balance_failed: u32,
    pub max_newidle_cost_ns: u64,
    /// Jiffy of the last decay of that cost.
    pub last_decay: u64,
    pub newidle_call: u32,
    pub newidle_success: u32,
    pub newidle_ratio: u32,
}

impl DomState {
    /// A domain that has not balanced yet; its interval is `interval_ms`.
    pub fn new(interval_ms: u32) -> Self {
        Self {
            interval_ms: u64::from(interval_ms),
            last_balance: 0,
            nr_balance_failed: 0,
            max_newidle_cost_ns: 0,
            last_decay: 0,
            newidle_call: 512,
            newidle_success: 256,
            newidle_ratio: 512,
        }
    }
}

/// What the CPUs of a cache share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheState {
    /// CPUs that are not tickless.
    pub nr_busy: u32,
    pub has_idle_cores: bool,
    /// CPUs an idle search may visit.
    pub nr_idle_scan: u32,
}

impl CacheState {
    /// A fresh machine is idle: whole cores are free and searches may visit all `size` CPUs.
    pub fn new(size: u32) -> Self {
        Self { nr_busy: 0, has_idle_cores: true, nr_idle_scan: size }
    }
}

/// Tickless idle CPUs and when they are next served.
#[derive(Clone, Debug)]
pub(super) struct Nohz {
    pub set: CpuSet,
    /// Copy of `set` while it is walked.
    pub walk: CpuSet,
    pub next_balance: u64,
    pub next_blocked: u64,
    pub has_blocked: bool,
    pub needs_update: bool,
}

impl Nohz {
    /// All of `cpus` CPUs idle with their tick stopped.
    pub fn new(cpus: usize) -> Self {
        Self {
            set: CpuSet::full(cpus),
            walk: CpuSet::empty(cpus),
            next_balance: 0,
            next_blocked: 0,
            has_blocked: false,
            needs_update: false,
        }
    }
}
