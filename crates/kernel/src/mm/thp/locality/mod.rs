//! The role `thp_locality`: which attempts a huge-page fault makes (thp-and-allocation.md section 8).
//!
//! A rule is a pure function from a fault and a number to the attempt with that number. The page allocator carries out
//! attempts until one succeeds. After the last one the fault allocates a base page.
//!
//! | word | kernels |
//! |---|---|
//! | `thp_zonelist` | up to 4.0 |
//! | `thp_thisnode` | 4.1 to 4.19, 4.20 to 5.2 |
//! | `thp_relaxed` | 4.20-rc1 to rc6, 5.3 |
//! | `thp_two_step_54` | 5.4 |
//! | `thp_two_step` | 5.5 on |
//! | `mpol_huge`, `prctl_span` | proposed in the thread of 2019 |
//! | `ladder_sorted`, `ladder_custom` | the aim stated there, and any other |

pub(in crate::mm) mod attempt;
mod ladder_custom;
mod ladder_sorted;
mod mpol_huge;
mod prctl_span;
mod relaxed;
pub(in crate::mm) mod rule;
mod thisnode;
mod two_step;
mod two_step_54;
mod zonelist;

pub use attempt::{Attempt, FaultContext, HugeRules};
pub use rule::Locality;
