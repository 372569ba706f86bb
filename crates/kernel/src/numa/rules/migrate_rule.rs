//! Whether a page migrates at a hint fault, by release.

use numalab_base::words;

words! {
    /// Whether a page migrates at a hint fault.
    pub enum MigrateRule {
        /// balancenuma's first stage: always.
        Moron = "moron",
        /// 3.8: if the last fault came from this node.
        V38 = "v38",
        /// 3.13: by a two-stage filter on the last cpupid.
        V313 = "v313",
        /// 3.15: by the filter, then at private faults, then by the group's use of both nodes.
        V315 = "v315",
        /// 4.19: as 3.15, after an exception for young tasks.
        V420 = "v420",
    }
}
