//! Tests of `numalab compare` in all its styles.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab, QUICK, SWEEP};
use serde_json::Value;

/// Mean of a metric on a kernel, from the JSON of a comparison.
fn mean(c: &Value, metric: &str, kernel: &str) -> f64 {
    let list = c["workloads"][0]["metrics"].as_array().unwrap();
    list.iter().find(|m| m["name"] == metric).unwrap()["kernels"][kernel]["mean"].as_f64().unwrap()
}

#[test]
fn all_styles_tell_the_same_figures() {
    let lab = Lab::with_experiment();
    let c = json(&lab.ok("compare d --style json").out);
    assert_eq!(lab.ok("compare d --json").out, lab.ok("compare d --style json").out);
    let elapsed = ["off", "6.3"].map(|k| mean(&c, "elapsed", k));

    let text = lab.ok("compare d --style mmtests").out;
    let row = text.lines().find(|l| l.starts_with("Amean") && l.contains(" elapsed ")).unwrap();
    assert!(row.contains(&format!("{:.2} (   0.00%)", elapsed[0])), "{row}");
    assert!(row.contains(&format!("{:7.2}%", 100.0 - 100.0 * elapsed[1] / elapsed[0])), "{row}");
    assert!(text.contains("Ops AutoNUMA cost ") && text.contains("Ops AutoNUMA cost with copy"), "{text}");
    assert!(text.contains("columns marked sim are predictions"), "{text}");

    let lkp = lab.ok("compare d --style lkp --all").out;
    let line = lkp.lines().find(|l| l.ends_with("  sweep.time.elapsed_time")).unwrap();
    assert!(line.contains(&format!("{:.2}", elapsed[0])) && line.contains(&format!("{:.2}", elapsed[1])), "{line}");
    let changed = lab.ok("compare d --style lkp").out;
    assert!(changed.len() < lkp.len(), "only what changed is listed");
    assert!(changed.contains("\nNot listed of ") && changed.contains(" (--all lists them).\n"), "{changed}");
    // A selected metric is shown even if it is unchanged.
    let picked = lab.ok("compare d --style lkp --metric system").out;
    assert!(picked.lines().any(|l| l.ends_with("  sweep.time.system_time")), "{picked}");

    let csv = lab.ok("compare d --style csv").out;
    let line = csv.lines().find(|l| l.starts_with("sweep,2x1x2x1,elapsed,s,lower,6.3,3,")).unwrap();
    assert_eq!(line.split(',').nth(7).unwrap().parse::<f64>().unwrap(), elapsed[1]);

    let markdown = lab.ok("compare d --style markdown").out;
    assert!(markdown.starts_with("### sweep\n\n| | off-sim | 6.3-sim |\n|---|---:|---:|\n"), "{markdown}");
    assert!(markdown.contains(&format!("| Amean elapsed | {:.2} (0.00%) |", elapsed[0])), "{markdown}");
}

#[test]
fn a_text_report_begins_with_what_was_run_and_ends_with_the_answer() {
    let lab = Lab::with_experiment();
    let text = lab.ok("compare d --style mmtests").out;
    let version = env!("CARGO_PKG_VERSION");
    let head: Vec<&str> = text.lines().take(4).collect();
    assert_eq!(head[0], "machine 2x1x2x1; kernels off, 6.3; workload sweep");
    let want = format!("3 runs each, seeds 1 to 3; backend sim; numalab {version}");
    assert!(head[1].starts_with(&want), "{}", head[1]);
    assert_eq!(head[2..], ["", "sweep"], "the name of an experiment that no file has says nothing more");
    let short = text.split("\nIn short (means of a run, off first)\n").nth(1).unwrap();
    assert!(short.starts_with("sweep: ") && short.contains("\n    system time "), "{short}");
    // Runs of three seconds are too short for a verdict, in the text and on the page.
    let verdict = "Cannot tell 6.3 from off: the runs are too short for balancing to act";
    assert!(short.starts_with(&format!("sweep: {verdict}. elapsed ")), "{short}");
    lab.ok("report d");
    assert!(std::fs::read_to_string(lab.path("d/report.html")).unwrap().contains(verdict));
    let markdown = lab.ok("compare d --style markdown").out;
    assert!(markdown.contains("\nmachine 2x1x2x1; kernels off, 6.3; workload sweep; 3 runs each, "), "{markdown}");
    // An experiment file has a title. Several machines are named once, above their blocks.
    lab.write(
        "e.toml",
        "name = \"e\"\ntitle = \"Which?\"\nmachines = [\"2x1x2x1\", \"1x1x2x1\"]\nkernels = [\"6.3\"]\n\
         workloads = [\"sweep.toml\"]\nseed = 5\n",
    );
    let text = lab.ok("run e.toml --full").out;
    assert!(text.starts_with("Question  Which?\n"), "{text}");
    let want = "\ne: Which?\nmachines 2x1x2x1, 1x1x2x1; kernel 6.3; workload sweep\n1 run each, seed 5; backend sim; ";
    assert!(text.contains(want), "{text}");
}

