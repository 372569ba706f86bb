//! Where the other threads of a process are in their sweeps of a mapping.
//!
//! Problem: threads are simulated one slice after the other, and two mechanisms ask who else comes to a page while it is being
//! handled (`window`, `race`). Approach: the answer is worked out from where each thread is in its sweep and how fast it goes,
//! once per slice of the thread that asks; who of them can come soon is kept for the next faults. Places in bytes of a mapping,
//! times in ns of model time.

use crate::engine::World;
use crate::task::Activity;
use numalab_kernel::mm::{CHUNK_BYTES, PAGE_BYTES};
use numalab_model::workload::{Op, Pattern};
use std::ops::Range;

/// A thread that sweeps a mapping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweeper {
    pub task: u32,
    pub cpu: u32,
    /// Stores, so that a missing page is filled rather than read as zeros.
    pub writes: bool,
    /// Where it is in the mapping, bytes.
    pub at: u64,
    /// Where its sweep ends: it comes to no place from there on.
    pub end: u64,
    /// When it is there, ns.
    pub at_ns: f64,
    /// How fast it goes.
    pub ns_per_byte: f64,
}

impl Sweeper {
    /// When it comes to a place, ns; `None` if that is not ahead of it.
    pub fn meets_ns(&self, place: u64) -> Option<f64> {
        (self.at..self.end).contains(&place).then(|| self.at_ns + (place - self.at) as f64 * self.ns_per_byte)
    }
}

/// The other sweepers of a mapping during one slice of a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sweepers {
    /// Task, start of its slice and mapping that the list is for.
    of: (u32, u64, usize),
    list: Vec<Sweeper>,
    /// Those of them who may come to one of `near_places` before `near_until_ns`, in the same order.
    pub near: Vec<Sweeper>,
    near_places: Range<u64>,
    near_until_ns: f64,
    /// Those that come while a page is being filled: how long after the fault began, ns, task and CPU.
    pub coming: Vec<(f64, u32, u32)>,
}

/// Places and time ahead for which those who are near are worked out at once: some tens of faults on base pages.
const NEAR_BYTES: u64 = 128 * PAGE_BYTES;
const NEAR_NS: f64 = 512_000.0;

impl Sweepers {
    /// Brings `near` up to date for those who come to `place` before `before_ns`. Most of a large process is far away from
    /// where one of its threads faults, and is not looked at again for each of its faults.
    fn look_near(&mut self, place: u64, before_ns: f64) {
        if self.near_places.contains(&place) && before_ns <= self.near_until_ns {
            return;
        }
        self.near_places = place..place + NEAR_BYTES;
        self.near_until_ns = before_ns + NEAR_NS;
        self.near.clear();
        // Nobody comes to a later place sooner.
        let may_come = |s: &&Sweeper| {
            let soonest_ns = s.at_ns + place.saturating_sub(s.at) as f64 * s.ns_per_byte;
            s.at < place + NEAR_BYTES && s.end > place && soonest_ns < self.near_until_ns
        };
        self.near.extend(self.list.iter().filter(may_come));
    }
}

impl World<'_> {
    /// Finds who may come to `place` of a mapping before `before_ns` in the slice of `first` that is being simulated, and
    /// leaves them in [`Sweepers::near`].
    pub(crate) fn find_sweepers(&mut self, first: u32, vma: usize, place: u64, before_ns: f64) {
        let slice = (first, self.now_ns, vma);
        if self.sweepers.of != slice {
            let mut list = std::mem::take(&mut self.sweepers.list);
            self.list_sweepers(first, vma, &mut list);
            self.sweepers.list = list;
            self.sweepers.of = slice;
            self.sweepers.near_places = 0..0;
        }
        self.sweepers.look_near(place, before_ns);
    }

    /// Place of a page in its mapping, bytes.
    pub(crate) fn place_in(&self, task: u32, vma: usize, chunk: usize, page: usize) -> u64 {
        let process = self.tasks[task as usize].process as usize;
        let v = self.processes[process].space.vma(vma);
        let lead_in = v.start - v.chunk_base(0);
        (chunk as u64 * CHUNK_BYTES + page as u64 * PAGE_BYTES).saturating_sub(lead_in)
    }

    fn list_sweepers(&self, first: u32, vma: usize, list: &mut Vec<Sweeper>) {
        list.clear();
        let process = self.tasks[first as usize].process;
        if self.processes[process as usize].live_threads < 2 {
            return;
        }
        let region_vma = &self.processes[process as usize].region_vma;
        for (cpu, c) in self.cpus.iter().enumerate() {
            let Some(task) = c.task.filter(|&t| t != first) else { continue };
            let t = &self.tasks[task as usize];
            if t.process != process || t.activity != Activity::Running || t.ns_per_byte == 0.0 {
                continue;
            }
            let Some(Op::Access(a)) = t.ops.get(t.pc) else { continue };
            if a.pattern != Pattern::Sequential || region_vma[a.span.region as usize] as usize != vma {
                continue;
            }
            // What its CPU owes comes before its next step.
            let at_ns = t.ahead_ns.max(self.now_ns) as f64 + c.debt_ns as f64;
            let at = a.span.offset_bytes + if t.entered { t.done } else { 0 };
            let (cpu, writes, end) = (cpu as u32, a.write > 0.0, a.span.offset_bytes + a.span.len_bytes);
            list.push(Sweeper { task, cpu, writes, at, end, at_ns, ns_per_byte: t.ns_per_byte });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_kernel::hw::rng::Rng;

    /// A thread that faults its way through a mapping is told of everybody who comes in time, in the order of the list.
    #[test]
    fn whoever_comes_is_near() {
        let mut rng = Rng::new(7);
        let mut met = 0;
        for _ in 0..200 {
            let sweeper = |task, rng: &mut Rng| {
                let at = rng.below(4 << 20);
                let (at_ns, ns_per_byte) = (rng.unit() * 1e6, 0.05 + rng.unit());
                Sweeper { task, cpu: task, writes: true, at, end: at + rng.below(4 << 20), at_ns, ns_per_byte }
            };
            let list: Vec<Sweeper> = (0..40).map(|task| sweeper(task, &mut rng)).collect();
            let mut sweepers = Sweepers { list, ..Sweepers::default() };
            let (mut place, mut now_ns) = (rng.below(1 << 20), 1e6);
            for _ in 0..400 {
                let comes = |s: &&Sweeper| s.meets_ns(place).is_some_and(|ns| ns < now_ns);
                let tasks = |of: &[Sweeper]| of.iter().filter(comes).map(|s| s.task).collect::<Vec<_>>();
                let all = tasks(&sweepers.list);
                sweepers.look_near(place, now_ns);
                assert_eq!(tasks(&sweepers.near), all);
                met += all.len();
                place += rng.below(4 * PAGE_BYTES);
                now_ns += rng.unit() * 20_000.0;
            }
        }
        assert!(met > 10_000, "{met}");
    }
}
