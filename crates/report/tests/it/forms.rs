//! The other forms: lkp, markdown, comma-separated values, JSON, and the whole text report.
#![allow(clippy::unwrap_used)]

use crate::support::layout;

use layout::{lines, squeezed};
use numalab_report::data::{Comparison, Counter, Duration, Kernel, Metric, Runs, Workload};
use numalab_report::select::select;
use numalab_report::text::{csv, lkp, markdown, mmtests};
use numalab_report::{columns, derive, html, json};
use numalab_stats::star::StarRule;
use serde_json::json;

fn kernel(name: &str, mark: &str) -> Kernel {
    Kernel { name: name.into(), mark: mark.into(), ..Kernel::default() }
}

fn comparison() -> Comparison {
    let metric =
        |name: &str, unit: &str, higher, samples: [Vec<f64>; 2]| Metric::new(name, unit, higher, samples.into());
    let metrics = vec![
        metric("elapsed", "s", false, [vec![10.0, 12.0, 14.0], vec![20.0, 22.0, 24.0]]),
        metric("blocked", "s", false, [vec![0.0; 3], vec![1.0; 3]]),
        metric("ops", "ops/s", true, [vec![100.0, 100.0, 100.0], vec![50.0, 51.0, 52.0]]),
    ];
    let counter = |name: &str, samples: [Vec<f64>; 2]| Counter { name: name.into(), samples: samples.into() };
    let counters = vec![
        counter("numa_hint_faults", [vec![4000.0; 3], vec![8000.0; 3]]),
        counter("numa_hint_faults_local", [vec![1000.0; 3], vec![6000.0; 3]]),
    ];
    let duration = |elapsed_s| Some(Duration { user_s: 1.0, system_s: 2.0, elapsed_s });
    let workload = Workload {
        name: "numa01".into(),
        metrics,
        counters,
        durations: vec![duration(36.0), duration(66.0)],
        runs: vec![Runs { total: 3, ..Runs::default() }, Runs { total: 4, timeout: 0, failed: 1 }],
        ..Workload::default()
    };
    let kernels = vec![kernel("6.1", "sim"), kernel("6.7", "sim")];
    let axes = vec![("machine".into(), "naples".into())];
    Comparison { kernels, workloads: vec![workload], axes, ..Comparison::default() }
}

#[test]
fn json_form_is_exact() {
    let mut c = comparison();
    c.workloads[0].metrics.truncate(2);
    c.workloads[0].counters.truncate(1);
    let mut got: serde_json::Value = serde_json::from_str(&json::report(&c).unwrap()).unwrap();
    let tests = got.as_object_mut().unwrap().remove("tests").unwrap();
    let decision = got.as_object_mut().unwrap().remove("decision").unwrap();
    assert_eq!(decision["answer"], "Keep 6.1: 6.7 is worse on numa01.");
    assert_eq!(decision["workloads"][0]["kernels"][0]["call"], "worse");
    fn figures(n: usize, mean: f64, min: f64, max: f64, stddev: f64, ratio: Option<f64>) -> serde_json::Value {
        json!({"n": n, "mean": mean, "hmean": null, "min": min, "max": max, "stddev": stddev, "ratio": ratio})
    }
    let want = json!({
        "baseline": "6.1",
        "kernels": ["6.1", "6.7"],
        "workloads": [{"name": "numa01", "program": "numa01", "machine": "naples", "notes": [], "warnings": [],
            "runs": {
            "6.1": {"completed": 3, "timeout": 0, "failed": 0}, "6.7": {"completed": 3, "timeout": 0, "failed": 1}},
            "metrics": [
            {"name": "elapsed", "unit": "s", "better": "lower", "kernels": {
                "6.1": figures(3, 12.0, 10.0, 14.0, 2.0, Some(1.0)),
                "6.7": figures(3, 22.0, 20.0, 24.0, 2.0, Some(22.0 / 12.0))}},
            {"name": "blocked", "unit": "s", "better": "lower", "kernels": {
                "6.1": figures(3, 0.0, 0.0, 0.0, 0.0, None),
                "6.7": figures(3, 1.0, 1.0, 1.0, 0.0, None)}},
            {"name": "numa_hint_faults", "unit": "faults", "better": "lower", "kernels": {
                "6.1": figures(3, 4000.0, 4000.0, 4000.0, 0.0, Some(1.0)),
                "6.7": figures(3, 8000.0, 8000.0, 8000.0, 0.0, Some(2.0))}}
        ]}]
    });
    assert_eq!(got, want);
    // There are two rows. By hand, t = 10 / sqrt(8/3) with 4 degrees of freedom.
    assert_eq!(tests.as_array().unwrap().len(), 2);
    let t = &tests[0];
    assert_eq!((&t["workload"], &t["metric"], &t["kernel"]), (&json!("numa01"), &json!("elapsed"), &json!("6.7")));
    assert!((t["p_welch"].as_f64().unwrap() - 0.003_602).abs() < 1e-6, "{t}");
    assert_eq!(tests[1]["change_percent"], serde_json::Value::Null, "from a baseline of 0");
}

