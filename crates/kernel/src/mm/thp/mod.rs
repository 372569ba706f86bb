//! Transparent huge pages: settings, and what a fault tries to allocate (thp-and-allocation.md sections 5 to 8).
//!
//! * `folio_sizes` which sizes below 2 MiB are enabled;
//! * `settings` which mappings may have huge pages, and request flags;
//! * [`locality`] the role `thp_locality`: which attempts a fault makes, one file per rule;
//! * `ladders` distance classes and lists of (class, size);
//! * `fault` carries out the attempts;
//! * [`latency`] latency of an access by distance and page size;
//! * `explain` describes a rule as a ladder `D0 THP | D0 4k | D1 THP | ...`.

pub(in crate::mm) mod explain;
pub(in crate::mm) mod folio_sizes;
mod huge_attempts;
pub(in crate::mm) mod ladders;
pub mod latency;
pub mod locality;
pub mod prctl;
pub(in crate::mm) mod settings;
pub(in crate::mm) mod tunables;

pub use explain::{explain_ladder, ladder_text, Effort, LadderQuery, Step};
pub use folio_sizes::{FolioSize, FolioSizes};
pub use huge_attempts::HugeFaultPage;
pub use ladders::{Ladders, Rung};
pub use locality::{Attempt, FaultContext, HugeRules, Locality};
pub use settings::{collapse_gfp, fault_gfp, folio_orders, may_have_huge};
pub use tunables::{ThpDefrag, ThpEffort, ThpEnabled, ThpTunables};
