//! What a task's preferred node means to the balancer.

/// What a task's preferred node means to the balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locality {
    /// The preferred node of 3.13 and later.
    Preferred,
    /// AutoNUMA's selected node.
    Selected,
    /// schednuma's home node.
    Home,
}
