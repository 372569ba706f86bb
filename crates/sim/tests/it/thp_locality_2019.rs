//! thp-locality-2019 (thp-and-allocation.md sections 14 and 15): latencies by distance and page size, the swap storm,
//! and both objections of the thread, each on the workload that it describes.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_base::tunable::Group;
use numalab_kernel::mm::thp::{Locality, ThpEnabled};
use numalab_kernel::mm::MmConfig;
use numalab_model::catalog::{Catalog, Kind};
use numalab_model::machine::Machine;
use numalab_model::published;
use numalab_model::record::Outcome;
use numalab_sim::SimConfig;

/// 6.1 with these settings of the memory side (`group.key=value`).
fn with(settings: &[&str]) -> SimConfig {
    let mut mm = MmConfig::default();
    for s in settings {
        let (name, value) = s.split_once('=').unwrap();
        let (group, key) = name.split_once('.').unwrap();
        match (group, key) {
            ("thp", "locality") => mm.thp.locality = Locality::parse(value).unwrap(),
            ("thp", "enabled") => mm.thp.enabled = ThpEnabled::parse(value).unwrap(),
            ("vm", "zone_reclaim_mode") => mm.vm.zone_reclaim_mode = value.parse().unwrap(),
            ("vm", _) => mm.vm.set(key, value).unwrap(),
            ("thp", _) => mm.thp.set(key, value).unwrap(),
            ("compact", _) => mm.compact.set(key, value).unwrap(),
            _ => mm.swap.set(key, value).unwrap(),
        }
    }
    SimConfig { mm, ..kernel("6.1") }
}

fn seeks(m: &Machine, memory_node: &str, huge: &str) -> f64 {
    let params = [("memory_node", memory_node), ("huge_pages", huge), ("duration", "1s")];
    1000.0 / scalar(&run(m, &workload("random-seek", m, 1, &params), &with(&[]), 1), "reads")
}

/// Percent above the local huge page, in the order given as (node of the memory, huge pages).
fn percent(machine_name: &str, order: &[(&str, &str)]) -> Vec<f64> {
    let m = machine(machine_name);
    let local = seeks(&m, "0", "1");
    order.iter().map(|(node, huge)| (seeks(&m, node, huge) / local - 1.0) * 100.0).collect()
}

/// Names of a row's columns with whether the published table says that the cell set something.
fn cells_of(group: &str) -> Vec<(String, bool)> {
    let catalog = Catalog::embedded();
    let file = catalog.get(Kind::Published, "thp-locality-2019").unwrap();
    let table = published::parse(&file.label, &file.text).unwrap();
    let block = table.blocks.iter().find(|b| b.group == group).unwrap();
    let (columns, _) = table.columns_of(block);
    columns.iter().enumerate().map(|(i, c)| (c.name.clone(), block.rows[0].calibrated.contains(&i))).collect()
}

/// The cells that count as success are those that nothing was set by.
#[test]
fn predictions_here_are_the_predictions_of_the_table() {
    let predicted = |group| {
        let free = cells_of(group).into_iter().filter(|c| !c.1 && c.0 != "D0 THP");
        free.map(|c| c.0).collect::<Vec<_>>()
    };
    assert_eq!(predicted("Naples, bare metal: random seeks"), ["D1 4k", "D2 4k"]);
    assert_eq!(predicted("Guest on a 1950X: random seeks"), ["D1 4k"]);
}

#[test]
fn predicted_seeks_on_naples_are_within_3_points_of_the_mail_but_for_the_farthest() {
    let got = percent("naples-2s", &[("1", "0"), ("4", "0")]);
    assert!((got[0] - 106.0).abs() <= 3.0, "{:.1} % against 106 %", got[0]);
    // The remote base page misses the mail's 224 % by 3.3 points: the reference's own model has it so (vector 30).
    let miss = got[1] - 224.0;
    assert!((3.0..3.5).contains(&miss), "off by {miss:.2}: a new figure, or the miss is gone");
}