#[test]
fn json_keeps_the_order_of_kernels_and_shows_missing_runs() {
    let mut c = comparison();
    c.kernels = vec![kernel("z", ""), kernel("a", "")];
    c.workloads[0].metrics[0].samples[1].clear();
    let text = json::report(&c).unwrap();
    assert!(text.find("\"z\": {").unwrap() < text.find("\"a\": {").unwrap());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let missing = &value["workloads"][0]["metrics"][0]["kernels"]["a"];
    let none = json!({"n": 0, "mean": null, "hmean": null, "min": null, "max": null, "stddev": null, "ratio": null});
    assert_eq!(*missing, none);
}

#[test]
fn csv_is_long_and_quoted() {
    let mut c = comparison();
    c.workloads[0].name = "a,\"b\" on x".into();
    c.workloads[0].machine = Some("x".into());
    c.workloads[0].metrics.truncate(2);
    c.workloads[0].counters.clear();
    let want = "\
workload,machine,metric,unit,better,kernel,n,mean,min,max,stddev,ratio,completed,timeout,failed,hmean
\"a,\"\"b\"\"\",x,elapsed,s,lower,6.1,3,12,10,14,2,1,3,0,0,
\"a,\"\"b\"\"\",x,elapsed,s,lower,6.7,3,22,20,24,2,1.8333333333333333,3,0,1,
\"a,\"\"b\"\"\",x,blocked,s,lower,6.1,3,0,0,0,0,,3,0,0,
\"a,\"\"b\"\"\",x,blocked,s,lower,6.7,3,1,1,1,0,,3,0,1,
";
    assert_eq!(csv::report(&c).unwrap(), want);
}

#[test]
fn json_and_csv_have_both_means_of_a_rate_and_say_what_the_command_says() {
    let mut c = comparison();
    let w = &mut c.workloads[0];
    w.metrics = vec![Metric::new("ops", "ops/s", true, vec![vec![500.0, 505.0, 495.0], vec![300.0, 420.0, 900.0]])];
    w.counters[1].samples[0] = vec![0.0; 3];
    w.too_short = vec![false, true];
    w.different_work = vec![None, Some("loops is 9, not 3".into())];
    w.notes = vec!["6.7 is not comparable with 6.1".into()];
    w.name = "numa01 on x".into();
    w.machine = Some("x".into());
    derive::apply(&mut c, &columns::built_in().unwrap());
    let value: serde_json::Value = serde_json::from_str(&json::report(&c).unwrap()).unwrap();
    let w = &value["workloads"][0];
    assert_eq!((&w["name"], &w["program"], &w["machine"]), (&json!("numa01 on x"), &json!("numa01"), &json!("x")));
    assert_eq!(w["notes"], json!(["6.7 is not comparable with 6.1"]));
    assert_eq!(value["tests"][0]["too_short"], json!(true));
    assert_eq!(value["tests"][0]["different_work"], json!(true));
    let of = |name: &str| w["metrics"].as_array().unwrap().iter().find(|m| m["name"] == name).unwrap();
    let ops = &of("ops")["kernels"]["6.7"];
    assert_eq!((ops["mean"].as_f64(), ops["ratio"].as_f64()), (Some(540.0), Some(1.08)));
    assert!((ops["hmean"].as_f64().unwrap() - 439.53).abs() < 0.01, "{ops}");
    for name in ["numa_hint_faults", "numa_hint_faults_local", "numa_local_percent"] {
        assert_eq!(of(name)["kernels"]["6.7"]["hmean"], serde_json::Value::Null, "{name}");
    }
    let better = ["numa_hint_faults", "numa_hint_faults_local", "numa_local_percent"].map(|n| &of(n)["better"]);
    assert_eq!(better, [&json!("lower"), &json!("neutral"), &json!("higher")]);
    let csv = csv::report(&c).unwrap();
    let line = csv.lines().find(|l| l.starts_with("numa01,x,ops,ops/s,higher,6.7,3,540,")).unwrap();
    assert!(line.contains(",1.08,3,0,1,439.53"), "{line}");
}

