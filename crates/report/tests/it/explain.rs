//! Sentences about made-up logs, with cases that no run of the tests has.
#![allow(clippy::unwrap_used)]

use numalab_model::record::events::{CpuEntry, Event, Events, Fate, Header, Kind, ProcessEntry, NONE};
use numalab_model::record::why::{
    tally, ChunkWhy, FaultWhy, MoveWhy, NodeWhy, PreferredWhy, Tally, TaskWhy, VmaWhy, Why, WhyFile,
};
use numalab_report::explain::{diff, node, page, scans, task, vma};
use std::io::Write;

const SECOND: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

fn file() -> WhyFile {
    let cpu = |id: u32| CpuEntry { id, node: id / 2, socket: 0, llc: id / 2 };
    let header = Header {
        format: "numalab events".into(),
        format_version: 1,
        nodes: vec![0, 4],
        cpus: (0..4).map(cpu).collect(),
        processes: vec![ProcessEntry { name: "main.0".into(), threads: 1 }],
        skips: vec!["unsuitable".into(), "pid_inactive".into()],
        denials: vec!["two_stage".into()],
        refusals: vec!["nearly_full".into()],
        placements: vec!["stick".into(), "move".into(), "swap".into()],
        ..Header::default()
    };
    let heap = VmaWhy { name: "heap".into(), start: 256 * MIB, end: 264 * MIB, ..VmaWhy::default() };
    let main = TaskWhy { born_cpu: 1, ended_ns: Some(9 * SECOND), ..TaskWhy::default() };
    let why = Why {
        end_ns: 10 * SECOND,
        balancing: true,
        base_page_bytes: 4096,
        vmas: vec![heap],
        tasks: vec![main],
        nodes: vec![NodeWhy::default(); 2],
        ..Why::default()
    };
    WhyFile { header, why }
}

#[test]
fn why_a_mapping_was_never_scanned() {
    let mut f = file();
    let say = |f: &WhyFile| vma::explain(f, "main.0/heap", false).unwrap();
    assert!(say(&f).contains("no thread of main.0 ran a scan in the 9.000 s it lived"), "{}", say(&f));
    f.why.tasks[0].scans = Tally { count: 3, first_ns: SECOND, last_ns: 3 * SECOND };
    assert!(say(&f).contains("scanned 3 times, and every time the budget or the run ended before its address"));
    f.why.balancing = false;
    assert!(say(&f).contains("NUMA balancing is off on this kernel"));
    tally(&mut f.why.vmas[0].skips, "pid_inactive", 2 * SECOND);
    tally(&mut f.why.vmas[0].skips, "pid_inactive", 4 * SECOND);
    let text = say(&f);
    assert!(text.contains("the scanner came to it 2 times and passed over it each time"), "{text}");
    assert!(text.contains("pid_inactive: 2 times, first at 2.000 s, last at 4.000 s\n      The scanner passed over"));
    f.why.vmas[0].scanned.add(5 * SECOND);
    assert!(say(&f).contains("It was scanned once, at 5.000 s; 0 pages were marked, 0.0 times each of its 2048 pages."));
    assert!(say(&f).contains("Scans found nothing to mark: no page was there"));
    // The process has one thread: on kernels with the shortcut that is why.
    let text = vma::explain(&f, "main.0/heap", true).unwrap();
    assert!(text.contains("single-user shortcut") && !text.contains("no page was there"), "{text}");
    f.why.tasks.push(f.why.tasks[0].clone());
    assert!(vma::explain(&f, "main.0/heap", true).unwrap().contains("no page was there"));
}

#[test]
fn how_long_scans_took() {
    let mut f = file();
    assert_eq!(scans::explain(&f, "").unwrap(), "all tasks: no scan\n");
    f.why.tasks[0].scan_time.add(12_000_000);
    f.why.tasks[0].scan_time.add(4_000_000);
    let text = scans::explain(&f, "").unwrap();
    assert!(text.starts_with("all tasks: 2 scans, 16.0 ms in all, mean 8.0 ms, longest 12.0 ms\n"), "{text}");
    assert!(text.ends_with("  main.0/t0: 2 scans, 16.0 ms in all, mean 8.0 ms, longest 12.0 ms\n"), "{text}");
    assert!(scans::explain(&f, "main.0/t0").unwrap().contains("8 ms to 16 ms"));
    assert!(scans::explain(&f, "main.0/t7").unwrap_err().to_string().contains("--scans: no task `main.0/t7`"));
}

