//! Where the other threads of a process are in their sweeps of a mapping.
//!
//! Threads are simulated one slice after the other, but several mechanisms ask which other threads come to a page while
//! it is being handled ([`contenders`](crate::mm::contenders)). The answer follows from where each thread is in its
//! sweep at the end of its slice, and from its speed. Sweeps are listed by their place: most threads of a large process
//! are too far away to come in time, and are not looked at. Places are bytes of a mapping, times ns of model time.

use crate::float::{real, whole};
use crate::state::by_offset::ByOffset;
use crate::state::contender::Contender;
use crate::state::cpu_order::CpuOrder;
use crate::state::fast_sweeps::{FastSweeps, FAST_NS_PER_BYTE};

/// A thread that sweeps a mapping.
#[derive(Clone, Copy, Debug)]
pub struct SweepPosition {
    /// Process and mapping.
    pub(crate) of: (u32, u32),
    pub(crate) task: u32,
    /// Stores, so that a missing page is filled rather than read as zeros.
    pub(crate) writes: bool,
    /// Where it is in the mapping, bytes.
    pub(crate) at: u64,
    /// Where its sweep ends, bytes; it comes to no place from there on.
    pub(crate) end: u64,
    /// When it is at that place if no kernel work or sleep lies before it, ns.
    pub(crate) at_ns: f64,
    /// Time per byte, ns.
    pub(crate) ns_per_byte: f64,
}

/// The sweeps of all threads.
#[derive(Clone, Debug, Default)]
pub struct SweepPositions {
    /// By task, as of the end of its slice or sleep; valid where the task is on a list.
    pub(crate) sweeper: Vec<SweepPosition>,
    pub(crate) by_place: ByOffset,
    /// The fast ones, which are not in `by_place`.
    fast: FastSweeps,
    /// How often any of the lists has changed.
    pub(crate) changes: u64,
    /// By task, whether it has a new plan that is not listed yet.
    pub(crate) is_stale: Vec<bool>,
    /// Tasks with a new plan that is not listed yet.
    pub(crate) stale: Vec<u32>,
    /// The task whose slice is being simulated, and its start.
    pub(crate) slice: (u32, u64),
    /// Tasks that the present slice delays, the place where each waits, and until when, ns.
    pub(crate) held: Vec<(u32, u64, f64)>,
    /// By task, whether the present slice delays it.
    pub(crate) is_held: Vec<bool>,
    /// Result of `mm::contenders::find_contenders`.
    pub contenders: Vec<Contender>,
    /// Sorts them by CPU.
    pub(crate) order: CpuOrder,
}

