//! Before a page is migrated: refusals of kernel-numa-balancing.md §9.4.

mod prepare;
mod zones;

pub use prepare::{mapped_shared, nearly_full, refusal_by_page};
pub use zones::{NodeMemory, ZoneFacts};
