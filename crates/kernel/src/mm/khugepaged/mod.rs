//! khugepaged: collapses base pages into huge pages in the background (thp-and-allocation.md section 9).
//!
//! * `scan_pmd` whether 2 MiB can be collapsed, and onto which node;
//! * [`pace`] how many pages it scans, and when it sleeps.
//!
//! The simulator carries out the collapse, because it changes address spaces.

pub mod mthp;
pub mod pace;
mod scan_pmd;
pub(in crate::mm) mod tunables;

pub use pace::{Pace, Pause};
pub use scan_pmd::{scan_pmd, target_node, too_far_apart, PmdFacts, ScanResult, Target};
pub use tunables::KhugepagedTunables;
