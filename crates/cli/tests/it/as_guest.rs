//! `run --as-guest`: what a guest runs, in the simulator.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab};

const REST: &str = "--machine 2x1x2x1 --kernel 6.12 --workload first-touch --param duration=0.3s --param memory=16MiB";

/// Mean of a metric of a run of the only workload.
fn mean(lab: &Lab, dir: &str, metric: &str) -> f64 {
    let compared = json(&lab.ok(&format!("compare {dir} --json")).out);
    let metrics = compared["workloads"][0]["metrics"].as_array().unwrap().clone();
    let found = metrics.iter().find(|m| m["name"] == metric).unwrap_or_else(|| panic!("no {metric}"));
    found["kernels"]["6.12"]["mean"].as_f64().unwrap()
}

#[test]
fn a_simulated_guest_has_its_sampler_and_is_repeated() {
    let lab = Lab::new();
    for who in ["program", "worker"] {
        lab.ok(&format!("run {REST} --as-guest {who} --check --out {who}"));
        let listed = json(&lab.ok(&format!("run {REST} --as-guest {who} --json --out {who}")).out);
        let record = format!("{who}/{}", listed["runs"][0]["record"].as_str().unwrap());
        let manifest = json(&std::fs::read_to_string(lab.path(&format!("{record}/manifest.json"))).unwrap());
        let conditions = manifest["plan"]["conditions"].to_string();
        assert!(conditions.contains("harness") && conditions.contains("background"), "{conditions}");
        let pages = std::fs::read_to_string(lab.path(&format!("{record}/series/process_pages.csv"))).unwrap();
        assert!(pages.lines().next().unwrap().contains("coordinator"), "{pages}");
        let repeated = json(&lab.ok(&format!("repeat {record} --json")).out);
        assert_eq!(repeated["identical"], true, "{who}: {repeated}");
    }
    lab.ok(&format!("run {REST} --out machine"));
    // One line is in flight, and the worker's loops come on top.
    let [machine, program, worker] = ["machine", "program", "worker"].map(|dir| mean(&lab, dir, "swept"));
    assert!(machine > program && program > worker, "{machine} {program} {worker}");
}

#[test]
fn only_the_simulator_simulates_a_guest() {
    let lab = Lab::new();
    lab.refused(&format!("run {REST} --backend vm --as-guest worker"), &["--as-guest", "--backend sim"]);
    lab.refused(&format!("run {REST} --as-guest workers"), &["workers", "program, worker"]);
}
