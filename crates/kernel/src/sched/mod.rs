//! The modelled CPU scheduler: which CPU, cache and node a task runs on, and when.
//!
//! **Problem.** Most NUMA placement is decided by code that knows nothing of memory. Fork spreads tasks over idle CPUs.
//! Wake-ups stay in one cache. Idle CPUs pull from busy groups at intervals that grow with the machine. One rule says
//! how uneven two nodes may be. Results published for NUMA patches depend on the details: group types before counts,
//! failure counts per CPU, resets, the rounding of intervals.
//!
//! **Approach.** [`Scheduler`] is a deterministic state machine without clock or I/O. The folders, from the bottom up:
//!
//! | module | what it holds | kernel |
//! |---|---|---|
//! | [`rules`], [`imbalance`] | what a release decides, one file per question | |
//! | [`config`] | tunables as written, and resolved on a machine | |
//! | [`domains`] | every CPU's scheduling domains, built from the machine | `topology.c` |
//! | [`pelt`], `rq` | load averages; run queues of CFS (6.1) and EEVDF (6.12) | `pelt.c`, `fair.c` |
//! | [`state`] | the struct [`Scheduler`] and what it holds | `sched.h` |
//! | `update_curr`, `enqueue`, `reweight`, `locks`, `preferred_node`, `capacity` | what others are made of | `enqueue_task_fair` |
//! | [`select_cpu`] | the CPU of a task at fork and wake-up | `select_task_rq_fair` |
//! | [`balance`] | periodic, newly-idle and nohz balancing, active balance | `sched_balance_rq` |
//! | `wake_up`, `schedule`, `tick`, `affinity`, `numa` | the calls of the event loop | `try_to_wake_up`, `__schedule` |
//!
//! Load averages are exact but lazy: a tick costs tens of nanoseconds because averages are computed only when they are
//! read.
//!
//! **Use.** The caller owns time. It calls [`Scheduler::tick`] for busy CPUs at `tick_offset_ns + k·tick_ns`; idle CPUs
//! are tickless. It calls [`Scheduler::block_current`], [`Scheduler::wake`], [`Scheduler::fork`] and so on as tasks
//! act. After each call it drains the [`Event`]s: a CPU named in [`Event::Resched`] calls [`Scheduler::pick_next`].
//! Time must not decrease. CPU and task numbers must exist.
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
//! **Invariants.** A task is on one queue at most. Idle sets, weights and NUMA counts match the queues. A running task
//! changes CPU only by a change of affinity, active balance or NUMA balancing. [`Scheduler::check`] recounts all of
//! these.
//!
//! Source: kernel-scheduler.md; each rule names its section.

mod affinity;
pub mod balance;
pub mod cache_aware;
mod capacity;
pub mod config;
pub mod domains;
mod enqueue;
pub mod error;
pub mod event;
pub mod imbalance;
mod locks;
mod numa;
mod numa_view;
pub mod pelt;
mod preferred_node;
mod quiet;
mod recount;
mod reweight;
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
pub use quiet::UnseenPass;
pub use rq::cfs::sched_slice;
pub use rq::sched_entity::{State, TaskId};
pub use rq::task_group::GroupId;
pub use rules::{Form, Locality};
pub use state::{Counters, Scheduler};
