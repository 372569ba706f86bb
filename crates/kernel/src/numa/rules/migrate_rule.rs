//! Whether a page migrates at a hint fault, by release.

use numalab_base::words;

words! {
    /// The migration rules.
    pub enum MigrateRule {
        /// balancenuma's first stage: always.
        Moron = "moron",
        /// 3.8: the last fault came from this node.
        V38 = "v38",
        /// 3.13: two-stage filter on the last cpupid.
        V313 = "v313",
        /// 3.15: the filter, then private faults, then the group's use of both nodes.
        V315 = "v315",
        /// 4.19: the same after an exception for young tasks.
        V420 = "v420",
    }
}
