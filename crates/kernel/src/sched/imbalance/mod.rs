//! NUMA imbalance rules: how uneven nodes may be before the balancer, a fork or NUMA balancing takes tasks to
//! another node at once (§5.4, kernel-numa-balancing.md §14.5)?
//!
//! Units: tasks and CPUs. Invariants: rules are pure, and both sides have CPUs to spare.
//!
//! [`parts`] says what a rule consists of, and each variant is one file with its [`Parts`]. [`Rule`] is the visible
//! list: a new rule is its file and its line there. [`rule`] carries the parts out, with those of [`tunables`] in place
//! of the variant's own.

mod parts;
mod rule;
#[cfg(test)]
mod tests;
mod tunables;

pub use parts::{
    DomainSizes, ForkSides, NodeShape, Parts, PlacementLoad, PullSides, Scale, Terms, Threshold, NUMA_IMBALANCE_MIN,
};
pub use rule::{Allowance, ImbalancePolicy};
pub use tunables::{Compare, ImbTunables};

numalab_base::variants! {
    /// How uneven the load balancer lets nodes be.
    pub enum Rule of Parts {
        None in none,
        Pair56 in pair_5_6,
        Fixed2 in fixed_2,
        Pct2019 in pct_2019,
        Quarter511 in quarter_5_11,
        Quarter517s in quarter_5_17s,
        ImbV2 in imb_v2,
        ImbV3 in imb_v3,
        ImbV4 in imb_v4,
        Imb518 in imb_5_18,
        Imb60 in imb_6_0,
    }
}
