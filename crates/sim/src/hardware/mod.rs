//! How fast the modelled hardware is under its present load: memory, links, cache ports and last-level caches.
//!
//! The machine's own figures come from its file, and what follows from them alone is in `numalab_kernel::hw`. Here
//! stands what depends on who uses the machine at the moment. Nothing here knows processes, pages or the kernel.

pub mod access_kind;
pub mod access_rates;
pub mod bins;
mod copy_rates;
mod crossed_bytes;
pub mod pipes;
mod shared_lines;
pub mod working_sets;
