//! Memory tiering (mode bit 2): promotion of hot pages from slow tiers (kernel-numa-balancing.md §15.1).
//!
//! The scanner stores the time of marking in a slow-tier page; the delay until its hint fault tells how hot it is.
//! A threshold on that delay, adapted to a promotion rate limit, decides. Times are milliseconds in u32, as in the
//! kernel.

mod access_time;
mod promotion;
mod should_promote;

pub use access_time::{access_time, hint_latency_ms, uses_access_time};
pub use promotion::NodePromotion;
pub use should_promote::free_space_enough;