#[test]
fn predicted_seeks_in_a_guest_are_within_3_points_of_the_mail() {
    let got = percent("tr-1950x-guest", &[("1", "0")])[0];
    // 2.5 % is the reference's tolerance on each ratio.
    assert!(((100.0 + got) / 322.0 - 1.0).abs() <= 0.025 && (got - 222.0).abs() <= 3.0, "{got:.1} % against 222 %");
}

/// No success: these cells set the walk shares, the overhead of an access and two latencies. They come out as they were
/// set.
#[test]
fn calibrated_cells_come_out_as_they_were_set() {
    let naples = percent("naples-2s", &[("0", "0"), ("1", "1"), ("4", "1")]);
    let guest = percent("tr-1950x-guest", &[("1", "1"), ("0", "0")]);
    for (got, set) in naples.iter().chain(&guest).zip([43.0, 45.0, 131.0, 58.0, 101.0]) {
        assert!((got - set).abs() <= 3.0, "{got:.1} % where {set} % was set");
    }
}

fn storm(settings: &[&str]) -> Outcome {
    storm_of("1", settings)
}

fn storm_of(guests: &str, settings: &[&str]) -> Outcome {
    let m = machine("naples-2s");
    let w = workload("swap-storm", &m, 1, &[("duration", "5s"), ("guests", guests)]);
    let all: Vec<&str> = ["swap.size_mb=32768"].iter().chain(settings).copied().collect();
    run(&m, &w, &with(&all), 1)
}

#[test]
fn swap_storm_and_vector_33() {
    let thisnode = storm(&["thp.locality=thp_thisnode"]);
    assert!(counter(&thisnode, "pswpout") >= 5_000_000, "{}", counter(&thisnode, "pswpout"));
    // The page cache of node 0 went first.
    let cache = (2u64 << 30) / 4096;
    let dropped = counter(&thisnode, "pgsteal_direct") - counter(&thisnode, "pswpout");
    assert!(dropped > cache * 95 / 100 && dropped <= cache, "{dropped} of {cache}");
    let two_step = storm(&["thp.locality=thp_two_step"]);
    let thp_off = storm(&["thp.enabled=never"]);
    for (name, o) in [("two-step", &two_step), ("THP off", &thp_off)] {
        assert_eq!(
            (counter(o, "pswpout"), counter(o, "pgsteal_direct"), counter(o, "allocstall")),
            (0, 0, 0),
            "{name}"
        );
    }
    let reads = |o: &Outcome| scalar(o, "reads-0");
    assert!(reads(&two_step) > 10.0 * reads(&thisnode), "{} against {}", reads(&two_step), reads(&thisnode));
    // Nodes fill in zonelist order: the local share is that of the node.
    let pages = &two_step.series.iter().find(|s| s.name == "process_pages").unwrap();
    let at_most = |column: usize| pages.values[column].iter().copied().fold(0.0, f64::max);
    let first = pages.columns.iter().position(|c| c == "guest.0/node0").unwrap();
    let share = at_most(first) / (40 << 18) as f64;
    assert!((share - 0.35).abs() < 0.03, "{share}");
}

/// The remark on fairness: without `__GFP_THISNODE` two equal guests of one node make equal progress.
#[test]
fn two_guests_progress_evenly_without_thisnode() {
    let uneven = |locality: &str| {
        // The kernels with these rules start anonymous pages on the active list.
        let o = storm_of("2", &[&format!("thp.locality={locality}"), "vm.anon_workingset=false"]);
        let reads = [scalar(&o, "reads-0"), scalar(&o, "reads-1")];
        reads[0].max(reads[1]) / reads[0].min(reads[1])
    };
    let (local, any) = (uneven("thp_thisnode"), uneven("thp_relaxed"));
    assert!(any < 1.02 && local > 1.2, "{local} local only, {any} anywhere");
}

