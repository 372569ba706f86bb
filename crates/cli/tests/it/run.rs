//! Tests of `numalab run` and `numalab repeat`: running, resuming, replacing and repeating.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{interruptible, json, Lab, QUICK, SLOW, SWEEP};
use serde_json::Value;
use std::fs;

#[test]
fn the_same_plans_give_the_same_bytes_with_any_number_of_jobs() {
    let lab = Lab::with_sweep();
    for (out, jobs) in [("a", 1), ("b", 2), ("c", 7)] {
        lab.ok(&format!("{QUICK} --kernel off,6.3,6.4-rc2 --iterations 3 --jobs {jobs} --out {out}"));
    }
    let a = lab.tree("a");
    assert!(a.len() > 9 * 3, "{} files", a.len());
    assert!(a == lab.tree("b") && a == lab.tree("c"));
}

#[test]
fn an_interrupted_experiment_resumes_and_repeats_nothing() {
    let lab = Lab::with_sweep();
    let line = format!("{QUICK} --kernel off,6.3 --iterations 2 --out d --json");
    let first = lab.ok(&line);
    assert_eq!(first.err.matches("had a record").count(), 0);
    let whole = lab.tree("d");
    // The state after a kill in the middle of the fourth run.
    let runs = json(&first.out)["runs"].as_array().unwrap().clone();
    let gone = runs[2]["record"].as_str().unwrap();
    fs::remove_dir_all(lab.path("d").join(gone)).unwrap();
    lab.write(&format!("d/.partial-{gone}-4294967290/scalars.json"), "{");
    let kept = lab.path("d").join(runs[0]["record"].as_str().unwrap()).join("manifest.json");
    let before = fs::metadata(&kept).unwrap().modified().unwrap();
    let compare = lab.run("compare d");
    assert_eq!(compare.code, 1, "a missing run is a finding");
    assert!(compare.err.contains("1 of 4 runs have no record yet"), "{}", compare.err);
    let second = lab.ok(&line);
    assert_eq!(second.err.matches("had a record").count(), 3, "{}", second.err);
    assert_eq!(fs::metadata(&kept).unwrap().modified().unwrap(), before);
    assert!(lab.tree("d") == whole);
    assert_eq!(second.out, first.out, "the summary does not say what was repeated");
    assert_eq!(lab.run("compare d").code, 0);
}

#[test]
fn a_damaged_record_is_refused_and_never_overwritten() {
    let lab = Lab::with_sweep();
    let line = format!("{QUICK} --kernel 6.3 --out d --json");
    let id = json(&lab.ok(&line).out)["runs"][0]["record"].as_str().unwrap().to_string();
    let path = lab.path("d").join(&id).join("scalars.json");
    fs::write(&path, "{}").unwrap();
    for line in [line.as_str(), "compare d"] {
        let ended = lab.run(line);
        assert_eq!((ended.code, ended.out.as_str()), (3, ""), "{ended:?}");
        assert!(ended.err.contains("scalars.json: the contents differ from their digest"), "{}", ended.err);
    }
    assert_eq!(fs::read_to_string(path).unwrap(), "{}");
}

#[test]
fn an_experiment_that_has_lost_its_list_resumes() {
    let lab = Lab::with_sweep();
    let line = format!("{QUICK} --kernel off,6.3 --out d");
    lab.ok(&line);
    lab.ok("report d");
    let before = lab.tree("d");
    fs::write(lab.path("d/experiment.json"), "{\"form").unwrap();
    let ended = lab.run(&line);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.err.contains("remove this file, not the records beside it"), "{}", ended.err);
    fs::remove_file(lab.path("d/experiment.json")).unwrap();
    let ended = lab.run("compare d");
    assert!(ended.code == 3 && ended.err.contains("d: it has records and no experiment.json"), "{ended:?}");
    assert_eq!(lab.ok(&line).err.matches("had a record").count(), 2);
    assert!(lab.tree("d") == before);
}

#[test]
fn another_experiment_is_refused_and_another_kernel_added() {
    let lab = Lab::with_sweep();
    lab.ok(&format!("{QUICK} --kernel 6.3 --out d"));
    let ended = lab.run("run --machine 2x1x2x2 --workload sweep.toml --kernel 6.3 --out d");
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("it holds the experiment `2x1x2x1_sweep`"), "{}", ended.err);
    lab.ok(&format!("{QUICK} --kernel 6.4-rc2 --out d"));
    let c = json(&lab.ok("compare d --json").out);
    assert_eq!(c["baseline"], "6.3");
    assert_eq!(c["kernels"], serde_json::json!(["6.3", "6.4-rc2"]));
}

