//! Refusals before a page is migrated (kernel: `migrate_misplaced_folio_prepare`, kernel-numa-balancing.md §9.4).

use super::zones::ZoneFacts;
use crate::numa::balancing::NumaBalancing;
use crate::numa::config::NumaConfig;
use crate::numa::counters::Refusal;
use crate::numa::fault_result::FaultSite;
use crate::numa::page::PageFacts;
use crate::numa::rate_limit::RateLimit;

/// Whether no zone can take `pages` more pages above its high watermark and reserve (`!migrate_balanced_pgdat`).
pub fn nearly_full(zones: &[ZoneFacts], pages: u32) -> bool {
    !zones.iter().any(|z| z.populated && z.free_pages > z.high_wmark + u64::from(pages) + z.lowmem_reserve)
}

/// Refusals that depend on the page alone, in the kernel's order.
pub fn refusal_by_page(cfg: &NumaConfig, page: &PageFacts) -> Option<Refusal> {
    let by_filter = cfg.page_filter.refusal(page);
    if by_filter.is_some() {
        return by_filter;
    }
    if page.file_lru && page.exec_vma && mapped_shared(cfg, page) {
        return Some(Refusal::ExecShared);
    }
    if cfg.switches.skip_dirty_file && page.file_lru && page.dirty {
        return Some(Refusal::Dirty);
    }
    None
}

/// Whether the page counts as mapped shared: by estimate from 6.10 on, by mapcount before.
#[inline]
pub fn mapped_shared(cfg: &NumaConfig, page: &PageFacts) -> bool {
    if cfg.switches.large_folio_faults {
        page.likely_mapped_shared()
    } else {
        page.mapcount > 1
    }
}

impl NumaBalancing {
    /// Whether a misplaced page may be migrated to `target`. The order of checks is page, legacy rate limit, free
    /// memory, isolation. A refusal is counted by reason; the caller reports it as
    /// [`MigrateResult::Refused`](crate::numa::MigrateResult). In tiering mode the caller wakes the target's kswapd on
    /// [`Refusal::NearlyFull`].
    ///
    /// # Errors
    /// The first reason to refuse.
    pub fn migrate_misplaced_folio_prepare(
        &mut self,
        at: FaultSite,
        page: &PageFacts,
        target: usize,
        zones: &[ZoneFacts],
        isolatable: bool,
    ) -> Result<(), Refusal> {
        let refusal = self.refusal(at, page, target, zones, isolatable);
        if let Some(reason) = refusal {
            self.reasons.refused[reason as usize] += u64::from(page.grain);
            return Err(reason);
        }
        Ok(())
    }

    fn refusal(
        &mut self,
        at: FaultSite,
        page: &PageFacts,
        target: usize,
        zones: &[ZoneFacts],
        isolatable: bool,
    ) -> Option<Refusal> {
        if let Some(reason) = refusal_by_page(&self.cfg, page) {
            return Some(reason);
        }
        let limited = self.cfg.switches.rate_limit != RateLimit::Off;
        if limited
            && !self.limits[target].admit(
                self.cfg.hz,
                at.now,
                self.cfg.scan.base_page.as_4k(u64::from(page.base_pages())),
            )
        {
            return Some(Refusal::RateLimited);
        }
        // From 5.13 on numamigrate_isolate_page begins with this check.
        if self.cfg.switches.refuse_shared_thp && page.huge && page.mapcount > 1 {
            return Some(Refusal::SharedThp);
        }
        if nearly_full(zones, page.base_pages()) {
            return Some(Refusal::NearlyFull);
        }
        (!isolatable).then_some(Refusal::NotIsolated)
    }
}