impl SweepPositions {
    /// No sweeps yet.
    pub fn new() -> Self {
        Self { by_place: ByOffset::new(), ..Self::default() }
    }
    fn grow(&mut self, tasks: usize) {
        let nobody =
            SweepPosition { of: (0, 0), task: 0, writes: false, at: 0, end: 0, at_ns: 0.0, ns_per_byte: f64::INFINITY };
        self.sweeper.resize(tasks, nobody);
        self.is_stale.resize(tasks, false);
        self.is_held.resize(tasks, false);
        self.by_place.grow(tasks);
        self.fast.grow(tasks);
        // No list is longer than there are tasks, so none grows while they run.
        self.stale.reserve(tasks - self.stale.len());
        self.held.reserve(tasks - self.held.len());
        self.contenders.reserve(tasks - self.contenders.len());
    }
    /// `task` has a new slice, or gets or leaves a CPU, or wakes up.
    #[inline]
    pub fn planned(&mut self, task: u32) {
        if task as usize >= self.is_stale.len() {
            self.grow((task as usize + 1).next_power_of_two());
        }
        if !self.is_stale[task as usize] {
            self.is_stale[task as usize] = true;
            self.stale.push(task);
        }
    }
    /// `task` waits at `place` until `until_ns`, also for the rest of the present slice.
    pub fn hold_up(&mut self, task: u32, place: u64, until_ns: f64) {
        if std::mem::replace(&mut self.is_held[task as usize], true) {
            self.held.retain(|h| h.0 != task);
        }
        self.held.push((task, place, until_ns));
    }
    /// Adds `ns` to the delay of `task`, if the present slice delays it. (Delays of other tasks are looked up.)
    pub fn delay(&mut self, task: u32, ns: u64) {
        if self.is_held[task as usize] {
            self.held.iter_mut().filter(|h| h.0 == task).for_each(|h| h.2 += ns as f64);
        }
    }
    pub(crate) fn begin_slice(&mut self, slice: (u32, u64)) {
        if self.slice != slice {
            self.slice = slice;
            for (task, ..) in self.held.drain(..) {
                self.is_held[task as usize] = false;
            }
        }
    }
    pub(crate) fn set(&mut self, task: u32, sweeper: Option<SweepPosition>) {
        self.changes += 1;
        self.by_place.remove(task);
        self.fast.remove(task);
        if let Some(s) = sweeper {
            if s.ns_per_byte < FAST_NS_PER_BYTE {
                self.fast.insert(task, s.of, s.at, s.ns_per_byte);
            } else {
                self.by_place.insert(task, s.of, s.at);
            }
            self.sweeper[task as usize] = s;
        }
    }
    /// Calls `f` with everybody but `first` who comes to `place` of a mapping before `before_ns`, at `now_ns`, in no
    /// order, until it is false.
    #[inline]
    pub(crate) fn each_contender(
        &self,
        (of, first): ((u32, u32), u32),
        (place, before_ns): (u64, f64),
        now_ns: f64,
        owes_ns: impl Fn(u32) -> u64,
        mut f: impl FnMut(Contender) -> bool,
    ) {
        let comer =
            |s: &SweepPosition, ns: f64| Contender { ns, task: s.task, writes: s.writes, ns_per_byte: s.ns_per_byte };
        for &(task, at, at_ns) in &self.held {
            let s = &self.sweeper[task as usize];
            let ns = at_ns + real(place.saturating_sub(at)) * s.ns_per_byte;
            let comes = s.of == of && s.task != first && (at..s.end).contains(&place) && ns < before_ns;
            if comes && !f(comer(s, ns)) {
                return;
            }
        }
        let ns = (before_ns - now_ns).clamp(0.0, 1e15);
        let from = place.saturating_sub(whole(ns / FAST_NS_PER_BYTE) + 1);
        let mut look = |task: u32| {
            let s = &self.sweeper[task as usize];
            if !(s.at..s.end).contains(&place) || s.of != of || task == first {
                return true;
            }
            let (from_ns, sweep_ns) = (s.at_ns.max(now_ns), real(place - s.at) * s.ns_per_byte);
            // Nor before what it owes is done, which few are asked for.
            if from_ns + sweep_ns >= before_ns || self.is_held[task as usize] {
                return true;
            }
            let ns = from_ns + owes_ns(task) as f64 + sweep_ns;
            ns >= before_ns || f(comer(s, ns))
        };
        if self.by_place.each(of, (from, place), &mut look) {
            self.fast.each(of, (place, place), ns, look);
        }
    }
    /// When `task` comes to `place` in the slice that began at `now_ns`, ns; `None` if its sweep does not lead there.
    #[inline]
    pub(crate) fn comes_ns(&self, task: u32, place: u64, now_ns: f64, owes_ns: impl Fn(u32) -> u64) -> Option<f64> {
        let s = &self.sweeper[task as usize];
        let (at, at_ns) = self.start_of(s, now_ns, owes_ns);
        (at..s.end).contains(&place).then(|| at_ns + real(place - at) * s.ns_per_byte)
    }

    /// Where the sweep of a thread goes on, and when, ns.
    #[inline]
    pub(crate) fn start_of(&self, s: &SweepPosition, now_ns: f64, owes_ns: impl Fn(u32) -> u64) -> (u64, f64) {
        if self.is_held[s.task as usize] {
            if let Some(&(_, at, at_ns)) = self.held.iter().find(|h| h.0 == s.task) {
                return (at, at_ns);
            }
        }
        (s.at, s.at_ns.max(now_ns) + owes_ns(s.task) as f64)
    }

