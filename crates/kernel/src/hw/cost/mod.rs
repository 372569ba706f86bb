//! What kernel operations cost on a machine (machines.md sections 4 and 5).
//!
//! [`KernelCosts`] holds the costs of single steps. This module combines them for a CPU and a page on given nodes,
//! under the present load of the memory between them. What depends on a pair of nodes is tabulated when the model is
//! built, so each call takes a few multiplications.
//!
//! A `slowdown` argument says how much longer a line takes than on the idle machine, for the CPU that works and the
//! memory it waits for. It is [`Contention::latency_factor`] of the two nodes; for a copy it is the larger one of its
//! two sides. It applies to what waits for memory (copies, remote faults) and to nothing else.
//!
//! * `model`: faults, copies, migrations, scans, scheduling;
//! * `flush`: which operation needs how many TLB shoot-downs;
//! * `shootdown`: what a shoot-down costs; `socket_hops`: the distance between sockets.
//!
//! Units: ns. No cost depends on the kernel that runs; kernels differ in the operations and flushes that they ask for.
//!
//! [`KernelCosts`]: numalab_nouns::machine::KernelCosts
//! [`Contention::latency_factor`]: super::contention::Contention::latency_factor

mod flush;
mod model;
mod shootdown;
mod socket_hops;

pub use flush::{shootdowns, FlushOp, FlushRules};
pub use model::{CostModel, ScanWork, PAGES_PER_HUGE};
pub use shootdown::{is_full_flush, Shootdown, Targets, FULL_FLUSH_PAGES};
