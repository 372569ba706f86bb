//! Compaction: making a free pageblock by moving movable pages together (thp-and-allocation.md section 10).
//!
//! * `suitable` whether it may run at all;
//! * `defer` the back-off after failures;
//! * [`scan`] the two scanners, at the granularity of pageblocks;
//! * `daemon` kcompactd and proactive compaction.

pub(in crate::mm) mod attempt;
pub(in crate::mm) mod daemon;
pub(in crate::mm) mod defer;
mod direct;
pub mod odds;
pub mod scan;
pub(in crate::mm) mod suitable;
pub(in crate::mm) mod tunables;

pub use attempt::{Mode, Status, ZoneCompaction};
pub use daemon::{proactive_wants, proactive_wmarks};
pub use defer::Deferral;
pub use scan::{CompactWork, Outcome, Scanners};
pub use suitable::{suitable, COMPACT_GAP};
pub use tunables::CompactTunables;