    /// Calls `f` with all sweeps of a mapping but that of the present slice which may come to `places` within `ns`, and
    /// with others of the mapping; with some of them twice.
    pub(crate) fn each_near(&self, of: (u32, u32), (from, to): (u64, u64), ns: f64, mut f: impl FnMut(&SweepPosition)) {
        let first = self.slice.0;
        let mut look = |task: u32| {
            let s = &self.sweeper[task as usize];
            if s.of == of && task != first {
                f(s);
            }
            true
        };
        for held in &self.held {
            look(held.0);
        }
        let ns = ns.clamp(0.0, 1e15);
        let slow_from = from.saturating_sub(whole(ns / FAST_NS_PER_BYTE) + 1);
        self.by_place.each(of, (slow_from, to), &mut look);
        self.fast.each(of, (from, to), ns, look);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::rng::Rng;
    use numalab_kernel::mm::PAGE_BYTES;

    /// A thread that faults on one page after the other is told of every thread that comes in time, delayed ones
    /// included.
    #[test]
    fn whoever_comes_is_found() {
        let mut rng = Rng::new(7);
        let (mut met, mut met_held) = (0, 0);
        for _ in 0..200 {
            let mut sweepers = SweepPositions::new();
            let mut list = Vec::new();
            for task in 0..40 {
                sweepers.planned(task);
                let at = rng.below(4 << 20);
                // One is of another process, one is the thread that asks, and everybody owes something.
                let of = (if task == 7 { 3 } else { 1 }, 2);
                let (at_ns, ns_per_byte, end) = (rng.unit() * 1e6, 0.05 + rng.unit(), at + rng.below(4 << 20));
                let s = SweepPosition { of, task, writes: true, at, end, at_ns, ns_per_byte };
                // Planned anew, and elsewhere before.
                sweepers.set(task, Some(SweepPosition { at: rng.below(4 << 20), ..s }));
                sweepers.set(task, if task == 11 { None } else { Some(s) });
                list.push(s);
            }
            let owes = |task: u32| u64::from(task) * 1000;
            let (mut place, mut now_ns, before_ns) = (rng.below(1 << 20), 5e5, 20_000.0);
            let mut held: Vec<(u32, u64, f64)> = Vec::new();
            for turn in 0..400 {
                let comes_ns = |task: u32, s: &SweepPosition| {
                    let owing_ns = s.at_ns.max(now_ns) + owes(task) as f64;
                    let (at, at_ns) = held.iter().find(|h| h.0 == task).map_or((s.at, owing_ns), |h| (h.1, h.2));
                    (at..s.end).contains(&place).then(|| at_ns + real(place - at) * s.ns_per_byte)
                };
                let of_it = |&(task, _): &(u32, &SweepPosition)| ![7, 9, 11].contains(&task);
                let others = (0..).zip(&list).filter(of_it);
                let all = others.filter(|&(task, s)| comes_ns(task, s).is_some_and(|ns| ns < now_ns + before_ns));
                let mut found = Vec::new();
                sweepers.each_contender(((1, 2), 9), (place, now_ns + before_ns), now_ns, owes, |c| {
                    found.push(c.task);
                    true
                });
                found.sort_unstable();
                assert_eq!(found, all.map(|(task, _)| task).collect::<Vec<_>>());
                met += found.len();
                met_held += found.iter().filter(|&&task| held.iter().any(|h| h.0 == task)).count();
                if let (0, Some(&task)) = (turn % 3, found.first()) {
                    held.retain(|h| h.0 != task);
                    held.push((task, place, now_ns + 30_000.0));
                    sweepers.hold_up(task, place, now_ns + 30_000.0);
                }
                place += rng.below(4 * PAGE_BYTES);
                now_ns += rng.unit() * 20_000.0;
            }
        }
        assert!(met > 10_000 && met_held > 1000, "{met} {met_held}");
    }
}
