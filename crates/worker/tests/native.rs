//! The worker on this machine: whole jobs, carried out by the real program.

#![allow(clippy::unwrap_used)]

use numalab_nouns::record::{Outcome, Status};
use numalab_nouns::workload::*;
use numalab_worker::job::{Invocation, Job, Knob};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn region(name: &str, kind: RegionKind, size_bytes: u64) -> Region {
    let misalign_bytes = 0;
    Region {
        name: name.into(),
        kind,
        size_bytes,
        misalign_bytes,
        advice: HugeAdvice::NoHuge,
        policy: None,
        huge_policy: None,
        second_level_fault_ns: 0,
        pinned: false,
        pool_bytes: 0,
        write: true,
    }
}

fn access(region: u32, len_bytes: u64, pattern: Pattern, accesses: u64) -> Op {
    let span = Span { region, offset_bytes: 0, len_bytes };
    Op::Access(Access { span, pattern, write: 1.0, bypass: false, compute_ns: 0.0, accesses, score: Some((0, 1.0)) })
}

fn thread(ops: Vec<Op>) -> Thread {
    Thread { affinity: None, ops: ops.into() }
}

fn process(name: &str, regions: Vec<Region>, prologue: Vec<Op>, threads: Vec<Thread>) -> Process {
    let (parent, fork) = (None, ForkPoint::BeforePrologue);
    Process {
        name: name.into(),
        parent,
        fork,
        regions,
        prologue: prologue.into(),
        threads,
        mems: None,
        cpu_group: None,
    }
}

fn job(processes: Vec<Process>) -> Job {
    let score = |name: &str, per_second| Score {
        name: name.into(),
        unit: "units".into(),
        higher_is_better: true,
        per_second,
        best: false,
        latency: false,
    };
    let workload = Workload {
        name: "test".into(),
        title: String::new(),
        processes,
        barrier_widths: vec![],
        channels: 0,
        futexes: Vec::new(),
        scores: vec![score("bytes", false), score("rate", true)],
        // No test reaches it, however busy the machine.
        limit_ns: 600_000_000_000,
        params: vec![],
        warnings: vec![],
        histograms: Default::default(),
    };
    let mut job = Job::new(workload, 1, vec![0], 1);
    job.sample_ns = 20_000_000;
    job.trace = false;
    job
}

/// Runs a job with the worker program; the error is its standard error.
fn run(job: &Job, name: &str) -> Result<Outcome, String> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
    std::fs::write(&path, job.to_bytes().unwrap()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_numalab-worker")).arg("run").arg(&path).output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(serde_json::from_slice(&output.stdout).unwrap())
}

