//! A hint fault: the faulting task, the decision and the result.

use super::jiffies::Jiffies;
use super::state::{LastCpupid, TaskId};

/// The task, CPU and time of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultSite {
    /// The faulting task.
    pub task: TaskId,
    /// The CPU it runs on.
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
    /// The entry is not writable, so this fault forms no group.
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

/// The first half's decision, which the caller hands to
/// [`NumaBalancing::hint_fault_end`](super::NumaBalancing::hint_fault_end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultDecision {
    /// Node the page should migrate to.
    pub target: Option<usize>,
    /// Flags of the fault so far.
    pub flags: FaultFlags,
    /// The page's last cpupid before this fault.
    pub last: LastCpupid,
    /// The entry is only restored: it is not a normal page, or a large folio in a kernel that does not handle those.
    pub ignored: bool,
}

/// Result of the migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrateResult {
    /// There was no target, and no migration was tried.
    NotTried,
    /// The migration was refused before it was tried (`migrate_misplaced_folio_prepare`).
    Refused,
    /// The migration was tried and failed.
    Failed,
    /// The migration was tried and failed, and the entry changed meanwhile.
    FailedEntryChanged,
    /// The page is on the target.
    Migrated,
}

/// The result of a fault for the caller's page tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultOutcome {
    /// The entry lost write permission, so the next store takes a write-protection fault
    /// ([`NumaBalancing::wp_page_reuse`](super::NumaBalancing::wp_page_reuse)).
    pub write_dropped: bool,
    /// The fault was recorded in the task's statistics.
    pub recorded: bool,
}
