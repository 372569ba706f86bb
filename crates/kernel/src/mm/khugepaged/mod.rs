//! khugepaged: collapsing base pages into huge ones in the background (thp-and-allocation.md section 9).
//!
//! * `scan_pmd` may a 2 MiB range be collapsed, and onto which node;
//! * [`pace`] how much it looks at, and when it sleeps.
//!
//! The collapse itself changes address spaces: `daemons.rs` of the simulator.

pub mod pace;
mod scan_pmd;
pub(in crate::mm) mod tunables;

pub use pace::{Pace, Pause};
pub use scan_pmd::{scan_pmd, target_node, too_far_apart, PmdFacts, ScanResult, Target};
pub use tunables::KhugepagedTunables;