fn scalar(outcome: &Outcome, name: &str) -> f64 {
    outcome.scalars.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

fn last(outcome: &Outcome, series: &str, column: &str) -> f64 {
    let s = outcome.series.iter().find(|s| s.name == series).unwrap_or_else(|| panic!("no series {series}"));
    let c = s.columns.iter().position(|c| c == column).unwrap_or_else(|| panic!("no {column} in {:?}", s.columns));
    *s.values[c].last().unwrap()
}

const MIB: u64 = 1 << 20;

#[test]
fn every_op_is_carried_out() {
    let all_kinds = vec![
        region("anon", RegionKind::PrivateAnon, MIB),
        region("shared", RegionKind::SharedAnon, MIB),
        region("cow", RegionKind::CowData, MIB),
        region("file", RegionKind::FileShared, MIB),
    ];
    let patterns = vec![
        access(0, MIB, Pattern::sequential(), 0),
        access(1, MIB, Pattern::strided(4096), 0),
        access(2, MIB, Pattern::random(), 1000),
        access(3, MIB, Pattern::zipf(0.9), 1000),
        access(0, MIB, Pattern::chase(), 1000),
        access(1, MIB, Pattern::blocks(4096), 1000),
        access(2, MIB, Pattern::reuse(0.5), 1000),
    ];
    let bytes = 64.0 * (16384.0 + 256.0 + 5000.0);
    let mut first = patterns.clone();
    first.extend([
        Op::SetPolicy(Policy { mode: PolicyMode::Local, nodes: vec![], weights: vec![], numa_balancing: false }),
        Op::Barrier { id: 0, spin: false },
        Op::Wait { channel: 0 },
        Op::LoopStart(Bound::Count(5)),
        Op::Compute { ns: 1000 },
        Op::Sleep { ns: 1000, exponential: true },
        Op::Score { id: 1, amount: 2.0 },
        Op::LoopEnd,
        Op::Join,
    ]);
    let second = vec![
        Op::Barrier { id: 0, spin: true },
        Op::Discard(Span { region: 0, offset_bytes: 0, len_bytes: MIB / 2 }),
        Op::Signal { channel: 0 },
    ];
    let mut a = process("a", all_kinds, patterns, vec![thread(first), thread(second)]);
    a.threads[1].affinity = Some(vec![0].into());
    let b = process("b", vec![], vec![], vec![thread(vec![Op::Barrier { id: 0, spin: false }])]);
    let mut j = job(vec![a, b]);
    j.workload.barrier_widths = vec![3];
    j.workload.channels = 1;
    let outcome = run(&j, "every_op").unwrap();
    assert_eq!(outcome.status, Status::Completed);
    assert_eq!(scalar(&outcome, "bytes"), 2.0 * bytes);
    let rate = scalar(&outcome, "rate") * scalar(&outcome, "elapsed_s");
    assert!((rate - 10.0).abs() < 1e-6, "{rate}");
    // So short a run may fall between the ticks that tell the two apart.
    assert!(scalar(&outcome, "user_s") + scalar(&outcome, "system_s") > 0.0);
    // Half of the private region was discarded and is not touched again.
    assert_eq!(last(&outcome, "placement", "a/anon/absent"), 128.0);
}

/// A file that is read 120 times, each pass a request. Its pages come to the page cache and are mapped nowhere.
#[test]
fn requests_are_timed_and_a_file_that_is_read_is_not_mapped() {
    let regions = vec![region("f", RegionKind::FileShared, MIB), region("b", RegionKind::PrivateAnon, MIB)];
    let span = |region, len_bytes| Span { region, offset_bytes: 0, len_bytes };
    let read = Op::ReadFile(ReadFile { span: span(0, MIB), into: span(1, MIB), bytes: 65536 });
    let pass = [Op::Request { id: 2, begin: true }, read, Op::Request { id: 2, begin: false }];
    let ops = [&[Op::LoopStart(Bound::Count(120))][..], &pass, &[Op::LoopEnd]].concat();
    let mut j = job(vec![process("a", regions, vec![], vec![thread(ops)])]);
    let late = Score { name: "late".into(), unit: "us".into(), latency: true, ..j.workload.scores[0].clone() };
    j.workload.scores.push(late);
    let outcome = run(&j, "reads").unwrap();
    assert_eq!(outcome.status, Status::Completed);
    let (half, most) = (scalar(&outcome, "late_p50"), scalar(&outcome, "late_p99"));
    assert!(half > 0.0 && most >= half, "{half} {most}");
    assert_eq!(last(&outcome, "placement", "a/f/absent"), 256.0);
    assert_eq!(last(&outcome, "placement", "a/b/absent"), 240.0, "each call writes to the beginning of the buffer");
}

/// Whoever may set pages aside gets them; else the message says what was asked for, and of which file.
#[test]
fn hugetlb_pages_are_set_aside_or_the_run_is_refused() {
    let mut huge = region("h", RegionKind::Hugetlb, 4 * MIB);
    huge.pool_bytes = 4 * MIB;
    let ops = vec![access(0, 4 * MIB, Pattern::sequential(), 0)];
    match run(&job(vec![process("a", vec![huge], vec![], vec![thread(ops)])]), "hugetlb") {
        Ok(outcome) => {
            assert_eq!(outcome.status, Status::Completed);
            assert_eq!(last(&outcome, "placement", "a/h/absent"), 0.0);
        }
        Err(e) => assert!(e.contains("hugetlb"), "{e}"),
    }
}

#[test]
fn forked_processes_share_what_was_touched_before() {
    let parent = process(
        "p",
        vec![region("x", RegionKind::PrivateAnon, MIB)],
        vec![access(0, MIB, Pattern::sequential(), 0)],
        vec![thread(vec![Op::Wait { channel: 0 }])],
    );
    let own = region("y", RegionKind::PrivateAnon, MIB);
    let ops = vec![access(0, 4096, Pattern::sequential(), 0), access(1, MIB, Pattern::sequential(), 0)];
    let mut child =
        process("c", vec![own.clone()], vec![], vec![thread([ops, vec![Op::Signal { channel: 0 }]].concat())]);
    (child.parent, child.fork) = (Some(0), ForkPoint::AfterPrologue);
    let mut early = process("e", vec![own], vec![], vec![thread(vec![access(0, 8192, Pattern::sequential(), 0)])]);
    (early.parent, early.fork) = (Some(0), ForkPoint::BeforePrologue);
    let mut j = job(vec![parent, child, early]);
    j.workload.channels = 1;
    let outcome = run(&j, "forks").unwrap();
    assert_eq!(outcome.status, Status::Completed);
    assert_eq!(scalar(&outcome, "bytes"), (2 * MIB + 4096 + 8192) as f64);
    // The fork after the prologue inherits the parent's 256 pages; the fork before it has only its own region.
    assert_eq!(last(&outcome, "placement", "c/x/absent"), 0.0);
    assert_eq!(last(&outcome, "placement", "c/y/absent"), 0.0);
    assert_eq!(last(&outcome, "placement", "e/y/absent"), 254.0);
    let columns = &outcome.series.iter().find(|s| s.name == "placement").unwrap().columns;
    assert!(!columns.iter().any(|c| c.starts_with("e/x/")));
}

/// Two processes that share a mapping hold its pages together once, and each of them by itself.
#[test]
fn shared_pages_count_once_for_all_processes() {
    let shared = region("x", RegionKind::PrivateAnon, 4 * MIB);
    let touch = vec![access(0, 4 * MIB, Pattern::sequential(), 0)];
    let hold = vec![thread(vec![Op::Sleep { ns: 1_500_000_000, exponential: false }])];
    let parent = process("p", vec![shared], touch, hold.clone());
    let mut child = process("c", vec![], vec![], hold);
    (child.parent, child.fork) = (Some(0), ForkPoint::AfterPrologue);
    let mut j = job(vec![parent, child]);
    (j.sample_ns, j.maps_every) = (500_000_000, 1);
    let outcome = run(&j, "once").unwrap();
    let most = |name: &str| -> f64 {
        let series = outcome.series.iter().find(|s| s.name == name);
        let samples = series.map_or(0, |s| s.time_ns.len());
        let at = |i: usize| series.map_or(0.0, |s| s.values.iter().map(|v| v[i]).sum::<f64>());
        (0..samples).map(at).fold(0.0, f64::max)
    };
    // A kernel without numa_maps shows no pages at all.
    if std::path::Path::new("/proc/self/numa_maps").exists() {
        let (each, once) = (most("node_pages"), most("workload_pages"));
        assert_eq!((each, once), (2048.0, 1024.0));
    }
}

/// Nodes of this machine that have memory.
fn memory_nodes() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or_default();
    let bounds = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.parse::<u32>().ok()?..=to.parse::<u32>().ok()?)
    };
    text.trim().split(',').filter_map(bounds).flatten().collect()
}

