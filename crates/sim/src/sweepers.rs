//! Where the other threads of a process are in their sweeps of a mapping.
//!
//! Problem: threads are simulated one slice after the other, and two mechanisms ask who else comes to a page while it is being
//! handled (`window`, `race`). Approach: the answer is worked out from where each thread is in its sweep at the end of its slice
//! and how fast it goes, which is kept by CPU; who of them can come soon is kept for the next faults of the slice. Places in bytes of a mapping,
//! times in ns of model time.

use crate::engine::World;
use crate::pace::real;
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

/// What the tasks of all CPUs sweep, as of the end of their slices. What rejects nearly everybody lies together.
#[derive(Clone, Debug, Default)]
struct Known {
    /// By CPU: process and mapping, [`NOTHING`] if the task sweeps nothing.
    mapping: Vec<(u32, u32)>,
    /// By CPU: when it would have been at place 0, ns, and its time per byte.
    line: Vec<(f64, f64)>,
    /// By CPU, `at_ns` without what the CPU owes.
    sweeper: Vec<Sweeper>,
}

/// Mapping of a CPU whose task sweeps nothing.
const NOTHING: (u32, u32) = (u32::MAX, u32::MAX);

impl Known {
    fn new(cpus: usize) -> Self {
        let nobody = Sweeper { task: 0, cpu: 0, writes: false, at: 0, end: 0, at_ns: 0.0, ns_per_byte: 0.0 };
        Self { mapping: vec![NOTHING; cpus], line: vec![(0.0, 0.0); cpus], sweeper: vec![nobody; cpus] }
    }
    fn set(&mut self, cpu: usize, sweep: Option<((u32, u32), Sweeper)>) {
        self.mapping[cpu] = NOTHING;
        if let Some((mapping, s)) = sweep {
            self.mapping[cpu] = mapping;
            self.line[cpu] = (s.at_ns - real(s.at) * s.ns_per_byte, s.ns_per_byte);
            self.sweeper[cpu] = s;
        }
    }
}

/// Everybody's sweeps, and the other sweepers of a mapping who may come near during one slice of a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sweepers {
    known: Known,
    /// By CPU: planned anew since it was last looked at.
    is_stale: Vec<bool>,
    /// Those CPUs.
    stale: Vec<u32>,
    /// Task, start of its slice and mapping that `near` is for.
    of: (u32, u64, usize),
    /// Those who may come to one of `near_places` before `near_until_ns`, by CPU.
    pub near: Vec<Sweeper>,
    near_places: Range<u64>,
    near_until_ns: f64,
    /// Those that come while a page is being filled: how long after the fault began, ns, task and CPU.
    pub coming: Vec<(f64, u32, u32)>,
}

/// Places and time ahead for which those who are near are worked out at once: some tens of faults on base pages.
const NEAR_BYTES: u64 = 32 * PAGE_BYTES;
const NEAR_NS: f64 = 128_000.0;

impl Sweepers {
    /// Of a machine with so many CPUs.
    pub fn new(cpus: usize) -> Self {
        let stale = Vec::with_capacity(cpus);
        Self { known: Known::new(cpus), is_stale: vec![false; cpus], stale, ..Self::default() }
    }
    /// The task of `cpu` has a new slice.
    #[inline]
    pub fn planned(&mut self, cpu: usize) {
        if !self.is_stale[cpu] {
            self.is_stale[cpu] = true;
            self.stale.push(cpu as u32);
        }
    }
    /// The `i`-th of those near waits at `place` until then, in what follows of the slice as well.
    pub fn holds_up(&mut self, i: usize, place: u64, until_ns: f64) {
        (self.near[i].at, self.near[i].at_ns) = (place, until_ns);
    }
    /// The CPU of `task` owes more since this slice began.
    pub fn delay(&mut self, task: u32, ns: u64) {
        for s in self.near.iter_mut().filter(|s| s.task == task) {
            s.at_ns += ns as f64;
        }
    }
    /// Whether `near` has all who come to `place` before `before_ns` in this slice.
    fn covers(&self, slice: (u32, u64, usize), place: u64, before_ns: f64) -> bool {
        self.of == slice && self.near_places.contains(&place) && before_ns <= self.near_until_ns
    }
    /// Brings `near` up to date for those who come to `place` before `before_ns`, at `now_ns`. Most of a large process is far away from
    /// where one of its threads faults, and is not looked at again for each of its faults.
    fn look_near(
        &mut self,
        (process, first, vma): (u32, u32, u32),
        (place, before_ns): (u64, f64),
        now_ns: f64,
        owes_ns: impl Fn(usize) -> u64,
    ) {
        self.near_places = place..place + NEAR_BYTES;
        self.near_until_ns = before_ns + NEAR_NS;
        self.near.clear();
        let Known { mapping, line, sweeper } = &self.known;
        let from = real(place);
        for (cpu, (of, (zero_ns, ns_per_byte))) in mapping.iter().zip(line).enumerate() {
            // Nobody comes to a later place sooner; most are too far away, or elsewhere.
            if *of != (process, vma) || zero_ns + from * ns_per_byte >= self.near_until_ns {
                continue;
            }
            let s = &sweeper[cpu];
            if s.task == first || s.at >= place + NEAR_BYTES || s.end <= place {
                continue;
            }
            // Nor before what its CPU owes is done.
            let at_ns = s.at_ns.max(now_ns) + owes_ns(cpu) as f64;
            if at_ns + real(place.saturating_sub(s.at)) * s.ns_per_byte < self.near_until_ns {
                self.near.push(Sweeper { at_ns, ..*s });
            }
        }
    }
}