#[test]
fn compare_json_has_the_documented_form() {
    let lab = Lab::with_sweep();
    lab.ok(&format!("{QUICK} --kernel off,6.3 --iterations 2 --out d"));
    let c = json(&lab.ok("compare d --json --baseline 6.3").out);
    assert_eq!(c["baseline"], "6.3");
    assert_eq!(c["workloads"][0]["name"], "sweep");
    let metrics = c["workloads"][0]["metrics"].as_array().unwrap();
    let of = |name: &str| metrics.iter().find(|m| m["name"] == name).unwrap_or_else(|| panic!("no metric {name}"));
    for name in
        ["elapsed", "user", "system", "blocked", "pgfault", "numa_hit", "numa_pte_updates", "numa_pages_migrated"]
    {
        let m = of(name);
        assert!(
            m["unit"].is_string() && ["higher", "lower", "neutral"].contains(&m["better"].as_str().unwrap()),
            "{m}"
        );
        for kernel in ["off", "6.3"] {
            let f = m["kernels"][kernel].as_object().unwrap();
            assert_eq!(f.keys().collect::<Vec<_>>(), ["hmean", "max", "mean", "min", "n", "ratio", "stddev"], "{name}");
            assert_eq!(f["n"], 2);
        }
    }
    assert_eq!(of("elapsed")["kernels"]["6.3"]["ratio"], 1.0);
    assert!(of("elapsed")["kernels"]["off"]["mean"].as_f64().unwrap() > 0.0);
    let ended = lab.run("compare d --baseline 6.4");
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("no kernel `6.4` in this experiment; expected one of off, 6.3"), "{}", ended.err);
}

#[test]
fn a_manifest_says_what_was_used() {
    let lab = Lab::with_sweep();
    let line = format!("{QUICK} --kernel off,6.3 --set scan.scan_size_mb=512 --set thp.span_over_exec=false --param loops=2 --seed 5 --out d --json");
    let summary = json(&lab.ok(&line).out);
    let runs = summary["runs"].as_array().unwrap();
    assert_eq!(runs[0]["kernel"], "off[thp.span_over_exec=false]");
    assert_eq!(runs[1]["kernel"], "6.3[scan.scan_size_mb=512,thp.span_over_exec=false]");
    let manifest = |i: usize| {
        let path = lab.path("d").join(runs[i]["record"].as_str().unwrap()).join("manifest.json");
        json(&fs::read_to_string(path).unwrap())
    };
    let (off, on) = (manifest(0), manifest(1));
    let value = |m: &Value, name: &str| {
        let all = m["tunables"].as_array().unwrap();
        all.iter().find(|t| t["name"] == name).map(|t| t["value"].as_str().unwrap().to_string())
    };
    assert_eq!(value(&on, "scan.scan_size_mb").as_deref(), Some("512"));
    assert_eq!(value(&off, "scan.scan_size_mb").as_deref(), Some("256"));
    assert_eq!(value(&on, "system.hz").as_deref(), Some("250"));
    assert_eq!(on["plan"]["seed"], 5);
    assert_eq!(on["plan"]["workload"]["params"][0], serde_json::json!(["loops", "2"]));
    assert_eq!(on["plan"]["backend"], "sim");
    let warnings = |m: &Value| m["warnings"].to_string();
    assert!(warnings(&off).contains("`scan.scan_size_mb` is left out for kernel off"), "{}", warnings(&off));
    assert!(warnings(&on).contains("no backend models it yet"), "{}", warnings(&on));
    let all = [off.to_string(), on.to_string()].concat();
    for word in ["wall", "host", "time_stamp", "\"date", "/tmp", "2026"] {
        assert!(!all.contains(word), "a manifest says {word}");
    }
}

#[test]
fn an_experiment_file_runs_and_the_command_line_overrides_it() {
    let lab = Lab::with_sweep();
    lab.write(
        "e.toml",
        "name = \"e\"\ntitle = \"t\"\nmachines = [\"2x1x2x1\", \"1x1x2x1\"]\nkernels = [\"off\", \"6.3\"]\n\
         workloads = [\"sweep.toml\"]\nbaseline = \"6.3\"\niterations = 2\n[params]\nloops = 2\n[set]\nsystem.hz = 100\n",
    );
    let summary = json(&lab.ok("run e.toml --iterations 1 --param loops=1 --set system.hz=1000 --json").out);
    assert_eq!(summary["directory"], "out/e");
    assert_eq!(summary["baseline"], "6.3[system.hz=1000]");
    assert_eq!(summary["runs"].as_array().unwrap().len(), 4);
    let text = lab.ok("compare out/e").out;
    assert!(text.contains("sweep on 2x1x2x1") && text.contains("sweep on 1x1x2x1"), "{text}");
}

