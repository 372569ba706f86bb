//! A NUMA machine: nodes, last-level caches, CPUs, distances, latencies, bandwidths, costs.
//!
//! Everything is indexed densely (`nodes[i]`, `cpus[c]`). The ids of the operating system are kept beside (`Node::id`,
//! `Cpu::id`), because real machines have sparse ids. Firmware distances (`distance`) and hardware latencies
//! (`latency_ns`) are separate, because a SLIT is a convention and not a measurement (machines.md section 1).

mod background;
mod bare;
mod costs;
mod tlb;
mod types;

pub use background::Background;
pub use bare::NODE_RECLAIM_DISTANCE;
pub use costs::KernelCosts;
pub use tlb::{Tlb, Walker};
pub use types::{Cache, Clock, Cpu, Fill, Link, Llc, Machine, MemoryKind, Node, Route, Stream, RANDOM_SHARE};
