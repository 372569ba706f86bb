//! Where the other threads of a process are in their sweeps of a mapping.
//!
//! Threads are simulated one slice after the other, but several mechanisms ask which other threads come to a page while it is
//! being handled ([`contenders`](crate::mm::contenders)). The answer follows from where each thread is in its sweep at the end of
//! its slice, and from its speed. Sweeps are listed by their place: most threads of a large process are too far away to come
//! in time, and are not looked at. Places are bytes of a mapping, times ns of model time.

use crate::float::{real, whole};
use numalab_kernel::mm::PAGE_BYTES;

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

/// A thread that comes to a place of a mapping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Contender {
    /// When it comes, ns.
    pub ns: f64,
    pub task: u32,
    pub writes: bool,
    pub ns_per_byte: f64,
}

/// Lists of tasks by where they sweep. Lists are shared by places far from each other, and by mappings.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByOffset {
    /// By list, its first task.
    first: Vec<u32>,
    /// By group of lists, which of them have a task, as bits.
    occupied: Vec<u64>,
    /// By task: the next and the one before on its list, and the list.
    next: Vec<u32>,
    previous: Vec<u32>,
    list: Vec<u32>,
}

/// Bytes of a mapping that share a list: a few faults on base pages for a slow thread.
const STRETCH_BYTES: u64 = 64 * PAGE_BYTES;

/// Lists of a group, for stretches that follow each other: one bit each of a word.
const GROUP: u64 = u64::BITS as u64;

/// Groups of lists. One more list holds all sweeps faster than [`FAST_NS_PER_BYTE`], wherever they are.
const GROUPS: u64 = 1024;

/// The list of the fast ones.
const FAST: u64 = GROUPS * GROUP;

/// 4 GB/s. Faster threads compute little and find their data in a cache; they come from far within the time of a fault.
const FAST_NS_PER_BYTE: f64 = 0.25;

const NONE: u32 = u32::MAX;

impl ByOffset {
    fn new() -> Self {
        Self { first: vec![NONE; FAST as usize + 1], occupied: vec![0; GROUPS as usize + 1], ..Self::default() }
    }
    fn grow(&mut self, tasks: usize) {
        for by_task in [&mut self.next, &mut self.previous, &mut self.list] {
            by_task.resize(tasks, NONE);
        }
    }
    /// The group of lists for stretches `number * GROUP` and on of a mapping. Threads often keep the same distance from each other,
    /// so groups are spread like the hashes of a table.
    #[inline]
    fn group_of(of: (u32, u32), number: u64) -> u64 {
        let key = number ^ u64::from(of.0) << 48 ^ u64::from(of.1) << 32;
        key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - GROUPS.ilog2())
    }
    /// The list of a stretch of a mapping.
    #[inline]
    fn list_of(of: (u32, u32), stretch: u64) -> u64 {
        Self::group_of(of, stretch / GROUP) * GROUP + stretch % GROUP
    }
    fn remove(&mut self, task: u32) {
        let list = std::mem::replace(&mut self.list[task as usize], NONE);
        if list == NONE {
            return;
        }
        let (next, previous) = (self.next[task as usize], self.previous[task as usize]);
        if next != NONE {
            self.previous[next as usize] = previous;
        }
        if previous != NONE {
            self.next[previous as usize] = next;
            return;
        }
        self.first[list as usize] = next;
        if next == NONE {
            self.occupied[(u64::from(list) / GROUP) as usize] &= !(1 << (u64::from(list) % GROUP));
        }
    }
    fn insert(&mut self, task: u32, list: u64) {
        let next = std::mem::replace(&mut self.first[list as usize], task);
        if next != NONE {
            self.previous[next as usize] = task;
        }
        self.occupied[(list / GROUP) as usize] |= 1 << (list % GROUP);
        (self.next[task as usize], self.previous[task as usize]) = (next, NONE);
        self.list[task as usize] = list as u32;
    }
    /// Calls `f` with the tasks on the lists of stretches `from` to `to` of a mapping, and with all fast ones, until it returns
    /// false. It may be called with others.
    #[inline]
    fn each(&self, of: (u32, u32), (from, to): (u64, u64), mut f: impl FnMut(u32) -> bool) {
        let (first, last) = (from / GROUP, to / GROUP);
        // A wide range has all groups.
        let all = last - first >= GROUPS;
        let groups = if all { 0..=GROUPS - 1 } else { first..=last };
        for number in groups.chain([u64::MAX]) {
            let group = match number {
                u64::MAX => FAST / GROUP,
                _ if all => number,
                _ => Self::group_of(of, number),
            };
            let mut lists = self.occupied[group as usize];
            if !all && number == first {
                lists &= u64::MAX << (from % GROUP);
            }
            if !all && number == last {
                lists &= u64::MAX >> (GROUP - 1 - to % GROUP);
            }
            while lists != 0 {
                let list = group * GROUP + u64::from(lists.trailing_zeros());
                lists &= lists - 1;
                let mut task = self.first[list as usize];
                while task != NONE {
                    let next = self.next[task as usize];
                    if !f(task) {
                        return;
                    }
                    task = next;
                }
            }
        }
    }
}

/// The sweeps of all threads.
#[derive(Clone, Debug, Default)]
pub struct SweepPositions {
    /// By task, as of the end of its slice or sleep; valid where the task is on a list.
    pub(crate) sweeper: Vec<SweepPosition>,
    pub(crate) by_place: ByOffset,
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
        for h in self.held.iter_mut().filter(|h| h.0 == task) {
            h.2 += ns as f64;
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
        self.by_place.remove(task);
        if let Some(s) = sweeper {
            let is_fast = s.ns_per_byte < FAST_NS_PER_BYTE;
            self.by_place.insert(task, if is_fast { FAST } else { ByOffset::list_of(s.of, s.at / STRETCH_BYTES) });
            self.sweeper[task as usize] = s;
        }
    }
    /// Calls `f` with everybody but `first` who comes to `place` of a mapping before `before_ns`, at `now_ns`, in no order, until it is false.
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
        let ahead = whole((before_ns - now_ns).clamp(0.0, 1e15) / FAST_NS_PER_BYTE) + 1;
        let stretches = (place.saturating_sub(ahead) / STRETCH_BYTES, place / STRETCH_BYTES);
        self.by_place.each(of, stretches, |task| {
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
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::rng::Rng;

    /// However wide the range of places, everybody in it is met once.
    #[test]
    fn ranges_of_any_width_meet_everybody_once() {
        let mut lists = ByOffset::new();
        lists.grow(64);
        let stretch = |task: u64| task * task * 37;
        (0..64).for_each(|task| lists.insert(task as u32, ByOffset::list_of((1, 2), stretch(task))));
        for (from, to) in [(0, 0), (5, 130), (37, 37), (0, 70_000), (100, 200_000)] {
            let mut met = Vec::new();
            lists.each((1, 2), (from, to), |task| {
                met.push(u64::from(task));
                true
            });
            let mut wanted: Vec<u64> = (0..64).filter(|&task| (from..=to).contains(&stretch(task))).collect();
            met.sort_unstable();
            let all = met.len();
            met.dedup();
            assert_eq!(met.len(), all, "nobody twice");
            wanted.retain(|task| !met.contains(task));
            assert!(wanted.is_empty(), "{from}..={to} lacks {wanted:?}");
        }
    }

    /// A thread that faults on one page after the other is told of every thread that comes in time, delayed ones included.
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
