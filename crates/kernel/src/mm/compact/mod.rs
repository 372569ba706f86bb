//! Compaction: frees a pageblock by moving movable pages together (thp-and-allocation.md section 10).
//!
//! * `suitable` whether it may run;
//! * `defer` the back-off after failures; `attempt` mode and result of an attempt;
//! * [`scan`] the two scanners, at the granularity of pageblocks; [`odds`] whether pages can be moved;
//! * `direct` compaction in the allocating task; `daemon` when kcompactd compacts proactively.

pub(in crate::mm) mod attempt;
pub(in crate::mm) mod daemon;
pub(in crate::mm) mod defer;
mod direct;
pub mod odds;
pub mod scan;
pub(in crate::mm) mod suitable;
pub(in crate::mm) mod tunables;

pub use attempt::{Mode, Status, ZoneCompaction};
pub use daemon::{proactive_wants, proactive_wmarks, PROACTIVE_DEFERRED};
pub use defer::Deferral;
pub use scan::{CompactWork, Outcome, Scanners};
pub use suitable::{suitable, COMPACT_GAP};
pub use tunables::CompactTunables;
