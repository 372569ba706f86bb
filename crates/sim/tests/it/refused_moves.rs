//! Private pages that refuse to move: direct I/O in flight, pins for good, threads that wait for the page.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::Outcome;

const MACHINE: &str = "2x1x4x1";
/// Pages of 16 MiB.
const PAGES: u64 = 4096;
/// The last pages that a CPU has touched are still in its LRU batch, and do not move.
const BATCH: u64 = 15;

/// A thread on node 1 reads 16 MiB of node 0. `region` are more keys of the region, `more` more of the process.
fn reader(region: &str, time: &str, more: &str) -> String {
    format!(
        r#"
[[policy]]
name = "start"
mode = "bind"
nodes = 0
[[process]]
name = "p"
initial = "joins"
[[process.region]]
name = "r"
size = "16MiB"
{region}
[[process.prologue]]
access = "r"
write = 1
policy = "start"
[[process.group]]
name = "reader"
affinity = {{ nodes = 1 }}
[[process.group.phase]]
time = "{time}"
access = "r"
cost = "20ns"
{more}
"#
    )
}

fn go(kernel: &SimConfig, text: &str) -> Outcome {
    let m = machine(MACHINE);
    run(&m, &inline(text, &m, 1, &[]), kernel, 1)
}

fn reason(o: &Outcome, name: &str) -> u64 {
    o.reasons.iter().find(|r| r.0 == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// What is moved, what failed, what a device refused, and what was marked.
fn figures(o: &Outcome) -> (u64, u64, u64, u64) {
    let of = |name| counter(o, name);
    (of("numa_pages_migrated"), of("pgmigrate_fail"), reason(o, "refused.pinned"), of("numa_pte_updates"))
}

/// kernel-numa-balancing.md §9.4: a page with a raised reference count is tried and fails.
#[test]
fn a_pinned_page_never_moves() {
    let k = kernel("4.15");
    let (moved, failed, ..) = figures(&go(&k, &reader("advice = \"nohuge\"", "8s", "")));
    assert!(moved >= PAGES - BATCH && failed == 0, "without a pin: {moved} {failed}");
    let pinned = reader("advice = \"nohuge\"\npinned = true", "8s", "");
    let (moved, failed, refused, _) = figures(&go(&k, &pinned));
    // The stacks and the data of the program may move.
    assert!(moved < 100, "{moved}");
    assert!(failed >= PAGES && refused == failed, "{failed} {refused}");
}

/// Up to 5.13 a huge page that somebody holds is refused before it is tried; since then it is tried and fails.
#[test]
fn a_pinned_huge_page_is_refused_or_fails_by_release() {
    let sets = [("system.thp", "always")];
    let text = reader("pinned = true", "8s", "");
    let (moved, failed, refused, _) = figures(&go(&kernel_set("4.15", &sets), &text));
    assert!(moved < 512 && failed == 0 && refused > 0, "{moved} {failed} {refused}");
    let o = go(&kernel_set("5.15", &sets), &text);
    let (moved, failed, refused, _) = figures(&o);
    assert!(moved < 512 && refused > 0 && failed == 512 * refused, "{moved} {failed} {refused}");
    assert_eq!(counter(&o, "thp_migration_fail"), refused);
}

/// kernel-numa-balancing.md §8: what counts references, or asks for pins, leaves pinned pages unmarked.
#[test]
fn filters_see_pins() {
    let text = reader("advice = \"nohuge\"\npinned = true", "8s", "");
    for (name, marks) in [("5.16", true), ("6.1", false), ("6.12", false)] {
        let (.., updates) = figures(&go(&kernel(name), &text));
        assert_eq!(updates >= PAGES, marks, "{name}: {updates}");
    }
    for name in ["6.1", "6.12"] {
        let (.., updates) = figures(&go(&kernel(name), &reader("advice = \"nohuge\"", "8s", "")));
        assert!(updates >= PAGES, "{name} without a pin: {updates}");
    }
}

/// kernel-numa-balancing.md §12 (A10): one failed migration doubles the period since 4.0 (074c238177a7).
#[test]
fn failures_slow_the_scan_down() {
    let text = reader("advice = \"nohuge\"\npinned = true", "20s", "");
    let updates = |scan| figures(&go(&kernel_set("4.0", &[("scan", scan)]), &text)).3;
    let (before, since) = (updates("v317"), updates("v40"));
    assert!(since * 2 < before, "{before} {since}");
}

/// Two threads on node 0 read one half each from a device, as one transfer of 6 s.
const TRANSFER: &str = r#"
[[process.group]]
name = "device"
threads = 2
affinity = { nodes = 0 }
[[process.group.phase]]
direct_io = "r"
slice = "thread"
bytes = "8MiB"
latency = "6s"
"#;

#[test]
fn a_page_under_direct_io_moves_after_it() {
    let k = kernel("4.15");
    let (moved, _, refused, _) = figures(&go(&k, &reader("advice = \"nohuge\"", "5s", TRANSFER)));
    assert!(moved < 100 && refused > 100, "while it is in flight: {moved} {refused}");
    let o = go(&k, &reader("advice = \"nohuge\"", "40s", TRANSFER));
    let (moved, _, refused, _) = figures(&o);
    assert!(moved >= PAGES - BATCH && refused > 100, "and after it: {moved} {refused}");
}

/// The transfers of a thread follow each other, and each takes its time.
#[test]
fn direct_io_takes_its_time_and_faults_its_pages_in() {
    let text = r#"
[[process]]
name = "p"
[[process.region]]
name = "r"
size = "1MiB"
[[process.phase]]
direct_io = "r"
bytes = "64KiB"
ios = 100
latency = "3ms"
"#;
    let o = go(&kernel("6.12"), text);
    let elapsed = scalar(&o, "elapsed_s");
    assert!((0.3..0.32).contains(&elapsed), "{elapsed}");
    assert!(counter(&o, "pgfault") >= 1, "its pages were missing");
}

/// Up to 6.4 direct I/O takes the hint faults of its buffer; since then only accesses do.
#[test]
fn direct_io_takes_hint_faults_up_to_6_4() {
    let text = |io: &str| {
        format!(
            r#"
[[process]]
name = "p"
initial = "joins"
[[process.region]]
name = "r"
size = "16MiB"
advice = "nohuge"
[[process.prologue]]
access = "r"
write = 1
[[process.group]]
name = "w"
affinity = {{ nodes = 0 }}
[[process.group.phase]]
time = "8s"
steps = [{{ {io} }}, {{ compute = "4ms" }}]
"#
        )
    };
    let faults = |k: &str| {
        let o = go(&kernel(k), &text("direct_io = \"r\", bytes = \"1MiB\", latency = \"10us\""));
        counter(&o, "numa_hint_faults")
    };
    // A buffer that is in flight when the scanner comes stays unmarked.
    assert!(faults("5.16") > 1000, "{}", faults("5.16"));
    assert!(faults("6.12") < 1000, "{}", faults("6.12"));
}

/// Before 5.0 threads that come to a page under migration hold it, and its move fails (9a1ea439b16b).
#[test]
fn waiters_refuse_the_move_of_private_pages_before_5_0() {
    for (advice, thp) in [("advice = \"nohuge\"", "never"), ("", "always")] {
        let text = reader(advice, "10s", "").replace("name = \"reader\"", "name = \"reader\"\nthreads = 16");
        let m = machine("2x1x16x1");
        let waiters = |pin: &str| {
            let k = kernel_set("4.15", &[("numa.migration_waiters_pin", pin), ("system.thp", thp)]);
            let o = run(&m, &inline(&text, &m, 1, &[]), &k, 1);
            (reason(&o, "refused.waiters"), counter(&o, "pgmigrate_fail"))
        };
        assert_eq!(waiters("false"), (0, 0), "{thp}");
        let (refused, failed) = waiters("true");
        let pages = if thp == "always" { 512 } else { 1 };
        assert!(refused > 0 && failed >= refused * pages.min(failed), "{thp}: {refused} {failed}");
    }
}

/// The workload of "Slow PTE scan rate if migration failures occur": the same kernel marks less with the patch.
#[test]
fn slower_scans_mark_less_of_a_cache_that_direct_io_fills() {
    let m = machine(MACHINE);
    // A slow device and a small cache: transfers hold half of it, and workers meet them soon after each scan.
    let params = [("cache", "8MiB"), ("latency", "10ms"), ("cost", "200ns"), ("reads", "1500")];
    let w = workload("xfs-repair", &m, 1, &params);
    let go = |scan| run(&m, &w, &kernel_set("4.0", &[("scan", scan)]), 1);
    let (before, since) = (go("v317"), go("v40"));
    assert!(reason(&before, "refused.pinned") > 0, "transfers hold pages: {:?}", figures(&before));
    let updates = |o| counter(o, "numa_pte_updates");
    assert!(updates(&since) < updates(&before), "{:?} {:?}", figures(&before), figures(&since));
}
