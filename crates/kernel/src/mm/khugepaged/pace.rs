//! How fast khugepaged goes (thp-and-allocation.md section 9.1): a budget of pages per round, sleeps between rounds.
//!
//! The driver walks slots in order and asks [`Pace`] before each step; when the budget is spent it sleeps as told.

use super::tunables::KhugepagedTunables;
use crate::mm::units::CHUNK_PAGES;

/// What the daemon does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Nothing: go on in this round.
    None,
    /// Sleep this many ms, then go on with what is left of the round.
    Retry(u32),
    /// Sleep this many ms; a new round begins.
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
    /// A new round.
    pub fn new(t: &KhugepagedTunables) -> Self {
        Self { left: i64::from(t.pages_to_scan), failures: 0, passes: 0 }
    }
    /// A slot was looked at.
    pub fn slot(&mut self, t: &KhugepagedTunables) -> Pause {
        self.spend(t, CHUNK_PAGES as i64)
    }
    /// A mapping without huge pages was passed over, or the lock of an address space was taken.
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
    /// A huge page could not be had: the first time the round sleeps and goes on, the second time it ends.
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

    /// Seconds of sleep to look at `slots` slots once.
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