#[test]
fn zone_reclaim_drops_cache_first_and_never_swaps() {
    let o = storm(&["thp.locality=thp_two_step", "vm.zone_reclaim_mode=1"]);
    assert_eq!(counter(&o, "pswpout"), 0);
    // All but 1 % of the node.
    let (cache, floor) = ((2u64 << 30) / 4096, (16u64 << 30) / 4096 / 100);
    let left = cache - counter(&o, "pgsteal_direct");
    assert!(left <= floor && left + 1024 > floor, "{left} left, {floor} is the floor");
}

/// Reads per second of a program on a fragmented node whose compaction fails.
fn fragmented(locality: &str, reader_nodes: &str) -> f64 {
    let m = machine("tr-1950x");
    let params = [("memory", "4GiB"), ("duration", "1s"), ("reader_nodes", reader_nodes)];
    let w = workload("fragmented-node", &m, 1, &params);
    let locality = format!("thp.locality={locality}");
    let k = with(&[&locality, "compact.async_unmovable=1000000", "compact.sync_unmovable=1000000"]);
    scalar(&run(&m, &w, &k, 1), "reads")
}

#[test]
fn local_base_pages_win_on_one_node_and_remote_huge_pages_where_the_work_spans() {
    let one = fragmented("thp_thisnode", "1") / fragmented("thp_relaxed", "1");
    // (108 + 9) / ((65 + 9) * 1.42)
    assert!((one - 1.113).abs() < 0.02, "{one}");
    let spanning = fragmented("thp_thisnode", "2") / fragmented("thp_relaxed", "2");
    // Equal distances on average, and no page walks: about 1 / 1.42.
    assert!(spanning < 0.78, "{spanning}");
}

/// Section 14, counter-scenario: compaction at home is worth it.
#[test]
fn compaction_gives_local_huge_pages_where_relaxed_goes_away() {
    let m = machine("tr-1950x");
    // Of the neighbour, 60 % of 16 GiB.
    let others = (0.6 * f64::from(16 << 9)) as u64;
    let w = workload("fragmented-node", &m, 1, &[("duration", "1s")]);
    let reads = |locality: &str| {
        // Proactive compaction came after the kernels of the thread.
        let o = run(&m, &w, &with(&[&format!("thp.locality={locality}"), "compact.proactiveness=0"]), 1);
        (scalar(&o, "reads"), counter(&o, "thp_fault_alloc"), counter(&o, "compact_success"))
    };
    let (home, huge, compacted) = reads("thp_two_step");
    assert!(huge == others + 512 && compacted > 400, "{huge} huge pages, {compacted} by compaction");
    let (away, huge, compacted) = reads("thp_relaxed");
    assert_eq!((huge, compacted), (others + 512, 0));
    // (108 + 9) / (65 + 9), a little less for what the caches hold.
    assert!((home / away - 1.58).abs() < 0.05, "{}", home / away);
}

/// On a node of 256 GiB only what the program needs is fragmented, and the same comes out.
#[test]
fn a_large_node_is_fragmented_without_touching_all_of_it_in_small_pages() {
    let m = machine("milan-2s-nps1");
    let w = workload("fragmented-node", &m, 1, &[("duration", "100ms")]);
    let run_with =
        |locality: &str| run(&m, &w, &with(&[&format!("thp.locality={locality}"), "compact.proactiveness=0"]), 1);
    let (home, away) = (run_with("thp_two_step"), run_with("thp_relaxed"));
    assert!(counter(&home, "pgfault") < 8_000_000, "{} faults", counter(&home, "pgfault"));
    let compacted = [&home, &away].map(|o| counter(o, "compact_success"));
    assert!(compacted[0] > 300 && compacted[1] == 0, "{compacted:?}");
    assert_eq!(counter(&home, "thp_fault_alloc"), counter(&away, "thp_fault_alloc"));
    let remote = |o: &Outcome| {
        let pages = &o.series.iter().find(|s| s.name == "process_pages").unwrap();
        let at =
            pages.columns.iter().position(|c| c == "program.0/node1").unwrap_or_else(|| panic!("{:?}", pages.columns));
        pages.values[at].iter().copied().fold(0.0, f64::max)
    };
    assert!(remote(&home) == 0.0 && remote(&away) > 0.0, "{} {}", remote(&home), remote(&away));
}