impl World<'_> {
    /// Finds who may come to `place` of a mapping before `before_ns` in the slice of `first` that is being simulated, and
    /// leaves them in [`Sweepers::near`].
    pub(crate) fn find_sweepers(&mut self, first: u32, vma: usize, place: u64, before_ns: f64) {
        let slice = (first, self.now_ns, vma);
        if self.sweepers.covers(slice, place, before_ns) {
            return;
        }
        self.sweepers.of = slice;
        let process = self.tasks[first as usize].process;
        if self.processes[process as usize].live_threads < 2 {
            (self.sweepers.near_places, self.sweepers.near_until_ns) = (0..u64::MAX, f64::INFINITY);
            self.sweepers.near.clear();
            return;
        }
        while let Some(cpu) = self.sweepers.stale.pop() {
            let sweep = self.sweep_of(cpu as usize);
            self.sweepers.is_stale[cpu as usize] = false;
            self.sweepers.known.set(cpu as usize, sweep);
        }
        let (now_ns, cpus) = (self.now_ns as f64, &self.cpus);
        self.sweepers.look_near((process, first, vma as u32), (place, before_ns), now_ns, |cpu| cpus[cpu].debt_ns);
    }

    /// Place of a page in its mapping, bytes.
    pub(crate) fn place_in(&self, task: u32, vma: usize, chunk: usize, page: usize) -> u64 {
        let process = self.tasks[task as usize].process as usize;
        let v = self.processes[process].space.vma(vma);
        let lead_in = v.start - v.chunk_base(0);
        (chunk as u64 * CHUNK_BYTES + page as u64 * PAGE_BYTES).saturating_sub(lead_in)
    }

    /// What the task of `cpu` sweeps, and in which mapping of which process.
    fn sweep_of(&self, cpu: usize) -> Option<((u32, u32), Sweeper)> {
        let task = self.cpus[cpu].task?;
        let t = &self.tasks[task as usize];
        let Op::Access(a) = t.ops.get(t.pc)? else { return None };
        if t.activity != Activity::Running || t.ns_per_byte == 0.0 || a.pattern != Pattern::Sequential {
            return None;
        }
        let sweeper = Sweeper {
            task,
            cpu: cpu as u32,
            writes: a.write > 0.0,
            at: a.span.offset_bytes + if t.entered { t.done } else { 0 },
            end: a.span.offset_bytes + a.span.len_bytes,
            at_ns: t.ahead_ns as f64,
            ns_per_byte: t.ns_per_byte,
        };
        let vma = self.processes[t.process as usize].region_vma[a.span.region as usize];
        Some(((t.process, vma), sweeper))
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
            let mut sweepers = Sweepers::new(40);
            let list: Vec<Sweeper> = (0..40).map(|task| sweeper(task, &mut rng)).collect();
            for (cpu, &s) in list.iter().enumerate() {
                // One is of another process, one is the thread that asks, and every CPU owes something.
                sweepers.known.set(cpu, Some(((if cpu == 7 { 3 } else { 1 }, 2), s)));
            }
            let owes = |cpu: usize| cpu as u64 * 1000;
            let (mut place, mut now_ns, slice) = (rng.below(1 << 20), 1e6, (9, 0, 2));
            for _ in 0..400 {
                let comes = |s: &&Sweeper| s.meets_ns(place).is_some_and(|ns| ns < now_ns);
                let tasks = |of: &[Sweeper]| of.iter().filter(comes).map(|s| s.task).collect::<Vec<_>>();
                let owing = list.iter().map(|s| Sweeper { at_ns: s.at_ns + owes(s.cpu as usize) as f64, ..*s });
                let all = tasks(&owing.filter(|s| s.task != 7 && s.task != 9).collect::<Vec<_>>());
                if !sweepers.covers(slice, place, now_ns) {
                    sweepers.look_near((1, 9, 2), (place, now_ns), 0.0, owes);
                    sweepers.of = slice;
                }
                assert_eq!(tasks(&sweepers.near), all);
                met += all.len();
                place += rng.below(4 * PAGE_BYTES);
                now_ns += rng.unit() * 20_000.0;
            }
        }
        assert!(met > 10_000, "{met}");
    }
}
