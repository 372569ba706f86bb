//! `watch`, `record` and `balance` on the machine at hand, whatever it is.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab};
use std::fs;

#[test]
fn watch_prints_one_interval_and_says_what_it_lacks() {
    let lab = Lab::new();
    let text = lab.ok("watch --once --every 50ms --threads").out;
    assert!(text.starts_with("NODE") && text.contains("kernel balancing ") && text.contains("missing: "), "{text}");
    let frame = json(&lab.ok("watch --once --every 50ms --json").out);
    assert!(!frame["nodes"].as_array().unwrap().is_empty() && frame["nodes"][0]["total_bytes"].as_u64() > Some(0));
    assert!(!frame["processes"].as_array().unwrap().is_empty());
    assert!(!frame["missing"].as_array().unwrap().is_empty());
    lab.refused("watch --json", &["--once"]);
    lab.refused("watch --pid 4194305 --once", &["--pid 4194305: no such process"]);
    lab.refused("watch --cgroup no/such/group --once", &["no/such/group/cgroup.procs", "expected a control group"]);
    lab.refused("watch --once --every 0s", &["--every", "a time from 1ms to 720h"]);
    let ended = lab.run("watch");
    assert_eq!((ended.code, ended.err.contains("is no terminal; expected one, or --once")), (3, true), "{ended:?}");
}

#[test]
fn a_recording_is_a_run_that_compare_and_report_read() {
    let lab = Lab::new();
    let first = json(&lab.ok("record --every 50ms --json --as a -- sleep 0.3").out);
    assert!(first["samples"].as_u64() >= Some(3), "{first}");
    assert!(first["figures"]["elapsed_s"].as_f64() >= Some(0.3), "{first}");
    let again = json(&lab.ok("record --every 50ms --json --as a -- sleep 0.1").out);
    lab.ok("record --every 50ms --as b -- sleep 0.2");
    let list = json(&fs::read_to_string(lab.path("out/record/experiment.json")).unwrap());
    let runs: Vec<(&str, u64)> = list["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["kernel"].as_str().unwrap(), r["seed"].as_u64().unwrap()))
        .collect();
    assert_eq!(runs, [("a", 1), ("a", 2), ("b", 1)], "recordings are added");
    let comparison = json(&lab.ok("compare out/record --json").out);
    let elapsed = comparison["workloads"][0]["metrics"].as_array().unwrap().clone();
    let elapsed = elapsed.iter().find(|m| m["name"].as_str().unwrap().starts_with("elapsed")).unwrap().clone();
    assert!(elapsed["kernels"]["a"]["mean"].as_f64() > Some(0.1) && elapsed["kernels"]["b"]["mean"].is_number());
    lab.ok("report out/record --out page.html");
    assert!(fs::read_to_string(lab.path("page.html")).unwrap().contains("sleep"));
    let record = lab.path(again["record"].as_str().unwrap());
    let manifest = json(&fs::read_to_string(record.join("manifest.json")).unwrap());
    let names: Vec<&str> = manifest["series"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"task_node") && names.contains(&"vmstat"), "{names:?}");
    assert_eq!(manifest["plan"]["conditions"][0], serde_json::json!(["recorded", "sleep 0.1"]));
}

#[test]
fn a_recorded_command_keeps_its_output_and_a_failure_is_a_finding() {
    let lab = Lab::new();
    let ended = lab.args(&["record", "--every", "50ms", "--out", "d", "--", "sh", "-c", "echo said; exit 7"]);
    assert_eq!((ended.code, ended.out.starts_with("said\n")), (1, true), "{ended:?}");
    lab.refused("record -- /no/such/program", &["/no/such/program", "expected a program"]);
    lab.refused("record", &["CMD"]);
    lab.refused("record --pid 1 --cgroup x", &["--pid", "--cgroup"]);
    lab.refused("record --as a,b -- true", &["--as", "without commas"]);
}

/// What the unit runs after every end of the daemon is a command that puts back what was left, and ends.
#[test]
fn the_unit_puts_back_what_a_killed_daemon_left() {
    let lab = Lab::new();
    let unit = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../dist/numalab-balance.service")).unwrap();
    let line = |key: &str| unit.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix("/usr/local/bin/")).unwrap();
    assert!(line("ExecStart=").starts_with("numalab balance --all"));
    let ended = lab.shell(&format!("mkdir -m 700 run && RUNTIME_DIRECTORY=$PWD/run {}", line("ExecStopPost=")));
    assert_eq!((ended.code, ended.out.contains("no daemon has left anything changed")), (0, true), "{ended:?}");
    assert_eq!(fs::read_dir(lab.path("run")).unwrap().count(), 0);
}

#[test]
fn balance_asks_for_a_scope_and_does_nothing_on_one_node() {
    let lab = Lab::new();
    lab.refused("balance", &["--pid", "--cgroup", "--all"]);
    lab.refused("balance --all --pid 1", &["--all", "--pid"]);
    lab.refused("balance --all --sampler pref", &["--sampler", "did you mean `perf`?"]);
    lab.refused("balance --all --rate 0", &["--rate", "0.1 to 1000000"]);
    let nodes = fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default();
    if nodes.trim() == "0" {
        let state = lab.path("state.json");
        let ended = lab.ok(&format!("balance --all --for 1s --state {}", state.display()));
        assert!(ended.out.contains("one node with CPUs: there is nothing to balance"), "{ended:?}");
        assert!(!state.exists());
    }
}
