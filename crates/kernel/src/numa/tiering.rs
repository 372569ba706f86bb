//! Memory tiering (mode bit 2): promotion of hot pages from slow tiers (kernel-numa-balancing.md §15.1).
//!
//! The scanner stores the time of marking in a slow-tier page; the delay until its hint fault tells how hot it is.
//! A threshold on that delay, adapted to a promotion rate limit, decides. Times are milliseconds in u32, as in the
//! kernel.

use super::config::NumaConfig;
use super::counters::Denial;
use super::migrate::{ZoneFacts, ZoneInfo};
use super::page::PageFacts;
use super::state::LastCpupid;
use super::time::Jiffies;
use super::NumaBalancing;
use numalab_base::node_mask::NodeMask;
use numalab_base::words;

words! {
    /// Forms of memory tiering.
    pub enum TieringModel {
        /// 5.18: only slow-tier pages are marked; migration is decided as for any page.
        Basic = "basic",
        /// 6.1: hot threshold, promotion rate limit, free-space rule.
        V61 = "v61",
    }
}

/// Steps of the threshold between 0 and twice the reference.
const ADJUST_STEPS: u32 = 16;
/// Least bits for which times are stored in ms; with fewer they are stored more coarsely.
const MIN_TIME_BITS: u32 = 12;
/// PID bits of the cpupid field.
const PID_BITS: u32 = 8;
/// 1 GiB in pages: free space below which promotion is not unconditional.
const FREE_SPACE_PAGES: u64 = 262_144;

/// Promotion state of a target node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodePromotion {
    /// Threshold in force, ms; 0 means the reference.
    pub threshold_ms: u32,
    /// Start of the adjustment period, ms.
    pub threshold_start_ms: u32,
    /// Candidates at that start, pages.
    pub threshold_candidates: u64,
    /// Start of the rate window, ms.
    pub rate_start_ms: u32,
    /// Candidates at that start, pages.
    pub rate_candidates: u64,
    /// Candidates so far, pages (`pgpromote_candidate` of the node).
    pub candidates: u64,
}

/// Whether slow-tier pages carry their scan time instead of a cpupid.
#[inline]
pub fn uses_access_time(cfg: &NumaConfig) -> bool {
    cfg.tiering() && cfg.tiering_model == TieringModel::V61
}

/// Width of the time field and how many low bits of the time it leaves out.
fn time_field(cfg: &NumaConfig) -> (u32, u32) {
    let bits = PID_BITS + cfg.scan.max_cpus.max(1).next_power_of_two().trailing_zeros();
    (bits, MIN_TIME_BITS.saturating_sub(bits))
}

fn msecs(cfg: &NumaConfig, now: Jiffies) -> u32 {
    cfg.hz.msecs(now) as u32
}

/// The scan time as stored in a page.
pub fn access_time(cfg: &NumaConfig, now: Jiffies) -> LastCpupid {
    let (bits, shift) = time_field(cfg);
    LastCpupid::from_raw(msecs(cfg, now) >> shift & ((1 << bits) - 1))
}

/// Hint latency of a slow-tier page, ms, modulo the field's range; the stored time becomes now.
pub fn hint_latency_ms(cfg: &NumaConfig, page: &mut PageFacts, now: Jiffies) -> u32 {
    let (bits, shift) = time_field(cfg);
    let stored = (page.last.raw() & ((1 << bits) - 1)) << shift;
    page.last = access_time(cfg, now);
    msecs(cfg, now).wrapping_sub(stored) & ((1 << bits) - 1) << shift
}

/// Whether a node has so much free memory that everything may be promoted to it (`pgdat_free_space_enough`).
pub fn free_space_enough(zones: &[ZoneFacts], present_pages: u64) -> bool {
    let enough = FREE_SPACE_PAGES.max(present_pages / 16);
    zones.iter().any(|z| z.populated && z.free_pages > z.promo_wmark + enough + z.lowmem_reserve)
}

impl NodePromotion {
    /// Adapts the threshold once per period (`numa_promotion_adjust_threshold`).
    pub fn adjust(&mut self, now_ms: u32, period_ms: u32, rate_pages: u64, reference_ms: u32) {
        if now_ms.wrapping_sub(self.threshold_start_ms) <= period_ms {
            return;
        }
        self.threshold_start_ms = now_ms;
        let expected = rate_pages.wrapping_mul(u64::from(period_ms)) / 1000;
        let candidates = self.candidates.wrapping_sub(self.threshold_candidates);
        let step = reference_ms.wrapping_mul(2) / ADJUST_STEPS;
        let mut th = self.threshold(reference_ms);
        if candidates > expected.wrapping_mul(11) / 10 {
            th = th.wrapping_sub(step).max(step);
        } else if candidates < expected.wrapping_mul(9) / 10 {
            th = th.wrapping_add(step).min(reference_ms.wrapping_mul(2));
        }
        self.threshold_candidates = self.candidates;
        self.threshold_ms = th;
    }

    /// Threshold in force, ms.
    pub fn threshold(&self, reference_ms: u32) -> u32 {
        if self.threshold_ms == 0 {
            reference_ms
        } else {
            self.threshold_ms
        }
    }

    /// Counts a candidate and says whether the rate limit refuses it (`numa_promotion_rate_limit`).
    pub fn rate_limited(&mut self, now_ms: u32, rate_pages: u64, pages: u32) -> bool {
        self.candidates = self.candidates.wrapping_add(u64::from(pages));
        if now_ms.wrapping_sub(self.rate_start_ms) > 1000 {
            self.rate_start_ms = now_ms;
            self.rate_candidates = self.candidates;
        }
        self.candidates.wrapping_sub(self.rate_candidates) >= rate_pages
    }
}

impl NumaBalancing {
    /// Nodes whose pages lose their last cpupid when they are moved to a slower tier: the top tier in tiering mode,
    /// where the field then holds access times (`folio_migrate_flags`).
    pub fn cpupid_forgotten_from(&self) -> NodeMask {
        if self.cfg.tiering() {
            self.topo.top_tier()
        } else {
            NodeMask::EMPTY
        }
    }

    /// §10 step 2: whether a slow-tier page is promoted to `target`.
    pub(super) fn should_promote<M: ZoneInfo>(
        &mut self,
        page: &mut PageFacts,
        target: usize,
        now: Jiffies,
        memory: &M,
    ) -> Result<(), Denial> {
        let cfg = &self.cfg;
        let node = &mut self.promotion[target];
        if free_space_enough(memory.zones(target), memory.present_pages(target)) {
            node.threshold_ms = 0;
            return Ok(());
        }
        let rate_pages = u64::from(cfg.scan.promote_rate_limit_mbps) * 256;
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

    /// Changes `kernel.numa_balancing` at run time; existing marks stay. Turning the tiering bit on resets the
    /// promotion thresholds (§15.1). Runs keep the mode they start with; tests of a key that is off use this.
    pub fn set_mode(&mut self, mode: u8) {
        let had = self.cfg.tiering();
        self.cfg.scan.numa_balancing = mode.min(4);
        if self.cfg.tiering() && !had {
            self.promotion.iter_mut().for_each(|node| node.threshold_ms = 0);
        }
    }
}
