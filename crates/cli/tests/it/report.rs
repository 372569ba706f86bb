//! Tests of `numalab report` and `numalab counters`.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{Lab, QUICK, SWEEP};
use serde_json::Value;
use std::fs;

/// The series that the page embeds.
fn data(page: &str) -> Value {
    let start = "<script type=\"application/json\" id=\"data\">";
    serde_json::from_str(page.split(start).nth(1).unwrap().split("</script>").next().unwrap()).unwrap()
}

#[test]
fn a_page_answers_everything_from_real_records() {
    let lab = Lab::with_experiment();
    let said = lab.ok("report d").out;
    assert!(said.starts_with("report: d/report.html (6 runs, "), "{said}");
    let page = fs::read_to_string(lab.path("d/report.html")).unwrap();
    for id in ["answer", "time", "tables", "machine", "config", "definitions"] {
        assert_eq!(page.matches(&format!("<section id=\"{id}\"")).count(), 1, "{id}");
    }
    assert!(page.contains("<h1>Is 6.3 better than off on sweep?</h1>"));
    assert!(page.contains("a model&#39;s predictions, not measurements"), "the page says what it is");
    assert!(page.contains("AutoNUMA cost (mmtests)") && page.contains("AutoNUMA cost with copies"));
    // The machine is found by its name, and the settings are those of the manifests.
    assert_eq!(page.matches("class=\"node\"").count(), 2);
    assert!(page.contains("scan.scan_size_mb") && page.contains("What differs between the kernels"));
    let d = data(&page);
    let runs = d["workloads"][0]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 6);
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|g| g["name"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(names(&runs[0]["groups"]), ["dram_bandwidth", "link_bandwidth", "cpu_time"]);
    assert_eq!(names(&runs[0]["maps"]), ["page_node", "task_node"]);
    assert_eq!(names(&runs[0]["memory"]["processes"]), ["main.0"]);
    assert!(names(&runs[3]["rates"]).contains(&"numa_hint_faults_local".to_string()));
    // 16 MiB are eight chunks of 2 MiB. At the end every one is on a node.
    let pages = runs[3]["maps"][0]["cells"].as_array().unwrap();
    assert_eq!(pages.len(), 8);
    assert!(pages.iter().all(|row| matches!(row.as_str().unwrap().chars().last(), Some('0' | '1'))), "{pages:?}");
}

#[test]
fn every_counter_that_runs_record_is_in_the_dictionary() {
    let lab = Lab::with_sweep();
    // The designs of 2012 have counters of their own.
    lab.ok(&format!("{QUICK} --kernel off,6.12,3.7-autonuma-v27,3.7-schednuma-v1r3 --out d"));
    let known: Vec<Value> = serde_json::from_str(&lab.ok("counters --json").out).unwrap();
    let known: Vec<&str> = known.iter().map(|c| c["name"].as_str().unwrap()).collect();
    let mut recorded = std::collections::BTreeSet::new();
    for (_, bytes) in lab.tree("d").iter().filter(|(path, _)| path.ends_with("scalars.json")) {
        let record: Value = serde_json::from_slice(bytes).unwrap();
        recorded.extend(record["counters"].as_object().unwrap().keys().cloned());
    }
    assert!(recorded.len() > 60 && recorded.contains("numa_scans"), "{recorded:?}");
    let unknown: Vec<_> = recorded.iter().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "no entry in crates/model/src/counters: {unknown:?}");
    for name in ["local_misses", "remote_misses", "llc_hits"].iter().chain(&numalab_model::counters::ALWAYS_RECORDED) {
        assert!(known.contains(name), "{name}, which guests record");
    }
}

