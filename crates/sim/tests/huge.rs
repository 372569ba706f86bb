//! What happens to huge pages during a run: migration, splitting, collapsing, giving parts back.

#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use numalab_kernel::mm::MmConfig;
use numalab_kernel::tunable::Group;
use numalab_model::record::Outcome;

/// One thread whose 64 MiB of huge pages lie on the wrong node.
const FAR: &str = r#"
name = "far"
title = "t"
about = "a"
source = "test"
[params]
duration = "12s"
[[policy]]
name = "far"
mode = "bind"
nodes = 0
[[process]]
name = "p"
affinity = { nodes = 1 }
[[process.region]]
name = "r"
size = "64MiB"
advice = "huge"
[[process.prologue]]
policy = "far"
access = "r"
write = 1
[[process.phase]]
time = "duration"
access = "r"
write = 1
"#;

/// Base pages that a program of one thread has beside its regions: stack and data.
const PROGRAM: u64 = 10;

fn far(change: impl Fn(&mut MmConfig)) -> Outcome {
    let m = machine("2x1x4x1");
    let mut mm = MmConfig::default();
    change(&mut mm);
    run(&m, &inline(FAR, &m, 1, &[]), &kernel("6.1").with_mm(mm), 1)
}

#[test]
fn huge_pages_migrate_whole() {
    let o = far(|_| {});
    assert_eq!((counter(&o, "thp_fault_alloc"), counter(&o, "thp_migration_success")), (32, 32));
    assert_eq!(counter(&o, "numa_pages_migrated"), 32 * 512);
    // Huge entries have no exception for pages that are at home: every pass of the scanner marks them again.
    let faults = counter(&o, "numa_hint_faults");
    assert!(faults > 32 && faults % 32 == 0 && counter(&o, "numa_hint_faults_local") == faults - 32, "{faults}");
    assert_eq!((counter(&o, "thp_split_page"), counter(&o, "pages_collapsed")), (0, 0));
}

#[test]
fn without_native_migration_they_split_migrate_and_collapse_again() {
    let o = far(|mm| {
        mm.thp.set("native_migration", "false").unwrap();
        mm.khugepaged.set("scan_sleep_millisecs", "100").unwrap();
    });
    // One by one; a range that is collapsed half-way is collapsed where most of it still lies, and moves again.
    let moved = counter(&o, "numa_pages_migrated");
    assert!((32 * 512..34 * 512).contains(&moved), "{moved}");
    // Collapsed ones are marked again, split again, collapsed again.
    let (split, collapsed) = (counter(&o, "thp_migration_split"), counter(&o, "pages_collapsed"));
    assert!(split >= 32 && counter(&o, "thp_split_page") == split, "{split}");
    assert!((32..=split).contains(&collapsed) && counter(&o, "thp_collapse_alloc") == collapsed, "{collapsed}");
    let last = |c: usize| *o.series[0].values[c].last().unwrap();
    assert_eq!((last(0), last(1)), (0.0, 32.0 * 512.0 + PROGRAM as f64), "all memory ends on node 1");
}

#[test]
fn a_part_given_back_splits_and_the_whole_makes_room_for_another() {
    let text = FAR
        .replace(
            "time = \"duration\"\naccess = \"r\"\nwrite = 1",
            r#"steps = [
    { discard = "r", len = "1MiB" },
    { discard = "r", offset = "2MiB", len = "4MiB" },
    { access = "r", write = 1 },
]"#,
        )
        .replace("[params]\nduration = \"12s\"\n", "");
    let m = machine("2x1x4x1");
    let o = run(&m, &inline(&text, &m, 1, &[]), &kernel("off"), 1);
    assert_eq!((counter(&o, "thp_split_page"), counter(&o, "thp_split_pmd")), (1, 1));
    // The two whole ones come back huge; the half that went comes back in base pages.
    assert_eq!((counter(&o, "thp_fault_alloc"), counter(&o, "pgfault")), (32 + 2, 32 + 2 + 256 + PROGRAM));
}