#[test]
fn picked_counts_and_shares_have_arithmetic_means_and_only_shares_a_direction() {
    let mut c = comparison();
    c.workloads[0].counters[1].samples = vec![vec![0.0; 3], vec![6000.0, 5000.0, 7000.0]];
    derive::apply(&mut c, &columns::built_in().unwrap());
    let picked = ["numa_hint_faults_local", "numa_local_percent", "ops"].map(String::from);
    let c = select(&c, &picked).unwrap();
    let text = mmtests::report(&c, &mmtests::Options { summary: false, ..Default::default() });
    let lines: Vec<String> = text.lines().map(squeezed).collect();
    for want in [
        "Amean numa_hint_faults_local 0.00 ( 0.00%) 6000.00 * 100.00%*",
        "Amean numa_local_percent 0.00 ( 0.00%) 75.00 * 100.00%*",
        "Hmean ops 100.00 ( 0.00%) 50.99 * -49.01%*",
    ] {
        assert!(lines.iter().any(|l| l == want), "{want}\n{text}");
    }
    let best = |name: &str| lines.iter().any(|l| l.starts_with(&format!("BAmean-50 {name} ")));
    assert!(best("numa_local_percent") && !best("numa_hint_faults_local"), "{text}");
    let note = "Note: for numa_hint_faults_local neither more nor less is better; a plus only means more\n";
    assert!(text.contains(note), "{text}");
    assert!(markdown::report(&c, &Default::default(), true)
        .contains("| Amean numa_hint_faults_local | 0.00 (0.00%) | 6000.00 ("));
    let page = html::render(&html::Input::new("x", &c));
    assert!(page.contains("Comparison: neither more nor less is better"));
    let cell = page.split("6000.00</span>").nth(1).unwrap();
    assert!(
        cell.starts_with(" <span class=\"p\"><span aria-hidden=\"true\"></span>+100.00%"),
        "no arrow: {}",
        &cell[..99]
    );
}

#[test]
fn markdown_shows_means_and_says_what_bold_means() {
    let mut c = comparison();
    derive::apply(&mut c, &columns::built_in().unwrap());
    let got = markdown::report(&c, &Default::default(), true);
    let want = "\
### numa01

| | 6.1-sim | 6.7-sim |
|---|---:|---:|
| Amean elapsed | 12.00 (0.00%) | 22.00 (**-83.33%**) |
| Amean blocked | 0.00 (0.00%) | 1.00 (**-99.00%**) |
| Hmean ops | 100.00 (0.00%) | 50.99 (**-49.01%**) |
";
    assert!(got.starts_with(want), "{got}");
    assert!(got.contains("| Ops numa_local_percent [%] | 25.00 | 75.00 |\n"), "{got}");
    let corrected = got.find("| Ops AutoNUMA cost with copy |").unwrap();
    assert!(
        got.find("| Ops AutoNUMA cost |").unwrap() < corrected,
        "what mmtests gets wrong stands beside what is right"
    );
    let short = "\nIn short (means of a run, 6.1 first):\n\n- numa01: 6.7 loses to 6.1: ops 100.0 → 50.99 ops/s, 49.0 % lower\n  - ";
    assert!(got.contains(short), "{got}");
    assert!(!markdown::report(&c, &Default::default(), false).contains("In short"));
    assert!(got.contains("\nBaseline: 6.1. Positive percent = better. Bold: p < 0.10, "), "{got}");
    assert!(got.contains("- columns marked sim are predictions of the simulator, not measurements\n"), "{got}");
}

