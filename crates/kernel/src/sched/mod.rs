//! The modelled CPU scheduler: which CPU, cache and node a task runs on, and when.
//!
//! **Problem.** NUMA placement is mostly decided by code that knows nothing of memory: fork spreads tasks over idle
//! CPUs, wake-ups stay in one cache, idle CPUs pull from busy groups at intervals that grow with the machine, and one
//! rule says how lopsided two nodes may be. Results published for NUMA patches depend on those details: types before
//! counts, per-CPU failure counts, resets, the rounding of intervals.
//!
//! **Approach.** A deterministic state machine, [`Scheduler`], without clock or I/O. [`domains`] builds every CPU's
//! tower from the machine; run queues follow CFS (6.1) or EEVDF (6.12); [`place`] answers fork, exec and wake-up;
//! [`balance`] pulls; [`imbalance`] holds the NUMA rule, one file per variant; [`numa`] is the boundary with NUMA
//! balancing. Load averages ([`pelt`]) are exact but lazy: a tick costs tens of nanoseconds because nothing is averaged
//! until somebody reads it.
//!
//! **Driving it.** The caller owns time. It calls [`Scheduler::tick`] for busy CPUs at `tick_offset_ns + k·tick_ns`
//! (idle CPUs are tickless), [`Scheduler::block_current`], [`Scheduler::wake`], [`Scheduler::fork`] and so on as tasks
//! act, and after each call drains the [`Event`]s: a CPU named in [`Event::Resched`] calls [`Scheduler::pick_next`].
//! Time must not decrease; CPU and task numbers must exist.
//!
//! ```
//! use numalab_kernel::sched::{shapes::Shape, Event, NoNuma, SchedConfig, Scheduler};
//! let machine = Shape::t2().machine("two sockets");
//! let mut s = Scheduler::new(&machine, &SchedConfig::default())?;
//! let mut events = Vec::new();
//! let task = s.add_task(None, 0)?;
//! let cpu = s.fork(0, task, 0);
//! s.swap_events(&mut events);
//! assert!(events.contains(&Event::Resched { cpu }));
//! assert_eq!(s.pick_next(cpu, 0, &NoNuma), Some(task));
//! s.tick(cpu, 4_000_000, &NoNuma);
//! assert_eq!(s.runtime_ns(task), 4_000_000);
//! # Ok::<(), numalab_kernel::sched::SchedError>(())
//! ```
//!
//! **Units.** ns for time, jiffies for balance intervals, 1024 for a CPU's capacity and a nice-0 task's weight.
//!
//! **Invariants** ([`Scheduler::check`] recounts them): a task is on one queue at most; idle sets, weights and NUMA
//! counts match the queues; a running task changes CPU only by exec, affinity, active balance or NUMA balancing.
//!
//! Source: kernel-scheduler.md; sections are named where a rule is implemented.

mod affinity;
pub mod balance;
mod capacity;
mod check;
pub mod config;
pub mod cpuset;
pub mod domains;
mod enqueue;
pub mod error;
pub mod event;
pub mod imbalance;
mod numa;
mod numa_view;
pub mod pelt;
mod preferred_node;
pub mod releases;
mod rq;
pub mod rules;
mod schedule;
pub mod select_cpu;
pub mod shapes;
pub mod state;
#[cfg(test)]
mod tests;
mod tick;
mod update_curr;
mod wake_up;

pub use config::SchedConfig;
pub use domains::Domains;
pub use error::SchedError;
pub use event::{Event, Why};
pub use numa::CpuLoad;
pub use numa_view::{NoNuma, NumaView};
pub use rq::cfs::sched_slice;
pub use rq::task::{State, TaskId};
pub use rules::{Form, Locality};
pub use state::{Counters, Scheduler};
