//! The generation of run queue and balancer.

/// Which kernel's run queue and balancer are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// CFS and the balancer of 6.1 (also used for 5.11 to 6.5).
    V61,
    /// EEVDF and the balancer of 6.12.
    V612,
}
