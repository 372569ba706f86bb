//! Tests of event logs, `numalab trace` and `numalab explain`.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::Lab;
use numalab_report::trace::proto::{EventType, Trace, TrackEvent};
use prost::Message;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A run whose memory starts on one node and whose threads are on two.
const RUN: &str =
    "run --machine 2x1x4x1 --workload numa01_THREAD_ALLOC --param memory=64MiB --param loops=12000 --whole --out d";

/// Runs [`RUN`] with more options, and returns its summary.
fn run(lab: &Lab, rest: &str) -> Value {
    serde_json::from_str(&lab.ok(&format!("{RUN} --json {rest}")).out).unwrap()
}

/// Path of the record of the `i`-th run.
fn record(summary: &Value, i: usize) -> String {
    format!("d/{}", summary["runs"][i]["record"].as_str().unwrap())
}

/// Scores and counters of a record.
fn figures(lab: &Lab, record: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(lab.path(record).join("scalars.json")).unwrap()).unwrap()
}

/// Value of an annotation of an event.
fn number(e: &TrackEvent, name: &str) -> u64 {
    e.debug_annotations.iter().find(|a| a.name.as_deref() == Some(name)).unwrap().uint_value.unwrap()
}

#[test]
fn a_trace_holds_what_the_counters_count() {
    let lab = Lab::new();
    let r = record(&run(&lab, "--kernel 6.3 --trace"), 0);
    let said: Value = serde_json::from_str(&lab.ok(&format!("trace {r} --out t.pftrace --json")).out).unwrap();
    let bytes = fs::read(lab.path("t.pftrace")).unwrap();
    assert_eq!(said["bytes"], bytes.len());
    let packets = Trace::decode(bytes.as_slice()).unwrap().packet;
    assert_eq!(said["packets"], packets.len());
    let counters = figures(&lab, &r)["counters"].clone();
    let events: Vec<(u64, &TrackEvent)> =
        packets.iter().filter_map(|p| Some((p.timestamp?, p.track_event.as_ref()?))).collect();
    let slices = |category: &'static str| {
        events.iter().filter(move |(_, e)| e.categories.first().is_some_and(|c| c == category)).map(|(_, e)| *e)
    };
    assert!(counters["numa_hint_faults"].as_u64().unwrap() > 1000, "{counters}");
    assert_eq!(slices("faults").map(|e| number(e, "faults")).sum::<u64>(), counters["numa_hint_faults"]);
    assert_eq!(slices("faults").map(|e| number(e, "local")).sum::<u64>(), counters["numa_hint_faults_local"]);
    assert_eq!(slices("faults").map(|e| number(e, "pages migrated")).sum::<u64>(), counters["numa_pages_migrated"]);
    assert_eq!(slices("scan").map(|e| number(e, "pages marked")).sum::<u64>(), counters["numa_pte_updates"]);

    // Every event is on a track that was described before it, and every slice that begins also ends.
    let mut known = BTreeSet::new();
    let mut open: BTreeMap<u64, i64> = BTreeMap::new();
    for p in &packets {
        if let Some(d) = &p.track_descriptor {
            known.insert(d.uuid.unwrap());
            assert!(d.parent_uuid.is_none_or(|u| known.contains(&u)), "{d:?}");
        }
        let Some(e) = &p.track_event else { continue };
        let track = e.track_uuid.unwrap();
        assert!(known.contains(&track), "{e:?}");
        match e.r#type() {
            EventType::SliceBegin => *open.entry(track).or_default() += 1,
            EventType::SliceEnd => *open.entry(track).or_default() -= 1,
            _ => {}
        }
    }
    assert!(open.values().all(|n| *n == 0));
    let names: Vec<String> = packets.iter().filter_map(|p| p.track_descriptor.as_ref()?.name.clone()).collect();
    assert_eq!(names[0], "machine 2x1x4x1 (2 sockets, 2 nodes, 2 LLCs, 8 CPUs)");
    assert_eq!(names[1], "node 0 (CPUs 0-3, socket 0)");
    for counter in
        ["dram_bandwidth dram/node1", "process_pages main.0/node0", "cpu_time user", "numa_activity numa_hint_faults"]
    {
        assert!(names.iter().any(|n| n == counter), "{counter}: {names:?}");
    }
    threads_are_on_cpus(&packets, figures(&lab, &r)["scalars"][0]["value"].as_f64().unwrap());
}