#[test]
fn a_catalog_folder_is_laid_over_the_built_in_one() {
    let lab = Lab::with_sweep();
    lab.write("cat/workloads/sweep.toml", SWEEP);
    lab.write(
        "cat/kernels/mine.toml",
        "name = \"mine\"\ntitle = \"My kernel\"\nextends = \"6.3\"\n[tunables]\nscan.scan_delay_ms = 10\n",
    );
    assert!(lab.ok("list kernels --catalog cat").out.contains("mine"));
    assert!(!lab.ok("list kernels").out.contains("mine"));
    lab.ok("--catalog cat run --machine 2x1x2x1 --kernel 6.3,mine --workload sweep --out d");
    let diff = json(&lab.ok("kernel diff 6.3 mine --json --catalog cat").out);
    assert_eq!(diff["differences"], serde_json::json!([{"name": "scan.scan_delay_ms", "a": "1000", "b": "10"}]));
    lab.write("cat/kernels/wrong.toml", "name = \"other\"\ntitle = \"t\"\nextends = \"6.3\"\n");
    let ended = lab.run("show kernels wrong --catalog cat");
    assert!(ended.code == 2 && ended.err.contains("`name` is \"other\"; expected \"wrong\""), "{ended:?}");
    // Cost classes belong to the machines of a catalog.
    let machine = include_str!("../../../../catalog/machines/milan-2s-nps1.toml").replace("\"modern\"", "\"mine\"");
    lab.write("m.toml", &machine);
    let ended = lab.run("machine show m.toml");
    assert!(ended.code == 2 && ended.err.contains("no cost class `mine`"), "{ended:?}");
    lab.write("cat/machines/classes/mine.toml", include_str!("../../../../catalog/machines/classes/modern.toml"));
    lab.ok("machine show m.toml --catalog cat");
    lab.write("cat/machines/classes/modern.toml", "title = \"broken");
    let ended = lab.run("machine show 2x1x2x1 --catalog cat");
    assert!(ended.code == 2 && ended.err.contains("classes/modern.toml:1:"), "{ended:?}");
}

#[test]
fn an_alias_says_what_it_runs_as() {
    let lab = Lab::with_sweep();
    lab.write("cat/kernels/9.0.toml", "name = \"9.0\"\ntitle = \"Not modelled yet\"\nalias_of = \"6.12\"\n");
    assert!(lab.ok("list kernels --catalog cat").out.contains("Not modelled yet (alias of 6.12)"));
    assert!(lab.ok("kernel show 9.0 --catalog cat").out.contains("note: kernel 9.0 is an alias: it runs as 6.12"));
    let summary = json(&lab.ok(&format!("{QUICK} --catalog cat --kernel 9.0 --json --out d")).out);
    assert!(summary["runs"][0]["warnings"].to_string().contains("9.0 is an alias"), "{summary}");
    assert_eq!(summary["runs"][0]["kernel"], "9.0");
}

#[test]
fn a_run_that_reaches_its_limit_says_so() {
    let lab = Lab::with_sweep();
    lab.write("sweep.toml", &SWEEP.replace("about = \"For tests.\"", "about = \"For tests.\"\nlimit = \"2ms\""));
    let ended = lab.run(&format!("{QUICK} --kernel 6.3 --param loops=100000 --out d --json"));
    assert_eq!(ended.code, 5, "{ended:?}");
    assert_eq!(json(&ended.out)["runs"][0]["status"], "timeout");
}

#[test]
fn this_host_can_be_imported_and_simulated() {
    let lab = Lab::with_sweep();
    let toml = lab.ok("machine import --host --name here").out;
    lab.write("m.toml", &toml);
    lab.ok("machine show m.toml");
    // numa02 has less work than by default, so that the test is quick.
    let ended = lab.run("run --machine m.toml --kernel 6.12 --workload numa02 --param loops=2 --out d");
    assert_eq!(ended.code, 0, "{ended:?}");
}

