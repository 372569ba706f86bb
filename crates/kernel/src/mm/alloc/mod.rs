//! The page allocator proper (thp-and-allocation.md section 3).
//!
//! * [`gfp`](Gfp) what a request may do;
//! * `fast` one walk above the low marks, with node reclaim where it is enabled;
//! * `slow` the low road: kswapd, the min marks, compaction, reclaim, the OOM killer.
//! * `request` what is asked for, and the result;
//! * `slow_rules` what changed in the slow path between kernels;
//! * `by_node` pages of one node, without reclaim.

mod by_node;
pub(in crate::mm) mod fast;
pub(in crate::mm) mod gfp;
pub(in crate::mm) mod request;
mod slow;
pub(in crate::mm) mod slow_rules;

pub use fast::AllocSite;
pub use gfp::Gfp;
pub use request::{AllocError, AllocatedPage, Constraint, Request};
pub use slow_rules::{BailRule, SlowRules};
