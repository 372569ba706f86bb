//! `numalab fit`: the workload loads and runs, and the page shows the record beside the simulated run.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::Lab;

const RECORD: &str =
    "run --machine 2x1x2x1 --kernel 6.12 --workload first-touch --param memory=64MiB --param duration=6s \
                      --out recorded";

#[test]
fn the_fitted_workload_runs_and_is_like_the_record() {
    let lab = Lab::new();
    lab.ok(RECORD);
    let printed = lab.ok("fit recorded").out;
    let ended = lab.ok("fit recorded --out mine.toml --page fit.html");
    assert_eq!(std::fs::read_to_string(lab.path("mine.toml")).unwrap(), printed, "the same with and without --out");
    for part in ["1 × main", "and 4 threads each", "page: fit.html"] {
        assert!(ended.out.contains(part), "{part}: {ended:?}");
    }
    let page = std::fs::read_to_string(lab.path("fit.html")).unwrap();
    assert!(page.contains("recorded") && page.contains("simulated"));
    // Half of the memory moves, in the record as in the simulated run.
    let both = |what: &str| -> (&str, Vec<f64>) {
        let line = ended.out.lines().find(|l| l.contains(what)).unwrap();
        (line, line.split([' ', ',']).filter_map(|w| w.parse().ok()).collect())
    };
    let (line, figures) = both("memory moved");
    assert!(figures[0] > 25.0 && (figures[1] / figures[0] - 1.0).abs() < 0.1, "{line}");
    // Four threads keep four CPUs busy.
    let (line, figures) = both("busy CPUs");
    assert!(figures.len() == 2 && figures.iter().all(|busy| (3.8..=4.0).contains(busy)), "{line}");
}

#[test]
fn a_record_without_series_is_refused() {
    let lab = Lab::new();
    lab.ok(RECORD);
    let records = std::fs::read_dir(lab.path("recorded")).unwrap().map(|e| e.unwrap().path());
    let record = records.into_iter().find(|p| p.join("series").is_dir()).unwrap();
    let manifest = record.join("manifest.json");
    let mut text: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&manifest).unwrap()).unwrap();
    text["series"] = serde_json::json!([]);
    std::fs::write(&manifest, text.to_string()).unwrap();
    let ended = lab.run("fit recorded");
    assert!(ended.code != 0 && ended.out.is_empty(), "{ended:?}");
    lab.refused("fit absent", &["absent"]);
}

/// `record`, `fit`, `run`, one after the other, with nothing but what the page says.
#[test]
fn a_recorded_program_becomes_a_workload_that_runs_beside_it() {
    let lab = Lab::new();
    let busy = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    let ended = lab.args(&["record", "--every", "20ms", "--out", "rec", "--", "sh", "-c", busy]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let ended = lab.ok("fit rec --out mine.toml --page fit.html");
    assert!(ended.out.contains("1 × sh") && ended.out.contains("and 1 threads each"), "{ended:?}");
    assert!(!ended.out.contains("threads are always busy"), "the record has CPU time: {ended:?}");
    let page = std::fs::read_to_string(lab.path("fit.html")).unwrap();
    assert!(page.contains("\"sh.0/t0\"") && !page.contains("/node0\",\"sh.1\""), "both have the same names");
    let ids = std::fs::read_dir(lab.path("rec")).unwrap().map(|e| e.unwrap().path());
    let record = ids.into_iter().find(|p| p.join("series").is_dir()).unwrap();
    let columns = std::fs::read_to_string(record.join("series/task_node.csv")).unwrap();
    let recorded = columns.lines().next().unwrap().split(',').next_back().unwrap().to_string();
    assert!(recorded.starts_with("sh.") && !page.contains(&recorded), "the page has no ids: {recorded}");
    lab.ok("run --machine 2x1x2x1 --kernel off,6.12 --workload mine.toml --param memory_sh=16MiB --out tried");
    assert!(lab.path("tried/report.html").exists());
}