#[test]
fn figures_of_the_page_are_those_of_the_json_form() {
    let lab = Lab::with_experiment();
    lab.ok("report d --out p.html --star welch");
    let page = fs::read_to_string(lab.path("p.html")).unwrap();
    assert!(page.contains("Welch&#39;s t test; never with fewer than two runs a side"));
    let c: Value = serde_json::from_str(&lab.ok("compare d --json").out).unwrap();
    let mut seen = 0;
    for m in c["workloads"][0]["metrics"].as_array().unwrap() {
        let row = page.split(&format!("data-metric=\"{}\"", m["name"].as_str().unwrap())).nth(1).unwrap();
        let row = row.split("</tr>").next().unwrap();
        let shown: Vec<f64> =
            row.split("data-mean=\"").skip(1).map(|t| t.split('"').next().unwrap().parse().unwrap()).collect();
        let want: Vec<f64> = ["off", "6.3"].iter().filter_map(|k| m["kernels"][*k]["mean"].as_f64()).collect();
        assert_eq!(shown.len(), want.len(), "{}", m["name"]);
        for (a, b) in shown.iter().zip(&want) {
            assert!((a - b).abs() <= b.abs() * 1e-14, "{}: {a} {b}", m["name"]);
        }
        seen += shown.len();
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn the_page_is_the_same_twice_and_needs_an_experiment() {
    let lab = Lab::with_experiment();
    lab.ok("report d --out a.html");
    lab.ok("report d --out b.html");
    assert!(lab
        .tree(".")
        .iter()
        .filter(|f| f.0.ends_with(".html"))
        .map(|f| &f.1)
        .collect::<Vec<_>>()
        .windows(2)
        .all(|w| w[0] == w[1]));
    let ended = lab.run("report nowhere");
    assert!(ended.code == 2 && ended.err.contains("nowhere: no such directory"), "{ended:?}");
    let ended = lab.run("report d --out no/such/folder.html");
    let said = "no/such/folder.html: no/such is not there; expected a directory to write in";
    assert!(ended.code == 3 && ended.err.contains(said), "{ended:?}");
    let ended = lab.run("report d --out a.html/b.html");
    assert!(ended.code == 3 && ended.err.contains("a.html/b.html: a.html is no directory; expected"), "{ended:?}");
    let ended = lab.run("report d --baseline 6.4");
    assert!(ended.code == 2 && ended.err.contains("no kernel `6.4` in this experiment"), "{ended:?}");
}

#[test]
fn a_link_is_replaced_and_a_pipe_stays_a_pipe() {
    let lab = Lab::with_experiment();
    lab.ok("report d --out plain.html");
    let page = fs::read(lab.path("plain.html")).unwrap();
    lab.write("www/today.html", "old");
    std::os::unix::fs::symlink("www/today.html", lab.path("link.html")).unwrap();
    lab.ok("report d --out link.html");
    assert!(fs::symlink_metadata(lab.path("link.html")).unwrap().is_file());
    assert_eq!(fs::read(lab.path("link.html")).unwrap(), page);
    assert_eq!(fs::read_to_string(lab.path("www/today.html")).unwrap(), "old");
    assert_eq!(lab.tree("www").len(), 1, "nothing half written is left");
    // A folder from somebody else may have a link in place of the page that `report` and `run` write.
    lab.write("victim", "precious");
    for line in ["report d", "run --machine 2x1x2x1 --workload sweep.toml --kernel off --param loops=7001 --out d"] {
        let _ = fs::remove_file(lab.path("d/report.html"));
        std::os::unix::fs::symlink(lab.path("victim"), lab.path("d/report.html")).unwrap();
        lab.ok(line);
        assert_eq!(fs::read_to_string(lab.path("victim")).unwrap(), "precious", "{line}");
        assert!(fs::symlink_metadata(lab.path("d/report.html")).unwrap().is_file(), "{line}");
    }
    // The shell's own links are followed.
    let ended = lab.shell("numalab -q report d --out /dev/stdout > shown.html");
    assert!(ended.code == 0 && fs::read(lab.path("shown.html")).unwrap().starts_with(b"<!DOCTYPE"), "{ended:?}");

    lab.ok("report d --out plain.html");
    let page = fs::read(lab.path("plain.html")).unwrap();
    let pipe = lab.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn(move || fs::read(pipe).unwrap());
    lab.ok("report d --out pipe");
    assert_eq!(reader.join().unwrap(), page);
    assert!(!fs::metadata(lab.path("pipe")).unwrap().is_file());

    let ended = lab.run("report d --out www");
    assert!(ended.code == 3 && ended.err.contains("www: a directory; expected a file"), "{ended:?}");
}

#[test]
fn a_machine_of_a_file_is_drawn_from_the_record() {
    let lab = Lab::with_sweep();
    lab.write("mine.toml", &lab.ok("machine import --host --name mine").out);
    let drawn = || fs::read_to_string(lab.path("d/report.html")).unwrap().contains("<section id=\"machine\"");
    let ran = lab.ok("run --machine mine.toml --workload sweep.toml --kernel 6.3 --out d");
    assert!(!ran.err.contains("not drawn") && drawn(), "{}", ran.err);
    fs::remove_file(lab.path("d/report.html")).unwrap();
    assert_eq!(lab.ok("report d").err, "");
    assert!(drawn());

    // A record without its sources, as old releases wrote them.
    let record = fs::read_dir(lab.path("d")).unwrap().map(|e| e.unwrap().path()).find(|p| p.is_dir()).unwrap();
    fs::remove_dir_all(record.join("sources")).unwrap();
    let manifest = record.join("manifest.json");
    let mut json: serde_json::Value = serde_json::from_str(&fs::read_to_string(&manifest).unwrap()).unwrap();
    json["files"].as_array_mut().unwrap().retain(|f| !f["name"].as_str().unwrap().starts_with("sources/"));
    fs::write(&manifest, json.to_string()).unwrap();
    let said = lab.ok("report d");
    assert!(said.err.contains("machine mine is not drawn") && said.err.contains("--machine FILE"), "{}", said.err);
    assert!(!drawn());
    assert_eq!(lab.ok("report d --machine mine.toml").err, "");
    assert!(drawn());
}

#[test]
fn counters_are_explained() {
    let lab = Lab::new();
    let all = lab.ok("counters").out;
    assert!(all.starts_with("NUMA balancing\n  numa_pte_updates [pages, since 3.8]\n"), "{all}");
    let one = lab.ok("counters numa_hint_faults_local").out;
    assert!(one.contains("Does not count: ") && one.lines().count() < 6, "{one}");
    let list: Value = serde_json::from_str(&lab.ok("counters --json").out).unwrap();
    let list = list.as_array().unwrap();
    assert!(list.len() > 60 && list.iter().all(|c| c["meaning"].as_str().unwrap().ends_with('.')), "{}", list.len());
    assert!(all.lines().filter(|l| l.starts_with("  ") && !l.starts_with("   ")).count() == list.len());
    let derived: Value = serde_json::from_str(&lab.ok("counters numa_cost --json").out).unwrap();
    assert_eq!(derived.as_array().unwrap().len(), 2);
    assert!(derived[0]["formula"].as_str().unwrap().contains("5000 * numa_hint_faults"), "{derived}");
    assert_eq!(
        (&derived[0]["better"], &derived[1]["better"]),
        (&Value::from("lower"), &Value::from("lower")),
        "{derived}"
    );
    let local = lab.ok("counters numa_local_percent").out;
    assert!(local.contains("numa_local_percent [%, higher is better]"), "{local}");
    assert!(local.contains("\n      = numa_hint_faults_local / numa_hint_faults * 100\n"), "{local}");
    assert!(lab.ok("counters pid_inactive").out.contains("skip.pid_inactive [events]"));
    lab.refused("counters numa_hint_falts", &["no counter `numa_hint_falts`", "did you mean `numa_hint_faults`?"]);
}

#[test]
fn a_page_or_a_trace_never_overwrites_records() {
    let lab = Lab::with_sweep();
    lab.ok(&format!("{QUICK} --kernel 6.3 --trace --out d"));
    lab.write("d/notes.md", "precious");
    lab.write("d/mine.html", "<!DOCTYPE html>\n<html><title>precious</title>");
    let before = lab.tree("d");
    let events = before.iter().find_map(|(f, _)| f.strip_suffix(".events")).unwrap().to_string();
    std::os::unix::fs::symlink("d/experiment.json", lab.path("link")).unwrap();
    let places = ["experiment.json", "ID/manifest.json", "ID/new.html", "ID/series/x", "ID.events", "ID.why.json"];
    for verb in ["report d", "trace d"] {
        for place in places {
            let out = format!("d/{}", place.replace("ID", &events));
            lab.refused(
                &format!("{verb} --out {out}"),
                &[&out, "part of an experiment's records, which", "another name"],
            );
        }
        // The link is replaced, and the list of runs stays.
        lab.ok(&format!("{verb} --out link"));
        for own in ["d/notes.md", "d/mine.html"] {
            lab.refused(
                &format!("{verb} --out {own}"),
                &[own, "a file in an experiment's folder that this command has"],
            );
        }
    }
    assert!(lab.tree("d") == before, "nothing was touched");
    // A command replaces its own files everywhere, and files of others outside of experiments.
    lab.write("elsewhere", "something");
    for _ in 0..2 {
        for line in ["report d", "report d --out d/other.html", "trace d --out d/a.pftrace", "trace d --out elsewhere"]
        {
            lab.ok(line);
        }
    }
    lab.refused("trace d --out d/report.html", &["d/report.html: a file in an experiment's folder"]);
    lab.refused("report d --out d/a.pftrace", &["d/a.pftrace: a file in an experiment's folder"]);
}

#[test]
fn a_dash_means_standard_output() {
    use std::process::{Command, Stdio};
    let lab = Lab::with_sweep();
    lab.ok(&format!("{QUICK} --kernel 6.3 --trace --out d"));
    lab.ok("report d");
    lab.ok("trace d --out t");
    // Standard output goes to a file, since a trace is binary.
    let piped = |line: &str| {
        let file = fs::File::create(lab.path("piped")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_numalab"));
        let done = command.args(line.split(' ')).current_dir(lab.path(".")).stdout(file).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{line}: {done:?}");
        (fs::read(lab.path("piped")).unwrap(), String::from_utf8(done.stderr).unwrap())
    };
    for (line, file, said) in
        [("report d --out -", "d/report.html", "report: - ("), ("trace d --out -", "t", "trace: - (")]
    {
        let (bytes, err) = piped(line);
        assert!(bytes == fs::read(lab.path(file)).unwrap(), "{line}");
        assert!(err.contains(said), "{line}: {err}");
        lab.refused(&format!("{line} --json"), &["`--json` together with `--out -`; expected one on standard output"]);
        // A closed pipe is no failure.
        let mut command = Command::new(env!("CARGO_BIN_EXE_numalab"));
        command.args(line.split(' ')).current_dir(lab.path(".")).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{line}");
    }
    assert!(!lab.path("-").exists());
}

#[test]
fn a_workload_that_follows_the_machine_is_named_with_it() {
    let lab = Lab::new();
    let sweep = SWEEP.replace("workers = { value = 2,", "workers = { value = \"cpus\",");
    lab.write("sweep.toml", &sweep);
    lab.ok("run --machine 2x1x2x1,1x1x2x1 --workload sweep.toml --kernel off,6.3 --out d");
    lab.ok("report d");
    let page = fs::read_to_string(lab.path("d/report.html")).unwrap();
    let on = |workers: u32, machine: &str| format!("sweep (loops = 3, size = 16MiB, workers = {workers}) on {machine}");
    let want = format!("<dt>Workload</dt><dd>{}, {}</dd>", on(4, "2x1x2x1"), on(2, "1x1x2x1"));
    assert!(
        page.contains(&want),
        "{}",
        page.split("<dt>Workload</dt>").nth(1).unwrap().split("</div>").next().unwrap()
    );
}