/// Runs of three seconds are long enough to compare schedulers: memory balancing is the same on both sides.
#[test]
fn kernels_that_differ_in_the_scheduler_are_not_told_that_runs_are_too_short() {
    let lab = Lab::with_sweep();
    let text = lab
        .ok("run --machine 2x1x2x1 --kernel 6.1,6.1-ni-random --workload sweep.toml --iterations 3 --out s --full")
        .out;
    assert!(!text.contains("too short"), "{text}");
    let other =
        lab.ok("run --machine 2x1x2x1 --kernel 6.1,6.3 --workload sweep.toml --iterations 3 --out m --full").out;
    assert!(other.contains("too short for balancing to act"), "{other}");
}

#[test]
fn of_several_machines_each_is_named_where_it_belongs() {
    let lab = Lab::with_sweep();
    lab.write("other.toml", &SWEEP.replace("\"sweep\"", "\"other\""));
    lab.ok("run --machine 2x1x2x1,1x1x2x1 --workload sweep.toml,other.toml --kernel off,6.3 --out d");
    lab.ok("report d");
    let page = std::fs::read_to_string(lab.path("d/report.html")).unwrap();
    assert!(page.contains("<h1>Is 6.3 better than off on 2 workloads on 2 machines?</h1>"));
    let two = "sweep (loops = 3, size = 16MiB, workers = 2), other (";
    assert!(page.contains(two), "of the same parameters a workload is named once");
    for place in ["sweep on 2x1x2x1", "other on 2x1x2x1", "sweep on 1x1x2x1", "other on 1x1x2x1"] {
        assert!(page.contains(&format!("<b>{place}</b> <span>")), "{place}");
    }
    let lkp = lab.ok("compare d --style lkp --all").out;
    assert!(lkp.contains("machine/testcase:\n  2x1x2x1/sweep\n"), "{lkp}");
    assert!(lkp.contains("machine/testcase:\n  1x1x2x1/other\n") && !lkp.contains(" on "), "{lkp}");
}

#[test]
fn report_columns_of_a_catalog_are_used() {
    let lab = Lab::with_experiment();
    let column = |name: &str, expr: &str| {
        format!("[[column]]\nname = \"{name}\"\nexpr = \"{expr}\"\nunit = \"x\"\nbetter = \"lower\"\ndoc = \"Own.\"\n")
    };
    lab.write("c/columns.toml", &(column("faults_twice", "pgfault * 2") + &column("numa_migrated_mib", "pgfault")));
    let c = json(&lab.ok("--catalog c compare d --json").out);
    assert_eq!(mean(&c, "faults_twice", "off"), 2.0 * mean(&c, "pgfault", "off"));
    assert_eq!(mean(&c, "numa_migrated_mib", "6.3"), mean(&c, "pgfault", "6.3"), "one of a built-in name replaces it");
    assert!(mean(&c, "system_percent", "off") > 0.0, "the others stay");
    assert!(lab.ok("--catalog c compare d --full").out.contains("\nOps faults_twice [x] "));
    assert!(lab.ok("--catalog c counters faults_twice").out.contains("Own."));
    lab.ok("--catalog c report d");
    assert!(std::fs::read_to_string(lab.path("d/report.html")).unwrap().contains("Own."));
    assert!(!lab.ok("compare d --full").out.contains("faults_twice"));
    lab.write("c/columns.toml", &column("faults_twice", "pgfalt * 2"));
    let place = "c/columns.toml:3:9: unknown name `pgfalt` in the expression; expected a counter, a time, an earlier \
         column or base_page_kib";
    lab.refused("--catalog c compare d", &[place, "did you mean `pgfault`?"]);
    lab.write("e/column.toml", "");
    lab.write("e/kernels/x.txt", "");
    lab.refused("--catalog e list", &["e/column.toml: nothing reads this file", "did you mean `columns.toml`?"]);
}

