//! Intervals and thresholds of domains, by release.

use numalab_base::words;

words! {
    /// Which release's intervals and thresholds domains have.
    pub enum DomainConstants {
        /// Up to 3.15.
        V37 = "v37",
        /// 3.16 to 5.9.
        V316 = "v316",
        /// From 5.10 on.
        V510 = "v510",
    }
}
