//! CPUs whose ticks need no event: each runs one task, which computes.
//!
//! What such a tick does is known beforehand. So a *quiet* CPU has one event for many ticks, and its state stays as it
//! was at the last tick that was carried out. [`charge::late_ticks`](crate::charge::late_ticks) brings it up to date
//! when somebody looks.

use numalab_base::cpu_set::CpuSet;

/// What is known of a quiet CPU.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuietCpu {
    /// Its next tick that has not been carried out, ns.
    pub next_tick_ns: u64,
    /// Speed of its task relative to unshared core time.
    pub speed: f64,
}

/// The quiet CPUs.
#[derive(Clone, Debug)]
pub struct QuietCpus {
    /// Which CPUs are quiet.
    pub set: CpuSet,
    /// By CPU; valid for quiet ones.
    pub cpus: Vec<QuietCpu>,
    /// Scratch: ticks that cost more than others.
    pub dear_ticks: Vec<(u64, u64)>,
}

impl QuietCpus {
    /// None of `cpus` CPUs is quiet.
    pub fn new(cpus: usize) -> Self {
        Self { set: CpuSet::empty(cpus), cpus: vec![QuietCpu::default(); cpus], dear_ticks: Vec::new() }
    }
}

/// What the address space of a process owed its CPUs for TLB flushes after one of them.
#[derive(Clone, Copy, Debug)]
pub struct OwedFlush {
    /// When the flush came, ns.
    pub at_ns: u64,
    /// Time of all flushes so far, ns.
    pub debt_ns: u64,
    /// Number of flushes so far.
    pub flushes: u64,
}