#[test]
fn the_baseline_can_be_chosen_and_turns_the_comparison_around() {
    let lab = Lab::with_experiment();
    let ratio = |line: &str, kernel: &str| {
        let c = json(&lab.ok(line).out);
        let list = c["workloads"][0]["metrics"].as_array().unwrap().clone();
        let m = list.into_iter().find(|m| m["name"] == "user").unwrap();
        m["kernels"][kernel]["ratio"].as_f64().unwrap()
    };
    let (there, back) = (ratio("compare d --json", "6.3"), ratio("compare d --json --baseline 6.3", "off"));
    assert!((there * back - 1.0).abs() < 1e-12, "{there} {back}");
    assert!(lab.ok("compare d --baseline 6.3 --full").out.contains("Baseline: 6.3. Positive percent = better."));
}

#[test]
fn metrics_are_selected_and_counters_get_statistics() {
    let lab = Lab::with_experiment();
    let text = lab.ok("compare d --metric pgfault,sweep/elapsed").out;
    let amean: Vec<&str> = text.lines().filter(|l| l.starts_with("Amean")).collect();
    assert_eq!(amean.len(), 2, "{text}");
    assert!(amean[0].contains("pgfault") && amean[1].contains("elapsed"), "{text}");
    assert!(!text.contains("Duration") && !text.contains("Ops"), "{text}");
    assert!(!text.contains("In short"), "no workload is judged by figures that were picked: {text}");
    assert_eq!(lab.ok("compare d --metric pgfault --style csv").out.lines().count(), 3);
    let ended = lab.run("compare d --metric elapsd");
    assert_eq!((ended.code, ended.out.as_str()), (2, ""));
    assert!(
        ended.err.contains("--metric: no metric `elapsd`; expected ") && ended.err.contains("did you mean `elapsed`?")
    );
    lab.refused("compare d --metric swep/elapsed", &["no metric `swep/elapsed`", "did you mean `sweep/elapsed`?"]);
}

#[test]
fn an_exceeded_bound_ends_with_1_and_names_the_row() {
    let lab = Lab::with_experiment();
    let c = json(&lab.ok("compare d --json").out);
    // The scanner marks pages on 6.3 and none on off: growth from 0 exceeds every bound.
    assert!(mean(&c, "numa_pte_updates", "6.3") > 0.0 && mean(&c, "numa_pte_updates", "off") == 0.0);
    let hit = lab.args(&["compare", "d", "--json", "--fail-if", "numa_pte_updates > +3%"]);
    assert_eq!(hit.code, 1);
    assert_eq!(hit.out, lab.ok("compare d --json").out, "the report is printed all the same");
    let want = "numalab: sweep numa_pte_updates on 6.3: ";
    assert!(hit.err.starts_with(want) && hit.err.contains("fails `numa_pte_updates > +3%`"), "{}", hit.err);
    let pass = lab.args(&["compare", "d", "--fail-if", "elapsed > 100x", "--fail-if", "sweep/elapsed < -99%"]);
    assert_eq!((pass.code, pass.err.as_str()), (0, ""));
    let figure = lab.args(&["compare", "d", "--fail-if", "elapsed > 1 ns", "--fail-if", "elapsed > 1h"]);
    assert_eq!((figure.code, figure.err.lines().count()), (1, 2), "the baseline has figures, too: {}", figure.err);
    let both = lab.args(&["compare", "d", "--fail-if", "elapsed > 100x", "--fail-if", "elapsed < 100x"]);
    assert_eq!((both.code, both.err.lines().count()), (1, 1), "{}", both.err);
    for (bound, part) in [
        ("elapsed", "--fail-if:1:8: no comparison; expected METRIC > +3%"),
        ("elapsed > much", "`much` is no bound"),
        ("elapsed > 3", "`3` has no unit; expected `> 3x` (a factor of the baseline), `> +3%` (a change), or"),
        ("elapsed > 3 pages", "`elapsed` is in s, not in pages"),
        ("elapsd > +3%", "no metric `elapsd`; expected a metric, derived column or counter of this comparison; did you mean `elapsed`?"),
    ] {
        let ended = lab.args(&["compare", "d", "--fail-if", bound]);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "a bound that tests nothing must not pass");
        assert!(ended.err.contains(part), "{}", ended.err);
    }
}

