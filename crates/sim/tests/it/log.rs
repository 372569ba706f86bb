//! Logs say what the counters say, and a run with logs is the run without.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::events::{Event, Events, Fate, Header, Kind, MOVE_WORDS, NONE};
use numalab_model::record::why::Why;
use numalab_model::record::Outcome;
use numalab_sim::{observe, Observers, Sink};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The outcome, all events of both logs and the counts of a run of two processes whose memory starts on one node.
fn watched(dir: &Path, kernel_name: &str) -> (Outcome, Vec<Event>, Vec<Event>, Why) {
    let m = machine("4x1x6x2");
    let w = workload("numa01_THREAD_ALLOC", &m, 11, &[("loops", "2000"), ("memory", "256MiB")]);
    let header = Header::new("r", &m, &w);
    let sink =
        |name: &str| Sink::new(&header.line().unwrap(), Box::new(File::create(dir.join(name)).unwrap())).unwrap();
    let ask =
        Observers { trace: Some(sink("trace")), decisions: Some(sink("head")), why: true, ..Observers::default() };
    let o = observe(&m, &w, &kernel(kernel_name), 11, true, ask).unwrap();
    let plain = run(&m, &w, &kernel(kernel_name), 11);
    assert!(o.outcome == plain, "{kernel_name}: whoever watches changes nothing");
    let all = |name: &str| {
        let mut log = Events::open(&dir.join(name)).unwrap();
        let mut out = Vec::new();
        while let Some(e) = log.next_event().unwrap() {
            out.push(e);
        }
        out
    };
    (o.outcome, all("trace"), all("head"), o.why.unwrap())
}

fn count(o: &Outcome, name: &str) -> u64 {
    o.counters.iter().chain(&o.reasons).find(|c| c.0 == name).unwrap_or_else(|| panic!("no {name}")).1
}

#[test]
fn the_trace_adds_up_to_the_counters() {
    let dir = tempfile::tempdir().unwrap();
    for kernel in ["6.3", "6.4-rc2", "6.12"] {
        let (o, trace, ..) = watched(dir.path(), kernel);
        let of = |kind: Kind| trace.iter().filter(move |e| e.kind == kind);
        assert!(count(&o, "numa_hint_faults") > 0, "{kernel}");
        let faults: u64 = of(Kind::Faults).map(|e| u64::from(e.y)).sum();
        assert_eq!(faults, count(&o, "numa_hint_faults"), "{kernel}");
        assert_eq!(
            of(Kind::Faults).map(|e| e.local_and_migrated().0).sum::<u64>(),
            count(&o, "numa_hint_faults_local")
        );
        assert_eq!(of(Kind::Faults).map(|e| e.local_and_migrated().1).sum::<u64>(), count(&o, "numa_pages_migrated"));
        assert_eq!(of(Kind::Scan).map(|e| e.z).sum::<u64>(), count(&o, "numa_pte_updates"));
        let placed = |code: u16| of(Kind::Placed).filter(|e| e.code == code).count() as u64;
        assert_eq!(placed(1), count(&o, "placed.move"), "{kernel}");
        assert_eq!(placed(2), count(&o, "placed.swap"), "{kernel}");
        let threads = 2 * 25;
        assert_eq!((of(Kind::Born).count(), of(Kind::Ended).count()), (threads, threads), "{kernel}");
        on_one_cpu_at_a_time(&trace);
    }
}

/// Between any two instants every task is on at most one CPU; within one, a move shows as two switches in any order.
fn on_one_cpu_at_a_time(trace: &[Event]) {
    let switches: Vec<&Event> = trace.iter().filter(|e| e.kind == Kind::Switch).collect();
    assert!(switches.windows(2).all(|w| w[0].time_ns <= w[1].time_ns), "switches are in order of time");
    let mut on = std::collections::BTreeMap::new();
    for instant in switches.chunk_by(|a, b| a.time_ns == b.time_ns) {
        for e in instant {
            on.insert(e.x, e.task);
        }
        let mut tasks: Vec<u32> = on.values().copied().filter(|t| *t != NONE).collect();
        let all = tasks.len();
        tasks.sort_unstable();
        tasks.dedup();
        assert_eq!(tasks.len(), all, "a task is on two CPUs at {} ns: {on:?}", instant[0].time_ns);
    }
    assert!(on.values().all(|t| *t == NONE), "nobody is left on a CPU");
}