/// Context switches are consistent on every CPU, name known threads, and cover the time that threads ran.
fn threads_are_on_cpus(packets: &[numalab_report::trace::proto::TracePacket], elapsed_s: f64) {
    let mut tids = BTreeSet::from([0]);
    let mut on: BTreeMap<u32, (i32, u64)> = BTreeMap::new();
    let mut busy_ns = 0;
    for p in packets {
        tids.extend(p.process_tree.iter().flat_map(|t| &t.threads).map(|t| t.tid.unwrap()));
        let Some(bundle) = &p.ftrace_events else { continue };
        for e in &bundle.event {
            let (s, now) = (e.sched_switch.as_ref().unwrap(), e.timestamp.unwrap());
            let (prev, since) = on.insert(bundle.cpu.unwrap(), (s.next_pid.unwrap(), now)).unwrap_or((0, 0));
            assert_eq!(s.prev_pid, Some(prev));
            assert!(tids.contains(&s.next_pid.unwrap()) && now >= since);
            busy_ns += if prev == 0 { 0 } else { now - since };
        }
    }
    // The idle task, two processes of an initial thread and four others, and what the machine has itself: a kernel
    // thread for each of eight CPUs, and four daemons.
    assert_eq!(tids.len(), 1 + 2 * 5 + 8 + 4);
    // Two processes of four threads each run on eight CPUs: most of the time all CPUs are busy.
    let busy = busy_ns as f64 / 1e9 / (8.0 * elapsed_s);
    assert!((0.5..=1.0).contains(&busy), "{busy}");
}

#[test]
fn logs_are_added_to_records_without_changing_them() {
    let lab = Lab::new();
    let plain = run(&lab, "--kernel 6.3");
    let r = record(&plain, 0);
    for line in [format!("trace {r} --out t"), format!("explain {r} --vma")] {
        let ended = lab.run(&line);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""));
        assert!(ended.err.contains("with the same arguments and --"), "{}", ended.err);
    }
    let before = lab.tree(&r);
    assert_eq!(run(&lab, "--kernel 6.3 --trace --explain"), plain, "the plan is the same");
    assert!(lab.tree(&r) == before, "the record is the same");
    for ending in ["events", "decisions", "why.json"] {
        assert!(lab.path(&format!("{r}.{ending}")).exists(), "{ending}");
    }
    let again = lab.ok(&format!("{RUN} --kernel 6.3 --trace"));
    assert!(again.err.contains("had a record"), "what is there is not made again: {}", again.err);
    lab.ok("trace d --out t.pftrace");
    let ended = lab.run("trace d --out nodir/t.pftrace");
    assert!(ended.code == 3 && ended.err.contains("nodir is not there; expected a directory to write in"), "{ended:?}");
    assert!(fs::read_dir(lab.path("d")).unwrap().all(|e| !e
        .unwrap()
        .file_name()
        .to_string_lossy()
        .contains("partial")));
    let why = lab.path(&format!("{r}.why.json"));
    fs::write(&why, "{").unwrap();
    let ended = lab.run("explain d --vma");
    assert!(ended.code == 3 && ended.err.contains("expected an unchanged file (remove it; `numalab run`"), "{ended:?}");
    fs::remove_file(&why).unwrap();
    lab.ok(&format!("{RUN} --kernel 6.3 --explain"));
    lab.ok("explain d --vma");
    // A log with a changed bit is damaged, too.
    for (ending, line) in [("why.json", "explain d --vma"), ("events", "trace d --out bit.pftrace")] {
        let log = lab.path(&format!("{r}.{ending}"));
        let good = fs::read(&log).unwrap();
        for (at, says) in [(good.len() - 60, "differ from their digest"), (3, "expected an unchanged")] {
            let mut bad = good.clone();
            bad[at] ^= if at == 3 { 0x80 } else { 1 };
            fs::write(&log, &bad).unwrap();
            let ended = lab.run(line);
            assert!(ended.code == 3 && ended.err.contains(says), "{ending} at {at}: {ended:?}");
        }
        fs::write(&log, &good).unwrap();
    }
    assert!(!lab.path("bit.pftrace").exists());
    // A truncated log gives no trace.
    let log = lab.path(&format!("{r}.events"));
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 100]).unwrap();
    let ended = lab.run("trace d --out cut.pftrace");
    assert!(ended.code == 3 && ended.err.contains("cut off after"), "{ended:?}");
    assert!(ended.err.contains("(remove the file; `numalab run` with the same arguments and --trace"), "{}", ended.err);
    assert!(fs::read_dir(lab.path(".")).unwrap().all(|e| !e.unwrap().file_name().to_string_lossy().contains("cut")));
}