#[test]
fn whole_text_report_in_order() {
    let mut c = comparison();
    let samples = vec![vec![1.0, 2.0, 3.0], vec![]];
    c.workloads[0].reasons = vec![Counter { name: "skip.pid_inactive".into(), samples }];
    derive::apply(&mut c, &columns::built_in().unwrap());
    let got = mmtests::report(&c, &Default::default());
    let heads: Vec<&str> = got.lines().map(|l| l.split("  ").next().unwrap_or("")).filter(|l| !l.is_empty()).collect();
    let at = |text: &str| heads.iter().position(|l| l.starts_with(text)).unwrap_or_else(|| panic!("{text}\n{got}"));
    let order = [
        "numa01",
        "Min",
        "Amean",
        "Hmean",
        "Duration User",
        "Ops NUMA hint faults",
        "Ops numa_local_percent",
        "Reason skip.pid_inactive",
        "Baseline",
    ];
    let places = order.map(at);
    assert!(places.windows(2).all(|w| w[0] < w[1]), "{places:?}\n{got}");
    // A name without hyphen stays on line 1; the mark of the simulator is on line 2.
    let second: Vec<&str> = got.lines().nth(3).unwrap().split_whitespace().collect();
    assert_eq!(second, ["sim", "sim"]);
    assert!(got.starts_with("\nnuma01\n"), "a blank line, then the name");
}

#[test]
fn notes_name_what_could_not_be_seen() {
    let mut c = comparison();
    c.workloads[0].metrics = vec![Metric::new(
        "elapsed",
        "s",
        false,
        vec![vec![10.0, 10.2, 10.4, 10.6, 10.8], vec![10.1, 10.2, 10.5, 10.6, 10.8]],
    )];
    let got = mmtests::report(&c, &Default::default());
    let before = "Note: numa01 elapsed on 6.7: no clear difference; with 5 and 5 runs a change of ";
    let (_, rest) = got.split_once(before).expect(&got);
    let (percent, after) = rest.split_once(" % ").expect(rest);
    assert!(after.starts_with("would be seen 80 times in 100 by one test alone\n"), "{after}");
    // With known spreads of 0.3162 and 0.2881, se = 0.1913 and df = 8: (2.306 + 0.889) * se / 10.4 = 5.88 %. The test
    // has to estimate the spreads, so the change is somewhat larger.
    let percent: f64 = percent.parse().unwrap();
    assert!(percent > 5.88 && percent < 1.1 * 5.88, "{percent}");
    c.workloads[0].metrics[0].samples = vec![vec![0.5], vec![0.6]];
    let got = mmtests::report(&c, &Default::default());
    assert!(got
        .contains("Note: numa01: single runs, so no spread is known; a star there only says that the values differ\n"));
    assert!(got.contains("Note: numa01: a run took only 0.5000 s; start-up may outweigh the workload\n"), "{got}");
}

/// Lines without the blanks at their ends, which the reference's examples cannot show.
fn trimmed(text: &str) -> String {
    text.lines().map(|l| format!("{}\n", l.trim_end())).collect()
}