#[test]
fn columns_of_different_work_have_no_winner() {
    let lab = Lab::with_sweep();
    let line = |kernel: &str, loops: u32| {
        format!("{QUICK} --kernel {kernel} --iterations 2 --param loops={loops} --param workers=1 --out d")
    };
    lab.ok(&line("off", 7000));
    lab.ok(&line("6.3", 9000));
    let verdict = "Cannot tell 6.3 from off: different work, as loops is 9000, not 7000.";
    assert!(lab.ok("compare d").out.contains(&format!("\nAnswer    {verdict}\n")));
    let text = lab.ok("compare d --style mmtests --tests").out;
    assert!(text.contains(&format!("\nsweep: {}\n", verdict.trim_end_matches('.'))), "{text}");
    assert!(text.contains("≠ behind the runs: different work"), "{text}");
    let c = json(&lab.ok("compare d --json").out);
    assert!(c["tests"].as_array().unwrap().iter().all(|t| t["different_work"] == true), "{c}");
    lab.ok("report d");
    let page = std::fs::read_to_string(lab.path("d/report.html")).unwrap();
    assert!(page.contains(&format!("<p class=\"unknown\">{verdict}</p>")), "the headline");
    assert!(!page.contains("6.3 against off, per run: "), "nor is there a cost to compare");
    assert!(!page.contains("class=\"better\"") && !page.contains("class=\"worse\""), "no bar is coloured");
    let values = |loops: u32| format!("sweep (loops = {loops}, size = 16MiB, workers = 1)");
    let workload = format!("<dd>{} with off, {} with 6.3</dd>", values(7000), values(9000));
    assert!(page.contains(&workload), "each kernel's parameters");
    // A bound is not tested with figures of different work.
    for bound in ["elapsed > +3%", "elapsed > 100x"] {
        let ended = lab.args(&["compare", "d", "--fail-if", bound]);
        let said = format!("sweep elapsed on 6.3: `{bound}` is not tested: different work, as loops is 9000, not 7000");
        assert!(ended.code == 1 && ended.err.contains(&said), "{ended:?}");
    }
}

#[test]
fn star_rules_and_layouts_can_be_chosen() {
    let lab = Lab::with_experiment();
    for (star, legend) in [
        ("b", "* p < 0.10, two-sample t"),
        ("c", "* intervals mean +- 1.96 standard deviations do not touch"),
        ("welch", "* p < 0.05, Welch's t test"),
    ] {
        let text = lab.ok(&format!("compare d --star {star}")).out;
        assert!(text.contains(legend), "{text}");
    }
    let wide = lab.ok("compare d --layout 2026").out;
    assert!(wide.contains("BAmean.95") && wide.contains("standard deviations do not touch"), "{wide}");
    let head = |text: &str| text.lines().find(|l| l.starts_with("Amean")).unwrap().len();
    assert_eq!(head(&wide) - head(&lab.ok("compare d --style mmtests").out), 12, "two columns, six wider each");
    let every = lab.ok("compare d --all").out;
    assert_eq!(every.lines().filter(|l| l.starts_with("Ops ") && !l.contains('[')).count(), 62 + 3);
}