#[test]
fn damaged_logs_beside_a_record_are_written_again() {
    let lab = Lab::new();
    let r = record(&run(&lab, "--kernel 6.3 --trace --explain"), 0);
    let line = format!("{RUN} --kernel 6.3 --trace --explain");
    assert!(lab.ok(&line).err.contains("had a record"), "what is whole is not made again");
    let before = lab.tree("d");
    for ending in ["events", "decisions", "why.json"] {
        let path = lab.path(&format!("{r}.{ending}"));
        let good = fs::read(&path).unwrap();
        let mut broken = good.clone();
        // Overwrites the kind of an event in the middle.
        let middle = good.iter().position(|b| *b == b'\n').unwrap_or(good.len() / 2) + 1 + 16;
        broken[middle..middle + 2].fill(0xff);
        // Flips a bit of a time or of a figure.
        let mut bit = good.clone();
        bit[good.len() - 60] ^= 1;
        for damage in [broken.as_slice(), &good[..good.len() - 40], b"", bit.as_slice()] {
            fs::write(&path, damage).unwrap();
            let ended = lab.ok(&line);
            assert!(!ended.err.contains("had a record"), "{ending}: {}", ended.err);
            assert!(lab.tree("d") == before, "{ending}");
        }
    }
    // A complete log of another run.
    let other = record(&run(&lab, "--kernel 6.12 --trace --explain"), 0);
    let before = lab.tree("d");
    fs::copy(lab.path(&format!("{other}.events")), lab.path(&format!("{r}.events"))).unwrap();
    assert!(!lab.ok(&line).err.contains("had a record"));
    assert!(lab
        .tree("d")
        .iter()
        .zip(&before)
        .all(|(a, b)| a == b || ["experiment.json", "report.html"].contains(&a.0.as_str())));
}

