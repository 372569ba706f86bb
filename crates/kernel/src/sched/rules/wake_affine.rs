//! How a wake-up chooses between two CPUs, release by release.

/// How a wake-up chooses between the waker's CPU and the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WakeAffine {
    /// The waker's, if it has no more load with the task than the previous CPU, or both together an average task's (3.7
    /// already, by weights).
    V311,
    /// Only the first (05bfb65f52cb, 3.18).
    V318,
    /// The waker's if it is or will be idle, else by load (f2cdd9cc6c97, 4.14).
    V414,
    /// An idle waker must share the cache, and does not pull from an idle CPU (7332dec055f2, 4.16).
    V416,
    /// Equal loads do not pull (082f764a2f3f, 4.17).
    V417,
    /// An idle previous CPU is kept before loads are compared (d8fcb81f1acf, 5.11).
    V511,
}

impl WakeAffine {
    /// All with their names.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("v311", Self::V311),
        ("v318", Self::V318),
        ("v414", Self::V414),
        ("v416", Self::V416),
        ("v417", Self::V417),
        ("v511", Self::V511),
    ];
}