#[test]
fn pages_move_to_the_node_that_a_step_names() {
    let nodes = memory_nodes();
    let [first, second, ..] = nodes[..] else {
        eprintln!("skipped: this machine has one node");
        return;
    };
    let span = Span { region: 0, offset_bytes: 0, len_bytes: MIB };
    let bind = Policy { mode: PolicyMode::Bind, nodes: vec![0], weights: vec![], numa_balancing: false };
    let ops = vec![
        Op::SetPolicy(bind),
        access(0, MIB, Pattern::sequential(), 0),
        Op::MovePages(MovePages { span, nodes: vec![1] }),
        Op::Sleep { ns: 300_000_000, exponential: false },
    ];
    let mut j = job(vec![process("a", vec![region("x", RegionKind::PrivateAnon, MIB)], vec![], vec![thread(ops)])]);
    j.node_ids = vec![first, second];
    let outcome = run(&j, "move_pages").unwrap();
    assert_eq!(outcome.status, Status::Completed);
    assert_eq!(last(&outcome, "placement", "a/x/node1"), 256.0);
}

#[test]
fn a_move_to_a_node_that_does_not_exist_is_refused() {
    let span = Span { region: 0, offset_bytes: 0, len_bytes: MIB };
    let ops = vec![access(0, MIB, Pattern::sequential(), 0), Op::MovePages(MovePages { span, nodes: vec![1] })];
    let j = job(vec![process("a", vec![region("x", RegionKind::PrivateAnon, MIB)], vec![], vec![thread(ops)])]);
    assert!(run(&j, "move_nowhere").unwrap_err().contains("move_pages names node 1"));
}

