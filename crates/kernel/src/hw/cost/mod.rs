//! What kernel operations cost on a machine (machines.md sections 4 and 5).
//!
//! [`KernelCosts`] holds the single figures; this module puts them together for a CPU and a page that
//! are on given nodes, under the present load of the memory between them. Everything that depends on
//! a pair of nodes is tabulated when the model is made, so each call is a few multiplications.
//!
//! A `slowdown` argument says how much longer than on the idle machine a line takes now, for the CPU that works and the
//! memory it waits for: [`Contention::latency_factor`] of that CPU's node and the page's, of a copy the slower of both. It stretches what waits for memory (copies, remote faults) and nothing else.
//!
//! * `model`: faults, copies, migrations, scans, scheduling;
//! * `flush`: which operation needs how many TLB shoot-downs;
//! * `shootdown`: what a shoot-down costs; `socket_hops`: the distance between sockets.
//!
//! Units: ns. No figure depends on which kernel is running; that shows only in which operations and
//! flushes the kernel asks for.
//!
//! [`KernelCosts`]: numalab_model::machine::KernelCosts
//! [`Contention::latency_factor`]: super::contention::Contention::latency_factor

mod flush;
mod model;
mod shootdown;
mod socket_hops;

pub use flush::{shootdowns, FlushOp, FlushRules};
pub use model::{CostModel, ScanWork, PAGES_PER_HUGE};
pub use shootdown::{is_full_flush, Shootdown, Targets, FULL_FLUSH_PAGES};
