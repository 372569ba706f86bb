//! The simulator: moves threads through memory and lets the modelled kernel decide.
//!
//! Problem: predict what a kernel's NUMA balancing does to a workload on a machine nobody here owns, in
//! seconds, with the same bytes every time.
//! Approach: [`engine`] is an event loop over CPUs; [`access`] carries out the ops of the workload against
//! compact page tables; [`fault`] and [`scan`] call the decisions of `numalab_kernel` where the kernel
//! does and charge what they cost; [`rates`] asks the hardware model every 4 ms how fast memory is.
//! Units: ns of model time, bytes, pages of 4 KiB.
//! Invariants: a run is a pure function of its inputs; see `World::check` for what holds at its end.

mod access;
mod anon_lock;
mod asleep;
mod autonuma;
mod birth;
mod charge;
pub mod config;
mod copies;
mod counters;
mod daemons;
mod designs;
mod dispatch;
mod engine;
mod event;
mod fault;
mod fronts;
mod host;
mod life;
mod log;
mod maps;
mod migration;
mod mmap_lock;
mod moves;
mod outcome;
mod pace;
mod place;
mod policy;
mod preempt;
mod process;
mod race;
mod random;
mod rates;
mod reclaim;
mod sample;
mod scan;
mod schednuma;
mod sets;
mod shared;
mod spans;
mod standstill;
mod sweepers;
mod sync;
mod task;
mod walk;
mod why;
mod window;
mod zero;

pub use config::{Harness, SimConfig};
pub use log::Observers;
pub use numalab_model::record::events::Sink;

use numalab_model::machine::Machine;
use numalab_model::record::why::Why;
use numalab_model::record::Outcome;
use numalab_model::workload::Workload;

/// Version of the simulator: the release, `+`, and 12 digits of the SHA-256 of its sources (those of this crate, of the
/// model, of the kernel's mechanisms, and the built-in cost classes). Equal versions give equal figures.
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
    /// Most resident pages of 4 KiB at a sample.
    pub pages: u64,
    /// Bytes of page state at that sample.
    pub state_bytes: u64,
    /// Faults, PTE updates and migrated pages.
    pub page_events: u64,
    /// Scheduler ticks.
    pub ticks: u64,
}

/// Runs one plan.
///
/// `check` verifies the engine's invariants at the end (frames conserved, counters consistent).
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

/// What a run gives to those who watched it.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Its outcome, the same whoever watches.
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
    let mut world = engine::World::new(machine, workload, cfg, seed, observers).map_err(SimError::Unsupported)?;
    world.run();
    if check {
        world.check().map_err(SimError::Fault)?;
    }
    let why = world.finish_logs().map_err(|e| SimError::Log(e.to_string()))?;
    let footprint = world.footprint();
    Ok(Observed { outcome: world.outcome(), footprint, why })
}

/// Words for the codes of a log: skips, denials, refusals, placements.
pub fn log_words() -> [Vec<String>; 4] {
    use numalab_kernel::numa::counters::{Denial, Placement, Refusal, SkipReason};
    [SkipReason::WORDS, Denial::WORDS, Refusal::WORDS, Placement::WORDS]
        .map(|w| w.iter().map(|s| (*s).into()).collect())
}
