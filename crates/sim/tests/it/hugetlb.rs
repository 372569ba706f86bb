//! Hugetlb regions: pages come from pools that are set aside on each node, and stay where they are.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_nouns::record::{Outcome, Status};

/// Two threads of node 0 that write 64 MiB of hugetlb pages for `time`, with more `keys` of the region.
fn text(keys: &str, time: &str) -> String {
    format!(
        "[[process]]\nname = \"p\"\naffinity = {{ nodes = 0 }}\nthreads = 2\n\
         [[process.region]]\nname = \"r\"\nsize = \"64MiB\"\n{keys}\n\
         [[process.phase]]\ntime = \"{time}\"\naccess = \"r\"\nwrite = 1\nslice = \"thread\"\n"
    )
}

fn outcome(text: &str, kernel: &SimConfig) -> Outcome {
    let m = machine("2x1x4x1");
    run(&m, &inline(text, &m, 1, &[]), kernel, 1)
}

/// Pages of the process on both nodes at the last sample before its end.
fn pages(o: &Outcome) -> [f64; 2] {
    let s = o.series.iter().find(|s| s.name == "process_pages").unwrap();
    let at = s.time_ns.len() - 2;
    [s.values[0][at], s.values[1][at]]
}

#[test]
fn a_pool_is_spread_over_nodes_and_its_pages_never_move() {
    let kernel = kernel("6.12");
    let o = outcome(&text("kind = \"hugetlb\"", "10s"), &kernel);
    let [near, far] = pages(&o);
    // The near pool serves half of the region, and then the far one does.
    assert!((16 * 512..16 * 512 + 100).contains(&(near as u64)), "{near}");
    assert_eq!(far, 16.0 * 512.0);
    assert_eq!(counter(&o, "numa_pages_migrated"), 0);
    assert_eq!(counter(&o, "thp_fault_alloc"), 0);
    let skipped = o.reasons.iter().find(|(n, _)| n == "skip.unsuitable").unwrap().1;
    assert!(skipped > 0, "task_numa_work passes over it");
    // Pages of the pool were counted before the run: those that count now are the program's own few.
    assert!(counter(&o, "numa_hit") < 100, "{}", counter(&o, "numa_hit"));
    let ordinary = outcome(&text("advice = \"nohuge\"", "10s"), &kernel);
    assert!(counter(&ordinary, "numa_pte_updates") > 16_000, "the same region with base pages is marked");
    assert!(counter(&o, "numa_pte_updates") < 100);
}

#[test]
fn a_larger_pool_serves_all_from_near() {
    let o = outcome(&text("kind = \"hugetlb\"\npool = \"64MiB\"", "1s"), &kernel("6.12"));
    assert_eq!(pages(&o)[1], 0.0);
}

#[test]
fn each_page_faults_once_even_for_reads() {
    // Shorter than the delay of the first scan, so that no fault is a hint fault.
    let write = text("kind = \"hugetlb\"", "500ms");
    let (read, half) = (write.replace("write = 1", "write = 0"), write.replace("64MiB", "32MiB"));
    let [write, read, half] = [write, read, half].map(|t| counter(&outcome(&t, &kernel("6.12")), "pgfault"));
    assert_eq!(write - half, 16);
    assert_eq!(read, write, "hugetlb has no zero page");
}

#[test]
fn khugepaged_and_reclaim_leave_the_pool_alone() {
    // On two nodes of 256 MiB, 32 of them in the pool, more is used than there is, and some goes to swap.
    let mut m = machine("2x1x4x1");
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 256 << 20);
    let text = format!(
        "{}{}",
        text("kind = \"hugetlb\"", "3s"),
        "[[process]]\nname = \"q\"\n[[process.region]]\nname = \"big\"\nsize = \"500MiB\"\n\
         [[process.phase]]\ntime = \"3s\"\naccess = \"big\"\nwrite = 1\n"
    );
    let o = run(&m, &inline(&text, &m, 1, &[]), &kernel_set("6.12", &[("swap.size_mb", "1024")]), 1);
    assert!(counter(&o, "pswpout") > 0, "memory was short");
    let s = o.series.iter().find(|s| s.name == "process_pages").unwrap();
    let alive = (0..s.time_ns.len()).filter(|i| (1_000_000_000..2_500_000_000).contains(&s.time_ns[*i]));
    let least = alive.map(|i| s.values[0][i] + s.values[1][i]).fold(f64::INFINITY, f64::min);
    assert!((32.0 * 512.0..1e6).contains(&least), "no page of the pool was swapped: {least}");
}

#[test]
fn a_pool_that_lacks_pages_ends_the_run_with_a_signal() {
    let bound = "[[policy]]\nname = \"near\"\nmode = \"bind\"\nnodes = 0\n";
    let m = machine("2x1x4x1");
    let w = inline(&format!("{bound}{}", text("kind = \"hugetlb\"\npolicy = \"near\"", "1s")), &m, 1, &[]);
    let o = numalab_sim::run(&m, &w, &kernel("6.12"), 1, true).unwrap();
    let Status::Failed(why) = o.status else { panic!("{:?}", o.status) };
    assert!(why.contains("p.0 touched `r`") && why.contains("SIGBUS") && why.contains("`pool`"), "{why}");
    let whole = format!("{bound}{}", text("kind = \"hugetlb\"\npolicy = \"near\"\npool = \"64MiB\"", "1s"));
    assert_eq!(pages(&outcome(&whole, &kernel("6.12")))[1], 0.0);
}

#[test]
fn machines_and_kernels_that_cannot_have_it_are_refused() {
    let m = machine("2x1x4x1");
    let half = "kind = \"hugetlb\"\npool = \"node_memory_bytes\"";
    let e = numalab_sim::run(&m, &inline(&text(half, "1s"), &m, 1, &[]), &kernel("6.12"), 1, true).unwrap_err();
    assert!(e.to_string().contains("node 0 has room for"), "{e}");
    let w = inline(&text("kind = \"hugetlb\"", "1s"), &m, 1, &[]);
    let e = numalab_sim::run(&m, &w, &kernel("3.7-autonuma-v27"), 1, true).unwrap_err();
    assert!(e.to_string().contains("without AutoNUMA"), "{e}");
}
