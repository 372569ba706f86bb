//! What happens to huge pages during a run: migration, splitting, collapsing, giving parts back.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_base::tunable::Group;
use numalab_kernel::mm::thp::{Locality, ThpDefrag, ThpEnabled};
use numalab_kernel::mm::MmConfig;
use numalab_model::machine::Machine;
use numalab_model::record::Outcome;

/// One thread whose 64 MiB of huge pages lie on the wrong node.
const FAR: &str = r#"
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
    far_on(&machine("2x1x4x1"), change)
}

fn far_on(m: &Machine, change: impl Fn(&mut MmConfig)) -> Outcome {
    let mut mm = MmConfig::default();
    change(&mut mm);
    run(m, &inline(FAR, m, 1, &[]), &SimConfig { mm, ..kernel("6.1") }, 1)
}

#[test]
fn huge_pages_migrate_whole() {
    let o = far(|_| {});
    assert_eq!((counter(&o, "thp_fault_alloc"), counter(&o, "thp_migration_success")), (32, 32));
    assert_eq!(counter(&o, "numa_pages_migrated"), 32 * 512);
    // Huge entries have no exception for pages that are at home: every pass of the scanner marks them again.
    let faults = counter(&o, "numa_hint_faults");
    assert!(
        faults > 32 && faults.is_multiple_of(32) && counter(&o, "numa_hint_faults_local") == faults - 32,
        "{faults}"
    );
    assert_eq!((counter(&o, "thp_split_page"), counter(&o, "pages_collapsed")), (0, 0));
}

/// kernel-numa-balancing.md, R8: every 2 MiB block of the other node holds base pages of another process, or all of a
/// huge page. Half of the node is free, no block is, and nobody makes one.
#[test]
fn r8_a_huge_page_finds_no_block_where_there_are_pages() {
    let text = format!(
        r#"
[[channel]]
name = "filled"
[[policy]]
name = "there"
mode = "preferred"
nodes = 1
[[process]]
name = "filler"
affinity = {{ nodes = 1 }}
[[process.region]]
name = "small"
size = "node_memory_bytes"
advice = "nohuge"
policy = "there"
[[process.region]]
name = "rest"
size = "48MiB"
advice = "huge"
policy = "there"
[[process.phase]]
steps = [
    {{ access = "small", write = 1 }},
    {{ for = "block", in = "0..node_memory_bytes // 2MiB - 1", steps = [
        {{ discard = "small", offset = "block * 2MiB", len = "1MiB" }},
    ] }},
    # Whole blocks that the watermarks kept from the small pages.
    {{ access = "rest", write = 1 }},
    {{ signal = "filled" }},
    {{ compute = "15s" }},
]
{}"#,
        FAR.replace("[params]\nduration = \"12s\"", "")
            .replace("time = \"duration\"", "time = \"12s\"")
            .replace("[[process.prologue]]", "[[process.prologue]]\nwait = \"filled\"\n[[process.prologue]]")
    );
    let mut m = machine("2x1x4x1");
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 512 << 20);
    let mut mm = MmConfig::default();
    mm.compact.set("proactiveness", "0").unwrap();
    mm.thp.defrag = ThpDefrag::Never;
    let o = run(&m, &inline(&text, &m, 1, &[]), &SimConfig { mm, ..kernel("6.1") }, 1);
    let failed = counter(&o, "thp_migration_fail");
    assert!(failed >= 32, "{failed}");
    assert_eq!(counter(&o, "numa_hint_faults") - counter(&o, "numa_hint_faults_local"), failed, "every one from afar");
    assert_eq!(counter(&o, "pgmigrate_fail"), 512 * failed);
    assert_eq!((counter(&o, "thp_migration_split"), counter(&o, "thp_split_page")), (0, 0));
    assert_eq!((counter(&o, "numa_pages_migrated"), counter(&o, "thp_migration_success")), (0, 0));
    // Nobody compacts for it, and the base pages beside it are at home.
    let others = ["compact_stall", "compact_isolated", "pgmigrate_success"];
    assert_eq!(others.map(|c| counter(&o, c)), [0, 0, 0]);
}

