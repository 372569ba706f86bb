//! No more crosses a node's memory, a link or a cache port than it lets through, whatever threads did before.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

/// Readers of one node come back together from a pause, over and over.
const BURSTS: &str = r#"
[params]
readers = 16
pause = "30ms"
rounds = 8
array = "64MiB"
[[policy]]
name = "zero"
mode = "bind"
nodes = 0
[[barrier]]
name = "round"
spin = true
[[score]]
name = "read"
unit = "MB/s"
better = "higher"
per_second = true
best = true
[[process]]
name = "readers"
threads = "readers"
[[process.region]]
name = "array"
size = "array * readers"
policy = "zero"
[[process.prologue]]
access = "array"
write = 1
[[process.phase]]
count = "rounds"
steps = [
    { sleep = "pause" },
    { barrier = "round" },
    { timed = "read", steps = [
        { access = "array", slice = "thread", counts = "read", unit_bytes = "1MB" },
        { barrier = "round" },
    ] },
]
"#;

/// Placement is by chance, so typical rates are told from so many runs.
const SEEDS: u64 = 7;

/// Mean and best rate of rounds on a node of 198 GB/s, GB/s.
fn rates(readers: &str, array: &str, seed: u64) -> (f64, f64) {
    let m = machine("milan-2s-nps1");
    let w = inline(BURSTS, &m, seed, &[("readers", readers), ("array", array)]);
    let out = run(&m, &w, &kernel("off"), seed);
    (scalar(&out, "read") / 1e3, scalar(&out, "read_best") / 1e3)
}

/// Rates of an idle machine would give sixteen readers 495 GB/s, and thirty-two of them 991.
#[test]
fn readers_that_come_back_from_a_pause_get_what_the_node_delivers() {
    let mut late = Vec::new();
    for (readers, array) in [("8", "64MiB"), ("16", "64MiB"), ("32", "64MiB"), ("16", "512MiB"), ("32", "512MiB")] {
        // A stretch may end a bin of 250 us before the last one that it is entered in, but on average nobody gains.
        let bytes = 64.0 * 1.048_576e6 * readers.parse::<f64>().unwrap() * if array == "64MiB" { 1.0 } else { 8.0 };
        let round_ns = bytes / 198.0;
        let mut means: Vec<f64> = (1..=SEEDS)
            .map(|seed| {
                let (mean, best) = rates(readers, array, seed);
                assert!(mean <= 198.0, "{readers} readers of {array}: {mean} GB/s");
                assert!(best <= 198.0 * (1.0 + 250_000.0 / round_ns), "{readers} readers of {array}: {best} GB/s");
                mean
            })
            .collect();
        means.sort_by(f64::total_cmp);
        let median = means[means.len() / 2];
        println!("{readers} readers of {array}: {median:.1} GB/s");
        // Nobody starves: the last of a round is not much later than the first.
        if median <= 0.8 * 198.0 {
            late.push((readers, array));
        }
    }
    assert_eq!(late, [] as [(&str, &str); 0]);
}

/// Below its bandwidth the node is in nobody's way: each gets the most that one thread can have.
#[test]
fn few_readers_are_not_slowed_down() {
    let (mean, _) = rates("6", "64MiB", 1);
    assert!((mean / (6.0 * 31.0) - 1.0).abs() < 0.02, "{mean} GB/s");
}
