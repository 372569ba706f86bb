//! What a loop holds in a cache follows from the lines that it touches, not from the size of what it could touch.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

/// Time of a round of `steps` over a region `hot` that fits into the cache and a region `cold`, in the long run, s.
fn round_s(machine_name: &str, hot: &str, cold: &str, steps: &str) -> f64 {
    let m = machine(machine_name);
    let text = format!(
        r#"
[params]
rounds = 8
[[process]]
name = "p"
affinity = {{ cpus = "0" }}
[[process.region]]
name = "hot"
size = "{hot}"
[[process.region]]
name = "cold"
size = "{cold}"
[[process.prologue]]
steps = [{{ access = "hot", write = 1 }}, {{ access = "cold", write = 1 }}]
[[process.phase]]
count = "rounds"
steps = [{steps}]
"#
    );
    let elapsed =
        |rounds: &str| scalar(&run(&m, &inline(&text, &m, 1, &[("rounds", rounds)]), &kernel("off"), 1), "elapsed_s");
    (elapsed("3000") - elapsed("1000")) / 2000.0
}

/// One random read in ten thousand goes to memory, whatever the size of the region that it is from.
#[test]
fn one_cold_read_costs_one_miss() {
    let steps = r#"{ access = "hot", pattern = "random", accesses = 10_000 },
        { access = "cold", pattern = "random", accesses = 1 }"#;
    let round = |cold| round_s("milan-2s-nps1", "8MiB", cold, steps);
    let (small, large) = (round("63MiB"), round("1GiB"));
    assert!((large / small - 1.0).abs() < 0.05, "{large} s with 1 GiB, {small} s with 63 MiB");
}

/// A sweep comes back to its lines while they are in the cache if little of a large region is read in between.
#[test]
fn a_sweep_returns_before_a_few_random_lines_evict_it() {
    let sweep = "{ access = \"hot\" }";
    let round = |steps: &str| round_s("milan-2s-nps1", "16MiB", "1GiB", steps);
    let alone = round(sweep);
    let with = |n: u64| round(&format!("{sweep}, {{ access = \"cold\", pattern = \"random\", accesses = {n} }}"));
    let few = with(64) / alone;
    assert!(few < 1.1, "{few} times as long with 64 random lines");
    // 262 144 distinct lines are 16 MiB: both together are beyond what cyclic sweeps may fill of 32 MiB.
    let many = round("{ access = \"cold\", pattern = \"random\", accesses = 300_000 }");
    let both = with(300_000) - many;
    assert!(both > 1.1 * alone, "{both} s beside 300 000 random lines, {alone} s alone");
}
