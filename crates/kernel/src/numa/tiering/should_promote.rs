//! Whether a slow-tier page is promoted (kernel-numa-balancing.md §10 step 2, §15.1).

use super::access_time::{hint_latency_ms, msecs, uses_access_time};
use crate::numa::balancing::NumaBalancing;
use crate::numa::counters::Denial;
use crate::numa::jiffies::Jiffies;
use crate::numa::migrate::{ZoneFacts, ZoneInfo};
use crate::numa::page::PageFacts;
use numalab_base::base_page::BasePage;
use numalab_base::node_mask::NodeMask;

/// Free space below which promotion depends on the threshold, MiB.
const FREE_SPACE_MIB: u64 = 1024;

/// Whether a node has so much free memory that every page may be promoted to it (`pgdat_free_space_enough`).
pub fn free_space_enough(page: BasePage, zones: &[ZoneFacts], present_pages: u64) -> bool {
    let enough = page.of_mib(FREE_SPACE_MIB).max(present_pages / 16);
    zones.iter().any(|z| z.populated && z.free_pages > z.promo_wmark + enough + z.lowmem_reserve)
}

impl NumaBalancing {
    /// Whether pages of a node carry access times instead of cpupids.
    #[inline]
    pub(in crate::numa) fn page_uses_access_time(&self, nid: usize) -> bool {
        uses_access_time(&self.cfg) && !self.topo.is_top_tier(nid)
    }

    /// Nodes whose pages lose their last cpupid when they move to a slower tier (`folio_migrate_flags`). In tiering
    /// mode that is the top tier, because the field then holds access times.
    pub fn cpupid_forgotten_from(&self) -> NodeMask {
        if self.cfg.tiering() {
            self.topo.top_tier()
        } else {
            NodeMask::EMPTY
        }
    }

    /// Whether a slow-tier page is promoted to `target` (§10 step 2).
    ///
    /// # Errors
    /// The reason why the page stays.
    pub(in crate::numa) fn should_promote<M: ZoneInfo>(
        &mut self,
        page: &mut PageFacts,
        target: usize,
        now: Jiffies,
        memory: &M,
    ) -> Result<(), Denial> {
        let cfg = &self.cfg;
        let node = &mut self.promotion[target];
        if free_space_enough(cfg.scan.base_page, memory.zones(target), memory.present_pages(target)) {
            node.threshold_ms = 0;
            if self.cfg.switches.count_candidate_nrl {
                self.counters.pgpromote_candidate_nrl += u64::from(page.pages);
            }
            return Ok(());
        }
        let rate_pages = cfg.scan.base_page.of_mib(u64::from(cfg.scan.promote_rate_limit_mbps));
        let (now_ms, reference) = (msecs(cfg, now), cfg.scan.hot_threshold_ms);
        node.adjust(now_ms, cfg.scan.scan_period_max_ms, rate_pages, reference);
        let threshold = node.threshold(reference);
        if hint_latency_ms(cfg, page, now) >= threshold {
            return Err(Denial::NotHot);
        }
        let limited = node.rate_limited(now_ms, rate_pages, page.pages);
        self.counters.pgpromote_candidate += u64::from(page.pages);
        if limited {
            return Err(Denial::PromoteRate);
        }
        Ok(())
    }

    /// Changes `kernel.numa_balancing` at run time. Existing marks stay; turning the tiering bit on resets the
    /// promotion thresholds (§15.1). Runs keep the mode they start with; tests change it.
    pub fn set_mode(&mut self, mode: u8) {
        let had = self.cfg.tiering();
        self.cfg.scan.numa_balancing = mode.min(4);
        if self.cfg.tiering() && !had {
            self.promotion.iter_mut().for_each(|node| node.threshold_ms = 0);
        }
    }
}
