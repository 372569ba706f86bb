//! A NUMA machine: nodes, last-level caches, CPUs, distances, latencies, bandwidths, costs.
//!
//! Everything is indexed densely (`nodes[i]`, `cpus[c]`). The ids of the operating system are kept beside (`Node::id`,
//! `Cpu::id`), because real machines have sparse ids. Firmware distances (`distance`) and hardware latencies
//! (`latency_ns`) are separate, because a SLIT is a convention and not a measurement (machines.md section 1).
//!
//! A machine comes from a catalog name, a path or a shorthand ([`load`]), from a file ([`Machine::from_toml_with`]),
//! from another tool's description ([`import`]), or from its CPUs alone ([`Machine::bare`]). [`show`] draws it.
//!
//! | section of a file | module |
//! |---|---|
//! | `extends` | `layers` |
//! | `[layout]`, `[[node]]`, `[[llc]]`, `cores`, `[memory]` | `layout`, `index` |
//! | `[distance]`, `[hop]`, `[latency]` | `matrix` |
//! | `[[link]]`, `routing` | `links`, `routes` |
//! | `class`, `ipc`, `[costs]`, `[tlb]` | `class`, `load` |
//! | `[clock]`, `[cache]`, `[stream]` | `load` |
//! | `[background]` | `background` |

mod background;
mod bare;
mod check;
mod class;
mod costs;
pub mod cpulist;
mod distance;
pub mod import;
mod index;
mod layers;
mod layout;
mod links;
mod load;
mod matrix;
mod routes;
mod shorthand;
mod show;
pub mod size;
mod types;

pub use background::Background;
pub use costs::KernelCosts;
pub use layers::{file_name, Find};
pub use layout::{MAX_CPUS, MAX_MEMORY, MAX_NODES};
pub use load::{check_name, load, read_text, MAX_FILE_BYTES};
pub use show::{show, summary};
pub use types::{Cache, Clock, Cpu, Fill, Link, Llc, Machine, MemoryKind, Node, Route, Stream, Tlb};
