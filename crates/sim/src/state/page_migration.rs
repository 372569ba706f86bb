//! Migrating a page that several processes map: a sequence of instants during which others may meet it.
//!
//! The page is locked and taken off the LRU; every entry that shows it is found through the reverse map and replaced
//! by a migration entry, with a flush of the CPUs that may hold the translation; the page is copied; every entry is
//! restored; the lock is dropped. The time is proportional to the number of mappings. Whoever touches a migration
//! entry sleeps until the lock is dropped. In kernels before 5.0 the sleeper holds a reference meanwhile, which makes
//! the move fail; it is then tried again, ten times in all. Restored entries are ordinary ones: marks are gone, in
//! every process, whether the page has moved or not.
//!
//! Entries are replaced one after the other, each at its own instant: until then its process passes, afterwards it
//! waits. A sweep that was planned across the page before the migration began is cut short where it meets it.

use crate::state::logged::Before;
use crate::state::page_site::PageSite;
use numalab_kernel::mm::pageblock::Frame;
use numalab_kernel::mm::PageRef;
use numalab_kernel::numa::counters::Refusal;
use numalab_kernel::numa::FaultDecision;
use numalab_kernel::numa::{FaultSite, PageFacts};

/// What the migrating task does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// All entries are replaced: the page moves, or cannot.
    Move,
    /// The entries are restored.
    Restore,
}

/// A sweep planned ahead over pages without a fault, as long as shared pages are on the move.
#[derive(Clone, Copy, Debug)]
pub struct PlannedSweep {
    /// Its op.
    pub pc: usize,
    /// Mapping.
    pub vma: u32,
    /// Chunk.
    pub chunk: usize,
    /// Byte of the chunk where it starts.
    pub at: u64,
    /// Progress of the access at the start.
    pub done: u64,
    /// Start, ns.
    pub from_ns: u64,
    /// Time per byte, ns; infinite if the pipes let no line through.
    pub per_byte: f64,
}

impl PlannedSweep {
    /// When the sweep comes to a byte of the chunk at or behind its start, ns: never, if it stands still.
    pub fn meets_ns(&self, byte: u64) -> u64 {
        self.from_ns.saturating_add(((byte - self.at) as f64 * self.per_byte) as u64)
    }
}

/// An entry that shows a page under migration.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// When it is replaced by a migration entry, ns.
    pub(crate) replaced_ns: u64,
    /// It is PROT_NONE until then.
    pub(crate) marked: bool,
}

/// A hint fault on a shared page that is decided and not carried out yet.
#[derive(Clone, Copy, Debug)]
pub struct DecidedFault {
    pub(crate) site: PageSite,
    pub(crate) at: PageRef,
    pub(crate) fault: FaultSite,
    /// Its pages are those that fault now.
    pub(crate) facts: PageFacts,
    /// Pages of a grain that are in LRU batches. All but one have faults of their own.
    pub(crate) batched: u32,
    pub(crate) decision: FaultDecision,
    pub(crate) before: Option<Before>,
    /// When it was decided, ns.
    pub(crate) decided_ns: u64,
}

/// A migration under way.
#[derive(Clone, Debug)]
pub struct PageMigration {
    pub(crate) site: PageSite,
    pub(crate) at: PageRef,
    pub(crate) fault: FaultSite,
    pub(crate) facts: PageFacts,
    /// Pages of a grain that stay where they are.
    pub(crate) refused: u32,
    pub(crate) decision: FaultDecision,
    pub(crate) target: usize,
    /// Where the target page lies.
    pub(crate) frame: Frame,
    pub(crate) attempt: u32,
    pub(crate) phase: Phase,
    /// About how long one of its pages is locked, ns.
    pub(crate) page_ns: u64,
    /// Time of the phase after the tick at which it stops, ns; 0 if it ends with its event.
    pub(crate) phase_left_ns: u64,
    pub(crate) moved: bool,
    /// Who held the page at the last attempt.
    pub(crate) held: Option<Refusal>,
    /// By mapper of the object; those that came later have none.
    pub(crate) entries: Vec<Entry>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_that_stands_still_meets_no_page() {
        let mut sweep = PlannedSweep { pc: 0, vma: 0, chunk: 0, at: 64, done: 0, from_ns: 1_000, per_byte: 0.5 };
        assert_eq!(sweep.meets_ns(4096 + 64), 1_000 + 2_048);
        sweep.per_byte = 250_000.0 / 0.0;
        assert_eq!(sweep.meets_ns(4096), u64::MAX);
    }
}
