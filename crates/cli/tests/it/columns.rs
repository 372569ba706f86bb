//! Columns of settings, workloads under other names, and settings of a part of an experiment.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab};
use serde_json::Value;

const HEAD: &str = "name = \"e\"\ntitle = \"t\"\nmachines = [\"2x1x2x1\"]\nworkloads = [\"sweep.toml\"]\n";

/// A directory with the workload `sweep.toml` and the experiment `e.toml` of these lines after [`HEAD`].
fn lab(text: &str) -> Lab {
    let lab = Lab::with_sweep();
    lab.write("e.toml", &format!("{HEAD}{text}"));
    lab
}

fn column(name: &str, kernel: &str, more: &str) -> String {
    format!("[[column]]\nname = {name:?}\nkernel = {kernel:?}\n{more}\n")
}

/// The mean of a metric on a column.
fn mean(c: &Value, metric: &str, kernel: &str) -> f64 {
    let metrics = c["workloads"][0]["metrics"].as_array().unwrap();
    let m = metrics.iter().find(|m| m["name"] == metric).unwrap_or_else(|| panic!("no {metric}"));
    m["kernels"][kernel]["mean"].as_f64().unwrap()
}

fn columns() -> String {
    [
        column("off", "off", ""),
        column("spread", "off", "numactl = \"--interleave=all\""),
        column("bound", "off", "numactl = \"-m 1 -N 0\""),
        column("window", "6.12", "set = { scan.scan_size_mb = 512 }"),
    ]
    .concat()
}

#[test]
fn columns_stand_side_by_side_and_do_what_they_say() {
    let lab = lab(&format!("{}[params]\nloops = 7000\n", columns()));
    lab.ok("run e.toml --out d");
    let c = json(&lab.ok("compare d --json").out);
    assert_eq!(c["kernels"], serde_json::json!(["off", "spread", "bound", "window"]));
    let interleaved = |k| mean(&c, "numa_interleave", k);
    assert!(interleaved("spread") > interleaved("off") + 4.0, "{} {}", interleaved("spread"), interleaved("off"));
    // Memory bound to a node on which no thread runs is remote.
    let other = |k| mean(&c, "numa_other", k);
    assert!(other("bound") > other("off") + 4.0, "{} {}", other("bound"), other("off"));
    let notes = c["workloads"][0]["notes"].as_array().unwrap();
    assert!(notes.is_empty(), "the columns do the same work: {notes:?}");
}

#[test]
fn a_page_calls_a_column_by_what_it_is() {
    let ubuntu = column("interleave", "ubuntu-24.04", "numactl = \"--interleave=all\"");
    let lab = lab(&[columns(), ubuntu, column("6.3", "6.12", "")].concat());
    lab.ok("run e.toml --out d");
    let page = std::fs::read_to_string(lab.path("d/report.html")).unwrap();
    for (name, about) in [
        ("interleave", "ubuntu-24.04 with numactl --interleave=all"),
        ("window", "6.12 with scan.scan_size_mb=512"),
        ("6.3", "6.12, Linux 6.12"),
    ] {
        assert!(page.contains(&format!("<dt>{name}</dt><dd>{about}")), "{name}: {about}");
    }
    assert!(!page.contains("<dd>Ubuntu 24.04"), "a column is not a distribution");
}

#[test]
fn a_setting_may_have_the_name_that_the_kernel_gives_it() {
    let lab =
        lab(&[column("on", "6.12", ""), column("off", "6.12", "set = { \"kernel.numa_balancing\" = 0 }")].concat());
    lab.ok("run e.toml --out d --param loops=7000");
    let c = json(&lab.ok("compare d --json").out);
    assert!(mean(&c, "numa_pte_updates", "on") > 0.0 && mean(&c, "numa_pte_updates", "off") == 0.0);
    lab.refused("run e.toml --set kernel.numa_balancin=0", &["unknown tunable `kernel.numa_balancin`"]);
}

#[test]
fn a_run_of_a_column_is_repeated_as_it_was_started() {
    let lab = lab(&format!("{}[params]\nloops = 70\n", columns()));
    lab.ok("run e.toml --out d");
    for column in ["off", "spread", "bound", "window"] {
        let ended = lab.ok(&format!("repeat d --kernel {column} --json"));
        assert_eq!(json(&ended.out)["identical"], true, "{column}: {ended:?}");
    }
}

/// A column may give the program other parameters. The plan keeps the program, so that the columns stand side by side.
#[test]
fn parameters_of_a_column_hold_for_it_alone() {
    let more = column("off", "off", "") + &column("long", "off", "params = { loops = 140 }");
    let lab = lab(&format!("{more}[params]\nloops = 70\n"));
    lab.ok("run e.toml --out d");
    let c = json(&lab.ok("compare d --json").out);
    let times = mean(&c, "user", "long") / mean(&c, "user", "off");
    assert!((1.7..2.3).contains(&times), "twice the loops take twice the time: {times}");
    assert!(lab.ok("compare d --full").out.contains("its workloads run with loops = 140"));
    for column in ["off", "long"] {
        let ended = lab.ok(&format!("repeat d --kernel {column} --json"));
        assert_eq!(json(&ended.out)["identical"], true, "{column}: {ended:?}");
    }
    let shown = lab.ok("show e.toml");
    assert!(shown.out.contains("param loops=140"), "{}", shown.out);
}

