//! The list of checks, and when they are due.

use crate::check::view::{Counts, View};
use crate::check::{
    counter_sums, cpu_time, events, fault_lock_queues, frames, lru, page_tables, pending_pages, pipes, reverse_map,
    run_queues, swap_slots,
};
use crate::state::event_queue::EventQueue;
use crate::state::simulation::Simulation;

/// A check. Its error is a sentence that names the first violated rule.
type Check = fn(&View<'_, '_>) -> Result<(), String>;

/// All checks with the parts that they are of, the cheap ones first.
const CHECKS: &[(&str, Check)] = &[
    ("events", events::check),
    ("counters", counter_sums::check),
    ("pipes", pipes::check),
    ("locks", fault_lock_queues::check),
    ("CPU time", cpu_time::check),
    ("run queues", run_queues::check),
    ("swap", swap_slots::check),
    ("page tables", page_tables::check),
    ("pending pages", pending_pages::check),
    ("frames", frames::check),
    ("LRU lists", lru::check),
    ("reverse map", reverse_map::check),
];

/// When a run checks itself, and what it found the last time.
#[derive(Debug)]
pub struct Checks {
    /// Time between two checks, ns; 0 for none on the way.
    every_ns: u64,
    /// When the next check is due, ns.
    next_ns: u64,
    before_ns: u64,
    before: Counts,
}

impl Checks {
    /// Checks every `every_ns` of model time; 0 for none on the way.
    pub fn every(every_ns: u64) -> Self {
        Self { every_ns, next_ns: every_ns, before_ns: 0, before: Counts::new() }
    }

    /// Whether a check is due at `now_ns`.
    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.every_ns > 0 && now_ns >= self.next_ns
    }

    /// Runs all checks. The simulation must be up to date: no quiet CPU may lag behind.
    ///
    /// # Errors
    /// A sentence that names the instant, the part and the first violated rule.
    pub fn run(&mut self, sim: &Simulation<'_>, queue: &EventQueue) -> Result<(), String> {
        let view = View { sim, queue, before_ns: self.before_ns, before: &self.before };
        for (part, check) in CHECKS {
            check(&view).map_err(|why| format!("{part} at {} ns of model time: {why}", sim.now_ns))?;
        }
        self.before = counter_sums::counts(sim);
        self.before_ns = sim.now_ns;
        self.next_ns = sim.now_ns + self.every_ns;
        Ok(())
    }
}
