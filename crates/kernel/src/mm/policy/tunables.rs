//! Which memory policies a kernel has.
//!
//! A plan is refused if its workload sets a policy that its kernel does not have; see
//! `numalab_model::experiment::Experiment::cells`.

numalab_base::tunables! {
    /// Memory policies that `set_mempolicy` and `mbind` accept. Every kernel has default, local, preferred, bind and
    /// interleave. Balancing and promotion leave memory with a policy alone, unless the policy has the flag
    /// MPOL_F_NUMA_BALANCING.
    pub struct MempolicyTunables: "mempolicy" {
        /// The mode preferred_many (5.15: b27abaccf8e8).
        preferred_many: bool = true, "", "MPOL_PREFERRED_MANY";
        /// The mode weighted_interleave (6.9: fa3bea4e1f82).
        weighted_interleave: bool = true, "", "MPOL_WEIGHTED_INTERLEAVE";
        /// Balancing moves and promotes pages among the nodes of a bind policy that asks for it (5.12: bda420b98505).
        balance_bind: bool = true, "", "MPOL_F_NUMA_BALANCING";
        /// The same of a preferred_many policy (6.10: 133d04b1eee9).
        balance_preferred_many: bool = true, "", "MPOL_F_NUMA_BALANCING";
    }
}
