//! How far an idle search goes before 6.0: SIS_PROP (4.13 to 5.19).
//!
//! A search should cost no more than the idle time it can hope to use. Every CPU remembers half its average idle time
//! as of the last wake-up that ended an idle period. The remembered time halves every jiffy, and each search that the
//! CPU makes as waker takes its cost from it. The CPU also keeps the average cost of its searches. A search visits as
//! many CPUs as the remembered time, multiplied by the size of the cache, pays for, and at least three. A search for a
//! whole idle core is not limited.
//!
//! This is the form of 5.14 and later. 4.13 to 5.13 use a 512th of the average idle time, which neither time nor
//! searches reduce.

/// Time to look at one CPU, ns: two cache lines of its run queue (estimate).
pub const VISIT_NS: u64 = 30;

/// What a CPU remembers of idle time and searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SisProp {
    /// Jiffy up to which `idle_ns` has been aged (`wake_stamp`).
    pub stamp: u64,
    /// Remembered idle time (`wake_avg_idle`), ns.
    pub idle_ns: u64,
    /// Average cost of a search by this CPU, ns (`avg_scan_cost` of its cache's domain).
    pub cost_ns: u64,
}

impl SisProp {
    /// Ends an idle period at a wake-up on this CPU; `avg_idle_ns` is the average idle time including it.
    pub fn woken(&mut self, jiffy: u64, avg_idle_ns: u64) {
        self.stamp = jiffy;
        self.idle_ns = avg_idle_ns / 2;
    }
    /// Number of CPUs that a search by this CPU may visit in a cache of `llc` CPUs.
    pub fn visits(&mut self, jiffy: u64, llc: u32) -> u32 {
        if self.stamp < jiffy {
            let halvings = (jiffy - self.stamp).min(63);
            // Aging stops where nothing is left, and so does the stamp.
            let lasting = u64::from(64 - self.idle_ns.leading_zeros()).min(halvings);
            self.idle_ns >>= halvings;
            self.stamp = if lasting < halvings { self.stamp + lasting } else { jiffy };
        }
        self.paid(self.idle_ns, llc)
    }
    /// As [`Self::visits`] for 4.13 to 5.13, from the CPU's average idle time.
    pub fn visits_v413(&self, avg_idle_ns: u64, llc: u32) -> u32 {
        self.paid(avg_idle_ns / 512, llc)
    }
    fn paid(&self, idle_ns: u64, llc: u32) -> u32 {
        let (span, cost) = (u64::from(llc) * idle_ns, self.cost_ns + 1);
        let nr = if span > 4 * cost { span / cost } else { 4 };
        // The kernel decrements the count before each look.
        u32::try_from(nr - 1).unwrap_or(u32::MAX)
    }
    /// Records a search that visited `visited` CPUs. A search that was cut short is not recorded.
    pub fn searched(&mut self, visited: u32) {
        let time = u64::from(visited) * VISIT_NS;
        self.idle_ns -= self.idle_ns.min(time);
        self.cost_ns = (self.cost_ns as i64 + (time as i64 - self.cost_ns as i64) / 8).max(0) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remembered_idle_time_pays_for_the_visits() {
        let mut h = SisProp::default();
        assert_eq!(h.visits(0, 16), 3, "never less");
        h.woken(100, 1_000_000);
        assert_eq!((h.idle_ns, h.stamp), (500_000, 100));
        h.cost_ns = 999_999;
        // 16 * 500,000 / 1,000,000 = 8; the count is decremented before the first look.
        assert_eq!(h.visits(100, 16), 7);
        assert_eq!(h.visits(101, 16), 3, "half of it is gone after a jiffy: 4 is not more than 4");
        h.cost_ns = 99;
        assert_eq!(h.visits(101, 16), 16 * 250_000 / 100 - 1);
        assert_eq!(h.visits(1000, 16), 3);
        assert_eq!(h.idle_ns, 0);
    }

    #[test]
    fn before_5_14_a_512th_of_the_average_idle_time_pays() {
        let h = SisProp { stamp: 0, idle_ns: 0, cost_ns: 999 };
        assert_eq!(h.visits_v413(512 * 1000, 16), 15);
        assert_eq!(h.visits_v413(512 * 250, 16), 3, "4 is not more than 4");
        assert_eq!(h.visits_v413(0, 16), 3);
    }

    #[test]
    fn searches_use_the_time_up_and_set_its_price() {
        let mut h = SisProp { stamp: 5, idle_ns: 500, cost_ns: 0 };
        h.searched(8);
        assert_eq!((h.idle_ns, h.cost_ns), (500 - 8 * VISIT_NS, VISIT_NS));
        h.searched(16);
        assert_eq!(h.idle_ns, 0);
        assert_eq!(h.cost_ns, VISIT_NS + (16 * VISIT_NS - VISIT_NS) / 8);
    }
}
