//! Fragmentation for order 9: the kernel's index, the free buddy blocks that it needs, and the score of proactive
//! compaction (thp-and-allocation.md sections 3.3 and 10.3).

use crate::mm::units::CHUNK_PAGES;

/// Index of a zone with a free order-9 block: not applicable.
pub const NOT_APPLICABLE: i64 = -1000;

/// `fragmentation_index` for order 9, in thousandths. Near 1000 the reason of a failure is fragmentation, near 0 it is
/// lack of memory. `buddies` is the number of free buddy blocks of any size, `empty` that of free pageblocks.
pub fn fragmentation_index(free_pages: u64, buddies: u64, empty: u64) -> i64 {
    if buddies == 0 {
        return 0;
    }
    if empty > 0 {
        return NOT_APPLICABLE;
    }
    1000 - ((1000 + 1000 * free_pages / CHUNK_PAGES) / buddies) as i64
}

/// Free buddy blocks of a pageblock of which `free` pages are free at random places (model): `min(free, 1 + free *
/// used / 512)`.
pub const fn buddies_of(free: u16) -> u16 {
    let (free, used) = (free as u32, 512 - free as u32);
    let scattered = 1 + free * used / 512;
    if free < scattered {
        free as u16
    } else {
        scattered as u16
    }
}

/// Fragmentation score of a zone, 0 to 100: the percentage of its free memory that cannot be used for order 9
/// (`extfrag_for_order`).
pub fn score(free_pages: u64, empty: u64) -> u64 {
    free_pages.saturating_sub(empty * CHUNK_PAGES) * 100 / free_pages.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_8_fragmentation_index() {
        assert_eq!(fragmentation_index(20_000, 15_000, 0), 998);
        assert_eq!(fragmentation_index(600, 4, 0), 458);
        assert_eq!(fragmentation_index(2000, 9, 0), 455);
        assert_eq!(fragmentation_index(5000, 12, 0), 103);
        assert_eq!(fragmentation_index(5000, 12, 1), -1000);
        assert_eq!(fragmentation_index(0, 0, 0), 0);
    }

    #[test]
    fn buddies_of_a_block() {
        assert_eq!([0, 1, 2, 256, 511, 512].map(buddies_of), [0, 1, 2, 129, 1, 1]);
    }

    #[test]
    fn score_is_the_unusable_share() {
        assert_eq!((score(1000, 0), score(1024, 1), score(1024, 2), score(0, 0)), (100, 50, 0, 0));
    }
}
