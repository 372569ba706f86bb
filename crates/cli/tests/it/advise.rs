//! `numalab advise`: what it says, what it refuses, and that it asks the simulator.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{json, Lab};

#[test]
fn without_a_program_it_says_what_it_needs() {
    let lab = Lab::new();
    let ended = lab.run("advise --machine 2x1x2x1");
    assert_eq!((ended.code, ended.out.as_str()), (2, ""));
    assert!(ended.err.contains("`--like`") && ended.err.contains("postgres"), "{ended:?}");
    let ended = lab.run("advise --machine 2x1x2x1 --like postgers");
    assert!(ended.code == 2 && ended.err.contains("did you mean `postgres`?"), "{ended:?}");
    let ended = lab.run("advise --machine 2x1x2x1 --like hpc --kernel off");
    assert!(ended.code == 2 && ended.err.contains("--kernel"), "{ended:?}");
    let ended = lab.run("advise --machine 2x1x2x1 --like hpc --memory 100TiB");
    assert!(ended.code == 2 && ended.err.contains("--memory"), "{ended:?}");
    assert!(!lab.path("out").exists(), "a refused command leaves nothing behind");
}

#[test]
fn one_node_has_nothing_to_balance() {
    let lab = Lab::new();
    let ended = lab.ok("advise --machine 1x1x2x1 --like postgres");
    assert!(ended.out.contains("Nothing to balance"), "{ended:?}");
    assert!(ended.out.contains("numalab advise --machine NAME"), "it offers a prediction for another: {ended:?}");
    assert_eq!(json(&lab.ok("advise --machine 1x1x2x1 --like postgres --json").out)["advice"], "nothing_to_balance");
    assert!(!lab.path("out").exists());
}

#[test]
fn the_advice_is_that_of_the_simulated_runs() {
    let lab = Lab::new();
    let command = "advise --machine 2x1x2x1 --like hpc --memory 1GiB --threads 4 --quick";
    let found = json(&lab.ok(&format!("{command} --json")).out);
    assert_eq!((&found["prediction"], &found["workload"]), (&true.into(), &"first-touch".into()));
    let simulated = &found["simulated"];
    let kernels = simulated["simulated"][0]["kernels"].as_array().unwrap();
    let names: Vec<&str> = kernels.iter().map(|k| k["kernel"].as_str().unwrap()).collect();
    assert_eq!(names, ["off", "interleave"], "four threads do not fit on a node of two CPUs");
    let gain = kernels[0]["gain_percent"].as_f64().unwrap();
    assert!(gain < -3.0, "balancing mends a program that one thread has initialised: {gain} %");
    assert_ne!(found["advice"], "turn_off");
    let text = lab.ok(command).out;
    assert!(text.contains("A prediction of the simulator") && text.contains("does not fit on node 0"), "{text}");
    assert!(text.contains("--backend host"), "{text}");
    // What was asked is smaller than the cut, so it is simulated as asked, and no cut is claimed.
    assert_eq!((&simulated["cut"], &found["full_size"]), (&false.into(), &serde_json::Value::Null));
    assert!(text.contains("Predicted  at 1 GiB and 4 threads, as asked, over 6 s, and over 240 s."), "{text}");
    assert!(text.starts_with("Advice     "), "the advice is the first line: {text}");
    assert!(!text.contains("Simulate what was asked"), "{text}");
}