#[test]
fn an_option_that_the_style_does_not_read_is_refused() {
    let lab = Lab::with_experiment();
    for (options, parts) in [
        (
            "--style csv --star c",
            "--star: has no effect with --style csv; expected --style mmtests or --style markdown",
        ),
        (
            "--style lkp --layout 2026",
            "--layout: has no effect with --style lkp; expected --style mmtests or --style markdown",
        ),
        ("--style lkp --layout 2018", "--layout: has no effect with --style lkp"),
        (
            "--json --tests",
            "--tests: has no effect with --style json; expected --style mmtests or --style lkp or --style markdown",
        ),
        (
            "--style markdown --all",
            "--all: has no effect with --style markdown; expected --style mmtests or --style lkp",
        ),
    ] {
        lab.refused(&format!("compare d {options}"), &[parts]);
    }
    for options in ["--style markdown --layout 2026 --star b --tests", "--style lkp --all --tests"] {
        lab.ok(&format!("compare d {options}"));
    }
}

#[test]
fn the_tests_beside_the_star_are_printed_and_in_the_json() {
    let lab = Lab::with_experiment();
    let text = lab.ok("compare d --tests").out;
    let line = text.lines().find(|l| l.starts_with("sweep user ")).unwrap();
    assert!(line.contains("3/3"), "{line}");
    assert!(text.contains("p Holm is corrected for all rows"), "{text}");
    let c = json(&lab.ok("compare d --json").out);
    let tests = c["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 4, "elapsed, user, system, blocked");
    for t in tests {
        let (p, holm) = (t["p_welch"].as_f64(), t["p_holm"].as_f64());
        assert_eq!(p.is_some(), holm.is_some(), "{t}");
        assert!(p.unwrap_or(0.0) <= holm.unwrap_or(0.0), "{t}");
        assert!(t["too_short"].is_boolean(), "{t}");
        // No thread blocks, so this row has no test, and does not count for the correction of the others.
        assert!(t["metric"] != "blocked" || (p.is_none() && t["p_mann_whitney"].is_null()), "{t}");
    }
}

#[test]
fn runs_that_did_not_complete_are_findings() {
    let lab = Lab::new();
    let wait = |thread: u8, first: &str, then: &str| {
        let step = |b: &str| format!("[[process.phase]]\nwhen = \"thread == {thread}\"\nbarrier = \"{b}\"\n");
        step(first) + &step(then)
    };
    let barriers = "[[barrier]]\nname = \"a\"\n[[barrier]]\nname = \"b\"\n";
    lab.write("crossed.toml", &format!("{SWEEP}{}{}{barriers}", wait(0, "a", "b"), wait(1, "b", "a")));
    lab.write("slow.toml", &SWEEP.replace("[params]", "limit = \"1us\"\n\n[params]"));
    for (workload, code, why) in
        [("crossed", 1, "failed: every thread waits for another"), ("slow", 5, "ended at its limit of time")]
    {
        let ended =
            lab.run(&format!("run --machine 2x1x2x1 --workload {workload}.toml --kernel off,6.3 --out {workload}"));
        assert_eq!(ended.code, code, "{ended:?}");
        assert!(ended.err.lines().all(|l| l.contains(why)), "{}", ended.err);
        // Figures of incomplete runs prove nothing, so the exit code must not be 0.
        for verb in ["compare", "report"] {
            let ended = lab.run(&format!("{verb} {workload}"));
            assert_eq!(ended.code, code, "{ended:?}");
            let what = format!(
                "numalab: 2 of 2 runs did not complete: 2x1x2x1 sweep off seed 1: {}",
                match code {
                    1 => "every thread waits for another",
                    _ => "it reached its limit of time",
                }
            );
            assert!(ended.err.starts_with(&what), "{}", ended.err);
        }
        let bound = lab.args(&["compare", workload, "--fail-if", "elapsed > +3%"]);
        assert_eq!(bound.code, code);
        assert!(bound.err.contains("6.3: `elapsed > +3%` is not tested: no run of off completed"), "{}", bound.err);
        // Incomplete runs are counted and their rows stay, but they give no sample in any style.
        let c = json(&lab.run(&format!("compare {workload} --json")).out);
        let w = &c["workloads"][0];
        let ends = if code == 5 { ("timeout", "failed", "1,0") } else { ("failed", "timeout", "0,1") };
        let notes = w["notes"].as_array().unwrap();
        assert_eq!(notes.len(), 2, "one for each run: {w}");
        assert!(notes[0].as_str().unwrap().starts_with("2x1x2x1 sweep off seed 1: "), "{w}");
        for kernel in ["off", "6.3"] {
            assert_eq!((&w["runs"][kernel][ends.0], &w["runs"][kernel][ends.1]), (&1.into(), &0.into()), "{w}");
            assert_eq!(w["metrics"][0]["kernels"][kernel]["n"], 0, "{w}");
        }
        let csv = lab.run(&format!("compare {workload} --style csv")).out;
        assert!(csv.contains(&format!("\nsweep,2x1x2x1,elapsed,s,lower,6.3,0,,,,,,0,{},\n", ends.2)), "{csv}");
        assert!(c["tests"].as_array().unwrap().iter().all(|t| t["p_welch"].is_null()), "{c}");
        assert_eq!(c["tests"].as_array().unwrap().len(), 4, "one entry per time all the same");
        let text = lab.run(&format!("compare {workload} --style mmtests")).out;
        assert!(text.contains("no run of 1 completed (1 "), "{text}");
        assert!(text.contains("\nsweep: Cannot tell: no run of off or 6.3 completed\n"), "{text}");
        let page = std::fs::read_to_string(lab.path(&format!("{workload}/report.html"))).unwrap();
        assert!(
            page.contains("<dd>2 of 2, none of them completed</dd>") && page.contains("no run of off or 6.3 completed")
        );
    }
}

#[test]
fn an_experiment_without_records_says_that_nothing_was_run() {
    let lab = Lab::with_experiment();
    for (path, _) in lab.tree("d").iter().filter(|(path, _)| path.ends_with("manifest.json")) {
        std::fs::remove_dir_all(lab.path("d").join(path).parent().unwrap()).unwrap();
    }
    assert!(lab.run("compare d").out.contains("\nAnswer    Nothing was run yet.\n"));
    let want = "machine 2x1x2x1; kernels off, 6.3; workload sweep\n0 of 6 runs, seeds 1 to 3; nothing was run yet\n";
    let text = lab.run("compare d --style mmtests");
    assert!(text.code == 1 && text.out.starts_with(want) && !text.out.contains("backend"), "{text:?}");
    assert_eq!(lab.run("compare d --style lkp").out, "Nothing was run yet.\n");
    lab.run("report d");
    let page = std::fs::read_to_string(lab.path("d/report.html")).unwrap();
    assert!(page.contains(">Nothing was run yet.</p>") && page.contains("<dd>0 of 6</dd>"));
    assert!(!page.contains("<dd></dd>"), "no fact without a value");
}

#[test]
fn runs_without_a_record_are_noted_in_the_json() {
    let lab = Lab::with_experiment();
    assert_eq!(json(&lab.ok("compare d --json").out)["workloads"][0]["notes"], Value::Array(Vec::new()));
    let tree = lab.tree("d");
    let (record, _) = tree.iter().find(|(path, _)| path.ends_with("manifest.json")).unwrap();
    std::fs::remove_dir_all(lab.path("d").join(record).parent().unwrap()).unwrap();
    let c = json(&lab.run("compare d --json").out);
    let want = "1 of 6 runs have no record yet; `numalab run` with the same arguments resumes";
    assert_eq!(c["workloads"][0]["notes"], serde_json::json!([want]));
}

#[test]
fn an_experiment_file_that_was_changed_is_named() {
    let lab = Lab::with_experiment();
    let path = lab.path("d/experiment.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"baseline\": \"off\"", "\"baseline\": \"of\"")).unwrap();
    lab.refused("compare d", &["d/experiment.json: no kernel `of` in this experiment; expected one of off, 6.3"]);
}