#[test]
fn a_scan_against_the_filter_is_not_passed_over_in_list_and_detail() {
    let mut f = file();
    f.why.vmas[0].scanned.add(5 * SECOND);
    tally(&mut f.why.vmas[0].skips, "ignore_pid_inactive", 5 * SECOND);
    tally(&mut f.why.vmas[0].skips, "pid_inactive", 6 * SECOND);
    assert!(vma::explain(&f, "", false).unwrap().contains("scanned 1 time, passed over 1 time, "));
    assert!(vma::explain(&f, "main.0/heap", false).unwrap().contains("The scanner passed over it 1 time."));
}

#[test]
fn why_a_page_goes_back_and_forth_or_stays() {
    let mut f = file();
    let say = |f: &WhyFile| page::explain(f, "main.0/heap+3MiB", false).unwrap();
    assert!(say(&f).contains("no page of its 2 MiB took a hint fault") && say(&f).contains("It was never scanned"));
    f.why.faults_not_kept = 7;
    assert!(say(&f).contains("no room for 7 hint faults of other stretches"));
    let mut c = ChunkWhy { start: 258 * MIB, watched: 258 * MIB, huge: true, ..ChunkWhy::default() };
    for i in 0..40 {
        let (from, to) = (i % 2, (i + 1) % 2);
        c.faults.add(u64::from(i) * SECOND / 4);
        tally(&mut c.fates, "migrated", u64::from(i) * SECOND / 4);
        let fate = Fate::Migrated.code();
        c.history.push(FaultWhy { time_ns: u64::from(i) * SECOND / 4, task: 0, page_node: from, cpu_node: to, fate });
    }
    (c.migrated, c.returns) = (40 * 512, 39);
    f.why.chunks.push(c);
    let text = say(&f);
    assert!(
        text.contains("main.0/heap+3 MiB (0x10300000) lies in a stretch of one huge page at 0x10200000."),
        "{text}"
    );
    assert!(text.contains("20480 pages moved, 40.0 moves for each of its pages."), "{text}");
    assert!(text.contains("It goes back and forth: the page at 0x10200000 came back 39 times"), "{text}");
    assert!(text.contains("     0.000 s  main.0/t0 on node 4 found it on node 0: moved to node 4\n"), "{text}");
    assert!(
        text.contains("  … 24 faults not kept …\n")
            && text.contains("     9.750 s  main.0/t0 on node 0 found it on node 4")
    );
    let c = &mut f.why.chunks[0];
    (c.migrated, c.returns, c.local) = (0, 0, 10);
    c.fates = vec![("denied.two_stage".into(), Tally { count: 30, first_ns: 0, last_ns: SECOND })];
    let text = say(&f);
    assert!(text.contains("It did not move, although 30 faults came from another node."), "{text}");
    assert!(text.contains("denied.two_stage: 30 times") && text.contains("its last fault came from a different node"));
    f.why.chunks[0].local = 40;
    assert!(say(&f).contains("It did not move: it was always touched from the node it is on."));
}

