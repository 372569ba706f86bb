//! Memory tiering (mode bit 2): promotion of hot pages from slow tiers (kernel-numa-balancing.md §15.1).
//!
//! The scanner stores the time of marking in a slow-tier page. The shorter the time until its hint fault, the hotter
//! the page. A threshold on that time, adapted to a promotion rate limit, decides. Times are milliseconds in u32, as in
//! the kernel.

mod access_time;
mod promotion;
mod should_promote;

pub use access_time::{access_time, hint_latency_ms, uses_access_time};
pub use promotion::NodePromotion;
pub use should_promote::free_space_enough;