#[test]
fn reasons_are_said_in_sentences_that_agree_with_the_counts() {
    let lab = Lab::new();
    let summary = run(&lab, "--kernel off,6.12 --explain");
    let (off, on) = (record(&summary, 0), record(&summary, 1));
    let counts = figures(&lab, &on);
    let none = lab.ok(&format!("explain {off} --vma main.0/buffer")).out;
    // The logs are found beside the record even if its path leads through the record itself or through a link.
    assert_eq!(lab.ok(&format!("explain {off}/series/.. --vma main.0/buffer")).out, none);
    std::os::unix::fs::symlink(lab.path(&off), lab.path("latest")).unwrap();
    assert_eq!(lab.ok("explain latest --vma main.0/buffer").out, none);
    assert!(none.contains("It was never scanned, and the scanner never came to it: NUMA balancing is off"), "{none}");
    let some = lab.ok(&format!("explain {on} --vma main.0/buffer")).out;
    assert!(some.contains("It was scanned ") && some.contains(" pages were marked"), "{some}");
    let all = lab.ok(&format!("explain {on} --vma")).out;
    let marked: u64 =
        all.lines().filter_map(|l| l.split(" pages marked").next()?.rsplit(' ').next()?.parse::<u64>().ok()).sum();
    assert_eq!(marked, counts["counters"]["numa_pte_updates"]);
    let skipped: u64 = ["unsuitable", "scan_delay", "pid_inactive", "seq_completed"]
        .iter()
        .map(|w| counts["reasons"][format!("skip.{w}")].as_u64().unwrap())
        .sum();
    let passed: u64 =
        all.lines().filter_map(|l| l.split("passed over ").nth(1)?.split(' ').next()?.parse::<u64>().ok()).sum();
    assert!(skipped > 10 && passed == skipped, "{passed} {skipped}: {all}");

    let moved = lab.ok(&format!("explain {on} --page")).out;
    let page = moved.split(':').next().unwrap().replace(' ', "");
    let one = lab.ok(&format!("explain {on} --page {page}")).out;
    assert!(one.contains("pages moved") && one.contains("migrated: ") && one.contains(": moved to node "), "{one}");
    let by_number = one.split("(0x").nth(1).unwrap().split(')').next().unwrap();
    let process = page.split('/').next().unwrap();
    assert_eq!(lab.ok(&format!("explain {on} --page {process}:0x{by_number}")).out, one);

    let tasks = lab.ok(&format!("explain {on} --task")).out;
    assert_eq!(tasks.lines().count(), 10, "{tasks}");
    let task = lab.ok(&format!("explain {on} --task main.1/t2")).out;
    assert!(task.starts_with("main.1/t2: born at ") && task.contains("hint faults"), "{task}");
    let nodes = lab.ok(&format!("explain {on} --node")).out;
    let brought: u64 = nodes
        .lines()
        .filter_map(|l| l.strip_prefix("  Hint faults brought ")?.split(' ').next()?.parse::<u64>().ok())
        .sum();
    assert_eq!(brought, counts["counters"]["numa_pages_migrated"]);
}

#[test]
fn two_runs_diverge_where_the_log_says() {
    let lab = Lab::new();
    let summary = run(&lab, "--kernel 6.3,6.4-rc2 --explain");
    let (a, b) = (record(&summary, 0), record(&summary, 1));
    let text = lab.ok(&format!("explain diff {a} {b}")).out;
    assert!(text.starts_with("What differs between 6.3 and 6.4-rc2: vma_filter: "), "{text}");
    assert!(text.contains("decisions, the last at ") && text.contains("Then they differ:\n6.3:\n"), "{text}");
    assert!(text.contains("\n6.4-rc2:\n") && text.contains("In the end (6.3 / 6.4-rc2):\n  elapsed_s: "), "{text}");
    let same = lab.ok(&format!("explain diff {a} {a}")).out;
    assert!(same.starts_with("The runs were asked for the same.\n") && same.contains("made the same "), "{same}");

    let plain = RUN.replace("--out d", "--out e");
    let other = lab.ok(&format!("{plain} --kernel 6.3 --seed 2 --json")).out;
    let c = format!("e/{}", serde_json::from_str::<Value>(&other).unwrap()["runs"][0]["record"].as_str().unwrap());
    let seeds = lab.ok(&format!("explain diff {a} {c}")).out;
    assert!(seeds.starts_with("What differs between 6.3 seed 1 and 6.3 seed 2: "), "{seeds}");
    assert!(seeds.contains("seed: 1 / 2") && seeds.contains("are not compared: "), "{seeds}");
    assert!(seeds.contains("\nIn the end (6.3 seed 1 / 6.3 seed 2):\n  elapsed_s: "), "{seeds}");
    assert!(!seeds.contains("they part") && !seeds.contains("samples first differ"), "no steps: {seeds}");
}

