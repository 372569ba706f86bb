//! Legacy migration rate limit per destination node (3.8 to 4.18; kernel-numa-balancing.md §16).
//!
//! A window of 100 ms admits migrations until more than 128 MiB have been *admitted*, whether or not they succeed.

use super::jiffies::{after, Hz, Jiffies};
use numalab_base::words;

words! {
    /// How the rate limit is used.
    pub enum RateLimit {
        /// No limit (4.19 on).
        Off = "off",
        /// Migrations are limited.
        Legacy = "legacy",
        /// Migrations are limited, and a limited node is not scanned from (3.8; 3.13 scans it).
        LegacyAndMarking = "legacy_and_marking",
    }
}

/// Pages of 4 KiB admitted per window (128 MiB).
pub const LIMIT_PAGES: u64 = 32_768;
/// Length of a window, ms.
const WINDOW_MS: u32 = 100;
/// Time after its window during which a full node counts as limited for marking, ms.
const MARKING_MS: u32 = 1000;

/// State of the limit for one destination node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeLimit {
    /// End of the window, jiffies.
    pub window_end: Jiffies,
    /// Pages of 4 KiB admitted in the window.
    pub admitted: u64,
}

impl NodeLimit {
    /// Admits a migration of `pages` pages of 4 KiB at `now`, or refuses it (`numamigrate_update_ratelimit`).
    pub fn admit(&mut self, hz: Hz, now: Jiffies, pages: u64) -> bool {
        if after(now, self.window_end) {
            self.admitted = 0;
            self.window_end = now.wrapping_add(hz.jiffies(WINDOW_MS));
        }
        if self.admitted > LIMIT_PAGES {
            return false;
        }
        self.admitted += pages;
        true
    }

    /// Whether scanning from this node is suppressed (`migrate_ratelimited`).
    pub fn limited(&self, hz: Hz, now: Jiffies) -> bool {
        !after(now, self.window_end.wrapping_add(hz.jiffies(MARKING_MS))) && self.admitted >= LIMIT_PAGES
    }
}
