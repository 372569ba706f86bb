//! Collapse to sizes below 2 MiB (7.2, `collapse_scan_bitmap`): which parts of a 2 MiB range become large folios.

use numalab_base::words;

/// Order of a huge page.
const PMD_ORDER: u32 = 9;
/// Smallest order of a large folio.
const MIN_ORDER: u32 = 2;

words! {
    /// Sizes that khugepaged collapses to.
    pub enum CollapseSizes {
        /// 2 MiB only.
        Pmd = "pmd" ("up to 7.1"),
        /// Any size that is enabled for a fault.
        Mthp = "mthp" ("7.2 on"),
    }
}

/// A part of a 2 MiB range that is collapsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// First page in the range.
    pub offset: u32,
    /// Order of the folio.
    pub order: u32,
}

/// Whether a range is scanned for parts. Without an enabled order below 2 MiB the scan is the old one.
pub fn scans_for_parts(enabled_orders: u32) -> bool {
    enabled_orders & ((1 << PMD_ORDER) - 1) != 0
}

/// Empty entries that a collapse to `order` may fill. Values other than 0 and 511 hold for 2 MiB only.
pub fn max_none(order: u32, max_ptes_none: u32) -> u32 {
    match max_ptes_none {
        511 => (1 << order) - 1,
        none if order == PMD_ORDER => none,
        _ => 0,
    }
}

/// The parts to collapse. `enabled_orders` has bit n for order n, and `occupied` tells whether a page of the range is
/// present. `collapse` carries one out and tells whether it succeeded.
pub fn parts(
    enabled_orders: u32,
    max_ptes_none: u32,
    occupied: impl Fn(u32) -> bool,
    mut collapse: impl FnMut(Part) -> bool,
) -> Vec<Part> {
    let mut out = Vec::new();
    let (mut offset, mut order) = (0_u32, PMD_ORDER);
    while offset < 1 << PMD_ORDER {
        let size = 1 << order;
        let count = (offset..offset + size).filter(|p| occupied(*p)).count() as u32;
        let enough = count > 0 && count + max_none(order, max_ptes_none) >= size;
        let part = Part { offset, order };
        if enabled_orders >> order & 1 == 1 && enough && collapse(part) {
            out.push(part);
        } else if enabled_orders & ((1 << order) - 1) >= 1 << MIN_ORDER {
            order -= 1;
            continue;
        }
        offset += size;
        order = offset.trailing_zeros().min(PMD_ORDER);
    }
    out
}