/// Interleaved, a program that one thread has initialised is faster for seconds, and slower once balancing has moved
/// its memory. What it settles at decides, and what is otherwise before is said.
#[test]
fn the_advice_is_about_the_settled_state_and_says_what_is_before() {
    let lab = Lab::new();
    let command = "advise --machine milan-2s-nps1 --kernel 6.12 --like hpc --memory 1GiB --threads 16";
    let found = json(&lab.ok(&format!("{command} --json")).out);
    assert_eq!(found["advice"], "leave_on");
    let cells = found["simulated"]["simulated"].as_array().unwrap();
    let settled = &cells[2];
    let after_s = settled["settled_after_s"].as_f64().unwrap();
    assert!(cells.len() == 3 && (1.0..20.0).contains(&after_s), "{cells:?}");
    let decides = |c: &serde_json::Value| c["kernels"][0]["decides"].as_bool().unwrap();
    assert_eq!([decides(&cells[0]), decides(&cells[1]), decides(settled)], [false, false, true]);
    let text = lab.ok(command).out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Leave it on. It holds once the program has settled, by "), "{text}");
    assert!(text.contains("Until then interleave is up to "), "{text}");
    // Over six seconds the move is not paid back; over an hour it is.
    let over = |time: &str| json(&lab.ok(&format!("{command} --horizon {time} --json")).out);
    assert_eq!((&over("6s")["advice"], &over("1h")["advice"]), (&"interleave".into(), &"leave_on".into()));
}

/// The same without the settled state: sizes and times that disagree give no verdict.
#[test]
fn a_prediction_whose_times_disagree_has_no_verdict() {
    let lab = Lab::new();
    let command = "advise --machine milan-2s-nps1 --kernel 6.12 --like hpc --memory 1GiB --threads 16 --whole --quick";
    let found = json(&lab.ok(&format!("{command} --json")).out);
    let cells = found["simulated"]["simulated"].as_array().unwrap().iter();
    let own = cells.map(|c| c["kernels"].as_array().unwrap().iter().find(|k| k["kernel"] == "interleave").unwrap());
    let calls: Vec<&str> = own.map(|k| k["call"].as_str().unwrap()).collect();
    assert_eq!(calls, ["better", "worse"], "over 6 s and over 240 s");
    assert_eq!(found["advice"], "no_verdict");
    assert_eq!(found["commands"].as_array().unwrap().len(), 0, "nothing is to be done");
    let sure = found["how_sure"].as_str().unwrap();
    assert!(sure.contains("interleave: ") && sure.contains("sizes and times disagree"), "{sure}");
    let text = lab.ok(command).out;
    assert!(text.contains("Advice     No verdict: ") && text.contains("disagree about interleave"), "{text}");
    assert!(!text.contains("Do it") && text.contains("Check it on the machine"), "{text}");
}

/// A workload of one's own is predicted as it is, or with its own parameters scaled. `repeat` makes it long enough.
#[test]
fn a_workload_file_stands_for_the_program_itself() {
    let lab = Lab::new();
    let recorded = "--machine 2x1x2x1 --kernel off --workload first-touch --param memory=64MiB --param duration=3s";
    lab.ok(&format!("run {recorded} --out recorded"));
    lab.write("mine.toml", &lab.ok("fit recorded").out);
    let command = "advise --machine 2x1x4x1 --kernel 6.12 --like mine.toml --ways off";
    let found = json(&lab.ok(&format!("{command} --json")).out);
    let mib = |v: &serde_json::Value| v["memory_bytes"].as_u64().unwrap() >> 20;
    assert_eq!((&found["workload"], mib(&found), &found["threads"]), (&"mine.toml".into(), 64, &4.into()));
    let run = &found["simulated"]["simulated"][0];
    let time_s = run["time_s"].as_f64().unwrap();
    assert!((50.0..120.0).contains(&time_s), "phases are repeated until they take about a minute: {time_s}");
    assert_eq!(found["simulated"]["cut"], false);
    let larger = json(&lab.ok(&format!("{command} --memory 256MiB --threads 8 --horizon 2s --json")).out);
    assert_eq!((mib(&larger), &larger["threads"]), (256, &8.into()));
    let chosen = json(&lab.ok(&format!("{command} --param threads_main=2 --horizon 5s --json")).out);
    assert_eq!(&chosen["threads"], 2);
    assert!(chosen["directory"].as_str().unwrap().contains("_threads_main-2"), "{}", chosen["directory"]);
    // Sizes are those of the file's own parameters.
    let other = Lab::new();
    other.write("mine.toml", &lab.ok("fit recorded").out);
    other.refused(&format!("{command} --param threds_main=4"), &["threds_main", "threads_main"]);
    other.write("mine.toml", &lab.ok("fit recorded").out.replace("memory_main", "size"));
    other.refused(&format!("{command} --memory 1GiB"), &["`--memory`", "size", "--param"]);
}