#[test]
fn a_parameter_of_one_workload_names_it_by_path_or_name() {
    let lab = Lab::with_sweep();
    let ids = ["sweep.loops=4", "sweep.toml.loops=4", "loops=4"].map(|param| {
        let out = lab.ok(&format!("{QUICK} --kernel 6.3 --param {param} --out {param} --json")).out;
        json(&out)["runs"][0]["record"].clone()
    });
    assert!(ids[0] == ids[1] && ids[1] == ids[2], "{ids:?}");
}

#[test]
fn a_record_is_run_again_from_its_own_sources() {
    let lab = Lab::with_sweep();
    let machine = "name = \"mine\"\ntitle = \"a copy\"\nextends = \"naples-2s\"\n[stream]\ncap_gbps = 9.0\n";
    lab.write("mine.toml", machine);
    let line = "run --machine ./mine.toml --kernel off,6.3 --set scan.scan_size_mb=512 --workload ./sweep.toml \
                --param loops=3 --out d --json";
    let runs = json(&lab.ok(line).out)["runs"].as_array().unwrap().clone();
    // One file is changed and the other removed.
    lab.write("mine.toml", &machine.replace("9.0", "5.0"));
    fs::remove_file(lab.path("sweep.toml")).unwrap();
    for run in &runs {
        let ended = lab.ok(&format!("repeat d/{} --json", run["record"].as_str().unwrap()));
        let said = json(&ended.out);
        assert_eq!(said["identical"], true, "{said}");
        assert_eq!(said["version"], said["version_now"]);
    }
    // Changed sources are refused.
    let record = lab.path("d").join(runs[1]["record"].as_str().unwrap());
    let source = record.join("sources/machines/mine.toml");
    fs::write(&source, machine.replace("9.0", "5.0")).unwrap();
    let line = format!("repeat d/{}", runs[1]["record"].as_str().unwrap());
    let damaged = |line: &str, part: &str| {
        let ended = lab.run(line);
        assert!((ended.code, ended.out.as_str()) == (3, "") && ended.err.contains(part), "{line}: {ended:?}");
    };
    for line in [line.as_str(), "compare d"] {
        damaged(line, "sources/machines/mine.toml: the contents differ from their digest");
    }
    // Changed sources without their digest in the manifest are refused, too.
    let manifest = fs::read_to_string(record.join("manifest.json")).unwrap();
    let mut without = json(&manifest);
    without["files"].as_array_mut().unwrap().retain(|f| f["name"] != "sources/machines/mine.toml");
    fs::write(record.join("manifest.json"), without.to_string()).unwrap();
    lab.refused(&line, &["the machine that its sources give now is not the plan's"]);
    // A missing source is not replaced by the built-in catalog.
    fs::write(record.join("manifest.json"), manifest).unwrap();
    fs::write(&source, machine).unwrap();
    fs::remove_file(record.join("sources/releases.toml")).unwrap();
    damaged(&line, "sources/releases.toml: no such file, which the manifest lists");
    fs::remove_dir_all(record.join("sources")).unwrap();
    damaged(&line, "no such file, which the manifest lists");
}

#[test]
fn a_plan_names_the_sources_of_the_simulator() {
    let lab = Lab::with_sweep();
    let runs = json(&lab.ok(&format!("{QUICK} --kernel off --out d --json")).out)["runs"].as_array().unwrap().clone();
    let record = lab.path("d").join(runs[0]["record"].as_str().unwrap());
    let manifest = json(&fs::read_to_string(record.join("manifest.json")).unwrap());
    let version = manifest["plan"]["version"].as_str().unwrap();
    let (release, digest) = version.split_once('+').unwrap();
    assert_eq!(release, env!("CARGO_PKG_VERSION"));
    assert!(digest.len() == 12 && digest.chars().all(|c| c.is_ascii_hexdigit()), "{version}");
    let files = manifest["files"].as_array().unwrap();
    let kept = |name: &str| files.iter().any(|f| f["name"] == format!("sources/{name}"));
    assert!(kept("kernels/off.toml") && kept("workloads/sweep.toml"), "{files:?}");
}

#[test]
fn options_of_the_simulator_are_not_listed_under_guests() {
    let help = Lab::with_sweep().ok("run --help").out;
    let (before, guests) = help.split_once("Guests (--backend vm):").unwrap();
    for option in ["--check", "--trace", "--explain", "--json"] {
        assert!(before.contains(&format!("{option}\n")) && !guests.contains(&format!("{option}\n")), "{option}");
    }
    assert!(guests.contains("--timing") && guests.contains("--boot-option"));
    let validate = Lab::with_sweep().ok("validate --help").out;
    assert!(!validate.split_once("Guests (--backend vm):").unwrap().1.contains("--json\n"), "{validate}");
}

