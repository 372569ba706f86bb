//! A page on its way to another node is still PROT_NONE for a moment: whoever else comes takes a hint fault too.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::Outcome;
use numalab_sim::Harness;

/// Eight threads on two nodes go over one buffer in step, pass after pass.
const IN_STEP: &str = "[params]\npasses = { value = 400, about = \"passes\" }\n\
    [[barrier]]\nname = \"go\"\n\
    [[process]]\nname = \"main\"\nthreads = \"cpus\"\n\
    [[process.region]]\nname = \"buffer\"\nsize = \"64MiB\"\n\
    [[process.phase]]\nwhen = \"thread == 0\"\naccess = \"buffer\"\nwrite = 1\n\
    [[process.phase]]\ncount = \"passes\"\nsteps = [{ barrier = \"go\" }, { access = \"buffer\", write = 1 }]\n";

fn groups(o: &Outcome) -> u64 {
    o.reasons.iter().find(|r| r.0 == "groups.created").map_or(0, |r| r.1)
}

#[test]
fn threads_in_step_find_into_a_group_although_stores_unset_the_last_cpupid() {
    let m = machine("2x1x4x1");
    let w = inline(IN_STEP, &m, 1, &[]);
    let mut k = kernel("6.7");
    assert!(k.numa.switches.second_hint_faults && k.numa.switches.migration_drops_write);
    let with = run(&m, &w, &k, 1);
    assert!(groups(&with) > 0);
    // Vector E4 of kernel-numa-balancing.md: without second faults every fault is private, and no group ever appears.
    k.numa.switches.second_hint_faults = false;
    let without = run(&m, &w, &k, 1);
    assert!(counter(&without, "numa_pages_migrated") > 0);
    assert_eq!(groups(&without), 0);
}

#[test]
fn second_faults_are_counted_beside_the_marks() {
    let m = machine("2x1x4x1");
    let w = inline(IN_STEP, &m, 1, &[]);
    let mut k = kernel("6.7");
    let faults = |o: &Outcome| counter(o, "numa_hint_faults") as i64 - counter(o, "numa_pte_updates") as i64;
    let with = run(&m, &w, &k, 1);
    k.numa.switches.second_hint_faults = false;
    let without = run(&m, &w, &k, 1);
    assert!(faults(&without) <= 0, "a mark is found once: {}", faults(&without));
    assert!(faults(&with) > faults(&without), "{} {}", faults(&with), faults(&without));
}

/// Second faults for every hundred moves of `cpus` threads in step.
fn met_percent(cpus: &str) -> f64 {
    let m = machine(cpus);
    let o = run(&m, &inline(IN_STEP, &m, 1, &[]), &kernel("6.7"), 1);
    let (faults, marks) = (counter(&o, "numa_hint_faults") as f64, counter(&o, "numa_pte_updates") as f64);
    100.0 * (faults - marks) / counter(&o, "numa_pages_migrated") as f64
}

#[test]
fn the_more_threads_go_together_the_more_moves_are_met() {
    let (few, many) = (met_percent("2x1x1x1"), met_percent("2x1x8x1"));
    // Of two threads one is beside the page; a move takes several times as long as the moment in which it can be met.
    assert!(few < 30.0, "{few}");
    assert!(many > few + 10.0 && many < 100.0, "{few} {many}");
}

/// Section 17.1: whoever comes to a page under migration sleeps until it has moved, in mappings of one process as well.
/// Without balancing, alone, and in a guest whose CPUs take turns nobody sleeps.
#[test]
fn whoever_comes_to_a_page_under_migration_sleeps() {
    let blocked = |shape: &str, k: &SimConfig| {
        let o = run(&machine(shape), &inline(IN_STEP, &machine(shape), 1, &[]), k, 1);
        (scalar(&o, "blocked_s"), counter(&o, "numa_pages_migrated") as f64)
    };
    let (slept, moves) = blocked("2x1x4x1", &kernel("6.7"));
    // Seven others at most, each for less than the time of a move and of seven wake-ups before its own.
    assert!(slept > 1e-6 * moves && slept < 7.0 * 60e-6 * moves, "{slept} s behind {moves} moves");
    let worker = kernel("6.7").with_harness(Harness::Worker);
    let (slept, moves) = blocked("2x1x4x1", &worker);
    assert!(slept == 0.0 && moves > 0.0, "{slept} {moves}");
    assert_eq!(blocked("2x1x4x1", &kernel("off")).0, 0.0);
}

/// Two threads that write one untouched buffer together fill most of its pages twice. Where CPUs take turns, one does
/// so only if the other's turn ends while it fills the page: with odds of the time of a fault to half of a round of a
/// millisecond.
#[test]
fn cpus_that_take_turns_rarely_fill_a_page_together() {
    let in_vain = |harness| {
        let m = machine("2x1x1x1");
        let nobody_first = IN_STEP.replace("when = \"thread == 0\"\n", "count = 0\n");
        let o = run(&m, &inline(&nobody_first, &m, 1, &[("passes", "1")]), &kernel("off").with_harness(harness), 1);
        let pages = 64.0 * 256.0;
        counter(&o, "numa_hit") as f64 / pages - 1.0
    };
    let (together, by_turns) = (in_vain(Harness::ParallelWorker), in_vain(Harness::Worker));
    assert!(together > 0.3, "{together}");
    assert!(by_turns > 0.0 && by_turns < 0.05, "{by_turns}");
}

/// Eight threads on two nodes, each over a slice of its own: nobody comes to a page of another's.
#[test]
fn a_sweep_ends_with_its_slice() {
    let slices = IN_STEP.replace(", { access = \"buffer\",", ", { access = \"buffer\", slice = \"thread\",");
    assert!(slices.contains("slice"), "{slices}");
    let m = machine("2x1x4x1");
    let o = run(&m, &inline(&slices, &m, 1, &[("passes", "4000")]), &kernel("6.7"), 1);
    assert!(counter(&o, "numa_pages_migrated") > 0);
    assert!(counter(&o, "numa_hint_faults") <= counter(&o, "numa_pte_updates"));
}
