//! Which recently used CPU a wake-up tries, by release.

/// Which recently used CPU a wake-up tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecentCpu {
    /// None.
    Off,
    /// The CPU on which the task last woke another task with a choice between two CPUs (4.16 to 5.14).
    Waker,
    /// The CPU before its last one (89aafd67f28c; 5.15 on, release from memory).
    Previous,
}

impl RecentCpu {
    /// Every variant with its word.
    pub const NAMES: [(&'static str, Self); 3] =
        [("off", Self::Off), ("waker", Self::Waker), ("previous", Self::Previous)];
}