#[test]
fn section_6_2_published_report() {
    let single = |name: &str, unit: &str, a: f64, b: f64| Metric::new(name, unit, true, vec![vec![a], vec![b]]);
    let workload = Workload {
        name: "will-it-scale".into(),
        metrics: vec![
            single("104.processes", "ops", 13_467_005.0, 26_223_847.0),
            single("per_process_ops", "ops", 129_489.0, 252_151.0),
            single("soft%", "%", 24.47, 17.29),
            single("usr%", "%", 8.76, 16.36),
            single("cs", "1/s", 7732.0, 6318.0),
        ],
        ..Workload::default()
    };
    let c = Comparison {
        kernels: vec![kernel("ec81deb6b769dc1b0123", ""), kernel("6e553c6bcb7746abad29ce63e0cb7a18", "")],
        workloads: vec![workload],
        axes: vec![("axis1".into(), "value1".into()), ("axis2".into(), "value2".into())],
        ..Comparison::default()
    };
    let got = lkp::report(&c, lkp::Options { all: true });
    let want = lines(
        "
=========================================================================================
axis1/axis2/testcase:
  value1/value2/will-it-scale

commit:
  ec81deb6b769dc1b0123
  6e553c6bcb7746abad29ce63e0cb7a18

ec81deb6b769dc1b 6e553c6bcb7746abad29ce63e0c
---------------- ---------------------------
         %stddev     %change         %stddev
             \\          |                \\
  13467005           +94.7%   26223847        will-it-scale.104.processes
      7732           -18.3%       6318        will-it-scale.cs
    129489           +94.7%     252151        will-it-scale.per_process_ops
     24.47            -7.2       17.29        will-it-scale.soft%
      8.76            +7.6       16.36        will-it-scale.usr%

",
    );
    assert_eq!(trimmed(&got), want);
    // One blank after each title and each row of dashes, and behind `commit:`.
    let raw: Vec<&str> = got.lines().collect();
    assert_eq!(raw[4], "commit: ");
    assert_eq!((raw[8].chars().count(), raw[9].chars().count()), (16 + 1 + 27 + 1, 16 + 1 + 27 + 1));
    // Without three runs a side no metric can be called changed. The report says so, and shows the figures.
    let few = lkp::report(&c, lkp::Options::default());
    assert!(few.contains("per_process_ops"), "{few}");
    assert!(few == got || few.contains("No metric can be called changed: at least one side needs 3 runs."), "{few}");
}

#[test]
fn lkp_lists_what_changed_with_failures_first() {
    let got = trimmed(&lkp::report(&comparison(), lkp::Options::default()));
    let body: String = got.lines().skip(10).map(|l| format!("{l}\n")).collect();
    // elapsed grows from 12 to 22; its deviation 1.633 (divisor n) is 13 % and 7 %. That of ops, 0.8165/51 = 1.6 %, is
    // not shown.
    let want = lines(
        "
       fail:runs  %reproduction    fail:runs
           |             |             |
           :3           25%           1:4     numa01.fail
         %stddev     %change         %stddev
             \\          |                \\
      0.00         +1e+102%       1.00        numa01.blocked
    100.00           -49.0%      51.00        numa01.ops
     12.00 ± 13%     +83.3%      22.00 ±  7%  numa01.time.elapsed_time
      4000          +100.0%       8000        proc-vmstat.numa_hint_faults
      1000          +500.0%       6000        proc-vmstat.numa_hint_faults_local

",
    );
    assert_eq!(body, want);
}

#[test]
fn a_difference_that_prints_as_nothing_is_not_starred() {
    for rule in StarRule::ALL {
        for (by, starred) in [(1e-6, false), (1e-2, true)] {
            let mut c = comparison();
            // Measured, so that no model's error hides a small change.
            c.kernels.iter_mut().for_each(|k| k.mark.clear());
            let base = vec![100.0, 100.0 + 1e-9, 100.0 - 1e-9];
            let other = base.iter().map(|x| x + by).collect();
            c.workloads[0].metrics = vec![Metric::new("elapsed", "s", false, vec![base, other])];
            let mut options = mmtests::Options::default();
            options.table.rule = rule;
            options.table.significant_rows = true;
            let text = mmtests::report(&c, &options);
            let table = text.split("Duration").next().unwrap();
            assert_eq!(table.contains("*  "), starred, "{rule:?}: {table}");
            let significant = table.lines().find(|l| l.starts_with("Significant")).unwrap();
            assert_eq!(significant.contains(" 1.00 ("), starred, "{rule:?}: {significant}");
            assert_eq!(markdown::report(&c, &options.table, true).contains("**"), starred, "{rule:?}");
            let page = html::render(&html::Input { rule, ..html::Input::new("x", &c) });
            assert_eq!(page.contains("class=\"num star"), starred, "{rule:?}");
            assert_eq!(page.contains("<p class=\"keep\">"), starred, "{rule:?}");
        }
    }
}

