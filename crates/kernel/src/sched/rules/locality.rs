//! What a task's preferred node means to the balancer.

/// How the preferred node is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locality {
    /// As in 3.13 and later.
    Preferred,
    /// AutoNUMA's selected node.
    Selected,
    /// schednuma's home node.
    Home,
}

impl Locality {
    /// By the words of `sched.locality`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "preferred" => Some(Self::Preferred),
            "selected" => Some(Self::Selected),
            "home" => Some(Self::Home),
            _ => None,
        }
    }
}
