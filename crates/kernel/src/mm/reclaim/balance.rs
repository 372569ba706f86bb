//! How much of each LRU list reclaim scans (`get_scan_count`; thp-and-allocation.md section 4.4).

/// Input of the decision; sizes in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanFacts {
    /// Whether anonymous pages can be reclaimed: there are free swap slots or a demotion target.
    pub can_reclaim_anon: bool,
    /// Scan priority: 12 (`DEF_PRIORITY`) down to 0.
    pub priority: u32,
    /// `vm.swappiness`, 0..=200.
    pub swappiness: u64,
    /// Inactive anonymous pages.
    pub inactive_anon: u64,
    /// Inactive file pages.
    pub inactive_file: u64,
    /// All file pages.
    pub file: u64,
    /// Free pages of the node.
    pub free: u64,
    /// Sum of the node's high watermarks.
    pub high: u64,
    /// Whether file pages refault, so that reclaim may not take file pages only.
    pub file_refaults: bool,
    /// Recent cost of reclaiming anonymous pages.
    pub anon_cost: u64,
    /// Recent cost of reclaiming file pages.
    pub file_cost: u64,
}

/// Pages to scan on the inactive lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanTargets {
    /// Anonymous pages.
    pub anon: u64,
    /// File pages.
    pub file: u64,
}

/// Fraction of the scan that goes to anonymous pages, as numerator and denominator.
pub fn anon_fraction(swappiness: u64, anon_cost: u64, file_cost: u64) -> (u64, u64) {
    let both = anon_cost + file_cost;
    let (anon, file) = (both + anon_cost, both + file_cost);
    let total = anon + file;
    let ap = swappiness * (total + 1) / (anon + 1);
    let fp = (200 - swappiness.min(200)) * (total + 1) / (file + 1);
    (ap, (ap + fp).max(1))
}

/// Pages to scan in one pass.
pub fn scan_targets(f: &ScanFacts) -> ScanTargets {
    let (anon, file) = (f.inactive_anon >> f.priority, f.inactive_file >> f.priority);
    let file_is_tiny = f.file + f.free <= f.high && anon > 0;
    if !f.can_reclaim_anon {
        ScanTargets { anon: 0, file }
    } else if f.priority == 0 && f.swappiness > 0 {
        ScanTargets { anon, file }
    } else if file_is_tiny {
        ScanTargets { anon, file: 0 }
    } else if file > 0 && !f.file_refaults {
        ScanTargets { anon: 0, file }
    } else {
        let (part, whole) = anon_fraction(f.swappiness, f.anon_cost, f.file_cost);
        ScanTargets { anon: anon * part / whole, file: file * (whole - part) / whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_32_split_by_swappiness() {
        for cost in [0, 1000, 1_000_000] {
            let percent = |s| {
                let (part, whole) = anon_fraction(s, cost, cost);
                (part * 1000 / whole + 5) / 10
            };
            assert_eq!([60, 100, 0].map(percent), [30, 50, 0], "costs {cost}");
        }
    }

    #[test]
    fn decisions_in_their_order() {
        let f = ScanFacts {
            can_reclaim_anon: true,
            priority: 12,
            swappiness: 60,
            inactive_anon: 1 << 20,
            inactive_file: 1 << 20,
            file: 1 << 20,
            free: 20_000,
            high: 15_428,
            ..ScanFacts::default()
        };
        let only_file = ScanTargets { anon: 0, file: 256 };
        assert_eq!(scan_targets(&ScanFacts { can_reclaim_anon: false, ..f }), only_file);
        let last = ScanFacts { priority: 0, ..f };
        assert_eq!(scan_targets(&last), ScanTargets { anon: 1 << 20, file: 1 << 20 });
        let tiny = ScanFacts { file: 1000, inactive_file: 1000, free: 10_000, ..f };
        assert_eq!(scan_targets(&tiny), ScanTargets { anon: 256, file: 0 });
        assert_eq!(scan_targets(&f), only_file);
        let refaults = ScanFacts { file_refaults: true, ..f };
        assert_eq!(scan_targets(&refaults), ScanTargets { anon: 76, file: 179 });
        let files_go_first = ScanFacts { swappiness: 0, file_refaults: true, ..f };
        assert_eq!(scan_targets(&files_go_first), only_file);
        let few_files = ScanFacts { inactive_file: 4095, ..f };
        assert_eq!(scan_targets(&few_files).anon, 76, "below 4096 pages priority 12 sees none");
    }
}