/// `--param` changes the workload that stands for a kind of program.
#[test]
fn parameters_of_the_workload_can_be_set() {
    let lab = Lab::new();
    let command =
        "advise --machine 2x1x2x1 --kernel 6.12 --like hpc --memory 64MiB --threads 4 --horizon 2s --ways off";
    let of = |more: &str| json(&lab.ok(&format!("{command} {more} --json")).out);
    let (usual, slow) = (of(""), of("--param line_time=50ns"));
    assert_ne!(usual["directory"], slow["directory"]);
    let lab = Lab::new();
    lab.refused(&format!("{command} --param line_tim=5ns"), &["line_tim", "did you mean `line_time`?"]);
    lab.refused("advise --machine 2x1x2x1 --param line_time=5ns -- true", &["--param", "together with"]);
}

#[test]
fn what_was_cut_is_said_first_wherever_the_runs_are_shown() {
    let lab = Lab::new();
    let command = "advise --machine 2x1x2x1 --like hpc --memory 8GiB --threads 20 --quick";
    let found = json(&lab.ok(&format!("{command} --json")).out);
    assert_eq!((&found["memory_bytes"], &found["threads"]), (&(8_u64 << 30).into(), &20.into()));
    assert_eq!(found["simulated"]["cut"], true);
    let cells = found["simulated"]["simulated"].as_array().unwrap().iter();
    let sizes: Vec<_> =
        cells.map(|c| (c["memory_bytes"].as_u64().unwrap() >> 30, c["threads"].as_u64().unwrap())).collect();
    assert_eq!(sizes[..4], [(1, 16), (1, 16), (4, 20), (4, 20)]);

    let note = "at 1 GiB and 16 threads, and at 4 GiB and 20 threads, over 6 s, and over 240 s each; \
                asked: 8 GiB and 20 threads.";
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = lab.ok(command).out;
    assert!(flat(&text).contains(&format!("no measurement. Predicted {note} How much ")), "{text}");
    assert!(text.contains("--memory 8GiB --threads 20\n"), "{text}");
    // The folder's name, its comparison and its page say what was simulated, too.
    let dir = found["directory"].as_str().unwrap();
    assert_eq!(dir, "out/advise_hpc_2x1x2x1_6.12_1GiB-16t_6s_240s_4GiB-20t");
    let compared = lab.ok(&format!("compare {dir}")).out;
    assert!(flat(&compared).starts_with(&format!("Predicted {note} Question ")), "{compared}");
    assert_eq!(json(&lab.ok(&format!("compare {dir} --json")).out)["decision"]["prediction"], found["simulated"]);
    let page = std::fs::read_to_string(lab.path(&format!("{dir}/report.html"))).unwrap();
    let answer = page.split_once("<section id=\"answer\">").unwrap().1;
    assert!(answer.starts_with(&format!("<p class=\"warning\">Predicted {note}</p>")), "{}", &answer[..300]);
    let tables = lab.ok(&format!("compare {dir} --style mmtests")).out;
    assert!(flat(&tables).contains(note), "{tables}");
}

