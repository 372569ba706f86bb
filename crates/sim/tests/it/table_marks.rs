//! 3.8: a page table whose pages are all on one node is marked, and one trap handles all its marked pages
//! (designs-2012.md section 3.2).
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::Outcome;

const PAGES: u64 = 64 << 8;

/// One of two threads, each on a node, goes over the memory; the other computes for a while, so that scans begin, and
/// then sleeps, so that it does none later. Thread 0 is beside the memory.
fn sweep(nodes: u32, sweeper: u32) -> String {
    format!(
        "[[policy]]\nname = \"start\"\nmode = \"interleave\"\nnodes = \"0..{nodes} - 1\"\n\
         [[process]]\nname = \"main\"\nthreads = 2\naffinity = {{ nodes = \"thread\" }}\n\
         [[process.region]]\nname = \"buffer\"\nsize = \"64MiB\"\n\
         [[process.prologue]]\npolicy = \"start\"\naccess = \"buffer\"\nwrite = 1\n\
         [[process.phase]]\nwhen = \"thread != {sweeper}\"\nsteps = [{{ compute = \"1500ms\" }}, {{ sleep = \"6500ms\" }}]\n\
         [[process.phase]]\nwhen = \"thread == {sweeper}\"\ntime = \"8s\"\nsteps = [{{ access = \"buffer\", write = 1 }}]\n"
    )
}

fn outcome(text: &str, marks: &str) -> Outcome {
    let m = machine("2x1x2x1");
    let k = kernel_set("3.8", &[("system.thp", "never"), ("numa.table_marks", marks)]);
    run(&m, &inline(text, &m, 1, &[]), &k, 1)
}

/// Traps beside first touches, and pages found marked in them.
fn traps(o: &Outcome) -> (u64, u64) {
    (counter(o, "pgfault").saturating_sub(PAGES), counter(o, "numa_hint_faults"))
}

#[test]
fn one_trap_handles_a_table_of_one_node() {
    let (together, pages) = traps(&outcome(&sweep(1, 1), "true"));
    assert!(pages > 2 * PAGES, "{pages}");
    assert!(together < pages / 200, "{together} traps for {pages} pages");
    let (alone, pages) = traps(&outcome(&sweep(1, 1), "false"));
    assert!(alone >= pages && pages > 2 * PAGES, "{alone} traps for {pages} pages");
}

/// Two passes in a row from one node move the other half of the memory; from then on every table is on one node.
#[test]
fn pages_of_two_nodes_trap_one_by_one_until_they_are_together() {
    let (traps, pages) = traps(&outcome(&sweep(2, 0), "true"));
    assert!(pages > 3 * PAGES, "{pages}");
    assert!((2 * PAGES..2 * PAGES + PAGES / 16).contains(&traps), "{traps} traps for {pages} pages");
}

#[test]
fn memory_follows_a_table_at_a_time() {
    for marks in ["true", "false"] {
        let o = outcome(&sweep(1, 1), marks);
        let moved = counter(&o, "numa_pages_migrated");
        assert!((PAGES..PAGES + PAGES / 8).contains(&moved), "{marks}: {moved} of {PAGES} pages moved");
    }
}

/// A page that stays lengthens the scan period if it trapped by itself, not if it was handled with its table.
#[test]
fn pages_that_stay_do_not_slow_scans_if_handled_together() {
    let marked = |marks| counter(&outcome(&sweep(1, 0), marks), "numa_pte_updates");
    let (together, alone) = (marked("true"), marked("false"));
    assert!(together > 2 * alone, "{together} and {alone} pages marked");
}

/// Section 3.3, stage `moron`: a huge page is split and its pages move once; afterwards their table carries the mark,
/// and they never move again. `twostage` moves them back, page by page, and 3.8 whole.
#[test]
fn the_first_stage_spreads_memory_once_and_freezes_it() {
    let text = r#"
[[channel]]
name = "turn"
[[process]]
name = "main"
threads = 2
affinity = { nodes = "thread" }
[[process.region]]
name = "buffer"
size = "64MiB"
[[process.prologue]]
access = "buffer"
write = 1
[[process.phase]]
when = "thread == 1"
steps = [{ time = "8s", access = "buffer", write = 1 }, { signal = "turn" }, { sleep = "8s" }]
[[process.phase]]
when = "thread == 0"
steps = [{ compute = "1500ms" }, { wait = "turn" }, { time = "8s", access = "buffer", write = 1 }]
"#;
    let m = machine("2x1x2x1");
    let go = |kernel| {
        // The last pages that a CPU got stay where they are while they wait for the LRU; here all pages are to move.
        let alone = [("khugepaged.collapse", "false"), ("numa.migration_lru_batch", "false")];
        let k = kernel_set(kernel, &[&[("system.thp", "always")], alone.as_slice()].concat());
        let o = run(&m, &inline(text, &m, 1, &[]), &k, 1);
        (
            counter(&o, "numa_pages_migrated") / PAGES,
            counter(&o, "thp_migration_split"),
            counter(&o, "thp_migration_success"),
        )
    };
    assert_eq!(go("3.8+moron"), (1, PAGES / 512, 0));
    assert_eq!(go("3.8+twostage"), (2, PAGES / 512, 0));
    assert_eq!(go("3.8"), (2, 0, 2 * PAGES / 512));
}