/// kernel-numa-balancing.md section 17.1: a sleeper is blocked, so its CPU is free until the page has moved. Of 16
/// threads of two processes that zero one buffer each, none sleeps for anything else.
#[test]
fn whoever_sleeps_behind_a_page_leaves_its_cpu() {
    let dir = tempfile::tempdir().unwrap();
    let m = machine("2x1x8x1");
    let w = workload("numa01", &m, 1, &[("loops", "4000"), ("memory", "16MiB")]);
    let sleeps = |kernel_name: &str| {
        let path = dir.path().join(kernel_name);
        let sink =
            Sink::new(&Header::new("r", &m, &w).line().unwrap(), Box::new(File::create(&path).unwrap())).unwrap();
        let ask = Observers { trace: Some(sink), ..Observers::default() };
        let o = observe(&m, &w, &kernel(kernel_name), 1, true, ask).unwrap().outcome;
        let mut trace = Events::open(&path).unwrap();
        let (mut sleeps, mut idle_ns, mut idle_since) = (0, 0, [None; 16]);
        while let Some(e) = trace.next_event().unwrap() {
            if e.kind == Kind::Switch {
                let sleeps_now = e.code == 1;
                sleeps += u64::from(sleeps_now);
                let idle_from = (sleeps_now && e.task == NONE).then_some(e.time_ns);
                let since = std::mem::replace(&mut idle_since[e.x as usize], idle_from);
                idle_ns += since.map_or(0, |since| e.time_ns - since);
            }
        }
        (sleeps, idle_ns as f64 / 1e9, scalar(&o, "blocked_s"), count(&o, "numa_pages_migrated"))
    };
    // The two threads that wait for the others of their process sleep once.
    assert_eq!(sleeps("off").0, 2);
    let (sleeps, idle, slept, moves) = sleeps("6.7");
    assert!(sleeps > moves / 10, "{sleeps} sleeps behind {moves} moves");
    // A sleep ends with the wake-up, its CPU's idleness when the task is on a CPU again: by then another may have come.
    assert!(slept > 0.0 && (0.8..1.5).contains(&(idle / slept)), "CPUs idle for {idle} s of {slept} s");
}

/// designs-2012.md section 2: schednuma scans under the lock that faults take, so threads sleep for it now and then; a
/// CPU that runs out of work that way pulls threads whose home it is. Without the pull each of 24 threads keeps its
/// CPU, of 48.
#[test]
fn a_cpu_whose_thread_sleeps_for_a_lock_pulls_threads_home() {
    let dir = tempfile::tempdir().unwrap();
    let m = machine("e7-4807-4s");
    let w = workload("numa02_SMT", &m, 3, &[("loops", "120")]);
    let between_nodes = |kernel_name: &str| {
        let path = dir.path().join(kernel_name);
        let sink =
            Sink::new(&Header::new("r", &m, &w).line().unwrap(), Box::new(File::create(&path).unwrap())).unwrap();
        let ask = Observers { trace: Some(sink), ..Observers::default() };
        observe(&m, &w, &kernel(kernel_name), 3, true, ask).unwrap();
        let mut trace = Events::open(&path).unwrap();
        let mut moves = 0;
        while let Some(e) = trace.next_event().unwrap() {
            let pulled = e.kind == Kind::Moved && MOVE_WORDS[usize::from(e.code)] == "active balance";
            moves += u32::from(pulled && m.cpus[e.x as usize].node != m.cpus[e.y as usize].node);
        }
        moves
    };
    let (pulls, none) = (between_nodes("3.7-schednuma-v1r3"), between_nodes("3.7-schednuma-v1r3+no-home-pull"));
    assert!(pulls > 24 && none == 0, "{pulls} and {none} moves between nodes");
}

