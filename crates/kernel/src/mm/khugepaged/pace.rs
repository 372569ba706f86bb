//! The pace of khugepaged (thp-and-allocation.md section 9.1): it scans a number of pages per round and sleeps between
//! rounds.
//!
//! The caller walks the address spaces in order and reports each step to [`Pace`], which says when to sleep.

use super::tunables::KhugepagedTunables;
use crate::mm::units::CHUNK_PAGES;

/// What khugepaged does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// It continues in this round.
    None,
    /// It sleeps for this many ms and then continues the round.
    Retry(u32),
    /// It sleeps for this many ms and then starts a new round.
    NextRound(u32),
}

/// State of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    left: i64,
    failures: u32,
    passes: u32,
}

impl Pace {
    /// The start of a round.
    pub fn new(t: &KhugepagedTunables) -> Self {
        Self { left: i64::from(t.pages_to_scan), failures: 0, passes: 0 }
    }
    /// 2 MiB were scanned.
    pub fn slot(&mut self, t: &KhugepagedTunables) -> Pause {
        self.spend(t, CHUNK_PAGES as i64)
    }
    /// A mapping without huge pages was skipped, or the lock of an address space was taken.
    pub fn small_step(&mut self, t: &KhugepagedTunables) -> Pause {
        self.spend(t, 1)
    }
    /// The end of the list of address spaces was reached.
    pub fn end_of_list(&mut self, t: &KhugepagedTunables) -> Pause {
        self.passes += 1;
        if self.passes >= 2 {
            return self.restart(t);
        }
        Pause::None
    }
    /// The allocation of a huge page failed. The first time khugepaged sleeps and continues the round; the second time
    /// the round ends.
    pub fn alloc_failed(&mut self, t: &KhugepagedTunables) -> Pause {
        self.failures += 1;
        if self.failures > 1 {
            return self.restart(t);
        }
        Pause::Retry(t.alloc_sleep_millisecs)
    }
    fn spend(&mut self, t: &KhugepagedTunables, pages: i64) -> Pause {
        self.left -= pages;
        if self.left <= 0 {
            return self.restart(t);
        }
        Pause::None
    }
    fn restart(&mut self, t: &KhugepagedTunables) -> Pause {
        *self = Self::new(t);
        Pause::NextRound(t.scan_sleep_millisecs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::tunable::Group;

    /// Seconds of sleep until `slots` times 2 MiB have been scanned once.
    fn sleeps_s(t: &KhugepagedTunables, slots: u64) -> u64 {
        let mut pace = Pace::new(t);
        let ms: u64 = (0..slots)
            .map(|_| match pace.slot(t) {
                Pause::NextRound(ms) => u64::from(ms),
                _ => 0,
            })
            .sum();
        ms / 1000
    }

    #[test]
    fn vector_21_coverage() {
        let slots = 40 * 512;
        let mut t = KhugepagedTunables::default();
        assert_eq!(sleeps_s(&t, slots), 25_600);
        t.set("pages_to_scan", "65536").unwrap();
        t.set("scan_sleep_millisecs", "1000").unwrap();
        assert_eq!(sleeps_s(&t, slots), 160);
    }

    #[test]
    fn the_second_failed_allocation_ends_the_round() {
        let t = KhugepagedTunables::default();
        let mut p = Pace::new(&t);
        assert_eq!(p.alloc_failed(&t), Pause::Retry(60_000));
        assert_eq!(p.slot(&t), Pause::None, "the budget goes on");
        assert_eq!(p.alloc_failed(&t), Pause::NextRound(10_000));
        assert_eq!(p, Pace::new(&t));
    }

    #[test]
    fn small_steps_cost_one_and_two_passes_end_the_round() {
        let t = KhugepagedTunables { pages_to_scan: 515, ..KhugepagedTunables::default() };
        let mut p = Pace::new(&t);
        assert_eq!([p.slot(&t), p.small_step(&t), p.small_step(&t)], [Pause::None; 3]);
        assert_eq!(p.small_step(&t), Pause::NextRound(10_000));
        assert_eq!((p.end_of_list(&t), p.end_of_list(&t)), (Pause::None, Pause::NextRound(10_000)));
    }
}