#[test]
fn columns_of_different_work_are_named_with_what_differs() {
    let lab = Lab::with_sweep();
    lab.ok(&format!("{QUICK} --kernel 6.3 --iterations 2 --out d"));
    let ended = lab.ok(&format!("{QUICK} --kernel 6.7 --iterations 2 --param loops=9 --out d"));
    let said = "sweep: 6.7 is not comparable with 6.3: loops is 9, not 3";
    assert_eq!(ended.err.matches(said).count(), 1, "{}", ended.err);
    assert!(ended.out.contains("6.7 is not comparable with 6.3"), "it stands among the notes");
    let compared = lab.ok("compare d --json");
    assert!(compared.err.contains(said));
    let c: serde_json::Value = serde_json::from_str(&compared.out).unwrap();
    assert_eq!(c["workloads"][0]["notes"].as_array().unwrap().len(), 1, "{c}");
    assert!(said.ends_with(c["workloads"][0]["notes"][0].as_str().unwrap().split(';').next().unwrap()), "{c}");
    lab.write("sweep.toml", &SWEEP.replace("cost = \"1ns\"", "cost = \"2ns\""));
    let ended = lab.ok(&format!("{QUICK} --kernel 6.7 --iterations 2 --out d"));
    assert!(ended.err.contains("6.7 is not comparable with 6.3: the workload's file has changed"), "{}", ended.err);
    assert!(!ended.err.contains("loops is"), "{}", ended.err);
    lab.ok(&format!("{QUICK} --kernel 6.3 --iterations 2 --out d"));
    assert!(!lab.ok("compare d").err.contains("not comparable"), "both ran the same again");
    // A different number of runs is no different work.
    let ended = lab.ok(&format!("{QUICK} --kernel 6.1 --seed 2 --out d"));
    assert!(!ended.err.contains("not comparable"), "{}", ended.err);
}

#[test]
fn columns_without_a_common_seed_are_held_against_each_other_too() {
    let lab = Lab::with_sweep();
    lab.ok(&format!("{QUICK} --kernel 6.3 --iterations 2 --out d"));
    let at = |kernel: &str, more: &str| lab.ok(&format!("{QUICK} --kernel {kernel} --seed 5 {more} --out d")).err;
    let err = at("6.7", "--iterations 2 --param loops=9");
    assert!(err.contains("sweep: 6.7 is not comparable with 6.3: loops is 9, not 3"), "{err}");
    assert!(!at("6.7", "--iterations 2").contains("not comparable"), "another seed is no other work");
    lab.write("sweep.toml", &SWEEP.replace("cost = \"1ns\"", "cost = \"2ns\""));
    let err = at("6.7", "");
    assert!(err.contains("6.7 is not comparable with 6.3: the workload's file has changed"), "{err}");
    assert!(!lab.ok(&format!("{QUICK} --kernel 6.3 --iterations 2 --out d")).err.contains("not comparable"));
    // Work that depends on the seed is comparable, whether a region or a parameter depends on it.
    let sized = SWEEP.replace("size = \"size\"", "size = \"size * (1 + seed % 3)\"");
    let odd = "[params]\nodd = { value = \"seed % 3\", about = \"Odd\" }";
    let counted = SWEEP.replace("[params]", odd).replace("count = \"loops\"", "count = \"loops + odd\"");
    for (name, text, iterations) in [("region", sized, 1), ("param", counted, 2)] {
        lab.write("sweep.toml", &text);
        lab.ok(&format!("{QUICK} --kernel off --iterations {iterations} --out {name}"));
        let ended = lab.ok(&format!("{QUICK} --kernel 6.3 --seed 6 --iterations {iterations} --out {name}"));
        assert!(!ended.err.contains("not comparable"), "{name}: {}", ended.err);
    }
}

#[test]
fn a_machine_that_was_edited_between_two_runs_is_named() {
    let lab = Lab::with_sweep();
    let machine =
        |ghz: &str| format!("name = \"m\"\ntitle = \"t\"\nextends = \"tr-1950x\"\n[clock]\nsustained_ghz = {ghz}\n");
    lab.write("m.toml", &machine("3.5"));
    let line = |kernel: &str| format!("run --machine m.toml --workload sweep.toml --kernel {kernel} --out d");
    lab.ok(&line("6.3"));
    lab.write("m.toml", &machine("3"));
    let err = lab.ok(&line("6.7")).err;
    assert!(err.contains("6.7 is not comparable with 6.3: another machine is called m there"), "{err}");
}

