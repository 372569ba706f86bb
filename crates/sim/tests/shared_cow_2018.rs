//! shared-cow-2018: the cost of moving shared copy-on-write pages, which ends with the filter.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;

#[test]
fn both_published_ratios_and_no_waiting_with_the_patch() {
    let m = machine("x5-8-flat");
    // Two runs; `numalab reproduce shared-cow-2018` makes five.
    let sums = |kernel_name: &str| {
        let runs: Vec<_> =
            (1..=2).map(|seed| run(&m, &workload("cow-shared", &m, seed, &[]), &kernel(kernel_name), seed)).collect();
        let mean = |name: &str| runs.iter().map(|o| scalar(o, name)).sum::<f64>() / runs.len() as f64;
        (mean("throughput"), mean("blocked_s"))
    };
    let (off, on, patched) = (sums("4.15-off"), sums("4.15"), sums("4.15+cow-skip"));
    // The workload's own time of one sum puts the first column where it was measured.
    assert!((off.0 / 2_118_782.0 - 1.0).abs() < 0.005, "{off:?}");
    for (what, sim, published) in [("without", on.0, 2_021_534.0), ("with", patched.0, 2_107_979.0)] {
        let miss = sim / off.0 - published / 2_118_782.0;
        assert!(miss.abs() < 0.02, "{what} the patch: off by {miss:.3}");
    }
    assert!(on.1 > 50.0, "blocked {} s", on.1);
    assert!(patched.1.abs() < 1e-9, "blocked {} s", patched.1);
}