#[test]
fn endless_work_is_a_timeout_with_samples() {
    let endless = vec![Op::LoopStart(Bound::Count(u64::MAX)), Op::Score { id: 0, amount: 1.0 }, Op::LoopEnd];
    let mut j = job(vec![process("a", vec![], vec![], vec![thread(endless)])]);
    // A hundred samples fit into it; a busy machine misses some of them.
    j.workload.limit_ns = 2_000_000_000;
    let outcome = run(&j, "timeout").unwrap();
    assert_eq!(outcome.status, Status::Timeout);
    let scores = outcome.series.iter().find(|s| s.name == "score").unwrap();
    assert!(scores.time_ns.len() >= 3, "{} samples", scores.time_ns.len());
    let score = &scores.values[0];
    assert!(score.windows(2).all(|w| w[0] <= w[1]) && score.last().is_some_and(|&s| s > 0.0), "{score:?}");
    assert!(!outcome.scalars.iter().any(|s| s.name == "user_s"));
}

#[test]
fn a_failing_process_ends_the_run_with_its_reason() {
    let bind = Policy { mode: PolicyMode::Bind, nodes: vec![0], weights: vec![], numa_balancing: true };
    let mut bad = bind.clone();
    // MPOL_F_NUMA_BALANCING is refused with interleaving.
    bad.mode = PolicyMode::Interleave;
    let waits = thread(vec![Op::Barrier { id: 0, spin: false }]);
    let a = process("a", vec![], vec![], vec![waits, thread(vec![Op::SetPolicy(bad)])]);
    let mut j = job(vec![a]);
    j.workload.barrier_widths = vec![2];
    let outcome = run(&j, "failing").unwrap();
    let Status::Failed(reason) = &outcome.status else { panic!("{:?}", outcome.status) };
    assert!(reason.contains("set_mempolicy"), "{reason}");
}

#[test]
fn an_impossible_job_is_refused_before_it_starts() {
    let mut j = job(vec![process("a", vec![region("x", RegionKind::PrivateAnon, MIB)], vec![], vec![thread(vec![])])]);
    j.workload.processes[0].threads[0].ops = vec![access(0, 2 * MIB, Pattern::sequential(), 0)].into();
    assert!(run(&j, "outside").unwrap_err().contains("leaves region"));
    j.workload.processes[0].threads[0].ops = vec![Op::Join].into();
    j.knobs = vec![numalab_worker::job::Knob {
        name: "x.y".into(),
        kernel_name: "kernel.no_such_knob".into(),
        value: "1".into(),
        unit: String::new(),
        required: true,
    }];
    assert!(run(&j, "knob").unwrap_err().contains("no_such_knob"));
}

/// A job that runs a line of the shell in place of a workload.
fn shell(line: &str) -> Job {
    let mut job = job(Vec::new());
    let argv = ["sh", "-c", line].map(str::to_string).to_vec();
    let environment = vec![("WORD".to_string(), "seen".to_string())];
    job.invocation = Some(Invocation { path: "/bin/sh".into(), argv, environment, directory: "/tmp".into() });
    job
}

#[test]
fn a_program_is_sampled_with_what_it_starts_and_measured() {
    // The background process keeps 8 MiB in a variable, and takes CPU time.
    let line =
        "x=$(head -c 8388608 /dev/zero | tr '\\0' x); i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done & wait; \
                test \"$WORD $PWD\" = 'seen /tmp'";
    let out = run(&shell(line), "program").unwrap();
    assert_eq!(out.status, Status::Completed);
    assert!(scalar(&out, "elapsed_s") > 0.0 && scalar(&out, "user_s") + scalar(&out, "system_s") > 0.0, "{out:?}");
    let pages = out.series.iter().find(|s| s.name == "node_pages").unwrap();
    assert_eq!(pages.columns, ["test/node0"]);
    let most = pages.values[0].iter().copied().fold(0.0, f64::max);
    assert!(most > 2048.0 || memory_nodes().is_empty(), "{pages:?}");
    assert!(out.counters.iter().any(|c| c.0 == "pgfault" && c.1 > 1000), "{:?}", out.counters);
}

