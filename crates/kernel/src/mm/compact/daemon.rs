//! Proactive compaction (thp-and-allocation.md section 10.3): the fragmentation scores at which kcompactd starts and
//! stops without being woken.

/// Intervals of 500 ms after which kcompactd looks again at a node where proactive compaction has made no progress
/// (`COMPACT_MAX_DEFER_SHIFT` of `kcompactd`, Linux 5.9).
pub const PROACTIVE_DEFERRED: u64 = 1 << 6;

/// Low and high score for a `vm.compaction_proactiveness` of 1..=100. Compaction starts above the high score and stops
/// at the low one.
pub fn proactive_wmarks(proactiveness: u32) -> (u64, u64) {
    let low = u64::from(100u32.saturating_sub(proactiveness).max(5));
    (low, (low + 10).min(100))
}

/// Whether proactive compaction runs at this score; `running` is true if it runs already.
pub fn proactive_wants(proactiveness: u32, score: u64, running: bool) -> bool {
    let (low, high) = proactive_wmarks(proactiveness);
    proactiveness > 0 && score > if running { low } else { high }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_34_proactive_compaction() {
        assert!(!proactive_wants(20, 90, false) && proactive_wants(20, 91, false));
        assert!(proactive_wants(20, 81, true) && !proactive_wants(20, 80, true));
        assert!(!proactive_wants(0, 100, false));
        assert_eq!(proactive_wmarks(100), (5, 15));
        assert_eq!(proactive_wmarks(1), (99, 100));
    }
}
