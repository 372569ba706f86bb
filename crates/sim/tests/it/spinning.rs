//! A thread that busy-waits in user space is an ordinary running task: its CPU keeps its tick, and with it all that
//! ticks do.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

/// A thread busy-waits for another that sleeps or computes (`other`) for six seconds.
fn team(other: &str) -> String {
    format!(
        r#"
[[barrier]]
name = "end"
spin = true
[[process]]
name = "team"
threads = 2
affinity = {{ cpus = "thread" }}
[[process.region]]
name = "buffer"
size = "64MiB"
[[process.phase]]
when = "thread == 0"
steps = [{{ access = "buffer", write = 1 }}, {{ barrier = "end" }}]
[[process.phase]]
when = "thread == 1"
steps = [{{ {other} = "6s" }}, {{ barrier = "end" }}]
"#
    )
}

#[test]
fn a_spinning_cpu_ticks() {
    let m = machine("2x1x1x1");
    for (other, cpus) in [("sleep", 1.0), ("compute", 2.0)] {
        let w = inline(&team(other), &m, 1, &[]);
        let (o, did) = numalab_sim::measure(&m, &w, &kernel("6.1"), 1, true).unwrap();
        // Every 4 ms; the threads start and end at different times.
        let want = scalar(&o, "elapsed_s") * 250.0 * cpus;
        assert!((did.ticks as f64 - want).abs() < 20.0, "{other}: {} ticks instead of {want}", did.ticks);
    }
}

#[test]
fn a_spinning_thread_scans() {
    let m = machine("2x1x1x1");
    let o = run(&m, &inline(&team("sleep"), &m, 1, &[]), &kernel("6.1"), 1);
    assert!(counter(&o, "numa_pte_updates") >= 64 * 256, "{} pages", counter(&o, "numa_pte_updates"));
}