#[test]
fn why_a_task_changed_node_or_did_not() {
    let mut f = file();
    let say = |f: &WhyFile| task::explain(f, "main.0/t0", &[]).unwrap();
    assert!(say(&f).contains("It never changed node.\nIt never preferred a node."), "{}", say(&f));
    let t = &mut f.why.tasks[0];
    t.preferred.push(PreferredWhy { time_ns: SECOND, from: None, to: Some(1), faults: (200, 50) });
    (0..5).for_each(|i| tally(&mut t.placed, "stick", i * SECOND));
    let text = say(&f);
    assert!(text.contains("It prefers node 4, but placement found no better CPU there 5 times."), "{text}");
    assert!(text.contains("1.000 s  none → node 4 after 200 hint faults, 25.0 % local"), "{text}");
    let t = &mut f.why.tasks[0];
    tally(&mut t.nodes_by_why, "NUMA balancing", 2 * SECOND);
    t.moves.push(MoveWhy { time_ns: 2 * SECOND, from: 1, to: 2, why: 7, preferred: Some(1) });
    t.moves.push(MoveWhy { time_ns: 3 * SECOND, from: 2, to: 0, why: 3, preferred: Some(1) });
    let text = say(&f);
    assert!(
        text.contains("2.000 s  CPU 1 (node 0) → CPU 2 (node 4) by NUMA balancing, to the node it prefers"),
        "{text}"
    );
    assert!(
        text.contains("3.000 s  CPU 2 (node 4) → CPU 0 (node 0) by periodic balance, away from the node it prefers")
    );
    f.why.nodes[1] = NodeWhy { pages_in: 512, tasks_in: 1, ..NodeWhy::default() };
    let text = node::explain(&f, "4").unwrap();
    assert!(
        text.contains("Hint faults brought 512 pages (2 MiB) and took 0 pages") && text.contains("1 task prefers it"),
        "{text}"
    );
    assert!(node::explain(&f, "1").is_err(), "nodes are named by the numbers the kernel gives them");
}

#[test]
fn where_two_runs_parted() {
    let f = file();
    let dir = tempfile::tempdir().unwrap();
    let skip = Event { code: 1, x: 0, y: 0, ..Event::new(2 * SECOND, Kind::Skip, 0) };
    let scan = Event { z: 300, ..Event::new(2 * SECOND, Kind::Scanned, 0) };
    let moved = Event { code: 2, x: 1, y: 3, ..Event::new(SECOND, Kind::Moved, 0) };
    let log = |name: &str, events: &[Event]| {
        let path = dir.path().join(name);
        let mut out = std::fs::File::create(&path).unwrap();
        out.write_all(f.header.line().unwrap().as_bytes()).unwrap();
        events.iter().for_each(|e| out.write_all(&e.encode()).unwrap());
        let end = Event { z: events.len() as u64, ..Event::new(9 * SECOND, Kind::End, NONE) };
        out.write_all(&end.encode()).unwrap();
        Events::open(&path).unwrap()
    };
    let say = |a: &[Event], b: &[Event]| {
        let (mut a, mut b) = (log("a", a), log("b", b));
        let side = |name: &str, decisions| diff::Side { name: name.into(), decisions, why: &f };
        diff::explain(side("x", &mut a), side("y", &mut b)).unwrap()
    };
    let text = say(&[moved, scan], &[moved, skip, skip]);
    assert!(
        text.starts_with("x and y made the same 1 decision, the last at 1.000 s. Then they differ:\nx:\n"),
        "{text}"
    );
    assert!(
        text.contains("2.000 s  the scan of main.0/t0 goes through main.0/heap: 300 pages marked\n  nothing more"),
        "{text}"
    );
    assert!(text.contains("y:\n     2.000 s  the scan of main.0/t0 passes over main.0/heap: pid_inactive\n"), "{text}");
    assert_eq!(text.matches("The scanner passed over").count(), 1, "a meaning is said once: {text}");
    assert!(say(&[moved], &[moved]).contains("x and y made the same 1 decision, the last at 1.000 s."));
    assert!(say(&[moved, scan], &[moved]).contains("y:\n  nothing more is in its log\n"), "one log may be shorter");
    assert!(say(&[scan], &[skip]).starts_with("x and y differ from their first decision on."));

    let later = Event { time_ns: SECOND + 300, ..moved };
    let text = say(&[moved, moved, scan], &[moved, later, skip]);
    assert!(
        text.starts_with(
            "x and y made the same 2 decisions, the last at 1.000 s; their times differ from 1.000 s on, where y is 300 ns later. \
            Then they differ:\nx:\n     2.000 s  the scan of main.0/t0 goes through"
        ),
        "times alone are no decision: {text}"
    );
    let longer = Event { ns: 40, time_ns: 2 * SECOND, ..moved };
    let text = say(&[moved, longer], &[moved, Event { ns: 30, ..longer }]);
    assert!(text.contains("their times differ from 2.000 s on, where y takes 10 ns less.\nIf their"), "{text}");
    let text = say(&[later], &[Event { time_ns: 3 * SECOND, ..moved }]);
    assert!(text.contains("the last at 1.000 s / 3.000 s; their times differ"), "{text}");
}
