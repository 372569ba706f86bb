//! Tests of runs that end once they have settled, and of what is said of them.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab};

/// The manifests of the records in a directory.
fn manifests(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().filter_map(Result::ok);
    entries.map(|e| e.path().join("manifest.json")).filter(|m| m.exists()).collect()
}

#[test]
fn a_run_until_it_has_settled_says_what_it_left_out() {
    let lab = Lab::new();
    let command = "run --machine 2x2x4x1 --kernel 6.12 --workload first-touch --param memory=128MiB \
                   --param duration=60s --out d";
    lab.ok(command);
    let manifest = json(&std::fs::read_to_string(&manifests(&lab.path("d"))[0]).unwrap());
    let settled = &manifest["settled"];
    assert!(settled["skipped_s"].as_f64().unwrap() > 20.0, "{settled}");
    assert_eq!(settled["rates"][0]["name"], "swept");
    assert_eq!(manifest["plan"]["conditions"], serde_json::json!([["end", "settled"]]));
    let note = "1 of 1 runs had settled, the last after";
    assert!(lab.ok("compare d --full").out.contains(note), "{}", lab.ok("compare d --full").out);
    // A log is of what was simulated, so the plan is the same; the whole run is another one.
    lab.ok(&format!("{command} --explain"));
    let explained = lab.ok("explain d --vma");
    assert!(explained.err.contains("s that were simulated"), "{}", explained.err);
    assert_eq!(manifests(&lab.path("d")).len(), 1);
    lab.ok(&format!("{} --whole", command.replace("--out d", "--out whole")));
    assert!(!lab.ok("compare whole --full").out.contains("had settled"));
}
