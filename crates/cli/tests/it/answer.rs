//! The answer of `run` and `compare`, and how output fits the terminal and survives what it is written to.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab, QUICK};
use std::time::{Duration, Instant};

/// The label of every line of an answer that has one.
fn labels(text: &str) -> Vec<&str> {
    text.lines().filter(|l| !l.starts_with(' ')).filter_map(|l| l.split_whitespace().next()).collect()
}

#[test]
fn the_answer_comes_first_and_the_tables_when_asked_for() {
    let lab = Lab::with_sweep();
    let run = lab.ok(&format!("{QUICK} --kernel off,6.3 --iterations 3 --param loops=7000 --out d"));
    let found = labels(&run.out);
    assert!(found.starts_with(&["Question", "Answer"]) && found.ends_with(&["Page"]), "{}", run.out);
    assert!(found.contains(&"How") && run.out.lines().count() <= 10, "{}", run.out);
    assert!(run.out.contains("d/report.html") && lab.path("d/report.html").is_file());
    assert!(!run.out.contains("Amean") && !run.err.contains("Amean"));
    let answer = lab.ok("compare d").out;
    assert_eq!(answer, run.out, "compare gives the same answer");
    let full = lab.ok("compare d --full").out;
    assert!(full.starts_with(&answer) && full.contains("\nAmean     elapsed"), "{full}");
    assert!(!full.contains("In short"), "the answer is not given twice: {full}");
    let mmtests = lab.ok("compare d --style mmtests").out;
    assert!(!mmtests.contains("Question") && mmtests.contains("In short"), "{mmtests}");
    let quiet = lab.ok("compare d --quiet").out;
    let sentence = quiet.trim_end();
    assert!(quiet.lines().count() == 1 && answer.contains(&format!("Answer    {sentence}")), "{quiet}");
    let again = lab.ok(&format!("{QUICK} -q --kernel off,6.3 --iterations 3 --param loops=7000 --out d"));
    assert_eq!((again.out.as_str(), again.err.as_str()), (quiet.as_str(), ""));
    assert!(lab.ok("compare d --tests").out.contains("How sure\n"));
}

#[test]
fn json_has_the_decision() {
    let lab = Lab::with_experiment();
    let c = json(&lab.ok("compare d --json").out);
    let d = &c["decision"];
    assert!(d["answer"].as_str().is_some_and(|a| !a.is_empty()), "{d}");
    let w = &d["workloads"][0];
    assert_eq!(w["workload"], "sweep");
    assert!(["take", "even", "mixed", "cannot_tell"].contains(&w["choice"].as_str().unwrap()), "{d}");
    assert_eq!(w["kernels"][0]["kernel"], "6.3");
}

#[test]
fn a_bound_that_is_exceeded_is_said_even_if_quiet() {
    let lab = Lab::with_experiment();
    let ended = lab.args(&["compare", "d", "-q", "--fail-if", "sweep/elapsed < 1000%"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.contains("sweep"), "{ended:?}");
}

#[test]
fn text_fits_a_narrow_terminal() {
    let lab = Lab::with_experiment();
    for columns in [40, 60, 80] {
        let show = ["show published 000", "show numa01", "show vma_filter", "show kernels 6.12"];
        let lists = ["compare d", "list", "list workloads", "list published", "counters numa_hint"];
        for line in lists.into_iter().chain(show) {
            let ended = lab.in_columns(line, columns);
            assert_eq!(ended.code, 0, "{ended:?}");
            let wide: Vec<&str> =
                ended.out.lines().filter(|l| l.chars().count() > columns && l.contains(' ')).collect();
            // A single word may be longer than the terminal.
            let words = |l: &&&str| l.split_whitespace().count() > 1;
            assert_eq!(wide.iter().filter(words).count(), 0, "{line} in {columns}: {wide:?}");
        }
    }
    let default = lab.shell("unset COLUMNS; numalab list");
    assert!(default.out.lines().all(|l| l.chars().count() <= 80), "without a terminal it is 80");
}

#[test]
fn output_that_nobody_reads_is_no_failure() {
    let lab = Lab::with_experiment();
    for command in ["numalab list", "numalab compare d --full", "numalab counters", "numalab report d --out -"] {
        let ended = lab.shell(&format!("({command}; echo code $? >&2) | head -1"));
        assert!(!ended.err.contains("panicked"), "{command}: {}", ended.err);
        assert!(ended.err.ends_with("code 0\n") && ended.err.lines().count() <= 2, "{command}: {}", ended.err);
    }
}

#[test]
fn a_full_disk_gives_one_message_and_leaves_no_half_of_a_file() {
    let lab = Lab::with_experiment();
    let before = lab.tree("d").len();
    // No file can grow beyond eight blocks, as on a disk that is nearly full.
    let ended = lab.shell("trap '' XFSZ; ulimit -f 8; numalab report d --out d/new.html");
    assert_eq!((ended.code, ended.err.lines().count()), (3, 1), "{ended:?}");
    assert!(ended.err.starts_with("numalab: d/new.html: "), "{ended:?}");
    assert_eq!(lab.tree("d").len(), before, "nothing is left behind");
    let ended = lab.shell("numalab compare d --full >/dev/full");
    assert_eq!((ended.code, ended.err.lines().count()), (3, 1), "{ended:?}");
    assert!(ended.err.starts_with("numalab: standard output: "), "{ended:?}");
}

#[test]
fn a_page_that_cannot_be_written_does_not_hide_the_answer() {
    let lab = Lab::with_experiment();
    std::fs::remove_file(lab.path("d/report.html")).unwrap();
    lab.write("d/report.html/x", "in the way");
    let line = format!("{QUICK} --kernel off,6.3 --iterations 3 --param loops=7000 --out d");
    let ended = lab.run(&line);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.out.starts_with("Question"), "{ended:?}");
    assert!(ended.err.contains("the page was not written: d/report.html: a directory"), "{ended:?}");
}

