//! The hot threshold of a target node and its adaptation (kernel: `numa_promotion_adjust_threshold`).

/// Steps of the threshold between 0 and twice the reference.
const ADJUST_STEPS: u32 = 16;

/// Promotion state of a target node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodePromotion {
    /// Threshold in force, ms; 0 stands for the reference.
    pub threshold_ms: u32,
    /// Start of the adjustment period, ms.
    pub threshold_start_ms: u32,
    /// Candidates at the start of the adjustment period, pages.
    pub threshold_candidates: u64,
    /// Start of the rate window, ms.
    pub rate_start_ms: u32,
    /// Candidates at the start of the rate window, pages.
    pub rate_candidates: u64,
    /// Candidates so far, pages (`pgpromote_candidate` of the node).
    pub candidates: u64,
}

impl NodePromotion {
    /// Adapts the threshold once per period.
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

    /// Counts a candidate. Returns whether the rate limit refuses it (`numa_promotion_rate_limit`).
    pub fn rate_limited(&mut self, now_ms: u32, rate_pages: u64, pages: u32) -> bool {
        self.candidates = self.candidates.wrapping_add(u64::from(pages));
        if now_ms.wrapping_sub(self.rate_start_ms) > 1000 {
            self.rate_start_ms = now_ms;
            self.rate_candidates = self.candidates;
        }
        self.candidates.wrapping_sub(self.rate_candidates) >= rate_pages
    }
}