#[test]
fn a_check_runs_again_what_has_a_record_and_says_so() {
    let lab = Lab::with_sweep();
    let line = format!("{QUICK} --kernel off,6.3 --out d");
    let checked = "numalab: checked 2 runs: every invariant of the simulator holds";
    assert!(lab.ok(&format!("{line} --check")).err.contains(checked));
    let before = lab.tree("d");
    let again = lab.ok(&format!("{line} --check")).err;
    assert!(again.contains(checked) && !again.contains("had a record"), "{again}");
    assert!(lab.tree("d") == before, "records stay as they are");
    let plain = lab.ok(&line).err;
    assert!(plain.matches("had a record").count() == 2 && !plain.contains("checked"), "{plain}");
}

#[test]
fn runs_are_reported_as_they_end_and_a_signal_says_what_is_kept() {
    use std::io::{BufRead, BufReader};
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let lab = Lab::with_sweep();
        let args = format!("{QUICK} {SLOW} --kernel off,6.3 --iterations 1000 --jobs 1 --out d");
        let mut command = interruptible();
        command.args(args.split(' ')).current_dir(lab.path(".")).stderr(std::process::Stdio::piped());
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        assert!(first.starts_with("2x1x2x1 sweep off seed 1: "), "{first}");
        assert!(child.try_wait().unwrap().is_none(), "the first run is said long before the last has ended");
        let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let said = rest.iter().find_map(|l| l.strip_prefix("numalab: interrupted: "));
        let said = said.unwrap_or_else(|| panic!("{signal}: {rest:?}"));
        let kept: usize = said.split(' ').next().unwrap().parse().unwrap();
        assert!(said.ends_with(" of 2000 runs have their record in d; the same command resumes"), "{said}");
        let compare = lab.run("compare d");
        let missing = compare.err.split(" of 2000 runs have no record yet").next().unwrap();
        let missing: usize = missing.rsplit(' ').next().unwrap().parse().unwrap();
        // A record may have been finished while the message was printed.
        assert!(kept > 0 && kept + missing <= 2000 && compare.code == 1, "{kept}: {}", compare.err);
        let resumed = lab.ok(&args.replace("--iterations 1000", "--iterations 1"));
        assert_eq!(resumed.err.matches("had a record").count(), 1, "{}", resumed.err);
        assert!(lab.tree("d").iter().all(|f| !f.0.contains(".partial")), "nothing half-written is left");
        let help = lab.ok("--help").out;
        assert!(help.contains(&code.to_string()), "{help}");
    }
}

#[test]
fn runs_that_leave_the_list_are_named_and_kernels_can_be_added_to_a_named_experiment() {
    let lab = Lab::with_sweep();
    let experiment =
        "title = \"t\"\nmachines = [\"2x1x2x1\"]\nkernels = [\"off\", \"6.3\"]\nworkloads = [\"sweep.toml\"]\n";
    lab.write("e.toml", &format!("name = \"e\"\n{experiment}iterations = 3\n"));
    let first = lab.ok("run e.toml --out d").err;
    assert!(!first.contains("leave"), "{first}");
    let fewer = lab.ok("run e.toml --iterations 1 --out d").err;
    assert!(
        fewer.contains("numalab: 4 of 6 runs leave the comparison of d (2x1x2x1 sweep off seed 2 and others)"),
        "{fewer}"
    );
    let more = lab.ok("run e.toml --kernel 6.7,6.3 --out d").err;
    assert!(!more.contains("leave") && more.matches("had a record").count() == 6, "{more}");
    let c = json(&lab.ok("compare d --json").out);
    assert_eq!((c["kernels"].clone(), c["baseline"].clone()), (serde_json::json!(["off", "6.3", "6.7"]), "off".into()));
    assert!(lab.run("run --kernel 6.7").err.contains("is missing"));
    assert!(lab.run("run e.toml --kernel 6.7 --workload numa02").err.contains("`--workload"));
}

/// Starts a command and waits until it has printed the line of its first run.
fn started(lab: &Lab, line: &str) -> std::process::Child {
    use std::io::{BufRead, BufReader};
    let mut command = interruptible();
    command.args(line.split(' ')).current_dir(lab.path(".")).stderr(std::process::Stdio::piped());
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    assert!(first.contains(" seed "), "{first}");
    // Standard error stays open, so that the test can read the messages that follow.
    child.stderr = Some(reader.into_inner());
    child
}

