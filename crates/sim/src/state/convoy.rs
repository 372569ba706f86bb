//! Threads that may fault on the next missing pages of a mapping together with the thread whose slice is being
//! simulated.
//!
//! Threads that sweep untouched memory together meet at one page after the other. Who may come to the pages of a short
//! stretch is listed once, and each page draws the few that come from the list.

use crate::float::real;
use crate::state::sweep_positions::SweepPositions;

/// Bytes of a mapping for which a list holds.
const STRETCH_BYTES: u64 = 256 << 10;

/// A list holds for faults on base pages that end within so many times the time of the first. A huge page is longer
/// than the stretch.
const FAULTS: f64 = 256.0;

/// Threads that may come to a page of a stretch of a mapping.
#[derive(Clone, Debug, Default)]
pub(crate) struct Convoy {
    /// Who may come, in an order that draws change.
    pub(crate) tasks: Vec<u32>,
    /// Whether threads that only read count too.
    readers: bool,
    /// The least time per byte of any of them, ns.
    pub(crate) least_ns_per_byte: f64,
    /// For which slice and which state of the sweeps the list holds.
    slice: (u32, u64),
    changes: u64,
    /// For which mapping, places and instants the list holds.
    of: (u32, u32),
    places: (u64, u64),
    before_ns: f64,
}

impl Convoy {
    /// A list of whoever comes, whether it stores or only reads.
    pub(crate) fn of_anybody() -> Self {
        Self { readers: true, ..Self::default() }
    }
    /// Brings the list up to date for a fault of the present slice on a page of `page_bytes` at byte `place` of a
    /// mapping, which began at `from_ns` and ends at `before_ns`. `now_ns` is the start of the slice.
    pub(crate) fn update(
        &mut self,
        sweeps: &SweepPositions,
        of: (u32, u32),
        (place, page_bytes): (u64, u64),
        (from_ns, before_ns): (f64, f64),
        now_ns: f64,
        owes_ns: impl Fn(u32) -> u64,
    ) {
        let holds = (self.slice, self.changes, self.of) == (sweeps.slice, sweeps.changes, of);
        if holds && (self.places.0..self.places.1).contains(&place) && before_ns <= self.before_ns {
            return;
        }
        let (mut tasks, readers) = (std::mem::take(&mut self.tasks), self.readers);
        tasks.clear();
        let places = (place, place + STRETCH_BYTES);
        let more = if page_bytes < STRETCH_BYTES { FAULTS } else { 0.0 };
        let until_ns = before_ns + more * (before_ns - from_ns).max(0.0);
        let mut least_ns_per_byte = f64::INFINITY;
        sweeps.each_near(of, places, until_ns - now_ns, |s| {
            let (at, at_ns) = sweeps.start_of(s, now_ns, &owes_ns);
            let meets = (s.writes || readers) && at < places.1 && place.max(at) < s.end;
            if meets && at_ns + real(place.max(at) - at) * s.ns_per_byte < until_ns {
                tasks.push(s.task);
                least_ns_per_byte = least_ns_per_byte.min(s.ns_per_byte);
            }
        });
        // A thread that is held up may be on a list as well.
        tasks.sort_unstable();
        tasks.dedup();
        let (slice, changes) = (sweeps.slice, sweeps.changes);
        *self = Self { tasks, readers, least_ns_per_byte, slice, changes, of, places, before_ns: until_ns };
    }
}

impl Convoy {
    /// Up to which byte of the mapping, and up to when, ns, nobody comes to the pages that the list was made for;
    /// `None` if somebody may.
    pub(crate) fn nobody_before(&self) -> Option<(u64, f64)> {
        self.tasks.is_empty().then_some((self.places.1, self.before_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::sweep_positions::SweepPosition;
    use numalab_base::rng::Rng;
    use numalab_kernel::mm::PAGE_BYTES;

    /// The list of a stretch has everybody who comes to one of its pages in time, and those alone are found to come.
    #[test]
    fn the_convoy_has_whoever_comes() {
        let mut rng = Rng::new(11);
        let (mut came, mut listed) = (0, 0);
        for _ in 0..300 {
            let (mut sweepers, mut convoy) = (SweepPositions::new(), Convoy::default());
            for task in 0..40 {
                sweepers.planned(task);
                let (at, of) = (rng.below(1 << 20), (if task == 7 { 3 } else { 1 }, 2));
                let (at_ns, ns_per_byte, end) = (rng.unit() * 1e5, 0.05 + rng.unit(), at + rng.below(1 << 20));
                let s = SweepPosition { of, task, writes: task != 5, at, end, at_ns, ns_per_byte };
                sweepers.set(task, Some(s));
            }
            let owes = |task: u32| u64::from(task) * 100;
            let (now_ns, mut place, mut from_ns) = (5e4, rng.below(1 << 20), 5e4);
            sweepers.begin_slice((9, 50_000));
            sweepers.hold_up(20, place, now_ns + 3000.0);
            for _ in 0..200 {
                let before_ns = from_ns + 1500.0;
                convoy.update(&sweepers, (1, 2), (place, PAGE_BYTES), (from_ns, before_ns), now_ns, owes);
                let mut wanted = Vec::new();
                sweepers.each_contender(((1, 2), 9), (place, before_ns), now_ns, owes, |c| {
                    wanted.extend(c.writes.then_some(c.task));
                    true
                });
                let comes = |&t: &u32| sweepers.comes_ns(t, place, now_ns, owes).is_some_and(|ns| ns < before_ns);
                let mut found: Vec<u32> = convoy.tasks.iter().copied().filter(comes).collect();
                wanted.sort_unstable();
                found.sort_unstable();
                assert_eq!(found, wanted);
                came += found.len();
                listed += convoy.tasks.len();
                (place, from_ns) = (place + rng.below(2 * PAGE_BYTES), from_ns + 3000.0 * rng.unit());
            }
        }
        assert!(came > 10_000 && listed < 4 * came, "{came} of {listed}");
    }
}
