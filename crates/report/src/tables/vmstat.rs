//! The `Ops` rows of the vmstat table: order, names and computations (mmtests-report.md §2.2, §2.3).
//!
//! The names are those of mmtests, including `NUMA hint local faults %`, which is a count. Figures that mmtests
//! computes wrong are computed right in [`CORRECTED`], under other names.

use std::collections::BTreeMap;

/// Growth of the counters of a kernel, with the wall time of its runs.
#[derive(Clone, Debug, Default)]
pub struct Deltas {
    growth: BTreeMap<String, f64>,
    elapsed_s: f64,
}

impl Deltas {
    /// Builds the growth from pairs of counter and growth, and the elapsed seconds.
    pub fn new<'a>(growth: impl IntoIterator<Item = (&'a str, f64)>, elapsed_s: f64) -> Self {
        Self { growth: growth.into_iter().map(|(name, by)| (name.to_string(), by)).collect(), elapsed_s }
    }
    /// Growth of a counter; 0 if it was not recorded.
    pub fn get(&self, name: &str) -> f64 {
        self.growth.get(name).copied().unwrap_or(0.0)
    }
    /// Whether the counter was recorded.
    pub fn has(&self, name: &str) -> bool {
        self.growth.contains_key(name)
    }
    /// Sum over the counters of each zone (`name_dma`, …), where a kernel counts per zone.
    fn zones(&self, name: &str) -> f64 {
        ZONES.iter().map(|z| self.get(&format!("{name}_{z}"))).sum()
    }
    /// An amount per second of wall time; 0 if no time passed.
    fn rate(&self, amount: f64) -> f64 {
        if self.elapsed_s > 0.0 {
            amount / self.elapsed_s
        } else {
            0.0
        }
    }
    fn direct_scanned(&self) -> f64 {
        self.get("pgscan_direct") + self.zones("pgscan_direct")
    }
    fn kswapd_scanned(&self) -> f64 {
        self.get("pgscan_kswapd") + self.zones("pgscan_kswapd")
    }
    fn kswapd_reclaimed(&self) -> f64 {
        self.get("pgsteal_kswapd") + self.zones("pgsteal_kswapd") + self.get("kswapd_steal")
    }
    /// Kernels up to 3.4 count all stolen pages per zone, and those of kswapd once more.
    fn direct_reclaimed(&self) -> f64 {
        if self.has("kswapd_steal") {
            return self.zones("pgsteal") - self.get("kswapd_steal");
        }
        self.get("pgsteal_direct") + self.zones("pgsteal_direct")
    }
}

const ZONES: [&str; 5] = ["dma", "dma32", "normal", "movable", "high"];

/// `part` in percent of `whole`; `empty` if `whole` is 0.
fn share(part: f64, whole: f64, empty: f64) -> f64 {
    if whole == 0.0 {
        empty
    } else {
        100.0 * part / whole
    }
}

/// Word touches of a page structure (mmtests-report.md §2.3).
const TOUCH_STRUCT: f64 = 7.0;
/// Word touches to read or write a page.
const TOUCH_PAGE: f64 = TOUCH_STRUCT + 512.0;
/// Word touches to isolate a page: 4 list operations, 8 for locking.
const TOUCH_ISOLATE: f64 = TOUCH_STRUCT + 12.0;
/// Word touches of a hinting fault.
const TOUCH_FAULT: f64 = 5000.0;

/// The AutoNUMA cost of mmtests, in millions of 64-bit word touches. In mmtests a statement ends too early, so the term
/// of the copy never counts; every published figure is without it.
pub fn autonuma_cost(d: &Deltas) -> f64 {
    let touches = TOUCH_STRUCT * d.get("numa_pte_updates")
        + TOUCH_FAULT * d.get("numa_hint_faults")
        + TOUCH_ISOLATE * d.get("numa_pages_migrated");
    touches / 1e6
}

/// [`autonuma_cost`] with the term of the copy.
pub fn autonuma_cost_with_copy(d: &Deltas) -> f64 {
    autonuma_cost(d) + TOUCH_PAGE * d.get("numa_pages_migrated") / 1e6
}

