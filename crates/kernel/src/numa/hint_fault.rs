//! A hint fault: who faults, what was found, and what became of it.

use super::state::{LastCpupid, TaskId};
use super::time::Jiffies;

/// Who faults, where and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultSite {
    /// Faulting task.
    pub task: TaskId,
    /// CPU it runs on.
    pub cpu: usize,
    /// Time, jiffies.
    pub now: Jiffies,
}

/// Flags of a fault (`TNF_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultFlags(u8);

impl FaultFlags {
    /// The page migrated.
    pub const MIGRATED: Self = Self(1);
    /// The entry is not writable: no group is formed by this fault.
    pub const NO_GROUP: Self = Self(2);
    /// The page is mapped shared in a shared VMA: groups may form across processes.
    pub const SHARED: Self = Self(4);
    /// The page was on the faulting node before any migration.
    pub const LOCAL: Self = Self(8);
    /// Migration was refused or failed.
    pub const MIGRATE_FAIL: Self = Self(16);

    /// Whether a flag is set.
    #[inline]
    pub fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }
    /// Sets a flag.
    #[inline]
    pub fn set(&mut self, flag: Self) {
        self.0 |= flag.0;
    }
}

/// What a fault found; to be handed to [`NumaBalancing::do_numa_page_end`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultDecision {
    /// Node the page should migrate to.
    pub target: Option<usize>,
    /// Flags so far.
    pub flags: FaultFlags,
    /// Who faulted before.
    pub last: LastCpupid,
    /// The entry is only restored: not a normal page, or a large folio in a kernel that does not handle them.
    pub ignored: bool,
}

/// What became of the migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrateResult {
    /// No target, nothing tried.
    NotTried,
    /// Refused before it was tried (`migrate_misplaced_folio_prepare`).
    Refused,
    /// Tried and failed.
    Failed,
    /// Tried and failed, and the entry changed meanwhile.
    FailedEntryChanged,
    /// The page is on the target.
    Migrated,
}

/// What a fault leaves behind, for the caller's page tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultOutcome {
    /// The entry lost write permission: the next store takes a write-protection fault
    /// ([`NumaBalancing::wp_page_reuse`]).
    pub write_dropped: bool,
    /// The fault was recorded in the task's statistics.
    pub recorded: bool,
}
