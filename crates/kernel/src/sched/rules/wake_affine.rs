//! How a wake-up chooses between the waker's CPU and the previous CPU, by release.

use numalab_base::words;

words! {
    /// How a wake-up chooses between the waker's CPU and the previous CPU.
    pub enum WakeAffine {
        /// The waker's CPU, if its load with the task is at most that of the previous CPU, or if both CPUs together
        /// have no more load than an average task. 3.7 does the same with weights.
        V311 = "v311",
        /// As `V311`, without the second condition (05bfb65f52cb, 3.18).
        V318 = "v318",
        /// The waker's CPU if it is or will be idle, else by load (f2cdd9cc6c97, 4.14).
        V414 = "v414",
        /// An idle waker must share the cache, and does not pull from an idle CPU (7332dec055f2, 4.16).
        V416 = "v416",
        /// Equal loads do not pull (082f764a2f3f, 4.17).
        V417 = "v417",
        /// An idle previous CPU is kept before loads are compared (d8fcb81f1acf, 5.11).
        V511 = "v511",
    }
}