/// The compaction cost of mmtests, in millions of 64-bit word touches. It is -0.0 on kernels without
/// `compact_migrate_scanned`, as mmtests prints -0.00 there.
pub fn compaction_cost(d: &Deltas) -> f64 {
    compaction_touches(d, d.get("pgmigrate_success"))
}

/// [`compaction_cost`] without the pages that NUMA balancing migrated.
pub fn compaction_cost_without_numa(d: &Deltas) -> f64 {
    compaction_touches(d, (d.get("pgmigrate_success") - d.get("numa_pages_migrated")).max(0.0))
}

fn compaction_touches(d: &Deltas, migrated: f64) -> f64 {
    if !d.has("compact_migrate_scanned") {
        return -0.0;
    }
    let touches = TOUCH_STRUCT * d.get("compact_migrate_scanned")
        + TOUCH_ISOLATE * d.get("compact_isolated")
        + 2.0 * TOUCH_PAGE * migrated
        + 2.0 * TOUCH_STRUCT * d.get("pgmigrate_fail");
    touches / 1e6
}

/// A row: its name and its computation.
pub type OpsRow = (&'static str, fn(&Deltas) -> f64);

/// The 62 rows, in order.
pub const ROWS: [OpsRow; 62] = [
    ("Minor Faults", |d| d.get("pgfault") - d.get("pgmajfault")),
    ("Major Faults", |d| d.get("pgmajfault")),
    ("Swap Ins", |d| d.get("pswpin")),
    ("Swap Outs", |d| d.get("pswpout")),
    ("Allocation stalls", |d| d.get("allocstall") + d.zones("allocstall")),
    ("Fragmentation stalls", |d| d.get("fragment_stall")),
    ("DMA allocs", |d| d.get("pgalloc_dma")),
    ("DMA32 allocs", |d| d.get("pgalloc_dma32")),
    ("Normal allocs", |d| d.get("pgalloc_normal")),
    ("Movable allocs", |d| d.get("pgalloc_movable")),
    ("Direct pages scanned", Deltas::direct_scanned),
    ("Kswapd pages scanned", Deltas::kswapd_scanned),
    ("Kswapd pages reclaimed", Deltas::kswapd_reclaimed),
    ("Direct pages reclaimed", Deltas::direct_reclaimed),
    ("Kswapd efficiency %", |d| share(d.kswapd_reclaimed(), d.kswapd_scanned(), 100.0)),
    ("Kswapd velocity", |d| d.rate(d.kswapd_scanned())),
    ("Direct efficiency %", |d| share(d.direct_reclaimed(), d.direct_scanned(), 100.0)),
    ("Direct velocity", |d| d.rate(d.direct_scanned())),
    ("Percentage direct scans", |d| share(d.direct_scanned(), d.direct_scanned() + d.kswapd_scanned(), 0.0)),
    ("Page writes by reclaim", |d| d.get("nr_vmscan_write")),
    ("Page writes file", |d| d.get("nr_vmscan_write") - d.get("pswpout")),
    ("Page writes anon", |d| d.get("pswpout")),
    ("Page reclaim immediate", |d| d.get("nr_vmscan_immediate_reclaim")),
    ("Sector Reads", |d| d.get("pgpgin")),
    ("Sector Writes", |d| d.get("pgpgout")),
    ("Page rescued immediate", |d| d.get("pgrescued")),
    ("Slabs scanned", |d| d.get("slabs_scanned")),
    ("Direct inode steals", |d| d.get("pginodesteal")),
    ("Kswapd inode steals", |d| d.get("kswapd_inodesteal")),
    ("Kswapd skipped wait", |d| d.get("kswapd_skip_congestion_wait")),
    ("THP fault alloc", |d| d.get("thp_fault_alloc")),
    ("THP fault fallback", |d| d.get("thp_fault_fallback")),
    ("THP collapse alloc", |d| d.get("thp_collapse_alloc")),
    ("THP collapse fail", |d| d.get("thp_collapse_alloc_failed")),
    ("THP split", |d| d.get("thp_split_page") + d.get("thp_split")),
    ("THP split failed", |d| d.get("thp_split_page_failed")),
    ("Compaction stalls", |d| d.get("compact_stall")),
    ("Compaction success", |d| d.get("compact_success")),
    ("Compaction failures", |d| d.get("compact_fail")),
    ("Compaction efficiency", |d| share(d.get("compact_success"), d.get("compact_stall"), 0.0)),
    ("Page migrate success", |d| d.get("pgmigrate_success")),
    ("Page migrate failure", |d| d.get("pgmigrate_fail")),
    ("Compaction pages isolated", |d| d.get("compact_isolated")),
    ("Compaction migrate scanned", |d| d.get("compact_migrate_scanned")),
    ("Compaction free scanned", |d| d.get("compact_free_scanned")),
    ("Compact scan efficiency", |d| {
        let (migrate, free) = (d.get("compact_migrate_scanned"), d.get("compact_free_scanned"));
        share(migrate, free, f64::from(u8::from(migrate != 0.0)))
    }),
    ("Compaction cost", compaction_cost),
    ("Kcompactd wake", |d| d.get("compact_daemon_wake")),
    ("Kcompactd migrate scanned", |d| d.get("compact_daemon_migrate_scanned")),
    ("Kcompactd free scanned", |d| d.get("compact_daemon_free_scanned")),
    ("NUMA alloc hit", |d| d.get("numa_hit")),
    ("NUMA alloc miss", |d| d.get("numa_miss")),
    ("NUMA interleave hit", |d| d.get("numa_interleave")),
    ("NUMA alloc local", |d| d.get("numa_local")),
    ("NUMA base-page range updates", |d| d.get("numa_pte_updates")),
    ("NUMA PTE updates", |d| d.get("numa_pte_updates") - 512.0 * d.get("numa_huge_pte_updates")),
    ("NUMA PMD updates", |d| d.get("numa_huge_pte_updates")),
    ("NUMA hint faults", |d| d.get("numa_hint_faults")),
    ("NUMA hint local faults %", |d| d.get("numa_hint_faults_local")),
    ("NUMA hint local percent", |d| share(d.get("numa_hint_faults_local"), d.get("numa_hint_faults"), 100.0)),
    ("NUMA pages migrated", |d| d.get("numa_pages_migrated")),
    ("AutoNUMA cost", autonuma_cost),
];

/// Rows that mmtests computes wrong, computed right, under names of their own.
pub const CORRECTED: [OpsRow; 3] = [
    ("AutoNUMA cost with copy", autonuma_cost_with_copy),
    ("Compaction cost w/o NUMA", compaction_cost_without_numa),
    ("NUMA hint local faults", |d| d.get("numa_hint_faults_local")),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn numa(updates: f64, faults: f64, migrated: f64) -> Deltas {
        Deltas::new(
            [
                ("numa_pte_updates", updates),
                ("numa_hint_faults", faults),
                ("numa_pages_migrated", migrated),
                ("pgmigrate_success", migrated),
                ("compact_migrate_scanned", 0.0),
            ],
            100.0,
        )
    }

    fn row(name: &str, d: &Deltas) -> f64 {
        ROWS.iter().find(|r| r.0 == name).unwrap().1(d)
    }

    #[test]
    fn section_4_4_autonuma_cost_of_disjoint_vma_2023() {
        let columns = [
            ((147_858_285.0, 150_531_983.0, 13_535_786.0), "753952.10"),
            ((18_601.0, 18_254.0, 2207.0), "91.44"),
            ((42_043_107.0, 42_450_080.0, 4_654_628.0), "212633.14"),
        ];
        for ((u, f, m), printed) in columns {
            assert_eq!(format!("{:.2}", row("AutoNUMA cost", &numa(u, f, m))), printed);
        }
        // With the term of the copy, the first figure would be 760977.18.
        let with_copy = autonuma_cost_with_copy(&numa(147_858_285.0, 150_531_983.0, 13_535_786.0));
        assert_eq!(format!("{with_copy:.2}"), "760977.18");
    }

    #[test]
    fn section_4_4_costs_of_numa_core_autonuma_2012_truncated() {
        let columns = [
            ((191_503.0, 13_322_261.0, 7_061_327.0), 66746.81, 66746, 7329),
            ((123_214.0, 818_762.0, 57_167.0), 4095.76, 4095, 59),
            ((3841.0, 2_033_295_070.0, 8_070_314.0), 10_166_628.71, 10_166_628, 8376),
            ((1_110_729.0, 2_945_111_212.0, 399_095_844.0), 14_733_146.66, 14_733_146, 414_261),
        ];
        for ((u, f, m), result, printed, compaction) in columns {
            let d = numa(u, f, m);
            assert_eq!(format!("{:.2}", autonuma_cost(&d)), format!("{result:.2}"));
            assert_eq!(autonuma_cost(&d) as u64, printed);
            assert_eq!(compaction_cost(&d) as u64, compaction, "NUMA migrations alone make a compaction cost");
            assert_eq!(compaction_cost_without_numa(&d), 0.0);
        }
    }

    #[test]
    fn section_4_4_hint_local_percent() {
        let pairs = [(125_691_825.0, 150_531_983.0, "83.50"), (11_964.0, 18_254.0, "65.54")];
        let third = (32_993_313.0, 42_450_080.0, "77.72");
        for (local, faults, printed) in pairs.into_iter().chain([third]) {
            let d = Deltas::new([("numa_hint_faults", faults), ("numa_hint_faults_local", local)], 1.0);
            assert_eq!(format!("{:.2}", row("NUMA hint local percent", &d)), printed);
            assert_eq!(row("NUMA hint local faults %", &d), local, "a count in spite of its name");
        }
    }

    #[test]
    fn empty_wholes_and_missing_counters() {
        let none = Deltas::default();
        assert_eq!(row("Kswapd efficiency %", &none), 100.0);
        assert_eq!(row("Percentage direct scans", &none), 0.0);
        assert_eq!(row("NUMA hint local percent", &none), 100.0);
        assert_eq!(row("Kswapd velocity", &none), 0.0);
        assert_eq!(format!("{:.2}", row("Compaction cost", &none)), "-0.00");
        let scanned = Deltas::new([("compact_migrate_scanned", 5.0)], 1.0);
        assert_eq!(row("Compact scan efficiency", &scanned), 1.0);
        assert_eq!(row("Compact scan efficiency", &none), 0.0);
    }

    #[test]
    fn old_forms_are_summed() {
        let d = Deltas::new(
            [("pgscan_kswapd_normal", 30.0), ("pgscan_kswapd_dma32", 10.0), ("pgsteal_kswapd_normal", 20.0)],
            4.0,
        );
        assert_eq!(row("Kswapd pages scanned", &d), 40.0);
        assert_eq!(row("Kswapd efficiency %", &d), 50.0);
        assert_eq!(row("Kswapd velocity", &d), 10.0);
        let stalls = Deltas::new([("allocstall_normal", 3.0), ("allocstall_movable", 4.0)], 1.0);
        assert_eq!(row("Allocation stalls", &stalls), 7.0);
        let ancient = Deltas::new([("pgsteal_normal", 9.0), ("kswapd_steal", 5.0)], 1.0);
        assert_eq!(row("Direct pages reclaimed", &ancient), 4.0);
    }

    #[test]
    fn huge_updates_are_taken_out_of_pte_updates() {
        let d = Deltas::new([("numa_pte_updates", 1034.0), ("numa_huge_pte_updates", 2.0)], 1.0);
        let got = ["NUMA base-page range updates", "NUMA PTE updates", "NUMA PMD updates"].map(|n| row(n, &d));
        assert_eq!(got, [1034.0, 10.0, 2.0]);
    }
}
