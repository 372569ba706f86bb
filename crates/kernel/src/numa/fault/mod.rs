//! Hint faults: what an access to a PROT_NONE entry teaches and causes (kernel-numa-balancing.md §9).
//!
//! One fault is two calls. [`NumaBalancing::hint_fault_decide`] counts it, consults policy and migration rule and
//! names a target; the caller then tries the migration (after [`NumaBalancing::prepare_migration`]) and reports the
//! result to [`NumaBalancing::hint_fault_done`], which counts it, records statistics and may place the task.
//! The order matters: the page's last cpupid is read before it is exchanged, locality is judged before migration.

pub mod policy;
pub mod should_migrate;
pub mod stats;

use super::host::TaskHost;
use super::migrate::{mapped_shared, ZoneInfo};
use super::page::PageFacts;
use super::period::{v38, PeriodModel};
use super::state::{LastCpupid, TaskId, VmaNuma};
use super::time::Jiffies;
use super::{tiering, NumaBalancing};
use policy::EffectivePolicy;

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

/// What a fault found; to be handed to [`NumaBalancing::hint_fault_done`].
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
    /// Refused before it was tried (`prepare_migration`).
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
    /// ([`NumaBalancing::write_fault`]).
    pub write_dropped: bool,
    /// The fault was recorded in the task's statistics.
    pub recorded: bool,
}

impl NumaBalancing {
    /// First half of a hint fault: §9.1 steps 2 to 5, §9.3, §10. `vma` is the scan state of the VMA, if it has one.
    #[inline]
    pub fn hint_fault_decide<M: ZoneInfo>(
        &mut self,
        at: FaultSite,
        page: &mut PageFacts,
        vma: Option<&mut VmaNuma>,
        policy: &EffectivePolicy,
        memory: &M,
    ) -> FaultDecision {
        let mut decision =
            FaultDecision { target: None, flags: FaultFlags::default(), last: LastCpupid::UNSET, ignored: false };
        let large_folio = page.pages > 1 && !page.huge;
        if page.special || (large_folio && !self.cfg.switches.large_folio_faults) {
            decision.ignored = true;
            return decision;
        }
        if !page.writable {
            decision.flags.set(FaultFlags::NO_GROUP);
        }
        let shared_flag = !page.huge || self.cfg.switches.thp_shared_flag;
        if page.shared_mapping && shared_flag && mapped_shared(&self.cfg, page) {
            decision.flags.set(FaultFlags::SHARED);
        }
        if !self.page_uses_access_time(page.nid) {
            decision.last = page.last;
        }
        if let Some(vma) = vma {
            vma.record(self.tasks[at.task as usize].pid);
        }
        self.counters.numa_hint_faults += 1;
        if page.nid == self.topo.node_of(at.cpu) {
            self.counters.numa_hint_faults_local += 1;
            decision.flags.set(FaultFlags::LOCAL);
        }
        decision.target = self.mpol_misplaced(at, page, policy, memory);
        decision
    }

    /// Second half of a hint fault: migration counters, statistics, group, placement, adaptation (§9.1 steps 6 to 8,
    /// §11). On success `page.nid` and `page.last` become those of the new page.
    #[inline]
    pub fn hint_fault_done<H: TaskHost>(
        &mut self,
        at: FaultSite,
        page: &mut PageFacts,
        decision: &FaultDecision,
        result: MigrateResult,
        host: &mut H,
    ) -> FaultOutcome {
        let mut outcome = FaultOutcome::default();
        if decision.ignored {
            return outcome;
        }
        let mut flags = decision.flags;
        let tried = match result {
            MigrateResult::NotTried => false,
            MigrateResult::Refused => self.cfg.switches.refusal_drops_write,
            MigrateResult::Failed | MigrateResult::FailedEntryChanged | MigrateResult::Migrated => true,
        };
        match (result, decision.target) {
            (MigrateResult::NotTried, _) | (_, None) => {}
            (MigrateResult::Migrated, Some(target)) => {
                self.count_migrated(page, target);
                flags.set(FaultFlags::MIGRATED);
            }
            (failed, Some(_)) => {
                flags.set(FaultFlags::MIGRATE_FAIL);
                self.count_failed(page, failed);
            }
        }
        // The new entry comes from the VMA's default protection, which is read-only in these mappings.
        let protected = !page.shared_mapping || page.write_notify;
        outcome.write_dropped = tried && page.writable && protected && self.cfg.switches.migration_drops_write;
        if self.cfg.period_model == PeriodModel::V38 && !flags.has(FaultFlags::MIGRATED) {
            let t = &mut self.tasks[at.task as usize];
            t.numa_scan_period = v38::after_unmigrated_fault(&self.cfg.scan, self.cfg.hz, t.numa_scan_period);
        }
        let lost = result == MigrateResult::FailedEntryChanged && self.cfg.switches.changed_entry_drops_fault;
        if !lost {
            outcome.recorded = self.task_numa_fault(at, decision.last, page.nid, page.pages, flags, host);
        }
        outcome
    }

    /// A write-protection fault resolved by making the existing entry writable (`wp_page_reuse`, §2.5, §9.4): small
    /// pages forget who faulted last. The simulator does so in its own page state (`Vma::reuse_for_write`).
    pub fn write_fault(&mut self, page: &mut PageFacts) {
        self.counters.pgreuse += 1;
        if !page.huge {
            page.last = LastCpupid::UNSET;
        }
    }

    /// Whether pages of a node carry access times instead of cpupids.
    #[inline]
    pub(super) fn page_uses_access_time(&self, nid: usize) -> bool {
        tiering::uses_access_time(&self.cfg) && !self.topo.is_top_tier(nid)
    }

    fn count_migrated(&mut self, page: &mut PageFacts, target: usize) {
        let pages = u64::from(page.pages);
        let c = &mut self.counters;
        c.numa_pages_migrated += pages;
        c.pgmigrate_success += pages;
        c.thp_migration_success += u64::from(page.huge);
        let (from_top, to_top) = (self.topo.is_top_tier(page.nid), self.topo.is_top_tier(target));
        if self.cfg.tiering() && from_top != to_top {
            page.last = LastCpupid::UNSET;
            c.pgpromote_success += if to_top { pages } else { 0 };
        }
        page.nid = target;
    }

    fn count_failed(&mut self, page: &PageFacts, result: MigrateResult) {
        if result != MigrateResult::Refused {
            self.counters.pgmigrate_fail += u64::from(page.pages);
            self.counters.thp_migration_fail += u64::from(page.huge);
        }
    }
}
