//! Which recently used CPU a wake-up tries, release by release.

/// Which recently used CPU a wake-up tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecentCpu {
    /// None.
    Off,
    /// The one where the task last woke another one with the choice between two CPUs (4.16 to 5.14).
    Waker,
    /// The one before its last (89aafd67f28c; 5.15 on, release from memory).
    Previous,
}

impl RecentCpu {
    /// All with their names.
    pub const NAMES: [(&'static str, Self); 3] =
        [("off", Self::Off), ("waker", Self::Waker), ("previous", Self::Previous)];
}
