//! When compaction for order 9 may run (`compaction_suitable`; thp-and-allocation.md section 10.1).

use crate::mm::units::CHUNK_PAGES;

/// Free pages that compaction needs above the watermark as targets: twice the request.
pub const COMPACT_GAP: u64 = 2 * CHUNK_PAGES;

/// Whether a zone has enough free memory and fragmentation is the reason of the failure. `index` is the fragmentation
/// index (-1000..=1000): above `threshold`, or negative if not applicable. `mark` is the low watermark for huge pages.
pub fn suitable(free: u64, mark: u64, lowmem_reserve: u64, index: i64, threshold: u32) -> bool {
    free > mark + COMPACT_GAP + lowmem_reserve && !(0..=i64::from(threshold)).contains(&index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_7_free_memory() {
        assert!(!suitable(12_258, 11_234, 0, 800, 500));
        assert!(suitable(12_259, 11_234, 0, 800, 500));
        assert!(!suitable(12_259, 11_234, 1, 800, 500));
    }

    #[test]
    fn fragmentation_must_be_to_blame() {
        let ok = |index| suitable(1_000_000, 11_234, 0, index, 500);
        assert_eq!([-1000, 0, 103, 455, 500, 501, 998].map(ok), [true, false, false, false, false, true, true]);
    }
}
