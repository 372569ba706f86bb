//! The simulator: moves threads through memory and lets the modelled kernel decide.
//!
//! Problem: predict what a kernel's NUMA balancing does to a workload on a machine nobody here owns, in
//! seconds, with the same bytes every time.
//! Folders, from the ground up; each imports only from folders before it:
//!
//! * [`hardware`]: how fast memory, links and caches are under their present load.
//! * [`state`]: the simulated machine at an instant, in parts: hardware, kernel, memory management, processes, CPUs.
//! * [`record`]: logs, time series and the outcome.
//! * [`check`]: what must hold at any instant, as checks that a run makes of itself.
//! * [`charge`]: CPU time, waits and TLB flushes.
//! * [`mm`], [`numa`], [`numa_2012`], [`fault`]: the kernel's mechanisms. They call the decisions of `numalab_kernel`
//!   where the kernel does, and return what that costs.
//! * [`damon`], [`userspace_balance`]: pages that move although no task faulted on them.
//! * [`process`]: creation of processes and threads.
//! * [`access`]: how tasks walk memory.
//! * [`engine`]: the event loop over CPUs.
//! * [`predict`]: what a run will need, before it starts.
//! * [`stepped`], [`watched`]: a run in steps, and what it shows on the way.
//!
//! Units: ns of model time, bytes, base pages (4 KiB, or `system.base_page_kb`).
//! Invariants: a run is a pure function of its inputs; [`check`] holds what must be true at any instant.

mod access;
mod base_pages;
mod charge;
mod check;
mod damon;
mod engine;
mod fault;
mod float;
mod grains;
mod hardware;
mod mm;
mod numa;
mod numa_2012;
mod predict;
mod process;
mod record;
pub mod sim_config;
mod state;
mod stepped;
mod userspace_balance;
mod watched;

pub use numalab_nouns::record::events::Sink;
pub use predict::memory::{predict_memory, MemoryPrediction};
pub use sim_config::{Harness, Policies, SimConfig};
pub use state::log::Observers;
pub use stepped::Stepped;
pub use watched::{Cell, Doing, Layout, Look, ThreadLook};

use numalab_nouns::machine::Machine;
use numalab_nouns::record::why::Why;
use numalab_nouns::record::Outcome;
use numalab_nouns::workload::Workload;

/// Version of the simulator: the release, `+`, and 12 digits of the SHA-256 of its code: that of this crate, of the
/// kernel's mechanisms, of the nouns and of what all share, without comments and tests. Equal versions give equal
/// figures.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("NUMALAB_SIM_SOURCE"));

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimError {
    /// The plan asks for what the simulator cannot model, or for a machine it cannot schedule on.
    Unsupported(String),
    /// The run ended against one of the engine's own rules.
    Fault(String),
    /// A log could not be written.
    Log(String),
}

impl std::fmt::Display for SimError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unsupported(what) | Self::Fault(what) | Self::Log(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for SimError {}

/// How much a run did and held, for benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Most resident base pages at a sample.
    pub pages: u64,
    /// Bytes of page state at that sample.
    pub state_bytes: u64,
    /// Faults, PTE updates and migrated pages.
    pub page_events: u64,
    /// Scheduler ticks.
    pub ticks: u64,
    /// Events of the simulation: the fewer for the same ticks, the faster.
    pub events: u64,
    /// Steps of programs, each as often as a slice came to it.
    pub steps: u64,
}

/// Runs one plan.
///
/// `check` verifies the simulator's invariants at the end of the run: frames conserved, counters consistent, no more
/// bytes over a pipe than it lets through. [`SimConfig::check_every_ns`] does so on the way too.
///
/// # Errors
/// A machine whose scheduling domains cannot be built, or a violated invariant.
pub fn run(
    machine: &Machine,
    workload: &Workload,
    cfg: &SimConfig,
    seed: u64,
    check: bool,
) -> Result<Outcome, SimError> {
    measure(machine, workload, cfg, seed, check).map(|(outcome, _)| outcome)
}

/// As [`run`], with what the run did and held.
///
/// # Errors
/// As [`run`].
pub fn measure(
    machine: &Machine,
    workload: &Workload,
    cfg: &SimConfig,
    seed: u64,
    check: bool,
) -> Result<(Outcome, Footprint), SimError> {
    observe(machine, workload, cfg, seed, check, Observers::default()).map(|o| (o.outcome, o.footprint))
}

/// The result of an observed run.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Its outcome, which does not depend on what is observed.
    pub outcome: Outcome,
    /// How much it did and held.
    pub footprint: Footprint,
    /// Counts with reasons, if asked for.
    pub why: Option<Why>,
}

/// As [`run`], writing logs on the way.
///
/// # Errors
/// As [`run`], or a log that could not be written.
pub fn observe(
    machine: &Machine,
    workload: &Workload,
    cfg: &SimConfig,
    seed: u64,
    check: bool,
    observers: Observers,
) -> Result<Observed, SimError> {
    let joined = with_machine_threads(machine, workload, cfg, seed);
    let (workload, cfg) = joined.as_ref().map_or((workload, cfg), |(workload, cfg)| (workload, cfg));
    let mut run = Stepped::start(machine, workload, cfg, seed, check, observers)?;
    run.advance(u64::MAX);
    run.finish()
}

/// The workload with the threads that the machine has beside it, and the settings that say so; `None` if `cfg` does
/// without ([`SimConfig::machine_background`]).
pub fn with_machine_threads(
    machine: &Machine,
    workload: &Workload,
    cfg: &SimConfig,
    seed: u64,
) -> Option<(Workload, SimConfig)> {
    cfg.machine_background.then(|| process::background::join(machine, workload, cfg, seed))
}

/// Words for the codes of a log: skips, denials, refusals, placements.
pub fn log_words() -> [Vec<String>; 4] {
    use numalab_kernel::numa::counters::{Denial, Placement, Refusal, SkipReason};
    [SkipReason::WORDS, Denial::WORDS, Refusal::WORDS, Placement::WORDS]
        .map(|w| w.iter().map(|s| (*s).into()).collect())
}
