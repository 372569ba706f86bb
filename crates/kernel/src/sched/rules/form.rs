//! The generation of run queue and balancer.

use numalab_base::words;

words! {
    /// Which kernel's run queue and balancer are modelled.
    pub enum Form {
        /// CFS and the balancer of 6.1 (also used for 5.11 to 6.5).
        V61 = "v61",
        /// EEVDF and the balancer of 6.12.
        V612 = "v612",
    }
}