#[test]
fn without_native_migration_they_split_migrate_and_collapse_again() {
    let o = far(|mm| {
        mm.thp.set("native_migration", "false").unwrap();
        mm.khugepaged.set("scan_sleep_millisecs", "100").unwrap();
    });
    // One by one; a range that is collapsed half-way is collapsed where most of it lies. If that is still the wrong
    // node, it moves again; if it is the right one, up to 255 pages come with it and need no move of their own.
    let moved = counter(&o, "numa_pages_migrated");
    assert!((32 * 257..34 * 512).contains(&moved), "{moved}");
    // Collapsed ones are marked again, split again, collapsed again.
    let (split, collapsed) = (counter(&o, "thp_migration_split"), counter(&o, "pages_collapsed"));
    assert!(split >= 32 && counter(&o, "thp_split_page") == split, "{split}");
    assert!((32..=split).contains(&collapsed) && counter(&o, "thp_collapse_alloc") == collapsed, "{collapsed}");
    let last = |c: usize| *o.series[0].values[c].last().unwrap();
    assert_eq!((last(0), last(1)), (0.0, 32.0 * 512.0 + PROGRAM as f64), "all memory ends on node 1");
}

/// `collapse_huge_page` has the lock of the address space for writing until the copy is mapped: faults wait for it.
#[test]
fn faults_wait_for_a_collapse() {
    let mut slow = machine("2x1x4x1");
    slow.costs.collapse_ns = 50e6;
    let waits = |collapse: &str| {
        let o = far_on(&slow, |mm| {
            mm.thp.set("native_migration", "false").unwrap();
            mm.khugepaged.set("scan_sleep_millisecs", "100").unwrap();
            mm.khugepaged.set("collapse", collapse).unwrap();
        });
        (counter(&o, "pages_collapsed"), scalar(&o, "blocked_s"))
    };
    let (collapsed, waited) = waits("true");
    // The one thread sleeps behind as many collapses at most as there are.
    assert!(waited > 0.0 && waited < 0.06 * collapsed as f64, "{waited} s, {collapsed} collapses");
    assert_eq!(waits("false"), (0, 0.0));
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
    // The entry is split, the page is not: nothing wants its other half.
    assert_eq!((counter(&o, "thp_split_page"), counter(&o, "thp_split_pmd")), (0, 1));
    assert_eq!(counter(&o, "thp_deferred_split_page"), 1);
    // The two whole ones come back huge; the half that went comes back in base pages.
    assert_eq!((counter(&o, "thp_fault_alloc"), counter(&o, "pgfault")), (32 + 2, 32 + 2 + 256 + PROGRAM));
}

/// One thread of node 0 that touches 64 MiB of advised memory; `ladder` is the list of `ladder_custom`.
fn climbed(ladder: &str) -> Outcome {
    let text = FAR.replace("nodes = 1", "nodes = 0").replace("policy = \"far\"\n", "").replace("12s", "10ms");
    let text = text.replace("[[policy]]\nname = \"far\"\nmode = \"bind\"\nnodes = 0\n", "");
    let m = machine("2x1x4x1");
    let mut mm = MmConfig::default();
    mm.thp.locality = Locality::LadderCustom;
    mm.thp.set("ladder", ladder).unwrap();
    run(&m, &inline(&text, &m, 1, &[]), &SimConfig { mm, ..kernel("off") }, 1)
}

#[test]
fn a_list_of_ones_own_says_where_pages_land() {
    for (ladder, huge, small, at) in [
        ("D0 THP | D0 4k", 32, 0, 0),
        ("D1 THP | D0 4k", 32, 0, 1),
        ("D0 4k | D1 THP", 0, 32 * 512, 0),
        // Only the first page of each huge one climbs; the others find its page table and are ordinary faults.
        ("D1 4k | D0 THP", 0, 32, 1),
    ] {
        let o = climbed(ladder);
        let first = |c: usize| o.series[0].values[c].iter().copied().fold(0.0, f64::max);
        assert_eq!(counter(&o, "thp_fault_alloc"), huge, "{ladder}");
        assert_eq!(counter(&o, "pgfault"), PROGRAM + huge + 32 * 512 * u64::from(huge == 0), "{ladder}");
        let own = |node: usize| if node == 0 { PROGRAM } else { 0 };
        let climbed = 512 * huge + small;
        let want = (climbed + own(at), 32 * 512 - climbed + own(1 - at));
        assert_eq!((first(at), first(1 - at)), (want.0 as f64, want.1 as f64), "{ladder}");
    }
}

