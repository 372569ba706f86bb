//! The role `thp_locality`: which attempts a huge-page fault makes (thp-and-allocation.md section 8).
//!
//! A rule is a pure function from a fault and a number to the attempt with that number. The page allocator carries out
//! attempts until one succeeds. After the last one the fault allocates a base page. Each rule is one file with its
//! [`Parts`], and [`Locality`] is the visible list.
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

pub(in crate::mm) mod parts;

pub use parts::{Attempt, FaultContext, HugeRules, Ladder, Parts};

numalab_base::variants! {
    /// Where a huge page comes from when the local node has none free.
    pub enum Locality of Parts {
        Zonelist in zonelist,
        ThisNode in thisnode,
        Relaxed in relaxed,
        TwoStep54 in two_step_54,
        TwoStep in two_step,
        MpolHuge in mpol_huge,
        PrctlSpan in prctl_span,
        LadderSorted in ladder_sorted,
        LadderCustom in ladder_custom,
    }
}

impl Locality {
    /// Attempt `number` of a fault, counted from 0; `None` after the last.
    #[inline]
    pub fn attempt(self, ctx: &FaultContext<'_>, number: usize) -> Option<Attempt> {
        (self.parts().attempt)(ctx, number)
    }
}
