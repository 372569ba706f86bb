//! Forms of memory tiering, by release.

use numalab_base::words;

words! {
    /// Forms of memory tiering.
    pub enum TieringModel {
        /// 5.18: only slow-tier pages are marked; migration is decided as for any page.
        Basic = "basic",
        /// 6.1: hot threshold, promotion rate limit, free-space rule.
        V61 = "v61",
    }
}
