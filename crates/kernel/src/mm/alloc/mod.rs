//! The page allocator (thp-and-allocation.md section 3).
//!
//! * [`gfp`](Gfp) what a request may do; `request` the request and its result;
//! * `take_page` the first zone above a watermark, and a page of it;
//! * `fast` one walk over the zonelist above the low watermarks, with node reclaim where it is enabled;
//! * `slow` the slow path: kswapd, the min watermarks, compaction, reclaim, the OOM killer;
//! * `slow_rules` rules of the slow path that changed between kernels;
//! * `folio` large folios below 2 MiB;
//! * `run` base pages that one CPU allocates one after the other;
//! * `by_node` pages of one node, without reclaim.

mod by_node;
pub(in crate::mm) mod fast;
mod folio;
pub(in crate::mm) mod gfp;
mod grain;
pub(in crate::mm) mod request;
mod run;
mod slow;
pub(in crate::mm) mod slow_rules;
pub(in crate::mm) mod take_page;

pub use fast::AllocSite;
pub use gfp::Gfp;
pub use request::{AllocError, AllocatedPage, Constraint, Request};
pub use run::RunSource;
pub use slow_rules::{BailRule, SlowRules};
