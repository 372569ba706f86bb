//! How the time slices grow with the number of CPUs.

use numalab_base::words;

words! {
    /// How CFS's and EEVDF's time slices grow with the number of CPUs (`sched_tunable_scaling`).
    pub enum TunableScaling {
        /// They stay as they are.
        None = "none",
        /// By 1 + log2 of the CPUs, of at most 8.
        Log = "log",
        /// By the CPUs, at most 8.
        Linear = "linear",
    }
}