#[test]
fn lkp_names_the_machine_of_the_block_only() {
    let mut c = comparison();
    c.axes = vec![("machine".into(), "naples, milan".into())];
    let on = |machine: &str| Workload {
        name: format!("numa01 on {machine}"),
        machine: Some(machine.into()),
        ..c.workloads[0].clone()
    };
    c.workloads = vec![on("naples"), on("milan")];
    let got = lkp::report(&c, lkp::Options { all: true });
    let heads: Vec<&str> = got.lines().filter(|l| l.starts_with("  ") && l.contains('/')).collect();
    assert_eq!(heads, ["  naples/numa01", "  milan/numa01"]);
    assert_eq!(got.matches("  numa01.time.elapsed_time\n").count(), 2, "{got}");
    assert_eq!(got.matches("  numa01.fail\n").count(), 2, "{got}");
}

#[test]
fn lkp_says_what_it_leaves_out_and_why() {
    let mut c = comparison();
    let small = vec![vec![0.26, 0.26, 0.27], vec![2.1, 2.2, 2.2]];
    c.workloads[0].metrics.push(Metric::new("system", "s", false, small));
    c.workloads[0].metrics.push(Metric::new("user", "s", false, vec![vec![30.0; 3]; 2]));
    let got = lkp::report(&c, lkp::Options::default());
    assert!(!got.contains("system_time") && !got.contains("user_time"), "{got}");
    let want = "\n\nNot listed of 7 metrics: 1 unchanged; 1 changed, but below 10 s (times) or 1000 (counters) (--all \
        lists them).\n\n";
    assert!(got.ends_with(want), "{got}");
    let got = lkp::report(&c, lkp::Options { all: true });
    assert!(got.contains("numa01.time.system_time") && !got.contains("Not listed"), "{got}");
}

/// The comparison with a kernel, of index `at`, whose runs all reached the time limit.
fn nothing_completed(at: usize) -> Comparison {
    let mut c = comparison();
    let w = &mut c.workloads[0];
    w.metrics.iter_mut().for_each(|m| m.samples[at].clear());
    w.counters.iter_mut().for_each(|m| m.samples[at].clear());
    w.runs[at] = Runs { total: 3, timeout: 3, failed: 0 };
    w.durations[at] = None;
    derive::apply(&mut c, &columns::built_in().unwrap());
    c
}

