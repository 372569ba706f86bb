//! The daemon that balances from user space, simulated: what it mends, and what it leaves alone.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{counter, inline, kernel, kernel_set, machine, run, SimConfig};
use numalab_model::machine::Machine;
use numalab_model::record::Outcome;
use numalab_model::workload::Workload;

/// A process whose memory starts on node 1 while other threads keep the CPUs of node 1 busy.
const WRONG_NODE: &str = "
[[policy]]
name = \"start\"
mode = \"preferred\"
nodes = 1

[[process]]
name = \"main\"
threads = 2

[[process.region]]
name = \"memory\"
size = \"64MiB\"

[[process.prologue]]
access = \"memory\"
write = 1
policy = \"start\"

[[process.phase]]
time = \"12s\"
steps = [{ access = \"memory\", pattern = \"random\", accesses = 2000, write = 0.2 }, { compute = \"200us\" }]

[[process]]
name = \"busy\"
threads = 2
affinity = { nodes = 1 }

[[process.phase]]
time = \"12s\"
compute = \"1ms\"
";

/// Pages of a process on each node at the end of a run.
fn pages(o: &Outcome, process: &str) -> Vec<f64> {
    let series = o.series.iter().find(|s| s.name == "process_pages").unwrap();
    let own = |c: &&usize| series.columns[**c].starts_with(&format!("{process}/node"));
    // At the last sample the process has ended; the one before shows it.
    let columns: Vec<usize> = (0..series.columns.len()).filter(|c| own(&c)).collect();
    let sum = |s: usize| columns.iter().map(|c| series.values[*c][s]).sum::<f64>();
    let last = (0..series.time_ns.len()).rev().find(|s| sum(*s) > 0.0).unwrap();
    columns.iter().map(|c| series.values[*c][last]).collect()
}

fn two_nodes(text: &str) -> (Machine, Workload) {
    let m = machine("2x1x2x1");
    let w = inline(text, &m, 1, &[]);
    (m, w)
}

fn daemon() -> SimConfig {
    kernel("userspace-balance")
}

#[test]
fn memory_on_the_wrong_node_follows_its_threads() {
    let (m, w) = two_nodes(WRONG_NODE);
    let before = pages(&run(&m, &w, &kernel("off"), 1), "main.0");
    assert!(before[1] > 0.95 * (before[0] + before[1]), "without the daemon it stays: {before:?}");
    let out = run(&m, &w, &daemon(), 1);
    let after = pages(&out, "main.0");
    assert!(after[0] > 0.95 * (after[0] + after[1]), "it ends on node 0: {after:?}");
    assert!(counter(&out, "pgmigrate_success") >= 16_000);
    assert_eq!(counter(&out, "numa_hint_faults"), 0, "nothing is marked");
}

#[test]
fn the_rate_limit_holds() {
    let (m, w) = two_nodes(WRONG_NODE);
    let k = kernel_set("userspace-balance", &[("userspace_balance.rate_limit_mb_s", "1")]);
    let moved = counter(&run(&m, &w, &k, 1), "pgmigrate_success");
    assert!(moved > 0 && moved * 4096 <= 13_000_000, "{moved} pages in 12 s at 1 MB/s");
}

#[test]
fn what_is_pinned_or_has_a_policy_stays() {
    let pinned = WRONG_NODE.replacen("threads = 2\n", "threads = 2\naffinity = { nodes = 0 }\n", 1);
    let policy = WRONG_NODE.replacen("size = \"64MiB\"\n", "size = \"64MiB\"\npolicy = \"start\"\n", 1);
    for text in [pinned, policy] {
        let (m, w) = two_nodes(&text);
        let out = run(&m, &w, &daemon(), 1);
        let after = pages(&out, "main.0");
        assert!(after[1] > 0.95 * (after[0] + after[1]), "{after:?}");
        assert!(counter(&out, "pgmigrate_success") < 200, "stacks at most");
    }
}

#[test]
fn shared_copy_on_write_memory_is_not_thrashed() {
    let text = "
[[process]]
name = \"parent\"

[[process.region]]
name = \"table\"
kind = \"data\"
size = \"64MiB\"

[[process.prologue]]
access = \"table\"
write = 1

[[process.phase]]
sleep = \"10s\"

[[process]]
name = \"child\"
count = 4
parent = \"parent\"
fork = \"after\"

[[process.phase]]
time = \"10s\"
steps = [{ access = \"table\", pattern = \"random\", accesses = 2000 }, { compute = \"200us\" }]
";
    let (m, w) = two_nodes(text);
    let moved = counter(&run(&m, &w, &daemon(), 1), "pgmigrate_success");
    assert!(moved < 1000, "{moved} of 16384 shared pages");
}

#[test]
fn two_processes_on_four_nodes_get_nodes_of_their_own() {
    let text = "
[[process]]
name = \"p\"
count = 2
threads = 2

[[process.region]]
name = \"memory\"
size = \"64MiB\"

[[process.prologue]]
access = \"memory\"
write = 1

[[process.phase]]
time = \"20s\"
steps = [{ access = \"memory\", pattern = \"random\", accesses = 2000, write = 0.2 }, { compute = \"200us\" }]
";
    let m = machine("4x1x2x1");
    let w = inline(text, &m, 1, &[]);
    let out = run(&m, &w, &daemon(), 1);
    let (a, b) = (pages(&out, "p.0"), pages(&out, "p.1"));
    let common: f64 = a.iter().zip(&b).map(|(a, b)| a.min(*b)).sum();
    assert!(common < 0.05 * a.iter().sum::<f64>(), "{a:?} {b:?}");
}

#[test]
fn runs_repeat_bit_by_bit() {
    let (m, w) = two_nodes(WRONG_NODE);
    assert_eq!(run(&m, &w, &daemon(), 7), run(&m, &w, &daemon(), 7));
}
