//! Forms of the fault statistics, by release.

use numalab_base::words;

words! {
    /// Forms of the fault statistics.
    pub enum FaultStats {
        /// No statistics: 3.8 only notes that a pass ended.
        None = "none",
        /// 3.13: memory faults only; decay rounds down.
        V313 = "v313",
        /// 3.15: memory and CPU faults; decay rounds up.
        V315 = "v315",
    }
}