#[test]
fn an_interrupted_replacement_leaves_the_comparison_that_was_there() {
    let lab = Lab::with_sweep();
    lab.ok(&format!("{QUICK} --kernel 6.3 --param loops=2 --iterations 2 --out d"));
    let (list, text) = (fs::read(lab.path("d/experiment.json")).unwrap(), lab.ok("compare d").out);
    let other = format!("{QUICK} {SLOW} --kernel 6.3 --jobs 1 --out d");
    let mut child = started(&lab, &format!("{other} --iterations 1000"));
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let part = "of 1000 runs have their record in d, whose comparison stays as it was until all have; the same command";
    assert!(said.contains(part), "{said}");
    assert_eq!(fs::read(lab.path("d/experiment.json")).unwrap(), list);
    assert_eq!(lab.ok("compare d").out, text);
    // The same command resumes, and its runs are listed when all are done.
    let done = lab.ok(&format!("{other} --iterations 2"));
    assert!(done.err.contains("had a record"), "{}", done.err);
    assert!(done.err.contains("numalab: 2 of 2 runs leave the comparison of d"), "{}", done.err);
    assert_eq!(lab.ok("compare d").code, 0);
    assert_ne!(fs::read(lab.path("d/experiment.json")).unwrap(), list);
}

#[test]
fn a_second_run_into_the_same_directory_is_refused_while_the_first_lives() {
    let lab = Lab::with_sweep();
    let mut child = started(&lab, &format!("{QUICK} {SLOW} --kernel 6.3 --iterations 1000 --jobs 1 --out d"));
    let list = fs::read(lab.path("d/experiment.json")).unwrap();
    let second = lab.run(&format!("{QUICK} --kernel off --out d"));
    assert!(child.try_wait().unwrap().is_none(), "the first still runs");
    assert_eq!((second.code, second.out.as_str()), (3, ""), "{second:?}");
    assert_eq!(
        second.err,
        "numalab: d: another numalab writes its runs there; expected that one to have ended, or another directory\n"
    );
    assert_eq!(fs::read(lab.path("d/experiment.json")).unwrap(), list);
    assert_eq!(lab.run("compare d").code, 1, "reading is not refused");
    child.kill().unwrap();
    child.wait().unwrap();
    lab.ok(&format!("{QUICK} --kernel off --out d"));
    assert_eq!(json(&lab.run("compare d --json").out)["kernels"], serde_json::json!(["6.3", "off"]), "none is lost");
}

#[test]
fn a_baseline_stays_unless_another_is_asked_for_and_is_the_first_column() {
    let lab = Lab::with_sweep();
    let kernels = || {
        let c = json(&lab.ok("compare d --json").out);
        (c["baseline"].as_str().unwrap().to_string(), c["kernels"].clone())
    };
    let first = lab.ok(&format!("{QUICK} --kernel off,6.3 --out d"));
    assert!(!first.err.contains("baseline"), "{}", first.err);
    let turned = lab.ok(&format!("{QUICK} --kernel 6.3,off --out d"));
    let said = "numalab: the baseline of d stays off; --baseline 6.3 makes it this command's first\n";
    assert!(turned.err.contains(said), "{}", turned.err);
    assert_eq!(kernels(), ("off".into(), serde_json::json!(["off", "6.3"])));
    let asked = lab.ok(&format!("{QUICK} --kernel off,6.3 --baseline 6.3 --out d"));
    assert!(!asked.err.contains("baseline"), "{}", asked.err);
    assert_eq!(kernels(), ("6.3".into(), serde_json::json!(["6.3", "off"])));
    assert!(asked.out.contains("Is off better than 6.3 on sweep?"), "{}", asked.out);
    // The baseline may be a kernel of the directory that is not run now, by its name with overrides.
    lab.ok(&format!("{QUICK} --kernel 6.4-rc2 --set scan.scan_size_mb=512 --out d"));
    lab.ok(&format!("{QUICK} --kernel off --baseline 6.4-rc2[scan.scan_size_mb=512] --out d"));
    assert_eq!(kernels().0, "6.4-rc2[scan.scan_size_mb=512]");
    lab.ok(&format!("{QUICK} --kernel 6.3,6.12 --set scan.scan_size_mb=512 --baseline 6.12 --out d"));
    assert_eq!(kernels().0, "6.12[scan.scan_size_mb=512]");
    let list = fs::read(lab.path("d/experiment.json")).unwrap();
    let part = "--baseline of: no kernel `of` in this experiment; expected one of 6.7, off, 6.3, ";
    let message = lab.refused(&format!("{QUICK} --kernel 6.7 --baseline of --out d"), &[part]);
    assert!(message.contains("did you mean `off`?"), "{message}");
    assert_eq!(fs::read(lab.path("d/experiment.json")).unwrap(), list);
    let help = lab.ok("run --help").out;
    assert!(help.contains("--baseline <K>") && help.contains("the baseline of a new comparison"), "{help}");
}

