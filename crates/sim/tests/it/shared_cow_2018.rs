//! shared-cow-2018: the cost of moving shared copy-on-write pages, which ends with the filter.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;

#[test]
fn both_published_ratios_and_no_waiting_with_the_patch() {
    let m = machine("x5-8-flat");
    // Two runs; `numalab reproduce shared-cow-2018` makes five.
    let sums = |kernel_name: &str| {
        let runs =
            side_by_side(&[1, 2], |&seed| run(&m, &workload("cow-shared", &m, seed, &[]), &kernel(kernel_name), seed));
        let mean = |name: &str| runs.iter().map(|o| scalar(o, name)).sum::<f64>() / runs.len() as f64;
        (mean("throughput"), mean("blocked_s"))
    };
    let (off, on, patched) = (sums("4.15-off"), sums("4.15"), sums("4.15+cow-skip"));
    // The workload's own time of one sum puts the first column where it was measured.
    assert!((off.0 / 2_118_782.0 - 1.0).abs() < 0.005, "{off:?}");
    let miss = |sim: f64, published: f64| sim / off.0 - published / 2_118_782.0;
    let (without, with) = (miss(on.0, 2_021_534.0), miss(patched.0, 2_107_979.0));
    assert!(with.abs() < 0.02, "with the patch: off by {with:.3}");
    assert!(without.abs() < 0.02, "without the patch: off by {without:.3}");
    assert!(on.1 > 50.0, "blocked {} s", on.1);
    assert!(patched.1.abs() < 1e-9, "blocked {} s", patched.1);
}
