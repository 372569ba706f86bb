//! Bounds and adaptation of the scan period, by release.

use numalab_base::words;

words! {
    /// Bounds and adaptation of the scan period.
    pub enum PeriodModel {
        /// 3.8: fixed bounds, slower with every fault that did not migrate.
        V38 = "v38",
        /// 3.13: by locality, threshold 3.
        V313 = "v313",
        /// 3.17: by locality, threshold 7.
        V317 = "v317",
        /// 4.0: as 3.17, but failed migrations double the period.
        V40 = "v40",
        /// 4.14: private ratio first, then locality; bounds scaled by the group.
        V414 = "v414",
    }
}