#[test]
fn a_rate_of_no_time_is_no_figure() {
    let lab = Lab::new();
    let score = "\n[[score]]\nname = \"rate\"\nunit = \"x/s\"\nbetter = \"higher\"\nper_second = true\n\n[[process]]";
    let text = common::SWEEP.replacen("\n[[process]]", score, 1);
    lab.write("sweep.toml", &format!("{text}\n[[process.phase]]\ntimed = \"rate\"\nscore = \"rate\"\n"));
    let run = lab.ok(&format!("{} --kernel 6.3 --out d --json", common::QUICK));
    let record = json(&run.out)["runs"][0]["record"].as_str().unwrap().to_string();
    let text = std::fs::read_to_string(lab.path(&format!("d/{record}/scalars.json"))).unwrap();
    let rates: Vec<_> =
        json(&text)["scalars"].as_array().unwrap().iter().filter(|s| s["name"] == "rate").cloned().collect();
    assert!(rates.is_empty(), "a count is no rate: {rates:?}");
    let said = lab.ok("compare d");
    let why = "no figure for `rate` (x/s): what it is timed by took no time";
    assert!(format!("{}{}", said.out, said.err).contains(why), "{said:?}");
}

/// 64 GiB in pages of 4 KiB, which take more than 128 MiB of state.
const LARGE: &str = "run --machine 2x1x2x1 --kernel off --workload numa02 --param memory=64GiB --param loops=1";

#[test]
fn a_run_that_does_not_fit_into_memory_is_refused_before_anything_is_created() {
    let lab = Lab::new();
    let refused = lab.run(&format!("{LARGE} --memory-limit 128MiB --out d"));
    assert_eq!((refused.code, refused.out.as_str()), (3, ""), "{refused:?}");
    for part in ["base pages", "128 MiB may be used (--memory-limit", "--set system.thp=always"] {
        assert!(refused.err.contains(part), "{part:?}: {}", refused.err);
    }
    assert!(!lab.path("d").exists(), "nothing is created");
    let dry = lab.ok(&format!("{LARGE} --memory-limit 128MiB --out d --dry-run"));
    assert!(dry.out.contains("This would be refused") && dry.out.contains("peak of memory"), "{}", dry.out);
    let by_environment = lab.shell(&format!("NUMALAB_MEMORY_LIMIT=128MiB numalab {LARGE} --out d"));
    assert_eq!(by_environment.code, 3, "{by_environment:?}");
    assert_eq!(lab.shell(&format!("NUMALAB_MEMORY_LIMIT=much numalab {LARGE}")).code, 2);
    // The same with huge pages fits.
    lab.ok(&format!("{LARGE} --memory-limit 128MiB --set system.thp=always --out d"));
}

#[test]
fn fewer_runs_at_a_time_if_not_all_fit_into_memory() {
    let lab = Lab::new();
    let small = LARGE.replace("64GiB", "8GiB");
    let dry = lab.ok(&format!("{small} --iterations 4 --jobs 4 --memory-limit 80MiB --out d --dry-run --json"));
    let value = json(&dry.out);
    assert_eq!((value["jobs"].as_u64(), value["memory_limit_bytes"].as_u64()), (Some(2), Some(80 << 20)), "{value}");
    let parts = value["runs"][0]["memory_parts"].as_object().unwrap();
    let sum: u64 = parts.values().map(|v| v.as_u64().unwrap()).sum();
    assert_eq!(value["runs"][0]["memory_bytes"].as_u64(), Some(sum), "{value}");
    let ran = lab.ok(&format!("{small} --iterations 4 --jobs 4 --memory-limit 80MiB --out d"));
    assert!(ran.err.contains("2 runs at a time instead of 4"), "{}", ran.err);
}
