//! Control groups with a `cpu_weight`: CPU time by group, in whole runs.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::{inline, kernel, machine, run, scalar};
use numalab_nouns::record::Outcome;

/// Two processes of hogs on CPU 0, for ten seconds. Scores are the CPU time that each gets, ms.
const HOGS: &str = r#"
[params]
a_threads = 8
b_threads = 1
[[score]]
name = "a_ms"
unit = "ms"
better = "higher"
[[score]]
name = "b_ms"
unit = "ms"
better = "higher"
[[process]]
name = "a"
threads = "a_threads"
affinity = { cpus = "0" }
A_WEIGHT
[[process.phase]]
time = "10s"
steps = [{ compute = "1ms" }, { score = "a_ms", amount = 1 }]
[[process]]
name = "b"
threads = "b_threads"
affinity = { cpus = "0" }
B_WEIGHT
[[process.phase]]
time = "10s"
steps = [{ compute = "1ms" }, { score = "b_ms", amount = 1 }]
"#;

fn hogs(kernel_name: &str, a: Option<u32>, b: Option<u32>, params: &[(&str, &str)]) -> Outcome {
    let key = |w: Option<u32>| w.map_or(String::new(), |w| format!("cpu_weight = {w}"));
    let text = HOGS.replace("A_WEIGHT", &key(a)).replace("B_WEIGHT", &key(b));
    let m = machine("haswell-2s");
    run(&m, &inline(&text, &m, 1, params), &kernel(kernel_name), 1)
}

#[track_caller]
fn is_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.05, "{found:.3}, {expected} expected");
}

/// Eight hogs in a group get as much of a CPU as the one of another group. Without groups they get eight times as much.
#[test]
fn a_group_gets_its_share_however_many_threads_it_has() {
    for k in ["5.15", "6.12"] {
        let ratio = |o: &Outcome| scalar(o, "a_ms") / scalar(o, "b_ms");
        is_near(ratio(&hogs(k, None, None, &[])), 8.0);
        is_near(ratio(&hogs(k, Some(100), Some(100), &[])), 1.0);
        is_near(ratio(&hogs(k, Some(100), None, &[])), 1.0);
        is_near(ratio(&hogs(k, Some(200), Some(800), &[("b_threads", "2")])), 0.25);
    }
}

/// A lone group has all of its CPU, whatever its weight.
#[test]
fn a_weight_limits_nobody_who_is_alone() {
    let params = [("a_threads", "1"), ("b_threads", "1")];
    let text = HOGS.replace("A_WEIGHT", "cpu_weight = 1").replace("B_WEIGHT", "").replacen("\"0\"", "\"1\"", 1);
    let m = machine("haswell-2s");
    let o = run(&m, &inline(&text, &m, 1, &params), &kernel("6.12"), 1);
    is_near(scalar(&o, "a_ms") / scalar(&o, "b_ms"), 1.0);
}

/// All instances of a process are in one group, and so are the children that have no weight of their own.
#[test]
fn instances_and_children_are_in_the_group_of_their_process() {
    let text = r#"
[[process]]
name = "first"
count = 2
cpu_weight = "50 * nodes"
[[process.phase]]
compute = "1ms"
[[process]]
name = "child"
parent = "first"
[[process.phase]]
compute = "1ms"
[[process]]
name = "other"
parent = "first"
cpu_weight = 10_000
[[process.phase]]
compute = "1ms"
[[process]]
name = "root"
[[process.phase]]
compute = "1ms"
"#;
    let m = machine("haswell-2s");
    let w = inline(text, &m, 1, &[]);
    let groups: Vec<_> = w.processes.iter().map(|p| p.cpu_group.map(|g| (g.id, g.cpu_weight))).collect();
    assert_eq!(groups, [Some((0, 100)), Some((0, 100)), Some((0, 100)), Some((1, 10_000)), None]);
}
