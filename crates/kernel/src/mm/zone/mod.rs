//! Zones: parts of a node's memory with their own watermarks and pageblocks (thp-and-allocation.md section 1.1).
//!
//! Fidelity Z1 has one zone per node. Z2 gives node 0 a DMA32 zone below its Normal zone, with a reserve against
//! requests that could use Normal. User pages may come from any zone, the highest first.
//! The free pages of a zone are in [`ZoneFacts`](crate::numa::migrate::ZoneFacts), where NUMA balancing reads them.

pub(in crate::mm) mod layout;
pub mod watermark;
pub mod zonelist;

pub use layout::{layout, Zone, ZoneKind, DMA32_PAGES};
pub use watermark::{watermark_ok, Urgency, Watermarks, ZoneState};
