//! Before a page is migrated: refusals of kernel-numa-balancing.md §9.4.

use super::config::NumaConfig;
use super::counters::Refusal;
use super::fault::FaultSite;
use super::page::PageFacts;
use super::page_filter::PageFilterKind;
use super::rate_limit::RateLimit;
use super::NumaBalancing;

/// A zone of a node, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneFacts {
    /// Has pages.
    pub populated: bool,
    /// Free pages.
    pub free_pages: u64,
    /// High watermark.
    pub high_wmark: u64,
    /// Promotion watermark: high plus one watermark distance.
    pub promo_wmark: u64,
    /// Pages reserved against movable allocations.
    pub lowmem_reserve: u64,
}

/// Free memory of the nodes, given by the caller.
pub trait ZoneInfo {
    /// Zones of a node.
    fn zones(&self, node: usize) -> &[ZoneFacts];
    /// Present pages of a node.
    fn present_pages(&self, node: usize) -> u64;
}

/// Whether no zone could take `pages` more pages above its high watermark and reserve (`!migrate_balanced_pgdat`).
pub fn nearly_full(zones: &[ZoneFacts], pages: u32) -> bool {
    !zones.iter().any(|z| z.populated && z.free_pages > z.high_wmark + u64::from(pages) + z.lowmem_reserve)
}

/// Refusals that depend on the page alone, in the kernel's order.
pub fn refusal_by_page(cfg: &NumaConfig, page: &PageFacts) -> Option<Refusal> {
    let filter = &cfg.page_filter;
    if filter.kind == PageFilterKind::Mapcount1Any && page.mapcount != 1 {
        return Some(Refusal::MapcountNotOne);
    }
    if filter.kind == PageFilterKind::MapcountThreshold
        && filter.refuse_migration
        && filter.verdict(page) != super::page_filter::Verdict::Mark
    {
        return Some(Refusal::MapcountLimit);
    }
    if page.file_lru && page.exec_vma && mapped_shared(cfg, page) {
        return Some(Refusal::ExecShared);
    }
    if cfg.switches.skip_dirty_file && page.file_lru && page.dirty {
        return Some(Refusal::Dirty);
    }
    None
}

/// "Mapped shared" as the kernel at hand measures it: by estimate since 6.10, by mapcount before.
#[inline]
pub fn mapped_shared(cfg: &NumaConfig, page: &PageFacts) -> bool {
    if cfg.switches.large_folio_faults {
        page.likely_mapped_shared()
    } else {
        page.mapcount > 1
    }
}

impl NumaBalancing {
    /// Whether a misplaced page may be migrated to `target`; the order is page, legacy rate limit, free memory,
    /// isolation. A refusal is counted by reason and must be reported as
    /// [`MigrateResult::Refused`](super::fault::MigrateResult). In tiering mode the caller wakes the target's
    /// kswapd on [`Refusal::NearlyFull`].
    ///
    /// # Errors
    /// The first reason that refuses.
    pub fn prepare_migration(
        &mut self,
        at: FaultSite,
        page: &PageFacts,
        target: usize,
        zones: &[ZoneFacts],
        isolatable: bool,
    ) -> Result<(), Refusal> {
        let refusal = self.refusal(at, page, target, zones, isolatable);
        if let Some(reason) = refusal {
            self.reasons.refused[reason as usize] += 1;
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
        let limited = self.cfg.rate_limit != RateLimit::Off;
        if limited && !self.limits[target].admit(self.cfg.hz, at.now, page.pages) {
            return Some(Refusal::RateLimited);
        }
        // From 5.13 on numamigrate_isolate_page begins with this.
        if self.cfg.switches.refuse_shared_thp && page.huge && page.mapcount > 1 {
            return Some(Refusal::SharedThp);
        }
        if nearly_full(zones, page.pages) {
            return Some(Refusal::NearlyFull);
        }
        (!isolatable).then_some(Refusal::NotIsolated)
    }
}
