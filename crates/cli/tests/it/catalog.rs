//! Everything in the built-in catalog can be listed, shown and resolved.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::Lab;
use serde_json::Value;

const KINDS: [&str; 7] = ["machines", "kernels", "workloads", "experiments", "published", "roles", "tunables"];

#[test]
fn everything_can_be_listed_and_shown() {
    let lab = Lab::new();
    for kind in KINDS {
        let text = lab.ok(&format!("list {kind}")).out;
        let entries: Vec<Value> = serde_json::from_str(&lab.ok(&format!("list {kind} --json")).out).unwrap();
        let names = text.lines().filter(|l| !l.starts_with(' '));
        assert_eq!(names.count(), entries.len(), "{kind}");
        assert!(!entries.is_empty(), "{kind}");
        assert!(entries.iter().all(|e| e["title"].as_str().is_some_and(|t| !t.is_empty())), "{kind} have titles");
        let shown: Vec<Value> = serde_json::from_str(&lab.ok(&format!("show {kind} --json")).out).unwrap();
        let names = |list: &[Value]| list.iter().map(|v| v["name"].to_string()).collect::<Vec<_>>();
        assert_eq!(names(&shown), names(&entries), "{kind}");
        let first = entries[0]["name"].as_str().unwrap();
        assert!(lab.ok(&format!("show {kind} {first}")).out.contains(first));
        // The singular is accepted, too.
        lab.ok(&format!("show {} {first}", kind.strip_suffix('s').unwrap_or(kind)));
    }
}

#[test]
fn a_group_of_tunables_is_shown_whole() {
    let lab = Lab::new();
    let shown: Vec<Value> = serde_json::from_str(&lab.ok("show tunables llc_balancing --json").out).unwrap();
    assert!(shown.len() > 3 && shown.iter().all(|t| t["name"].as_str().unwrap().starts_with("llc_balancing.")));
    assert!(lab.ok("show tunables llc_balancing").out.contains("llc_balancing.aggr_tolerance: "));
}

#[test]
fn a_list_without_a_kind_has_all_kinds() {
    let lab = Lab::new();
    let text = lab.ok("list").out;
    let all: serde_json::Map<String, Value> = serde_json::from_str(&lab.ok("list --json").out).unwrap();
    let mut kinds: Vec<&str> = all.keys().map(String::as_str).collect();
    kinds.sort_unstable();
    let mut expected = KINDS;
    expected.sort_unstable();
    assert_eq!(kinds, expected);
    for kind in KINDS {
        assert!(text.lines().any(|line| line == kind), "{kind} has no heading");
        let one: Value = serde_json::from_str(&lab.ok(&format!("list {kind} --json")).out).unwrap();
        assert_eq!(all[kind], one, "{kind}");
    }
}

#[test]
fn a_list_has_a_line_for_each_entry_in_any_width() {
    let lab = Lab::new();
    let all: serde_json::Map<String, Value> = serde_json::from_str(&lab.ok("list --json").out).unwrap();
    let entries: usize = all.values().map(|v| v.as_array().unwrap().len()).sum();
    for columns in [40, 80, 200] {
        let text = lab.in_columns("list", columns).out;
        // A heading for each kind, and a blank line between two.
        assert_eq!(text.lines().count(), entries + 2 * KINDS.len() - 1, "{columns}");
    }
    let cut = lab.in_columns("list machines", 80).out;
    assert!(cut.lines().any(|l| l.chars().count() == 80 && l.ends_with('…')), "{cut}");
}