#[test]
fn subjects_and_runs_that_are_not_there_are_refused() {
    let lab = Lab::new();
    let r = record(&run(&lab, "--kernel 6.3,6.4-rc2 --explain"), 0);
    for (line, parts) in [
        (
            "explain d --vma".to_string(),
            ["2 runs fit; expected --kernel 6.3 --workload numa01_THREAD_ALLOC", "--kernel 6.4-rc2"],
        ),
        ("explain d --kernel 6.5 --vma".into(), ["no run fits", "--kernel 6.3"]),
        (
            format!("explain {r} --vma --kernel 6.4-rc2"),
            ["not the run that the options name; expected --kernel 6.3", "--seed 1"],
        ),
        (
            format!("repeat {r} --seed 2"),
            ["not the run that the options name; expected --kernel 6.3", "--machine 2x1x4x1 --seed 1"],
        ),
        (
            format!("trace {r} --workload numa02 --out t"),
            ["not the run that the options name; expected --kernel 6.3", "--workload numa01_THREAD_ALLOC"],
        ),
        (
            format!("repeat {r} --machine 2x1x2x1"),
            ["not the run that the options name; expected --kernel 6.3", "--machine 2x1x4x1"],
        ),
        (format!("explain {r}"), ["is missing", "--vma"]),
        (format!("explain {r} --vma --task"), ["together with", "one of the two"]),
        (format!("explain {r} --vma main.0/bufer"), ["no mapping `main.0/bufer`", "did you mean `main.0/buffer`?"]),
        (format!("explain {r} --task main.0/t99"), ["no task `main.0/t99`", "did you mean"]),
        (format!("explain {r} --node 7"), ["no node `7`", "such as 0, 1"]),
        (format!("explain {r} --page main.0/buffer+1TiB"), ["`1TiB` is no offset", "KiB, MiB or GiB"]),
        (format!("explain {r} --page main.0/buffer+64GiB"), ["ends before offset 64 GiB", "less than 64 MiB"]),
        (format!("explain {r} --page main.0:0x10"), ["main.0 has no mapping at 0x10", "--vma lists them"]),
        ("explain diff d".into(), ["is missing", ""]),
        (
            format!("explain diff {r} d"),
            ["d: 2 runs fit; expected a record's directory: d/", " (--kernel 6.3 --workload"],
        ),
        ("trace nowhere --out t".into(), ["nowhere: no such directory", ""]),
    ] {
        let ended = lab.run(&line);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{line}: {ended:?}");
        for part in parts {
            assert!(ended.err.contains(part), "{line}: {}", ended.err);
        }
    }
    let plain = lab.ok(&format!("explain {r} --vma")).out;
    assert_eq!(lab.ok(&format!("explain {r} --vma --kernel 6.3 --machine 2x1x4x1 --seed 1")).out, plain);
}

#[test]
fn the_run_that_was_taken_of_several_seeds_is_named_and_so_is_how_many_are_not_listed() {
    let lab = Lab::with_sweep();
    lab.ok(&format!("{} --kernel off,6.3,6.7 --iterations 3 --seed 4 --trace --explain --out d", common::QUICK));
    for line in ["trace d --kernel 6.7 --out t.pftrace", "explain d --kernel 6.7 --vma"] {
        let err = lab.ok(line).err;
        let taken = "numalab: of 3 seeds the first: --kernel 6.7 --workload sweep --machine 2x1x2x1 --seed 4 (";
        assert!(err.contains(taken), "{line}: {err}");
    }
    let one = lab.ok("explain d --kernel 6.7 --seed 5 --vma").err;
    assert!(!one.contains("seeds"), "{one}");
    let refused = lab.run("trace d --out t.pftrace");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("9 runs fit") && refused.err.contains("or one of 1 more (experiment.json lists all)"));
}