#[test]
fn a_list_of_runs_that_does_not_fit_its_records_is_damage() {
    let lab = Lab::with_experiment();
    let path = lab.path("d/experiment.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let list: Value = json(&text);
    let id = |i: usize| list["runs"][i]["record"].as_str().unwrap();
    let last = list["runs"].as_array().unwrap().len() - 1;
    let swapped = text.replace(id(0), "X").replace(id(last), id(0)).replace('X', id(last));
    for (changed, part) in [
        (text.replace("\"kernel\": \"6.3\"", "\"kernel\": \"6.7\""), "it lists kernel 6.7 for record "),
        (text.replace("\"machine\": \"2x1x2x1\"", "\"machine\": \"big\""), "it lists machine big for record "),
        (swapped, "it lists kernel off for record "),
        (text.replace(id(1), id(0)), " twice; expected an unchanged list of runs"),
    ] {
        assert_ne!(changed, text, "{part}");
        std::fs::write(&path, changed).unwrap();
        for line in ["compare d", "report d --out page.html", "explain d --kernel off --vma", "repeat d --kernel 6.7"] {
            let ended = lab.run(line);
            // Commands about one run check only its own entry.
            let other = ended.code == 2 && !line.starts_with("compare") && !line.starts_with("report");
            assert!(other || ended.code == 3 && ended.err.contains(part), "{line}: {ended:?}");
            assert_eq!(ended.out, "", "{line}");
        }
    }
    std::fs::write(&path, text).unwrap();
    lab.ok("compare d");
}

#[test]
fn a_long_name_keeps_its_distance_from_the_one_before() {
    let lab = Lab::with_sweep();
    let out = lab.ok(&format!("{QUICK} --kernel 6.12,off --set scan.scan_size_mb=512 --full")).out;
    let out = out.split_once("\n\n").unwrap().1;
    let names: Vec<&str> = out.lines().filter(|l| l.contains("6.12[") && l.starts_with(' ')).collect();
    assert!(names.len() > 2 && names.iter().all(|l| l.contains("6.12[scan.scan_size_mb=512]")), "{out}");
    assert!(names.iter().all(|l| l.split_whitespace().count() == 2), "{names:?}");
    // Every name is aligned with the right edge of its figures.
    let lines: Vec<&str> = out.lines().collect();
    for table in lines.windows(3).filter(|w| w[0].contains("6.12[") && w[0].starts_with(' ')) {
        assert_eq!(table[0].trim_end().len(), table[2].trim_end().len(), "{table:#?}");
        let end = table[0].find(']').unwrap();
        let figure = &table[2].as_bytes()[end..end + 2];
        assert!(figure[0] != b' ' && figure[1] == b' ', "{table:#?}");
    }
}

#[test]
fn the_machine_has_a_column_of_its_own_in_comma_separated_values() {
    let lab = Lab::with_sweep();
    lab.ok("run --machine 2x1x2x1,1x1x2x1 --workload sweep.toml --kernel off --out d");
    let csv = lab.ok("compare d --style csv").out;
    assert!(csv.starts_with("workload,machine,metric,"), "{csv}");
    for machine in ["2x1x2x1", "1x1x2x1"] {
        assert!(csv.contains(&format!("\nsweep,{machine},elapsed,s,lower,off,1,")), "{csv}");
    }
    assert!(!csv.contains(" on "), "{csv}");
    let c = json(&lab.ok("compare d --json").out);
    for (w, machine) in c["workloads"].as_array().unwrap().iter().zip(["2x1x2x1", "1x1x2x1"]) {
        assert_eq!((&w["program"], &w["machine"]), (&"sweep".into(), &machine.into()), "{w}");
        assert_eq!(w["name"], format!("sweep on {machine}"));
    }
}
