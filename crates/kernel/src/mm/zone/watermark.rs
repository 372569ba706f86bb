//! Watermarks and their test (thp-and-allocation.md section 2).
//!
//! Allocations stop at `low` on the fast path and at `min` on the slow path. kswapd reclaims up to `high`, or to
//! `promo` with memory tiering.
//! Units: pages, unless a name says KiB. The arithmetic is the kernel's, in integers.

use crate::mm::units::CHUNK_PAGES;

/// Smallest `min_free_kbytes`.
const FLOOR_KB: u64 = 128;
/// Free pageblocks that khugepaged wants per zone: 2, plus one for each of the 3 * 3 pairs of mobility types.
const BLOCKS_PER_ZONE: u64 = 2 + 3 * 3;

/// Watermarks of a zone, pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermarks {
    /// Below it only privileged requests succeed.
    pub min: u64,
    /// Below it the fast path skips the zone.
    pub low: u64,
    /// kswapd reclaims up to it.
    pub high: u64,
    /// kswapd reclaims up to it with memory tiering.
    pub promo: u64,
}

impl Watermarks {
    /// `__setup_per_zone_wmarks` for a zone of `managed` pages. Its share of `min_free_pages` is its part
    /// of `lowmem_pages`. `scale_factor` is `vm.watermark_scale_factor` (1..=3000, in 1/10000).
    pub fn new(managed: u64, min_free_pages: u64, lowmem_pages: u64, scale_factor: u64) -> Self {
        let share = u128::from(min_free_pages) * u128::from(managed) / u128::from(lowmem_pages.max(1));
        Self::above(share as u64, share as u64, managed, scale_factor)
    }
    fn above(min: u64, uncapped: u64, managed: u64, scale_factor: u64) -> Self {
        let step = (uncapped / 4).max((u128::from(managed) * u128::from(scale_factor) / 10_000) as u64);
        Self { min, low: min + step, high: min + 2 * step, promo: min + 3 * step }
    }
}

/// `min_free_kbytes` computed at boot: the square root of 16 times the low memory in KiB, at most `cap_kb`
/// (262144; 65536 in older kernels).
pub fn min_free_kbytes(lowmem_kb: u64, cap_kb: u64) -> u64 {
    integer_sqrt(lowmem_kb.saturating_mul(16)).clamp(FLOOR_KB, cap_kb.max(FLOOR_KB))
}

/// Value to which khugepaged raises `min_free_kbytes`, KiB. `zones` is the number of populated zones of the machine,
/// up to Normal.
pub fn recommended_min_free_kbytes(zones: u64, lowmem_pages: u64) -> u64 {
    (CHUNK_PAGES * zones * BLOCKS_PER_ZONE).min(lowmem_pages / 20) * 4
}

/// Largest integer whose square is at most `x`.
pub fn integer_sqrt(x: u64) -> u64 {
    let mut root = 0u64;
    let mut bit = 1u64 << 31;
    while bit > 0 {
        let next = root | bit;
        if next.checked_mul(next).is_some_and(|square| square <= x) {
            root = next;
        }
        bit >>= 1;
    }
    root
}

/// How far below the watermark a request may allocate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Urgency {
    /// Not below it; always so for huge pages.
    #[default]
    Normal,
    /// High priority: half of the watermark.
    High,
    /// High priority without blocking: a quarter of the rest less.
    HighAtomic,
    /// Victim of the OOM killer: half of the watermark.
    OomVictim,
}

impl Urgency {
    fn lower(self, mark: u64) -> u64 {
        match self {
            Self::Normal => mark,
            Self::High | Self::OomVictim => mark - mark / 2,
            Self::HighAtomic => {
                let half = mark - mark / 2;
                half - half / 4
            }
        }
    }
}

/// State of a zone for the watermark test, pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneState {
    /// Free pages.
    pub free: u64,
    /// Free pages that are set aside for high-order atomic requests.
    pub reserved: u64,
    /// Number of free pageblocks (F9).
    pub empty: u64,
    /// Free pages that are kept back from this request.
    pub lowmem_reserve: u64,
}

