//! How a wake-up chooses between the waker's CPU and the previous CPU, by release.

/// How a wake-up chooses between the waker's CPU and the previous CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WakeAffine {
    /// The waker's CPU, if its load with the task is at most that of the previous CPU, or if both CPUs together have no
    /// more load than an average task. 3.7 does the same with weights.
    V311,
    /// As `V311`, without the second condition (05bfb65f52cb, 3.18).
    V318,
    /// The waker's CPU if it is or will be idle, else by load (f2cdd9cc6c97, 4.14).
    V414,
    /// An idle waker must share the cache, and does not pull from an idle CPU (7332dec055f2, 4.16).
    V416,
    /// Equal loads do not pull (082f764a2f3f, 4.17).
    V417,
    /// An idle previous CPU is kept before loads are compared (d8fcb81f1acf, 5.11).
    V511,
}

impl WakeAffine {
    /// Every variant with its word.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("v311", Self::V311),
        ("v318", Self::V318),
        ("v414", Self::V414),
        ("v416", Self::V416),
        ("v417", Self::V417),
        ("v511", Self::V511),
    ];
}
