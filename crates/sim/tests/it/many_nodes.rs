//! The largest machine that can be described runs, keeps its books, and gives the same figures twice.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use std::fmt::Write as _;

/// 4 MiB that lie on node 3, and two threads on node 1000 that use them for a time.
fn far(time: &str) -> String {
    REMOTE
        .replace("nodes = \"0\"", "nodes = \"3\"")
        .replace("nodes = \"1\"", "nodes = \"1000\"")
        .replace("64MiB", "4MiB")
        .replace("6s", time)
}

/// Pages of 4 KiB on a node in the last sample of a run.
fn pages_on(o: &numalab_model::record::Outcome, node: usize) -> f64 {
    let series = o.series.iter().find(|s| s.name == "process_pages").unwrap();
    let column = series.columns.iter().position(|c| c.ends_with(&format!("/node{node}"))).unwrap();
    *series.values[column].last().unwrap()
}

#[test]
fn pages_of_the_largest_machine_end_local() {
    let m = machine("1024x1x1x1");
    let (w, k) = (inline(&far("2s"), &m, 1, &[]), kernel("6.12"));
    let first = run(&m, &w, &k, 1);
    assert!(counter(&first, "numa_pages_migrated") >= 1024, "{:?}", first.counters);
    assert!(pages_on(&first, 1000) >= 1024.0 && pages_on(&first, 3) < 100.0, "{}", pages_on(&first, 3));
    // 1000 and 232 have the same low byte.
    assert_eq!(pages_on(&first, 232), 0.0);
    assert_eq!(run(&m, &w, &k, 1), first, "the same plan gives the same figures");
}

/// As many CPUs as a machine may have: in short 256 threads compute and use memory, in the long form one on each CPU.
#[test]
fn all_cpus_of_the_largest_machine_run() {
    let m = machine("64x8x8x2");
    assert_eq!(m.cpus.len(), 8192);
    let (threads, time) = if is_long() { (8192, "1s") } else { (256, "100ms") };
    let text = format!(
        "[[score]]\nname = \"rounds\"\nunit = \"rounds\"\nbetter = \"higher\"\n\
         [[process]]\nname = \"main\"\nthreads = {threads}\ninitial = \"joins\"\n\
         [[process.region]]\nname = \"own\"\nsize = \"64KiB * threads\"\n\
         [[process.phase]]\ntime = \"{time}\"\nsteps = [\
         {{ access = \"own\", slice = \"thread\", write = 1 }}, {{ compute = \"1ms\" }}, {{ score = \"rounds\" }}]\n"
    );
    let o = run(&m, &inline(&text, &m, 1, &[]), &kernel("6.12"), 1);
    assert_eq!(o.status, numalab_model::record::Status::Completed);
    // Each thread computes on a CPU of its own for nearly all of the time, on a boosted core somewhat faster.
    let ms = if is_long() { 1000.0 } else { 100.0 };
    let rounds = scalar(&o, "rounds");
    let most = f64::from(threads) * ms;
    assert!((0.8 * most..=1.5 * most).contains(&rounds), "{rounds} of {most} rounds");
}

/// What `numactl --hardware` says of a machine of `n` nodes of one CPU and 1 GiB, which are near or far in steps.
fn numactl(n: usize) -> String {
    let mut text = format!("available: {n} nodes (0-{})\n", n - 1);
    for node in 0..n {
        write!(text, "node {node} cpus: {node}\nnode {node} size: 1024 MB\nnode {node} free: 1000 MB\n").unwrap();
    }
    text += "node distances:\nnode ";
    (0..n).for_each(|to| write!(text, " {to}").unwrap());
    for from in 0..n {
        write!(text, "\n{from}:").unwrap();
        let far = |to: usize| {
            if from == to {
                10
            } else {
                [12, 20, 32][usize::from(from / 8 != to / 8) + usize::from(from / 64 != to / 64)]
            }
        };
        (0..n).for_each(|to| write!(text, " {}", far(to)).unwrap());
    }
    text + "\n"
}

#[test]
fn an_imported_machine_of_a_thousand_nodes_runs() {
    let text = numalab_model::machine::import::numactl("n.txt", &numactl(1024), "m").unwrap();
    let m = numalab_model::machine::from_toml("m.toml", &text).unwrap();
    let (w, k) = (inline(&far("3s"), &m, 1, &[]), kernel("6.12"));
    let first = run(&m, &w, &k, 1);
    assert!(counter(&first, "numa_hint_faults") > 0 && pages_on(&first, 1000) > 0.0, "{:?}", first.counters);
}
