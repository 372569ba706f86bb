//! Tests of `numalab run --ab`: each kernel as it is and with a setting.
#![allow(clippy::unwrap_used)]

use crate::common::{json, Lab, QUICK};

#[test]
fn ab_runs_each_kernel_as_it_is_and_with_a_setting() {
    let lab = Lab::with_sweep();
    let line = format!("{QUICK} --kernel 6.3,6.12 --iterations 2 --param loops=2000 --out d");
    let done = lab.ok(&format!("{line} --ab scan.scan_size_mb=64,512 --json"));
    let kernels: Vec<String> = json(&done.out)["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["seed"] == 1)
        .map(|r| r["kernel"].as_str().unwrap().to_string())
        .collect();
    let with = |k: &str, mb: u32| format!("{k}[scan.scan_size_mb={mb}]");
    let want = ["6.3".into(), "6.12".into(), with("6.3", 64), with("6.3", 512), with("6.12", 64), with("6.12", 512)];
    assert_eq!(kernels, want);
    let c = json(&lab.ok("compare d --json").out);
    assert_eq!(c["baseline"], "6.3");
    // The plain columns are those that a run without the setting has, and the comparison is printed.
    let answer = lab.ok(&format!("{line} --ab vma_filter=off"));
    assert!(answer.out.contains("6.3[vma_filter=off]"), "{}", answer.out);
    let own = lab.ok(&line);
    assert!(own.err.matches("had a record").count() == 4, "{}", own.err);
    for (ab, parts) in [
        ("vma_filter", ["--ab vma_filter: a value is missing", "NAME=VALUE"]),
        ("vma_filter=off,", ["a value is missing", "vma_filter=off"]),
        ("vma_filter=off,off", ["`off` is given twice", "each value once"]),
        ("vma_fliter=off", ["unknown", "vma_filter"]),
        ("vma_filter=of", ["--ab", "off"]),
    ] {
        let lab = Lab::with_sweep();
        lab.refused(&format!("{QUICK} --kernel 6.3 --ab {ab}"), &parts);
    }
}