/// `__zone_watermark_ok` for orders 0 and 9.
#[inline]
pub fn watermark_ok(zone: &ZoneState, huge: bool, mark: u64, urgency: Urgency) -> bool {
    let needed = if huge { CHUNK_PAGES - 1 } else { 0 };
    zone.free > urgency.lower(mark) + zone.lowmem_reserve + zone.reserved + needed && (!huge || zone.empty > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 18;
    const CAP_KB: u64 = 262_144;

    /// Watermarks of a node of a machine with equal nodes, after boot and the start of khugepaged.
    fn node(nodes: u64, gib: u64) -> (u64, u64, Watermarks) {
        let lowmem = nodes * gib * GIB;
        let computed = min_free_kbytes(lowmem * 4, CAP_KB);
        let raised = computed.max(recommended_min_free_kbytes(nodes + 2, lowmem));
        (computed, raised, Watermarks::new(gib * GIB, raised / 4, lowmem, 10))
    }

    #[test]
    fn vector_1_min_free_kbytes() {
        assert_eq!(min_free_kbytes(268_435_456, CAP_KB), 65_536);
        assert_eq!(min_free_kbytes(512 * GIB * 4, CAP_KB), 92_681);
        assert_eq!(integer_sqrt(16 * 16 * 1024 * GIB * 4), 524_288);
        assert_eq!(min_free_kbytes(16 * 1024 * GIB * 4, CAP_KB), 262_144);
        assert_eq!(min_free_kbytes(4, CAP_KB), 128);
    }

    #[test]
    fn vectors_2_and_3_recommended_minimum() {
        assert_eq!([3, 4, 10].map(|nz| recommended_min_free_kbytes(nz, 64 * GIB)), [67_584, 90_112, 225_280]);
        assert_eq!(recommended_min_free_kbytes(2, GIB), 45_056);
        assert_eq!(recommended_min_free_kbytes(2, GIB / 2), 26_212);
    }

    #[test]
    fn reference_table_and_vector_4() {
        let marks = |min, low, high, promo| Watermarks { min, low, high, promo };
        assert_eq!(node(2, 256), (92_681, 92_681, marks(11_585, 78_693, 145_801, 212_909)));
        assert_eq!(node(8, 16), (46_340, 225_280, marks(7040, 11_234, 15_428, 19_622)));
        assert_eq!(node(4, 16), (32_768, 135_168, marks(8448, 12_642, 16_836, 21_030)));
        assert_eq!(node(2, 16), (23_170, 90_112, marks(11_264, 15_458, 19_652, 23_846)));
        assert_eq!(node(4, 32), (46_340, 135_168, marks(8448, 16_836, 25_224, 33_612)));
        assert_eq!(node(8, 256), (185_363, 225_280, marks(7040, 74_148, 141_256, 208_364)));
        assert_eq!(node(1, 64), (32_768, 67_584, marks(16_896, 33_673, 50_450, 67_227)));
    }

    #[test]
    fn vector_5_order_0() {
        let ok = |free| watermark_ok(&ZoneState { free, ..ZoneState::default() }, false, 11_234, Urgency::Normal);
        assert!(!ok(11_234) && ok(11_235));
    }

    #[test]
    fn vector_6_order_9() {
        let ok = |free, empty| {
            watermark_ok(&ZoneState { free, empty, ..ZoneState::default() }, true, 11_234, Urgency::Normal)
        };
        assert!(!ok(11_745, 1) && ok(11_746, 1) && !ok(1_000_000, 0));
    }

    #[test]
    fn privileged_requests_dip_below_the_mark() {
        let ok = |free, urgency| watermark_ok(&ZoneState { free, ..ZoneState::default() }, false, 1000, urgency);
        assert!(!ok(500, Urgency::High) && ok(501, Urgency::High) && ok(501, Urgency::OomVictim));
        assert!(!ok(375, Urgency::HighAtomic) && ok(376, Urgency::HighAtomic));
        let z = ZoneState { free: 1200, reserved: 100, empty: 0, lowmem_reserve: 100 };
        assert!(!watermark_ok(&z, false, 1000, Urgency::Normal));
    }
}
