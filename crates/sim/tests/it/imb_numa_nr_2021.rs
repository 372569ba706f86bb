//! imb-numa-nr-2021: how uneven may nodes be? STREAM and Coremark on the published machine, and the pairs of tasks for
//! which an imbalance is allowed at all. The whole tables, with SPECjbb, are `numalab reproduce imb-numa-nr-2021`.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

/// Huge pages for all memory, as the published distribution had them.
const THP: (&str, &str) = ("system.thp", "always");

fn vanilla() -> SimConfig {
    kernel_set("5.16", &[THP])
}

fn patched() -> SimConfig {
    kernel_set("5.16+imb-v3", &[THP])
}

/// With the 25 % rule all 16 threads stay on one node; with the posted imb_numa_nr they spread, one per cache. STREAM
/// prints its best repetition.
#[test]
fn stream_gains_are_within_a_quarter_of_the_published_ones() {
    let mut missed = Vec::new();
    for name in ["zen3-2s-256", "zen3-2s-128"] {
        let m = machine(name);
        let w = workload("stream", &m, 1, &[]);
        let (vanilla, patched) = (run(&m, &w, &vanilla(), 1), run(&m, &w, &patched(), 1));
        for (row, published) in [("copy_best", 3.53), ("scale_best", 2.81), ("add_best", 3.85), ("triad_best", 3.68)] {
            let ratio: f64 = scalar(&patched, row) / scalar(&vanilla, row);
            let off = (ratio / published).max(published / ratio);
            println!("{name} {row}: {ratio:.3} simulated, {published} published, factor {off:.3}");
            if off > 1.25 {
                missed.push((name, row));
            }
        }
    }
    assert_eq!(missed, []);
}

/// Arrays far larger than all caches, as G. R. Shenoy posted them (catalog/published/imb-numa-nr-2021-stream.toml):
/// absolute figures, GB/s.
#[test]
fn stream_from_memory_is_as_fast_as_published_with_one_two_and_four_nodes_per_socket() {
    let arrays = [("total", "3 * 8 * 128000000B"), ("repetitions", "10")];
    let mut missed = Vec::new();
    for (name, packed, spread) in
        [("zen3-2s-256", 113.7, 219.0), ("zen3-2s-256-nps2", 58.2, 204.6), ("zen3-2s-256-nps4", 38.0, 254.2)]
    {
        let m = machine(name);
        let w = workload("stream", &m, 1, &arrays);
        for (kernel, published) in [(vanilla(), packed), (patched(), spread)] {
            let copy = scalar(&run(&m, &w, &kernel, 1), "copy_best") / 1000.0;
            let off = (copy / published).max(published / copy);
            println!("{name}: {copy:.1} GB/s simulated, {published} published, factor {off:.3}");
            if off > 1.25 {
                missed.push((name, published));
            }
        }
    }
    // A known miss: with four nodes per socket, 16 threads over eight nodes reach less than the published ones.
    assert_eq!(missed, [("zen3-2s-256-nps4", 254.2)]);
}

/// The known miss: independent threads with a core each lose nothing by sharing a node. A change here is a finding.
#[test]
fn coremark_is_indifferent_to_the_node_in_the_model() {
    let m = machine("zen3-2s-256");
    let w = workload("coremark", &m, 1, &[("contexts", "16"), ("iterations", "40000")]);
    let ratio = scalar(&run(&m, &w, &patched(), 1), "score") / scalar(&run(&m, &w, &vanilla(), 1), "score");
    assert!((0.98..1.03).contains(&ratio), "{ratio}");
}

/// SPECjbb has one JVM per node, started by one script. Under the 25 % rule forks stay on its node, so both begin there
/// and place their memory there, whatever CPU the script is on; with the posted imb_numa_nr, 1 here, they begin apart.
#[test]
fn two_jvms_begin_on_one_node_under_the_quarter_rule_and_apart_under_the_patch() {
    let m = machine("zen3-2s-256");
    let short = [("warehouses", "1"), ("ramp", "1s"), ("ramp_up", "1s"), ("ramp_down", "1s")];
    for seed in 1..=4 {
        let w = workload("specjbb-multi", &m, seed, &short);
        // The node with nearly all memory of each JVM: collectors may put live data elsewhere.
        let homes = |k: &SimConfig| {
            let o = run(&m, &w, k, seed);
            let s = o.series.iter().find(|s| s.name == "process_pages").unwrap();
            let most = |column: &str| {
                let c = s.columns.iter().position(|c| c == column).unwrap();
                s.values[c].iter().copied().fold(0.0, f64::max)
            };
            ["jvm.0", "jvm.1"].map(|jvm| {
                let (a, b) = (most(&format!("{jvm}/node0")), most(&format!("{jvm}/node1")));
                assert!(a.max(b) > 5.0 * a.min(b), "{jvm}: {a} and {b} pages");
                a > b
            })
        };
        let (one, apart) = (homes(&vanilla()), homes(&patched()));
        assert_eq!(one[0], one[1], "seed {seed}");
        assert_ne!(apart[0], apart[1], "seed {seed}");
    }
}

/// MB/s of pairs, mean of three seeds.
fn pairs(machine_name: &str, k: &SimConfig, params: &[(&str, &str)]) -> f64 {
    let m = machine(machine_name);
    let one = |seed| scalar(&run(&m, &workload("tbench-pairs", &m, seed, params), k, seed), "throughput");
    (1..=3).map(one).sum::<f64>() / 3.0
}

#[test]
fn pairs_that_take_turns_lose_nothing_by_the_patch() {
    for (m, n) in [("zen3-2s-256", "1"), ("zen3-2s-256", "16"), ("zen3-2s-128", "4"), ("zen3-2s-128", "16")] {
        let params = [("pairs", n), ("messages", "20000")];
        let ratio = pairs(m, &patched(), &params) / pairs(m, &vanilla(), &params);
        assert!(ratio >= 0.98, "{m}, {n} pairs: {ratio}");
    }
}

/// A pair that is always busy, one cache per node: without an allowance the balancer keeps pulling it apart, the next
/// wake-up brings it together again, and both cost; every rule with an allowance leaves it alone. NUMA balancing is
/// off, which by itself keeps tasks near the pages they use and hides most of that.
#[test]
fn a_busy_pair_is_pulled_apart_only_without_an_allowance() {
    let params = [("pairs", "1"), ("messages", "600000"), ("window", "32")];
    let of = |rule, numa_balancing| {
        let sets = [THP, ("imbalance", rule), ("system.numa_balancing", numa_balancing)];
        pairs("2x1x20x2", &kernel_set("6.1", &sets), &params)
    };
    let (none, best) = (of("none", "0"), of("imb_6_0", "0"));
    assert!(none < 0.99 * best, "none {none} MB/s, with the rule of 6.0 {best}");
    for rule in ["fixed_2", "quarter_5_11", "quarter_5_17s", "imb_5_18"] {
        let with = of(rule, "0");
        assert!((with / best - 1.0).abs() < 0.002, "{rule}: {with} MB/s, the rule of 6.0 {best}");
    }
    let kept = of("none", "1");
    assert!(none < kept && kept < best, "none {none} MB/s, with NUMA balancing {kept}, with the rule of 6.0 {best}");
}
