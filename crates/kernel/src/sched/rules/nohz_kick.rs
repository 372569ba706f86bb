//! When a busy CPU asks idle CPUs to balance, by release.

use numalab_base::words;

words! {
    /// When a busy CPU with one task asks idle CPUs to balance.
    pub enum NohzKick {
        /// If a second CPU of its group is busy, in any domain inside the cache. With two threads per core that is the
        /// other thread of its core (to 3.12).
        V37 = "v37",
        /// If a second CPU of its cache is busy (37dc6b50cee9, 3.13).
        V313 = "v313",
    }
}