#[test]
fn the_counts_add_up_to_the_counters_and_reasons() {
    let dir = tempfile::tempdir().unwrap();
    for kernel in ["6.3", "6.4-rc2", "6.12"] {
        let (o, _, head, why) = watched(dir.path(), kernel);
        let skips = |word: &str| -> u64 {
            why.vmas.iter().flat_map(|v| &v.skips).filter(|s| s.0 == word).map(|s| s.1.count).sum()
        };
        for word in ["unsuitable", "scan_delay", "pid_inactive", "seq_completed"] {
            assert_eq!(skips(word), count(&o, &format!("skip.{word}")), "{kernel} {word}");
        }
        assert_eq!(why.vmas.iter().map(|v| v.updates).sum::<u64>(), count(&o, "numa_pte_updates"), "{kernel}");
        assert_eq!(why.vmas.iter().map(|v| v.faults).sum::<u64>(), count(&o, "numa_hint_faults"));
        assert_eq!(why.tasks.iter().map(|t| t.local).sum::<u64>(), count(&o, "numa_hint_faults_local"));
        assert_eq!(why.chunks.iter().map(|c| c.faults.count).sum::<u64>(), count(&o, "numa_hint_faults"));
        assert_eq!(why.chunks.iter().map(|c| c.migrated).sum::<u64>(), count(&o, "numa_pages_migrated"));
        assert_eq!(why.nodes.iter().map(|n| n.pages_in).sum::<u64>(), count(&o, "numa_pages_migrated"));
        let fates = |word: &str| -> u64 {
            why.chunks.iter().flat_map(|c| &c.fates).filter(|f| f.0 == word).map(|f| f.1.count).sum()
        };
        assert_eq!(fates("denied.two_stage"), count(&o, "denied.two_stage"), "{kernel}");
        assert_eq!(fates("denied.group"), count(&o, "denied.group"), "{kernel}");
        assert_eq!(fates("stayed"), 0, "every refusal has a reason");
        // Two processes of a region, data, and a stack per thread and one of the initial thread, which only joins;
        // every one has an entry, scanned or not.
        assert_eq!(why.vmas.len(), 2 * (1 + 1 + 24 + 1), "{kernel}");
        assert!(head.len() as u64 <= 131_072);
        let migrated = head.iter().filter(|e| e.kind == Kind::Fault && Fate::of(e.code) == Fate::Migrated).count();
        assert!(migrated > 0, "{kernel}");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_an_error() {
    /// A device with room for the first line.
    struct Full(bool);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(std::io::Error::other("no space left"));
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let m = machine("2x1x2x1");
    let w = workload("numa02", &m, 1, &[("loops", "1")]);
    let sink = Sink::new(&Header::new("r", &m, &w).line().unwrap(), Box::new(Full(false))).unwrap();
    let ask = Observers { trace: Some(sink), ..Observers::default() };
    let e = observe(&m, &w, &kernel("6.3"), 1, true, ask).unwrap_err();
    assert!(e.to_string().contains("no space left"), "{e}");
}

/// A child has the regions that its parent had mapped at the fork, and after them its own.
#[test]
fn inherited_mappings_have_the_names_of_the_parents_regions() {
    let process = |name: &str, head: &str, region: &str, kib: u32| {
        format!(
            "[[process]]\nname = \"{name}\"\n{head}[[process.region]]\nname = \"{region}\"\nsize = \"{kib}KiB\"\n\
             [[process.prologue]]\naccess = \"{region}\"\nwrite = 1\n[[process.phase]]\ncompute = \"1ms\"\n"
        )
    };
    let mut text = process("a", "", "heap", 64);
    text += &process("b", "parent = \"a\"\nfork = \"after\"\n", "own", 128);
    text += &process("c", "parent = \"b\"\nfork = \"after\"\n", "leaf", 256);
    text += &process("early", "parent = \"b\"\nfork = \"before\"\n", "other", 512);
    let m = machine("2x1x2x1");
    let w = inline(&text, &m, 1, &[]);
    let ask = Observers { why: true, ..Observers::default() };
    let why = observe(&m, &w, &kernel("6.12"), 1, true, ask).unwrap().why.unwrap();
    let of = |process: u32| -> Vec<(String, u64)> {
        let named = |name: &str| ["heap", "own", "leaf", "other"].contains(&name) || name.starts_with("mapping");
        let all = why.vmas.iter().filter(|v| v.process == process && named(&v.name));
        let mut list: Vec<_> = all.map(|v| (v.name.clone(), (v.end - v.start) >> 10)).collect();
        list.sort();
        list
    };
    let want = |list: &[(&str, u64)]| list.iter().map(|(n, k)| ((*n).to_string(), *k)).collect::<Vec<_>>();
    assert_eq!(of(0), want(&[("heap", 64)]));
    assert_eq!(of(1), want(&[("heap", 64), ("own", 128)]));
    assert_eq!(of(2), want(&[("heap", 64), ("leaf", 256), ("own", 128)]));
    assert_eq!(of(3), want(&[("heap", 64), ("other", 512)]), "forked before b touched its own");
}
