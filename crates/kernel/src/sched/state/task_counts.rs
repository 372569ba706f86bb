//! Tasks of whole nodes and caches: most groups of a large machine are such, and a pass looks at all of them.

use crate::sched::rq::runqueue::Rq;

/// What the CPUs of a node or a cache, or one queue, hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sched) struct TaskCounts {
    /// Σ queued tasks.
    pub nr: u32,
    /// Queued tasks with a preferred node, and those on it.
    pub nr_numa: u32,
    pub nr_preferred: u32,
    /// CPUs with more than one task.
    pub stacked: u32,
    /// Idle CPUs.
    pub idle: u32,
}

impl TaskCounts {
    /// What one queue holds; `idle` is not counted.
    pub fn of(rq: &Rq) -> Self {
        let stacked = u32::from(rq.list.len() > 1);
        Self { nr: rq.nr(), nr_numa: rq.nr_numa, nr_preferred: rq.nr_preferred, stacked, idle: 0 }
    }
    /// Adds what others hold.
    pub fn add(&mut self, other: &Self) {
        self.nr += other.nr;
        self.nr_numa += other.nr_numa;
        self.nr_preferred += other.nr_preferred;
        self.stacked += other.stacked;
        self.idle += other.idle;
    }
    /// A queue among them that held `before` holds `now`.
    pub fn change(&mut self, before: &Self, now: &Self) {
        debug_assert!(self.nr >= before.nr && self.stacked >= before.stacked, "{self:?} lacks {before:?}");
        self.nr = self.nr + now.nr - before.nr;
        self.nr_numa = self.nr_numa + now.nr_numa - before.nr_numa;
        self.nr_preferred = self.nr_preferred + now.nr_preferred - before.nr_preferred;
        self.stacked = self.stacked + now.stacked - before.stacked;
    }
}