#[test]
fn a_ladder_without_its_list_is_refused() {
    let m = machine("2x1x4x1");
    let mut mm = MmConfig::default();
    mm.thp.locality = Locality::LadderCustom;
    let e = numalab_sim::run(&m, &inline(FAR, &m, 1, &[]), &SimConfig { mm, ..kernel("off") }, 1, true).unwrap_err();
    assert!(e.to_string().contains("thp.ladder="), "{e}");
}

/// Reads 64 MiB of advised memory that was never written, then writes them.
fn reads_first(change: impl Fn(&mut MmConfig)) -> Outcome {
    let text = FAR
        .replace("policy = \"far\"\naccess = \"r\"\nwrite = 1", "access = \"r\"")
        .replace("time = \"duration\"\naccess", "access")
        .replace("[params]\nduration = \"12s\"\n", "")
        .replace("[[policy]]\nname = \"far\"\nmode = \"bind\"\nnodes = 0\n", "");
    let m = machine("2x1x4x1");
    let mut mm = MmConfig::default();
    change(&mut mm);
    run(&m, &inline(&text, &m, 1, &[]), &SimConfig { mm, ..kernel("off") }, 1)
}

#[test]
fn reads_map_zeros_and_stores_replace_them() {
    // Without what the program itself takes: its pages, and two tables for them.
    let events = |o: &Outcome| {
        let own = |name: &str| match name {
            "pgfault" => PROGRAM,
            "numa_hit" => PROGRAM + 2,
            _ => 0,
        };
        ["pgfault", "thp_zero_page_alloc", "thp_fault_alloc", "thp_split_pmd", "numa_hit"]
            .map(|c| counter(o, c) - own(c))
    };
    let pages = 32 * 512;
    // 32 read faults, then every page of its own; 32 page tables, set aside for the split.
    assert_eq!(events(&reads_first(|_| {})), [32 + pages, 1, 0, 32, pages + 32]);
    // Before 5.8 the store allocates a huge page.
    let before = reads_first(|mm| mm.thp.set("zero_page_write_huge", "true").unwrap());
    assert_eq!(events(&before), [32 + 32, 1, 32, 0, 32 + 32]);
    let without = reads_first(|mm| mm.thp.set("use_zero_page", "false").unwrap());
    assert_eq!(events(&without), [32, 0, 32, 0, 32 + 32]);
    // Base pages have no such switch.
    let small = reads_first(|mm| mm.thp.enabled = ThpEnabled::Never);
    assert_eq!(events(&small), [2 * pages, 0, 0, 0, pages + 32]);
}

#[test]
fn memory_pressure_splits_what_is_mapped_in_part() {
    // Half of each huge page of 200 MiB is given back; 300 MiB more want the 100 MiB, on nodes of 192 MiB without swap.
    let text = r#"
[[process]]
name = "p"
[[process.region]]
name = "r"
size = "200MiB"
advice = "huge"
[[process.region]]
name = "more"
size = "230MiB"
advice = "nohuge"
[[process.phase]]
steps = [
    { access = "r", write = 1 },
    { for = "block", in = "0..99", steps = [{ discard = "r", offset = "block * 2MiB", len = "1MiB" }] },
    { access = "more", write = 1 },
]
"#;
    let mut m = machine("2x1x4x1");
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 192 << 20);
    let mut mm = MmConfig::default();
    mm.vm.set("min_free_kbytes", "1024").unwrap();
    let o = run(&m, &inline(text, &m, 1, &[]), &SimConfig { mm, ..kernel("off") }, 1);
    let (deferred, split) = (counter(&o, "thp_deferred_split_page"), counter(&o, "thp_split_page"));
    assert_eq!((deferred, counter(&o, "thp_split_pmd")), (100, 100));
    assert!((40..=100).contains(&split), "{split}: 430 MiB fit into 384 only without the halves");
}