#[test]
fn a_kernel_without_a_completed_run_keeps_its_column_in_every_form() {
    let c = nothing_completed(1);
    let row = |text: &str, start: &str| squeezed(text.lines().find(|l| l.starts_with(start)).unwrap());
    let text = mmtests::report(&c, &Default::default());
    assert_eq!(row(&text, "Amean     elapsed"), "Amean elapsed 12.00 ( 0.00%) -");
    assert_eq!(row(&text, "Duration Elapsed"), "Duration Elapsed 36.00 -");
    assert_eq!(row(&text, "Ops NUMA hint faults"), "Ops NUMA hint faults 12000.00 -");
    assert_eq!(row(&text, "Ops numa_local"), "Ops numa_local_percent [%] 25.00 -");
    let markdown = markdown::report(&c, &Default::default(), true);
    assert_eq!(row(&markdown, "| Amean elapsed"), "| Amean elapsed | 12.00 (0.00%) | – |");
    assert_eq!(row(&markdown, "| Ops NUMA hint faults"), "| Ops NUMA hint faults | 12000.00 | – |");
    assert_eq!(row(&markdown, "| Ops numa_local"), "| Ops numa_local_percent [%] | 25.00 | – |");
    let lkp = lkp::report(&c, lkp::Options { all: true });
    let line = lkp.lines().find(|l| l.ends_with("numa01.time.elapsed_time")).unwrap();
    assert_eq!(squeezed(line), "12.00 ± 13% - numa01.time.elapsed_time");
    let line = lkp.lines().find(|l| l.ends_with("numa01.timeout")).unwrap();
    assert_eq!(squeezed(line), ":3 100% 3:3 numa01.timeout");
    let csv = csv::report(&c).unwrap();
    assert!(csv.contains("\nnuma01,naples,elapsed,s,lower,6.7,0,,,,,,0,3,0,\n"), "{csv}");
    let value: serde_json::Value = serde_json::from_str(&json::report(&c).unwrap()).unwrap();
    let w = &value["workloads"][0];
    assert_eq!(w["runs"]["6.7"], json!({"completed": 0, "timeout": 3, "failed": 0}));
    assert_eq!(w["metrics"][0]["kernels"]["6.7"]["mean"], serde_json::Value::Null);
    let tests = value["tests"].as_array().unwrap();
    assert_eq!(tests.iter().map(|t| t["metric"].as_str().unwrap()).collect::<Vec<_>>(), ["elapsed", "blocked", "ops"]);
    for key in
        ["change_percent", "p_welch", "p_holm", "p_mann_whitney", "ratio_low", "ratio_high", "detectable_percent"]
    {
        assert_eq!(tests[0][key], serde_json::Value::Null, "{key}");
    }
    let page = html::render(&html::Input::new("x", &c));
    assert!(page.contains("of 3 runs 0 failed and 3 reached the time limit; they are in no figure"));
    assert!(page.contains("<td class=\"num\">–</td>"));
}

#[test]
fn against_a_baseline_without_a_completed_run_there_is_no_percentage() {
    let c = nothing_completed(0);
    let row = |text: &str, start: &str| squeezed(text.lines().find(|l| l.starts_with(start)).unwrap());
    let text = mmtests::report(&c, &Default::default());
    assert_eq!(row(&text, "Amean     elapsed"), "Amean elapsed - 22.00 ( - )");
    let markdown = markdown::report(&c, &Default::default(), true);
    assert_eq!(row(&markdown, "| Amean elapsed"), "| Amean elapsed | – | 22.00 (–) |");
    let lkp = lkp::report(&c, lkp::Options { all: true });
    let line = lkp.lines().find(|l| l.ends_with("numa01.time.elapsed_time")).unwrap();
    assert_eq!(squeezed(line), "- 22.00 ± 7% numa01.time.elapsed_time");
    assert!(csv::report(&c).unwrap().contains("\nnuma01,naples,elapsed,s,lower,6.7,3,22,20,24,2,,3,0,1,\n"));
}

#[test]
fn columns_of_different_numbers_of_runs_are_per_run() {
    let mut c = comparison();
    let w = &mut c.workloads[0];
    w.reasons = vec![Counter { name: "skip.small".into(), samples: vec![vec![3.0; 3], vec![]] }];
    let text = mmtests::report(&c, &Default::default());
    let row = |text: &str, start: &str| squeezed(text.lines().find(|l| l.starts_with(start)).unwrap());
    assert_eq!(row(&text, "Duration Elapsed"), "Duration Elapsed 36.00 66.00", "three runs each: sums, as in mmtests");
    assert_eq!(row(&text, "Reason skip.small"), "Reason skip.small 9.00 -", "6.7 does not report it");
    let w = &mut c.workloads[0];
    // Only one run of the second kernel completed.
    w.runs[1] = Runs { total: 3, timeout: 2, failed: 0 };
    w.counters.iter_mut().for_each(|m| m.samples[1].truncate(1));
    w.durations[1] = Some(Duration { user_s: 1.0, system_s: 2.0, elapsed_s: 22.0 });
    let text = mmtests::report(&c, &Default::default());
    assert_eq!(row(&text, "Duration/run Elapsed"), "Duration/run Elapsed 12.00 22.00");
    assert_eq!(row(&text, "Ops/run NUMA hint faults"), "Ops/run NUMA hint faults 4000.00 8000.00");
    assert_eq!(row(&text, "Ops/run NUMA hint local percent"), "Ops/run NUMA hint local percent 25.00 75.00");
    assert_eq!(row(&text, "Reason/run skip.small"), "Reason/run skip.small 3.00 -");
    assert!(
        text.contains("Note: numa01: kernels have different numbers of completed runs, so rows marked /run"),
        "{text}"
    );
    assert!(
        markdown::report(&c, &Default::default(), true).contains("| Ops/run NUMA hint faults | 4000.00 | 8000.00 |")
    );
    // The captions say which figures they are above.
    let caption = |c: &Comparison| {
        let page = html::render(&html::Input::new("x", c));
        page.split("Duration <span").nth(1).unwrap().split("</p>").next().unwrap().to_string()
    };
    assert!(caption(&c).contains("Seconds of one completed run on average"), "{}", caption(&c));
    assert!(caption(&comparison()).ends_with(">Seconds of all completed runs of a kernel together, all threads."));
    // A kernel without figures is a dash and leaves the others unchanged.
    let text = mmtests::report(&nothing_completed(1), &Default::default());
    assert_eq!(row(&text, "Duration Elapsed"), "Duration Elapsed 36.00 -");
}

