//! Which recently used CPU a wake-up tries, by release.

use numalab_base::words;

words! {
    /// Which recently used CPU a wake-up tries.
    pub enum RecentCpu {
        /// None.
        Off = "off",
        /// The CPU on which the task last woke another task with a choice between two CPUs (4.16 to 5.14).
        Waker = "waker",
        /// The CPU before its last one (89aafd67f28c; 5.15 on, release from memory).
        Previous = "previous",
    }
}