/// What `--whole` and `--exact` made can be repeated.
#[test]
fn conditions_of_a_simulated_run_are_repeated() {
    let lab = lab("kernels = [\"6.12\"]\n[params]\nloops = 70\n");
    for option in ["--whole", "--exact"] {
        lab.ok(&format!("run e.toml {option} --out d{option}"));
        let ended = lab.ok(&format!("repeat d{option} --json"));
        assert_eq!(json(&ended.out)["identical"], true, "{option}: {ended:?}");
    }
}

#[test]
fn a_kernel_names_its_only_column() {
    let lab = lab("kernels = [\"off\", \"6.12\"]\n[params]\nloops = 70\n[set.\"6.12\"]\nscan.scan_size_mb = 512\n");
    lab.ok("run e.toml --out d --explain");
    let c = json(&lab.ok("compare d --json").out);
    assert_eq!(c["kernels"], serde_json::json!(["off", "6.12[scan.scan_size_mb=512]"]));
    lab.ok("explain d --kernel 6.12 --vma");
    lab.write("e.toml", &format!("{HEAD}kernels = [\"off\"]\n{}[params]\nloops = 70\n", column("mine", "6.12", "")));
    lab.ok("run e.toml --out f --explain");
    lab.ok("explain f --kernel 6.12 --vma");
}

#[test]
fn one_workload_runs_twice_under_two_names() {
    let twice = "kernels = [\"off\", \"6.12\"]\n[[workload]]\nname = \"small\"\nof = \"sweep.toml\"\nparams = { loops = 50 }\n\
                 [[workload]]\nname = \"large\"\nof = \"sweep.toml\"\nparams = { loops = 90 }\nset = { system.hz = 100 }\n";
    let lab = lab(&format!("{twice}[params]\nsize = \"8MiB\"\n"));
    lab.ok("run e.toml --out d");
    let c = json(&lab.ok("compare d --json").out);
    let names: Vec<&str> = c["workloads"].as_array().unwrap().iter().map(|w| w["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sweep", "small", "large"]);
    assert_eq!(c["kernels"], serde_json::json!(["off", "6.12"]), "settings of a workload are no part of a column");
    let full = lab.ok("compare d --full").out;
    assert!(full.contains("on large with system.hz = 100"), "{full}");
    let ended = lab.ok("repeat d --kernel 6.12 --workload large --json");
    assert_eq!(json(&ended.out)["identical"], true, "{ended:?}");
}

#[test]
fn what_is_wrong_in_a_column_is_said_with_its_place() {
    let cases = [
        (
            column("a", "off", "numactl = \"--interleaf=all\""),
            "no option `--interleaf` of numactl",
            "did you mean `--interleave`?",
        ),
        (column("a", "off", "numactl = \"--membind=7\""), "2x1x2x1 has no node 7", "expected nodes 0 to 1"),
        (column("a", "off", "numactl = \"--membind=x\""), "`--membind` names `x`", "a list of nodes such as 0-1,3"),
        (column("a", "off", "numactl = \"--balancing\""), "`--balancing` without `--membind`", "expected both"),
        (column("a", "off", "numactl = \"-m 0 -i all\""), "two memory policies", "expected one of them"),
        (column("a", "off", "numactl = \"\""), "no option of numactl", "expected one of --interleave"),
        (column("a", "off", "set = { scan.scan_size_mb = 512 }"), "`scan.scan_size_mb` has no effect here", ""),
        (column("a", "off", "params = { lops = 9 }"), "no parameter `lops` in sweep.toml", "did you mean `loops`?"),
        (column("a", "off", "params = { sweep.lops = 9 }"), "no parameter `sweep.lops` in sweep.toml", "did you mean"),
        (column("a b", "off", ""), "the name is `a b`", "letters, digits"),
        (column("a", "6.33", ""), "unknown kernel `6.33`", "did you mean `6.19`?"),
        (column("a", "off", "x = 1"), "unknown key `column[0].x`", ""),
        (column("a", "off", "") + &column("a", "6.12", ""), "`a` is named twice", ""),
        (
            column("a", "off", "") + "[[workload]]\nname = \"w\"\nof = \"strem\"\n",
            "unknown workload `strem`",
            "`stream`",
        ),
    ];
    for (text, what, more) in cases {
        lab(&text).refused("run e.toml", &["e.toml:", what, more]);
    }
}

#[test]
fn a_machine_extends_one_that_is_named_by_its_path() {
    let lab = Lab::with_sweep();
    lab.write("lab/base.toml", "name = \"base\"\ntitle = \"t\"\nextends = \"tr-1950x\"\nnode_reclaim_distance = 40\n");
    lab.write("mine.toml", "name = \"mine\"\ntitle = \"t\"\nextends = \"lab/base.toml\"\n");
    lab.ok("run --machine mine.toml --kernel off --workload sweep.toml --out d");
    assert_eq!(json(&lab.ok("repeat d --json").out)["identical"], true);
    lab.write("mine.toml", "name = \"mine\"\ntitle = \"t\"\nextends = \"lab/absent.toml\"\n");
    lab.refused("machine show mine.toml", &["mine.toml:3:11: ", "lab/absent.toml: cannot be read: No such file"]);
}

#[test]
fn suggestions_search_releases_titles_and_other_words() {
    let lab = Lab::with_sweep();
    let run = "run --machine 2x1x2x1 --kernel";
    lab.refused(&format!("{run} 6.33 --workload sweep.toml"), &["unknown kernel `6.33`", "did you mean `6.19`?"]);
    lab.refused(&format!("{run} off --workload postgres"), &["did you mean `buffer-pool`?"]);
    lab.refused("show postgres", &["did you mean `buffer-pool`?"]);
    lab.refused("run postgres", &["did you mean `interleave-or-balance`?"]);
    assert!(lab.ok("list workloads").out.contains("(also: postgres"));
}