#[test]
fn the_spread_of_one_run_and_a_share_of_nothing_are_no_figures() {
    let mut c = comparison();
    let w = &mut c.workloads[0];
    w.metrics[0].samples[1].truncate(1);
    w.counters[0].samples[0] = vec![0.0; 3];
    w.counters[1].samples[0] = vec![0.0; 3];
    derive::apply(&mut c, &columns::built_in().unwrap());
    let text = mmtests::report(&c, &Default::default());
    let row = |text: &str, start: &str| squeezed(text.lines().find(|l| l.starts_with(start)).unwrap());
    assert_eq!(row(&text, "Stddev    elapsed"), "Stddev elapsed 2.00 ( 0.00%) -");
    assert_eq!(row(&text, "CoeffVar  elapsed"), "CoeffVar elapsed 16.67 ( 0.00%) -");
    assert_eq!(row(&text, "CoeffVar  blocked"), "CoeffVar blocked - 0.00 ( - )", "0 of 0, and nothing to compare with");
    assert_eq!(row(&text, "Ops numa_local_percent"), "Ops numa_local_percent [%] - 75.00");
    assert!(!text.contains("efficiency"), "nothing was scanned, so nothing was scanned well: {text}");
    // Columns do not move: a dash stands where the digits end.
    let line = |start: &str| text.lines().find(|l| l.starts_with(start)).unwrap();
    let (mean, spread) = (line("Amean     elapsed"), line("Stddev    elapsed"));
    assert_eq!(mean.find("22.00").or(mean.find("20.00")).unwrap() + 4, spread.rfind('-').unwrap());
    assert!(csv::report(&c)
        .unwrap()
        .contains("\nnuma01,naples,elapsed,s,lower,6.7,1,20,20,20,,1.6666666666666667,3,0,1,\n"));
    let value: serde_json::Value = serde_json::from_str(&json::report(&c).unwrap()).unwrap();
    assert_eq!(value["workloads"][0]["metrics"][0]["kernels"]["6.7"]["stddev"], serde_json::Value::Null);
    let page = html::render(&html::Input::new("x", &c));
    assert!(page.contains("20.00</span> <small>± –, n 1") || page.contains("20</span> <small>± –, n 1"));
}

#[test]
fn reports_of_nothing_do_not_panic() {
    for c in [
        Comparison::default(),
        Comparison { baseline: 7, ..comparison() },
        Comparison { kernels: vec![], ..comparison() },
        Comparison { workloads: vec![Workload::default()], ..comparison() },
    ] {
        for rule in StarRule::ALL {
            let mut options = mmtests::Options::default();
            options.table.rule = rule;
            options.table.significant_rows = true;
            assert!(mmtests::report(&c, &options).contains("Baseline"));
            markdown::report(&c, &options.table, true);
        }
        lkp::report(&c, lkp::Options { all: true });
        lkp::report(&c, lkp::Options { all: false });
        let _ = csv::report(&c).unwrap();
        json::report(&c).unwrap();
    }
}