/// Further ways are compared only if asked for, and each has commands that undo it, for services too.
#[test]
fn further_ways_are_compared_where_asked() {
    let lab = Lab::new();
    let command = "advise --machine 2x1x2x1 --kernel 6.12 --like inference --memory 256MiB --threads 4 --horizon 2s";
    lab.refused(&format!("{command} --ways wheighted"), &["`--ways` has \"wheighted\"", "did you mean `weighted`?"]);
    let found = json(&lab.ok(&format!("{command} --ways weighted,slow-scan,no-thp,off --json")).out);
    let kernels = found["simulated"]["simulated"][0]["kernels"].as_array().unwrap();
    let names: Vec<&str> = kernels.iter().map(|k| k["kernel"].as_str().unwrap()).collect();
    assert_eq!(names, ["weighted", "slow-scan", "no-thp", "off"]);
    assert!(found["directory"].as_str().unwrap().contains("_weighted_slow-scan_no-thp_"), "{}", found["directory"]);
    // Interleaving is better over six seconds, as above.
    let better = "advise --machine milan-2s-nps1 --kernel 6.12 --like hpc --memory 1GiB --threads 16 --horizon 6s \
                  --ways interleave";
    let found = json(&lab.ok(&format!("{better} --json")).out);
    assert_eq!(
        (&found["advice"], &found["commands"][0]),
        (&"interleave".into(), &"numactl --interleave=all PROGRAM".into())
    );
    let places: Vec<&str> = found["places"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(places, ["systemd", "docker or podman", "libvirt", "Kubernetes"]);
    let text = lab.ok(better).out;
    for part in ["The same for systemd", "NUMAPolicy=interleave", "undo: systemctl revert UNIT", "<numatune>"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Databases differ in the share of memory that is their pool, so they are different programs.
#[test]
fn programs_and_sizes_that_differ_are_not_simulated_alike() {
    let lab = Lab::new();
    let records = |like: &str, size: &str| -> Vec<String> {
        let made = lab.ok(&format!("advise --machine 2x1x2x1 --like {like} {size} --horizon 2s --ways off --json"));
        let dir = json(&made.out)["directory"].as_str().unwrap().to_string();
        let list = json(&std::fs::read_to_string(lab.path(&format!("{dir}/experiment.json"))).unwrap());
        list["runs"].as_array().unwrap().iter().map(|r| r["record"].as_str().unwrap().to_string()).collect()
    };
    let small = "--memory 64MiB --threads 2";
    let (postgres, mysql, mongodb) = (records("postgres", small), records("mysql", small), records("mongodb", small));
    assert!(postgres.iter().all(|r| !mysql.contains(r) && !mongodb.contains(r)));
    assert!(mysql.iter().all(|r| !mongodb.contains(r)));
    let larger = records("postgres", "--memory 96MiB --threads 2");
    assert!(postgres.iter().all(|r| !larger.contains(r)));
}

#[test]
fn an_earlier_list_of_runs_is_no_prediction_and_still_reads() {
    let lab = Lab::new();
    let made = lab.ok("advise --machine 2x1x2x1 --like hpc --memory 256MiB --threads 2 --out kept --json");
    assert_eq!(
        json(&made.out)["simulated"]["verdict"].as_str(),
        json(&lab.ok("compare kept --json").out)["decision"]["prediction"]["verdict"].as_str()
    );
    let mut list = json(&std::fs::read_to_string(lab.path("kept/experiment.json")).unwrap());
    assert_eq!(list["prediction"]["threads"], 2);
    list.as_object_mut().unwrap().remove("prediction");
    lab.write("kept/experiment.json", &list.to_string());
    let compared = lab.ok("compare kept --json").out;
    assert!(json(&compared)["decision"]["prediction"].is_null(), "{compared}");
}

/// A directory with a machine of that many nodes below `root`, whose switch is on.
fn machine(nodes: usize) -> Lab {
    let lab = Lab::new();
    for id in 0..nodes {
        let node = format!("root/sys/devices/system/node/node{id}");
        let memory = format!("Node {id} MemTotal: 1000000 kB\nNode {id} MemFree: 900000 kB\n");
        lab.write(&format!("{node}/meminfo"), &memory);
        lab.write(&format!("{node}/cpulist"), "0\n");
    }
    lab.write(SWITCH, "1\n");
    lab
}

/// File of the switch in the directory of [`machine`].
const SWITCH: &str = "root/proc/sys/kernel/numa_balancing";
/// A program whose score is 100 with balancing, and 120 without.
const FASTER_OFF: &str = "if [ $(cat root/proc/sys/kernel/numa_balancing) = 0 ]; then echo 120; else echo 100; fi";

fn switch(lab: &Lab) -> String {
    std::fs::read_to_string(lab.path(SWITCH)).unwrap().trim().to_string()
}

/// Waits until something holds, for a minute at most.
fn until(what: &str, holds: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed().as_secs() < 60, "{what} has not happened");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn with_one_node_the_command_does_not_run() {
    let lab = machine(1);
    let ended = lab.args(&["advise", "--root", "root", "--", "touch", "ran"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.contains("one memory node") && ended.out.contains("`touch ran` was not run"), "{ended:?}");
    assert!(!lab.path("ran").exists());
    let ended = lab.args(&["advise", "--root", "root", "--json", "--", "sleep", "1"]);
    assert_eq!(json(&ended.out)["advice"], "nothing_to_balance");
}

#[test]
fn a_program_that_is_faster_without_balancing_is_told_so() {
    let lab = machine(2);
    let line = ["advise", "--root", "root", "--metric-cmd", "cat", "--", "sh", "-c", FASTER_OFF];
    let ended = lab.args(&line);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.contains("Turn it off."), "{ended:?}");
    assert!(ended.out.contains("sysctl -w kernel.numa_balancing=0") && ended.out.contains("Undo it"), "{ended:?}");
    assert!(ended.out.contains("off: 120.0, 20.0 % more"), "{ended:?}");
    assert_eq!(switch(&lab), "1", "put back");
    let ended = lab.args(&[&["advise", "--json"], &line[1..]].concat());
    let found = json(&ended.out);
    assert_eq!(
        (&found["advice"], &found["prediction"], &found["settled"]),
        (&"turn_off".into(), &false.into(), &true.into())
    );
    let ways: Vec<&str> = found["ways"].as_array().unwrap().iter().map(|w| w["way"].as_str().unwrap()).collect();
    assert_eq!(ways[..2], ["on", "off"]);
    assert_eq!(found["ways"][1]["scores"].as_array().unwrap().len(), 3);
    // With the switch off already, the same figures say to leave it.
    lab.write(SWITCH, "0\n");
    let ended = lab.args(&line);
    assert!(ended.out.contains("Leave it off."), "{ended:?}");
    assert_eq!(switch(&lab), "0");
}

#[test]
fn records_of_the_runs_are_kept_where_asked() {
    let lab = machine(2);
    let line =
        ["advise", "--root", "root", "--json", "--out", "kept", "--metric-cmd", "cat", "--", "sh", "-c", FASTER_OFF];
    let ended = lab.args(&line);
    let found = json(&ended.out);
    assert_eq!((ended.code, &found["directory"]), (0, &"kept".into()), "{ended:?}");
    let rounds = found["rounds"].as_u64().unwrap();
    let comparison = json(&lab.ok("compare kept --json").out);
    let metrics = comparison["workloads"][0]["metrics"].as_array().unwrap();
    let metric = metrics.iter().find(|m| m["name"].as_str().unwrap().starts_with("metric")).unwrap();
    assert_eq!(metric["kernels"]["off"]["mean"], 120.0, "{metric}");
    assert_eq!(metric["kernels"]["on"]["mean"], 100.0, "{metric}");
    let list = json(&std::fs::read_to_string(lab.path("kept/experiment.json")).unwrap());
    let off = list["runs"].as_array().unwrap().iter().filter(|r| r["kernel"] == "off").count();
    assert_eq!(off as u64, rounds, "every round has a record");
    let again = lab.args(&line);
    assert!(again.code == 2 && again.err.contains("holds runs already"), "{again:?}");
    // A program that fails in the second round leaves the runs before it.
    let program = "n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count; [ $n -lt 2 ] && echo 7";
    let ended =
        lab.args(&["advise", "--root", "root", "--out", "part", "--metric-cmd", "cat", "--", "sh", "-c", program]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let list = json(&std::fs::read_to_string(lab.path("part/experiment.json")).unwrap());
    assert_eq!(list["runs"].as_array().unwrap().len(), 1, "the first run warms up and does not count");
}

#[test]
fn a_prediction_has_its_records_where_asked() {
    let lab = Lab::new();
    let ended = lab.ok("advise --machine 2x1x2x1 --like hpc --memory 256MiB --threads 2 --out kept --json");
    assert_eq!(json(&ended.out)["directory"], "kept");
    assert!(lab.path("kept/experiment.json").exists() && !lab.path("out").exists());
}

#[test]
fn equal_scores_show_no_difference() {
    let lab = machine(2);
    let ended = lab.args(&["advise", "--root", "root", "--metric-cmd", "cat", "--", "echo", "7"]);
    assert!(ended.out.contains("no difference of 1 % or more that 3 rounds could show"), "{ended:?}");
}

#[test]
fn a_failed_command_is_a_finding_and_leaves_the_switch() {
    let lab = machine(2);
    let program = "if [ $(cat root/proc/sys/kernel/numa_balancing) = 0 ]; then echo no disk >&2; exit 3; fi";
    let ended = lab.args(&["advise", "--root", "root", "--", "sh", "-c", program]);
    assert_eq!((ended.code, ended.out.as_str()), (1, ""), "{ended:?}");
    assert!(ended.err.contains("with off") && ended.err.contains("no disk"), "{ended:?}");
    assert_eq!(switch(&lab), "1");
}

#[test]
fn without_a_switch_the_rest_is_compared() {
    let lab = machine(2);
    std::fs::remove_file(lab.path(SWITCH)).unwrap();
    let ended = lab.args(&["advise", "--root", "root", "--metric-cmd", "cat", "--", "echo", "7"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.contains("Not compared") && ended.out.contains("numa_balancing"), "{ended:?}");
}

#[test]
fn a_killed_session_is_undone() {
    let lab = machine(2);
    let program = "if [ $(cat root/proc/sys/kernel/numa_balancing) = 0 ]; then echo $$ > pid; exec sleep 600; fi";
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_numalab"));
    command.args(["advise", "--root", "root", "--", "sh", "-c", program]).current_dir(lab.path(""));
    let mut advise = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    let pid = || std::fs::read_to_string(lab.path("pid")).unwrap_or_default().trim().to_string();
    until("a run without balancing", || !pid().is_empty());
    assert_eq!(switch(&lab), "0");
    // SIGKILL: nothing of the session itself can run any more.
    advise.kill().unwrap();
    advise.wait().unwrap();
    until("the switch is put back", || switch(&lab) == "1");
    let ended = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    until("the command is ended", || ended(&pid()));
}

#[test]
fn a_service_is_measured_in_windows() {
    let lab = machine(2);
    let own = std::process::id().to_string();
    lab.write(&format!("root/proc/{own}/stat"), "1 (x) S 1 1 1 0 -1 0 1 2 3 4 150 250 350 450 20 0");
    let ended = lab.args(&[
        "advise",
        "--root",
        "root",
        "--pid",
        &own,
        "--metric-cmd",
        FASTER_OFF,
        "--window",
        "10ms",
        "--settle",
        "1ms",
    ]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.contains("Turn it off.") && ended.out.contains("Windows show"), "{ended:?}");
    assert_eq!(switch(&lab), "1");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let lab = machine(2);
    lab.refused("advise --root root --pid 1", &["--metric-cmd", "--metric-url"]);
    lab.refused("advise --root root --pid 999999999 --metric-cmd true", &["--pid", "999999999"]);
    lab.refused("advise --metric-url http://192.0.2.1/ --metric x", &["--metric-url", "127.0.0.1"]);
    lab.refused("advise --like hpc -- true", &["together with"]);
    lab.refused("advise --budget 0s -- true", &["--budget", "10m"]);
    assert_eq!(switch(&lab), "1");
}