#[test]
fn a_program_that_fails_shows_what_it_printed_last() {
    let out = run(&shell("echo one; echo two >&2; exit 7"), "program-fails").unwrap();
    let Status::Failed(reason) = &out.status else { panic!("{out:?}") };
    assert_eq!(reason, "test exited with 7; it printed last: one | two");
    let out = run(&shell("kill -SEGV $$"), "program-crashes").unwrap();
    assert_eq!(out.status, Status::Failed("test was ended by signal 11; it printed nothing".into()));
    let mut absent = shell("true");
    absent.invocation.as_mut().unwrap().path = "/no/such/program".into();
    assert!(run(&absent, "program-absent").unwrap_err().contains("cannot start /no/such/program"));
}

#[test]
fn an_endless_program_is_a_timeout_and_nothing_of_it_is_left() {
    let mark = format!("numalab-left-{}", std::process::id());
    let line = format!("sh -c 'sleep 600; : {mark}' & setsid sh -c 'sleep 600; : {mark}' & sleep 600");
    let mut job = shell(&line);
    job.workload.limit_ns = 300_000_000;
    let out = run(&job, "program-endless").unwrap();
    assert_eq!(out.status, Status::Timeout);
    let left = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| std::fs::read_to_string(entry.path().join("cmdline")).is_ok_and(|line| line.contains(&mark)));
    assert_eq!(left.count(), 0, "processes of the program still run");
    // A program that leaves a server behind ends when it ends itself.
    let out = run(&shell("sleep 600 & exit 0"), "program-leaves").unwrap();
    assert_eq!(out.status, Status::Completed);
    assert!(scalar(&out, "elapsed_s") < 300.0);
}

fn knob(file: &Path) -> Knob {
    let kernel_name = file.display().to_string();
    Knob { name: "x.y".into(), kernel_name, value: "7".into(), unit: String::new(), required: true }
}

/// A process that never ends, and one forked from it.
fn endless() -> Job {
    let ops = || vec![Op::LoopStart(Bound::Count(u64::MAX)), Op::Compute { ns: 1000 }, Op::LoopEnd];
    let parent = process("a", vec![], vec![], vec![thread(ops())]);
    let mut child = process("b", vec![], vec![], vec![thread(ops())]);
    child.parent = Some(0);
    job(vec![parent, child])
}

#[test]
fn a_signal_undoes_the_settings_and_leaves_no_process() {
    // SAFETY: the call only changes this process's action for SIGINT. Workers inherit it, as a shell's background
    // processes do.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let (setting, path) = (directory.join("signal.setting"), directory.join("signal.json"));
        std::fs::write(&setting, "5").unwrap();
        let mut j = endless();
        j.knobs = vec![knob(&setting)];
        std::fs::write(&path, j.to_bytes().unwrap()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_numalab-worker"));
        command.arg("run").arg(&path).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let mut worker = command.spawn().unwrap();
        let mut said = BufReader::new(worker.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.starts_with("beat "), "{line}");
        assert_eq!(std::fs::read_to_string(&setting).unwrap(), "7");
        let group = worker.id() as i32;
        // SAFETY: the call sends a signal to a process of this test.
        unsafe { libc::kill(group, signal) };
        let status = worker.wait().unwrap();
        said.read_to_string(&mut line).unwrap();
        assert_eq!(status.signal(), Some(signal), "{line}");
        assert!(line.contains(&format!("ended by signal {signal}")), "{line}");
        assert_eq!(std::fs::read_to_string(&setting).unwrap(), "5");
        // SAFETY: signal 0 only checks whether the group still has a process.
        assert_eq!(unsafe { libc::kill(-group, 0) }, -1, "a process of the workload still runs");
    }
}

#[test]
fn a_failure_before_the_start_undoes_the_settings() {
    let setting = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("refused.setting");
    std::fs::write(&setting, "5").unwrap();
    let mut j = endless();
    j.knobs = vec![knob(&setting)];
    // The processes refuse this access when they compile their ops, before the gate.
    j.workload.processes[0].threads[0].ops = vec![access(3, 64, Pattern::sequential(), 0)].into();
    assert!(run(&j, "refused").unwrap_err().contains("no region 3"));
    assert_eq!(std::fs::read_to_string(&setting).unwrap(), "5");
}
