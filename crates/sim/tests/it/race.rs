//! Threads that fault on one missing page together each allocate one, and all but one give theirs back.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::Outcome;

const PAGES: u64 = 64 << 8;

/// `threads` threads begin to go over an untouched buffer of 64 MiB at the same time.
fn sweep(threads: &str, write: &str) -> String {
    format!(
        "[[barrier]]\nname = \"go\"\n\
         [[process]]\nname = \"main\"\nthreads = \"{threads}\"\n\
         [[process.region]]\nname = \"buffer\"\nsize = \"64MiB\"\n\
         [[process.phase]]\nsteps = [{{ barrier = \"go\" }}, {{ access = \"buffer\", write = {write} }}]\n"
    )
}

fn outcome(kernel: &str, thp: &str, threads: &str, write: &str) -> Outcome {
    let m = machine("2x1x4x1");
    let w = inline(&sweep(threads, write), &m, 1, &[]);
    // The engine's checks at the end find every frame that was filled in vain free again.
    run(&m, &w, &kernel_set(kernel, &[("system.thp", thp), ("system.numa_balancing", "0")]), 1)
}

#[test]
fn a_base_page_is_allocated_by_all_who_miss_it() {
    let alone = outcome("6.1", "never", "1", "1");
    let together = outcome("6.1", "never", "cpus", "1");
    let extra = |o: &Outcome| counter(o, "numa_hit") as f64 / PAGES as f64 - 1.0;
    assert!(extra(&alone) < 0.01, "{}", extra(&alone));
    assert!(extra(&together) > 0.05 && extra(&together) < 7.0, "{}", extra(&together));
    // A fault each, wherever it ended, but for the page tables of seven more stacks. Who waits for the lock of the
    // mapping may find the page there, and allocates nothing.
    let more = counter(&together, "numa_hit") - counter(&alone, "numa_hit");
    let faults = counter(&together, "pgfault") - counter(&alone, "pgfault");
    assert!(faults + 7 * 4 >= more, "{faults} {more}");
}

/// A page that was filled in vain is the next that its CPU takes, and its lines are cached.
#[test]
fn pages_that_come_back_are_cleared_in_the_cache() {
    // Without what threads wait for each other.
    let waited = |o: &Outcome| {
        o.counters.iter().filter(|(name, _)| name.ends_with("lock_wait_ns")).map(|(_, ns)| ns).sum::<u64>()
    };
    let system_ns = |o: &Outcome| (1e9 * scalar(o, "system_s") - waited(o) as f64) / counter(o, "pgfault") as f64;
    let alone = outcome("6.1", "never", "1", "1");
    let together = outcome("6.1", "never", "cpus", "1");
    let (alone, together) = (system_ns(&alone), system_ns(&together));
    assert!(together < 0.85 * alone, "{together} ns of a fault, {alone} ns alone");
}

#[test]
fn a_huge_page_filled_in_vain_counts_as_allocated_before_4_3() {
    let huge = PAGES / 512;
    for (kernel, early) in [("3.13", true), ("4.0", true), ("4.15", false), ("6.1", false)] {
        let o = outcome(kernel, "always", "cpus", "1");
        let (fault_alloc, hit) = (counter(&o, "thp_fault_alloc"), counter(&o, "numa_hit"));
        assert!(hit > huge + huge / 4, "{kernel}: nobody met anybody: {hit}");
        assert_eq!(fault_alloc > huge, early, "{kernel}: {fault_alloc} huge pages of {huge}");
    }
}

#[test]
fn who_reads_maps_zeros_and_allocates_nothing() {
    let o = outcome("6.1", "never", "cpus", "0");
    assert!(counter(&o, "numa_hit") < PAGES / 100, "{}", counter(&o, "numa_hit"));
}
