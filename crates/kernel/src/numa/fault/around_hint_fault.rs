//! The two halves of a hint fault (kernel: `do_numa_page`, `do_huge_pmd_numa_page`).

use super::policy::EffectivePolicy;
use crate::numa::balancing::NumaBalancing;
use crate::numa::fault_result::{FaultDecision, FaultFlags, FaultOutcome, FaultSite, MigrateResult};
use crate::numa::host::TaskHost;
use crate::numa::migrate::{mapped_shared, ZoneInfo};
use crate::numa::page::PageFacts;
use crate::numa::period::v38;
use crate::numa::rules::PeriodModel;
use crate::numa::state::{LastCpupid, VmaNuma};

impl NumaBalancing {
    /// First half of a hint fault: §9.1 steps 2 to 5, §9.3, §10. `vma` is the scan state of the VMA, if it has one.
    #[inline]
    pub fn hint_fault_begin<M: ZoneInfo>(
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
        self.counters.numa_hint_faults += u64::from(page.grain);
        if page.nid == self.topo.node_of(at.cpu) {
            self.counters.numa_hint_faults_local += u64::from(page.grain);
            decision.flags.set(FaultFlags::LOCAL);
        }
        decision.target = self.mpol_misplaced(at, page, policy, memory);
        decision
    }

    /// Second half of a hint fault: migration counters, statistics, group, placement and adaptation (§9.1 steps 6 to 8,
    /// §11). If the page migrated, `page.nid` and `page.last` become those of the new page.
    #[inline]
    pub fn hint_fault_end<H: TaskHost>(
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
        // The new entry has the VMA's default protection, which is read-only in these mappings.
        let protected = !page.shared_mapping || page.write_notify;
        let switches = &self.cfg.switches;
        let drops = switches.hint_fault_drops_write || tried && switches.migration_drops_write;
        outcome.write_dropped = drops && page.writable && protected;
        if self.cfg.period_model == PeriodModel::V38 && !flags.has(FaultFlags::MIGRATED) {
            let t = &mut self.tasks[at.task as usize];
            t.numa_scan_period = v38::after_unmigrated_fault(&self.cfg.scan, self.cfg.hz, t.numa_scan_period);
        }
        let lost = result == MigrateResult::FailedEntryChanged && self.cfg.switches.changed_entry_drops_fault;
        if !lost {
            outcome.recorded = self.task_numa_fault(at, decision.last, page.nid, page.base_pages(), flags, host);
        }
        outcome
    }

    /// Resolves a write-protection fault by making the existing entry writable (§2.5, §9.4): small pages forget their
    /// last cpupid. The simulator does so in its own page state (`Vma::reuse_for_write`).
    pub fn wp_page_reuse(&mut self, page: &mut PageFacts) {
        self.counters.pgreuse += 1;
        if !page.huge {
            page.last = LastCpupid::UNSET;
        }
    }

    fn count_migrated(&mut self, page: &mut PageFacts, target: usize) {
        let pages = u64::from(page.base_pages());
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
            self.counters.pgmigrate_fail += u64::from(page.base_pages());
            self.counters.thp_migration_fail += u64::from(page.huge);
        }
    }
}