#[test]
fn a_directory_that_cannot_be_written() {
    let lab = Lab::with_experiment();
    for line in [format!("{QUICK} --kernel off --out /proc/d"), "report d --out /proc/d.html".to_string()] {
        let ended = lab.run(&line);
        assert_eq!((ended.code, ended.out.as_str(), ended.err.lines().count()), (3, "", 1), "{ended:?}");
        assert!(ended.err.starts_with("numalab: /proc/d"), "{ended:?}");
    }
}

#[test]
fn colour_is_for_terminals_only() {
    let lab = Lab::with_experiment();
    let escape = '\u{1b}';
    assert!(!lab.ok("compare d").out.contains(escape) && !lab.ok("list").out.contains(escape));
    let forced = lab.shell("CLICOLOR_FORCE=1 numalab compare d");
    assert!(forced.out.contains(escape), "{}", forced.out);
    assert!(!lab.shell("NO_COLOR=1 numalab compare d").out.contains(escape));
}

#[test]
fn a_dry_run_says_what_would_run_and_writes_nothing() {
    let lab = Lab::with_sweep();
    let line = format!("{QUICK} --kernel off,6.3 --iterations 3 --param loops=7000 --out d --jobs 2");
    let dry = lab.ok(&format!("{line} --dry-run"));
    assert!(dry.out.contains("6 runs: 0 with a record, 6 to carry out, 2 at a time. About "), "{}", dry.out);
    assert!(dry.out.contains(" MiB of memory") && !lab.path("d").exists(), "{}", dry.out);
    lab.ok(&format!("{QUICK} --kernel off --iterations 2 --param loops=7000 --out d"));
    let value = json(&lab.ok(&format!("{line} --dry-run --json")).out);
    assert_eq!((value["recorded"].as_u64(), value["to_do"].as_u64()), (Some(2), Some(4)), "{value}");
    assert_eq!(value["runs"].as_array().unwrap().iter().filter(|r| r["recorded"] == true).count(), 2);
    assert!(value["wall_s"].as_f64().is_some_and(|s| s > 0.0) && value["memory_bytes"].as_u64() > Some(0));
}

/// Threads that make a step of 1 ns, for as long as they may.
const SMALL_STEPS: &str = r#"
name = "small-steps"
title = "t"
about = "a"
source = "s"
[[process]]
name = "p"
threads = "cpus"
[[process.phase]]
time = "1000s"
compute = "1ns"
"#;

#[test]
fn a_dry_run_ends_although_its_trials_do_not() {
    let lab = Lab::new();
    lab.write("small-steps.toml", SMALL_STEPS);
    // The first trial alone would have 20 million steps on each of 256 CPUs.
    let start = Instant::now();
    let line = "run --machine 4x1x64x1 --kernel off --workload small-steps.toml --out d --dry-run";
    let dry = lab.ok(line);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert!(dry.out.contains("At least ") && dry.out.contains("to run: at least "), "{}", dry.out);
}