#[test]
fn a_search_finds_words_of_names_titles_and_other_names() {
    let lab = Lab::new();
    let names = |line: &str| {
        let list: Vec<Value> = serde_json::from_str(&lab.ok(&format!("{line} --json")).out).unwrap();
        list.iter().map(|e| e["name"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let epyc = names("list machines --search epyc");
    assert!(!epyc.is_empty() && epyc.len() < names("list machines").len(), "{epyc:?}");
    assert_eq!(names("list machines --search EPYC"), epyc);
    let text = lab.ok("list machines --search epyc").out;
    assert_eq!(text.lines().count(), epyc.len());
    assert!(text.lines().all(|l| l.to_lowercase().contains("epyc")), "{text}");
    // Another name than that of the file, by which alone it is found.
    let postgres = lab.in_columns("list workloads --search postgres", 60).out;
    assert!(postgres.lines().all(|l| l.to_lowercase().contains("postgres")), "{postgres}");
    let all: Value = serde_json::from_str(&lab.ok("list --search numa01 --json").out).unwrap();
    assert!(all.get("workloads").is_some() && all.get("machines").is_none(), "{all}");
    // Two words narrow the search.
    let both = lab.args(&["list", "machines", "--search", "epyc nps4", "--json"]);
    let both: Vec<Value> = serde_json::from_str(&both.out).unwrap();
    assert!(both.len() < epyc.len());
    let refused =
        lab.refused("list machines --search epic", &["--search: nothing has `epic`", "numalab list machines"]);
    assert!(refused.contains("did you mean `epyc"), "{refused}");
    lab.refused_args(&["list", "--search", " "], &["--search: no word"]);
}

#[test]
fn an_experiment_as_json_has_the_settings_and_parameters_that_its_text_has() {
    let lab = Lab::new();
    lab.write(
        "e.toml",
        "name = \"e\"\ntitle = \"t\"\nmachines = [\"2x1x2x1\"]\nkernels = [\"6.3\"]\nworkloads = [\"numa02\", \"stream\"]\n\
         [params]\nthreads = 2\nnuma02.loops = 5\n[set]\nsystem.hz = 100\n",
    );
    let value: serde_json::Value = serde_json::from_str(&lab.ok("show experiments e.toml --json").out).unwrap();
    assert_eq!(value["set"], serde_json::json!([{"name": "system.hz", "value": "100"}]));
    let own = serde_json::json!({"workload": "numa02", "name": "loops", "value": "5"});
    let shared = serde_json::json!({"workload": null, "name": "threads", "value": "2"});
    assert_eq!(value["params"], serde_json::json!([shared, own]));
}

#[test]
fn required_kernels_are_there() {
    let list = Lab::new().ok("list kernels").out;
    let names: Vec<&str> = list.lines().filter_map(|l| l.split_whitespace().next()).collect();
    for name in
        ["off", "6.1", "6.3", "6.4-rc2", "6.4-rc2-numascan", "6.4-rc2+rfc-v3", "6.7", "6.12", "3.8", "3.13", "4.15"]
    {
        assert!(names.contains(&name), "{name} is missing");
    }
}

#[test]
fn the_columns_of_disjoint_vma_2023_differ_in_the_filter_alone() {
    let lab = Lab::new();
    for (a, b, from, to) in
        [("6.4-rc2-numascan", "6.4-rc2", "off", "v64"), ("6.4-rc2-numascan", "6.4-rc2+rfc-v3", "off", "rfc_v3")]
    {
        let diff: Value = serde_json::from_str(&lab.ok(&format!("kernel diff {a} {b} --json")).out).unwrap();
        assert_eq!(diff["differences"], serde_json::json!([{"name": "vma_filter", "a": from, "b": to}]));
    }
    assert_eq!(lab.ok("kernel diff 6.3 6.3").out, "6.3 and 6.3 behave the same\n");
    // In words: each release that changed something, with its commit; and what is of no release.
    let told = lab.ok("kernel diff 6.12 7.2").out;
    for part in [
        "6.14    The balancer's question about locality is a number",
        "(c3856c9ce6b8)",
        "sched.locality_verdict: v46 -> signed",
        "6.19    NI_RANDOM",
        "7.2     The load balancer gathers the threads of a process",
        "6.12    This kernel alone, as its stable tree has it: ",
    ] {
        assert!(told.contains(part), "{part}:\n{told}");
    }
    assert!(told.lines().all(|l| l.chars().count() <= 110), "{told}");
    assert!(lab.ok("kernel diff 7.2 6.12").out.contains("6.14    Not yet: The balancer's question"));
}

#[test]
fn a_published_table_is_shown_with_the_runs_that_repeat_it() {
    let lab = Lab::new();
    let text = lab.ok("show published 004").out;
    let (_, again) = text.split_once("\nmeasured again\n").unwrap();
    assert_eq!(lab.ok("show imb-numa-nr-2021").out, text, "004 is its alias");
    assert_eq!(lab.ok("show 004").out, text);
    let shown: Value = serde_json::from_str(&lab.ok("show published 004 --json").out).unwrap();
    assert_eq!(shown["name"], "imb-numa-nr-2021");
    let repeats = shown["repeats"].as_array().unwrap();
    let first = |l: &&str| !l.starts_with("   ");
    assert_eq!((again.lines().filter(first).count(), repeats.len()), (2, 2));
    for (line, repeat) in again.lines().filter(first).zip(repeats) {
        assert!(line.trim_start().starts_with(repeat["name"].as_str().unwrap()), "{line}");
        assert!(line.contains(&format!("{} rows; ", repeat["rows"].as_array().unwrap().len())), "{line}");
        assert_eq!(repeat["rows"][0]["values"].as_array().unwrap().len(), repeat["columns"].as_array().unwrap().len());
    }
    assert!(!lab.ok("show published shared-cow-2018").out.contains("measured again"));
}

#[test]
fn a_kernel_is_shown_with_the_origin_of_every_value() {
    let text = Lab::new().ok("kernel show 6.4-rc2").out;
    for part in
        ["vma_filter", "v64 (from 6.4-rc1)", "cow_refcount1 (from 5.17)", "scan.scan_size_mb", "256 MiB (from default)"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn every_experiment_of_the_catalog_resolves() {
    let lab = Lab::new();
    let list = lab.ok("list experiments").out;
    for name in list.lines().filter_map(|l| l.split_whitespace().next()) {
        // A foreign directory is refused after everything else has been found valid.
        lab.write("taken/file", "");
        let ended = lab.run(&format!("run {name} --out taken"));
        assert_eq!(ended.code, 2, "{name}: {ended:?}");
        assert!(ended.err.contains("taken: it holds other files"), "{name}: {}", ended.err);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_numalab"))
        .args(["show", "machines"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!((done.status.code(), done.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn a_kernel_file_may_leave_out_since_when_it_holds() {
    let lab = Lab::new();
    lab.write("mine.toml", "name = \"mine\"\ntitle = \"t\"\nextends = \"6.3\"\n");
    let shown = lab.ok("kernel show mine.toml").out;
    assert!(shown.contains("\ncomposed from mine <- 6.3 <- 6.2 <- 6.1 <- … <- 3.7\n"), "{shown}");
}

#[test]
fn a_name_alone_is_found_whatever_it_is() {
    let lab = Lab::new();
    assert_eq!(lab.ok("show numa01").out, lab.ok("show workloads numa01").out);
    let one: Value = serde_json::from_str(&lab.ok("show first-steps --json").out).unwrap();
    assert_eq!(one["name"], "first-steps");
    let both: Vec<Value> = serde_json::from_str(&lab.ok("show first-steps scan.scan_size_mb --json").out).unwrap();
    assert_eq!(
        both.iter().map(|v| v["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["first-steps", "scan.scan_size_mb"]
    );
    lab.write("sweep.toml", common::SWEEP);
    let file = lab.ok("show sweep.toml").out;
    assert_eq!(file, format!("sweep.toml is a workload.\n{}", lab.ok("show workloads sweep.toml").out));
    assert_eq!(lab.ok("show sweep.toml --json").out, lab.ok("show workloads sweep.toml --json").out);
    assert_eq!(lab.ok("show 4x1x2x1").out, lab.ok("show machines 4x1x2x1").out);
    let ended = lab.run("show nmua01");
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("did you mean `numa01`"), "{}", ended.err);
}

#[test]
fn a_new_release_is_one_row() {
    let lab = Lab::new();
    let table = include_str!("../../../../catalog/releases.toml");
    let row =
        "[[release]]\nname = \"9.9\"\ntitle = \"Linux 9.9: no VMA filter\"\n[[release.change]]\nvma_filter = \"off\"\n\
               commit = \"123456789abc\"\ndoc = \"For the test.\"\n";
    lab.write("c/releases.toml", &format!("{table}\n{row}"));
    let list = lab.ok("list kernels --catalog c").out;
    let names: Vec<&str> = list.lines().filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.iter().position(|n| *n == "9.9") > names.iter().position(|n| *n == "6.12"));
    let shown = lab.ok("kernel show 9.9 --catalog c").out;
    assert!(shown.contains("composed from 9.9 <- 7.3-rc <- ") && shown.contains("off (from 9.9)"), "{shown}");
    let rest = "--workload first-touch --param duration=0.1s --param memory=16MiB --jobs 1 --out d --json";
    let ran: Value =
        serde_json::from_str(&lab.ok(&format!("--catalog c run --machine 2x1x2x1 --kernel 9.9 {rest}")).out).unwrap();
    // The record has the table of its own, and needs no other.
    lab.ok(&format!("repeat d/{}", ran["runs"][0]["record"].as_str().unwrap()));
    let misspelt = row.replace("vma_filter", "vma_filtre");
    lab.write("c/releases.toml", &format!("{table}\n{misspelt}"));
    let line = table.lines().count() + 6;
    let want = format!("c/releases.toml:{line}:1: unknown role `vma_filtre`");
    lab.refused("kernel show 9.9 --catalog c", &[&want, "did you mean `vma_filter`?"]);
}
