//! Refusals before a page is migrated (kernel-numa-balancing.md §9.4), and the free memory of the nodes.

mod prepare;
mod zones;

pub use prepare::{mapped_shared, nearly_full, refusal_by_page};
pub use zones::{ZoneFacts, ZoneInfo};
