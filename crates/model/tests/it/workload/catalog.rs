//! The workloads of the catalog parse, fit the machines for which they are meant, and do exactly what the reference
//! says.

use crate::workload::machines::{build, machine, SHAPES};
use crate::workload::sums::{bytes_written, check_invariants, each, lists};
use numalab_model::workload::{
    parse, Bound, ForkPoint, HugeAdvice, Op, Pattern, PolicyMode, RegionKind, Workload, WorkloadSpec,
};
use std::path::PathBuf;

const GIB: u128 = 1 << 30;
const MIB: u64 = 1 << 20;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../catalog/workloads")
}

/// All files of the catalog with their texts.
pub fn files() -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = std::fs::read_dir(folder())
        .expect("the catalog folder")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|x| x == "toml"))
        .map(|p| {
            let stem = p.file_stem().expect("a name").to_string_lossy().into_owned();
            (stem, std::fs::read_to_string(&p).expect("a readable file"))
        })
        .collect();
    out.sort();
    out
}

fn spec(name: &str) -> WorkloadSpec {
    let text = std::fs::read_to_string(folder().join(format!("{name}.toml"))).expect("a readable file");
    parse(&format!("{name}.toml"), &text).unwrap_or_else(|e| panic!("{e}"))
}

pub fn resolved(name: &str, on: &str, seed: u64, overrides: &[(&str, &str)]) -> Workload {
    let overrides: Vec<(String, String)> = overrides.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let w = spec(name).resolve(&machine(on), seed, &overrides).unwrap_or_else(|e| panic!("{e}"));
    check_invariants(&w);
    w
}

pub fn accesses(ops: &[Op]) -> Vec<numalab_model::workload::Access> {
    let mut out = Vec::new();
    each(ops, &mut |op, _| out.extend(if let Op::Access(a) = op { Some(*a) } else { None }));
    out
}

#[test]
fn required_workloads_are_there_under_their_names() {
    let names: Vec<String> = files().into_iter().map(|(n, _)| n).collect();
    for name in [
        "numa01",
        "numa01_THREAD_ALLOC",
        "numa02",
        "numa02_SMT",
        "cow-shared",
        "cow-counter",
        "random-shared",
        "phase-change",
        "producer-consumer",
        "stream",
        "coremark",
        "specjbb",
        "specjbb-multi",
        "tbench-pairs",
        "random-seek",
        "swap-storm",
        "xfs-repair",
        "perf-numa-mem",
        "numa01_HARD_BIND",
        "numa02_HARD_BIND",
        "numa02_INVERSE_BIND",
        "hackbench",
        "schbench",
        "chacha20-sockets",
        "mpi-neighbours",
        "npb-ep",
        "pft",
        "fragmented-node",
        "pagecache-full-node",
        "hot-cold",
    ] {
        assert!(names.iter().any(|n| n == name), "{name}");
        assert_eq!(spec(name).name(), name);
    }
}

#[test]
fn every_file_resolves_without_warning_on_every_machine_that_meets_its_requirements() {
    for (name, text) in files() {
        let spec = parse(&format!("{name}.toml"), &text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(spec.name(), name);
        assert!(spec.params().iter().all(|p| !p.about.is_empty()), "{name}: a parameter without a word about it");
        let mut fits = 0;
        for shape in &SHAPES {
            let m = build(shape);
            match spec.resolve(&m, 7, &[]) {
                Ok(w) => {
                    check_invariants(&w);
                    assert_eq!(w.warnings, [""; 0], "{name} on {}", m.name);
                    assert_eq!(w.params.len(), spec.params().len());
                    fits += 1;
                }
                Err(e) => {
                    assert!(e.what.contains("does not hold"), "{name} on {}: {e}", m.name);
                    let small = m.nodes.len() == 1 || m.memory_bytes() <= 16 << 30;
                    let slow = e.what.contains("nodes > cpu_nodes") && m.cpu_nodes().count() == m.nodes.len();
                    assert!(small || slow, "{name} on {}: {e}", m.name);
                }
            }
        }
        // One of the shapes has nodes without CPUs.
        assert!(fits >= if name == "hot-cold" { 1 } else { 6 }, "{name} fits {fits} machines");
    }
}

#[test]
fn a_resolved_workload_is_a_function_of_machine_seed_and_parameters() {
    for (name, _) in files() {
        let on = if name == "hot-cold" { "cxl-2s" } else { "naples-2s" };
        let a = resolved(&name, on, 3, &[]);
        assert_eq!(a, resolved(&name, on, 3, &[]), "{name}");
    }
}

/// mmtests-report.md section 3.2: "numa01 2 T (1 + 50) 3 GiB; THREAD_ALLOC 2 (T + 1000) 3 GiB; numa02 and
/// SMT (1 + 800) 1 GiB". The totals in GiB are those of designs-2012.md section 6 for 48 CPUs.
#[test]
fn autonumabench_writes_the_bytes_of_the_reference() {
    let gib = |name, on| {
        let bytes = bytes_written(&resolved(name, on, 0, &[]));
        assert_eq!(bytes % GIB, 0, "{name}");
        bytes / GIB
    };
    let names = ["numa01", "numa01_THREAD_ALLOC", "numa02", "numa02_SMT"];
    assert_eq!(names.map(|n| gib(n, "e7-4807-4s")), [7344, 6144, 801, 801]);
    for shape in SHAPES.iter().filter(|s| s.nodes > 1) {
        let t = (shape.nodes * shape.cores_per_node * shape.smt / 2) as u128;
        if shape.node_gib <= 6 {
            continue;
        }
        assert_eq!(gib("numa01", shape.name), 2 * t * (1 + 50) * 3, "{}", shape.name);
        assert_eq!(gib("numa01_THREAD_ALLOC", shape.name), 2 * (t + 1000) * 3, "{}", shape.name);
        assert_eq!(gib("numa02", shape.name), 1 + 800, "{}", shape.name);
        assert_eq!(gib("numa02_SMT", shape.name), 1 + 800, "{}", shape.name);
    }
}

#[test]
fn start_loops_and_loops_set_the_amount_of_work() {
    let set = [("start_loops", "2"), ("loops", "3")];
    assert_eq!(bytes_written(&resolved("numa01", "e7-4807-4s", 0, &set)), 2 * 24 * 5 * 3 * GIB);
    assert_eq!(bytes_written(&resolved("numa01_THREAD_ALLOC", "e7-4807-4s", 0, &set)), 2 * (2 * 24 + 3) * 3 * GIB);
    assert_eq!(bytes_written(&resolved("numa02", "e7-4807-4s", 0, &set)), 5 * GIB);
    let none = [("start_loops", "0"), ("loops", "3")];
    let w = resolved("numa01", "e7-4807-4s", 0, &none);
    assert!(!w.processes[0].threads[1].ops.iter().any(|op| matches!(op, Op::SetPolicy(_))));
}

#[test]
fn numa01_starts_on_one_node_chosen_by_the_seed_for_both_processes() {
    for (seed, node) in [(0, 0), (1, 1), (6, 0), (u64::MAX, 1), ((1 << 63) + 2, 0)] {
        for name in ["numa01", "numa01_THREAD_ALLOC"] {
            let w = resolved(name, "e7-4807-4s", seed, &[]);
            assert_eq!(w.processes.len(), 2);
            assert_eq!(w.processes[1].parent, Some(0));
            assert_eq!(w.processes[1].fork, ForkPoint::BeforePrologue);
            for p in &w.processes {
                assert_eq!(p.threads.len(), 1 + 24, "the initial thread only joins");
                assert_eq!(p.threads[0].ops[..], [Op::Join]);
                assert!(p.prologue.is_empty());
                assert_eq!((p.regions.len(), p.regions[0].size_bytes), (1, 3 << 30));
                assert_eq!((p.regions[0].misalign_bytes, p.regions[0].kind), (4096, RegionKind::PrivateAnon));
                for t in &p.threads[1..] {
                    let Op::SetPolicy(bind) = &t.ops[0] else { panic!("first the bind") };
                    assert_eq!(
                        (bind.mode, &bind.nodes[..], bind.numa_balancing),
                        (PolicyMode::Bind, &[node][..], false)
                    );
                    let Op::Access(start) = t.ops[1] else { panic!("then one start-up zeroing") };
                    assert_eq!((start.span.offset_bytes, start.span.len_bytes), (0, 3 << 30));
                    assert_eq!((start.write, start.pattern), (1.0, Pattern::sequential()));
                    let Op::SetPolicy(back) = &t.ops[2] else { panic!("then back to the default") };
                    assert_eq!(back.mode, PolicyMode::Default);
                    assert!(t.affinity.is_none());
                }
            }
        }
    }
}

#[test]
fn thread_alloc_slices_are_the_published_ones() {
    // 24 MiB per thread with 256 CPUs (disjoint-vma-2023), 128 MiB with 48 (designs-2012.md section 6).
    for (on, threads, mib) in [("milan-2s-nps1", 128, 24), ("e7-4807-4s", 24, 128)] {
        let w = resolved("numa01_THREAD_ALLOC", on, 0, &[]);
        for p in &w.processes {
            assert_eq!(p.threads.len(), threads + 1);
            for (i, t) in p.threads[1..].iter().enumerate() {
                let slice = accesses(&t.ops)[1].span;
                assert_eq!((slice.offset_bytes, slice.len_bytes), (i as u64 * mib * MIB, mib * MIB));
            }
        }
        assert_eq!(w.processes[0].threads[1].ops, w.processes[1].threads[1].ops);
        assert!(std::ptr::eq(&w.processes[0].threads[1].ops[0], &w.processes[1].threads[1].ops[0]), "shared");
    }
}

#[test]
fn numa02_zeroes_first_in_the_initial_thread_without_a_bind() {
    for (name, threads) in [("numa02", 48), ("numa02_SMT", 24)] {
        let w = resolved(name, "e7-4807-4s", 1, &[]);
        let [p] = &w.processes[..] else { panic!("one process") };
        assert_eq!(p.threads.len(), threads + 1);
        let start = accesses(&p.prologue);
        assert_eq!((start.len(), start[0].span.len_bytes, start[0].write), (1, 1 << 30, 1.0));
        // The slices are adjacent and cover the whole buffer, although 1 GiB / 48 is not a whole number.
        let mut next = 0;
        for t in &p.threads[1..] {
            assert!(!t.ops.iter().any(|op| matches!(op, Op::SetPolicy(_))));
            let slice = accesses(&t.ops)[0].span;
            assert_eq!(slice.offset_bytes, next);
            next += slice.len_bytes;
        }
        assert_eq!(next, 1 << 30);
    }
}

#[test]
fn numa01_refuses_machines_on_which_the_program_would_not_run() {
    let e = spec("numa01").resolve(&machine("laptop"), 0, &[]).unwrap_err();
    assert!(e.to_string().contains("`nodes >= 2` does not hold on machine `laptop`"), "{e}");
    assert!(e.line > 0 && e.file == "numa01.toml");
    let big = [("memory".to_string(), "10GiB".to_string())];
    let e = spec("numa01").resolve(&machine("e7-4807-4s"), 0, &big).unwrap_err();
    assert!(e.to_string().contains("both buffers"), "{e}");
}

#[test]
fn cow_shared_is_the_program_of_shared_cow_2018() {
    let w = resolved("cow-shared", "x5-8", 0, &[]);
    assert_eq!(w.processes.len(), 1 + 288);
    let parent = &w.processes[0];
    assert_eq!(parent.regions[0].kind, RegionKind::CowData);
    // thp-and-allocation.md vector 27: 977 pages.
    assert_eq!(parent.regions[0].size_bytes, 977 * 4096);
    assert_eq!(parent.regions[1].kind, RegionKind::SharedAnon);
    assert!(matches!(parent.prologue.last(), Some(Op::Discard(_))), "the parent keeps no mapping of the pages");
    for child in &w.processes[1..] {
        assert_eq!((child.parent, child.fork), (Some(0), ForkPoint::AfterPrologue));
        assert!(child.regions.is_empty() && child.threads.len() == 1);
        let Op::LoopStart(numalab_model::workload::Bound::Time { ns }) = child.threads[0].ops[0] else {
            panic!("bounded by time")
        };
        assert_eq!(ns, 10_000_000_000);
        let sum = accesses(&child.threads[0].ops)[0];
        assert_eq!((sum.span.region, sum.span.len_bytes, sum.write), (0, 4_000_000, 0.0));
        // 62500 lines at 62 % of full speed, beside a busy sibling, take 1.359 ms per pass (machines.md section 8.3).
        assert!((sum.compute_ns * 62_500.0 / 0.62 - 1.359e6).abs() < 1e-6, "{}", sum.compute_ns);
        assert_eq!(accesses(&child.threads[0].ops)[1].span.region, 1);
    }
    // 288 processes for 10 s at that rate: 2118782 in shared-cow-2018, within 0.05 %.
    let total: f64 = 288.0 * 10.0 / 1.359e-3;
    assert!((total / 2_118_782.0 - 1.0).abs() < 5e-4);
    assert_eq!(
        (w.scores[0].unit.as_str(), w.scores[0].higher_is_better, w.scores[0].per_second),
        ("sums", true, false)
    );
}

#[test]
fn cow_counter_workers_read_disjoint_slices_of_what_they_all_map() {
    let w = resolved("cow-counter", "x5-8", 0, &[("workers", "3")]);
    assert_eq!(w.processes.len(), 4);
    assert_eq!(w.processes[0].regions[0].size_bytes, 3 * 8 * 45 * MIB);
    for (i, p) in w.processes[1..].iter().enumerate() {
        let read = accesses(&p.threads[0].ops)[0];
        assert_eq!(read.span.offset_bytes, i as u64 * 8 * 45 * MIB);
        assert_eq!((read.write, read.pattern), (0.0, Pattern::random()));
        let cpus = p.threads[0].affinity.clone().expect("bound away from the shepherd");
        assert!(cpus.iter().all(|c| machine("x5-8").cpus[*c as usize].node == i + 1));
    }
}

/// mmtests-report.md section 3.4: 22369621 elements per array for 512 MiB, 268435456 for 3 x 2048 MiB;
/// 16, 16, 24, 24 bytes per element.
#[test]
fn stream_has_the_arrays_and_counts_of_mmtests() {
    for (total, elements) in [("512MiB", 22_369_621), ("384MiB", 16_777_216), ("3*2048MiB", 268_435_456u64)] {
        let w = resolved("stream", "zen3-2s-128", 0, &[("total", total)]);
        let [p] = &w.processes[..] else { panic!("one process") };
        assert_eq!(p.threads.len(), 16, "one thread per LLC");
        assert_eq!(w.barrier_widths, [16]);
        for r in &p.regions {
            assert_eq!(r.size_bytes, (elements * 8_u64).next_multiple_of(4096));
        }
        let mut counted = [0.0; 4];
        for t in &p.threads {
            each(&t.ops, &mut |op, times| {
                if let Op::Access(a) = op {
                    if let Some((id, per_byte)) = a.score {
                        counted[id as usize] += times as f64 * a.span.len_bytes as f64 * per_byte;
                    }
                }
            });
        }
        for (units, bytes) in counted.iter().zip([16, 16, 24, 24]) {
            let expected = (9 * bytes * elements) as f64 / 1e6;
            assert!((units / expected - 1.0).abs() < 1e-12, "{units} MB, not {expected}");
        }
    }
    let names: Vec<String> = resolved("stream", "milan-2s-nps1", 0, &[]).scores.into_iter().map(|s| s.name).collect();
    assert_eq!(names, ["copy", "scale", "add", "triad"]);
    // STREAM prints the best repetition, so that is a figure too.
    let scores = resolved("stream", "milan-2s-nps1", 0, &[]).scores;
    assert!(scores.iter().all(|s| s.best));
    assert_eq!(scores[0].best_name(), "copy_best");
}

#[test]
fn stream_by_its_own_rule_has_arrays_of_four_times_all_caches() {
    // mmtests-report.md section 3.4: 512 MiB of LLC need 2048 MiB per array.
    let w = resolved("stream", "zen3-2s-128", 0, &[("total", "12 * llc_total")]);
    assert_eq!(w.processes[0].regions[0].size_bytes, 2048 * MIB);
}

#[test]
fn coremark_contexts_are_small_and_private() {
    let w = resolved("coremark", "zen3-2s-128", 0, &[("contexts", "16")]);
    // The initial thread fills all contexts and waits for the others.
    let threads = &w.processes[0].threads[1..];
    assert_eq!(threads.len(), 16);
    for (i, t) in threads.iter().enumerate() {
        let a = accesses(&t.ops)[0];
        assert_eq!((a.span.offset_bytes, a.span.len_bytes), (2000 * i as u64, 2000));
    }
    assert!(w.scores[0].per_second);
}

/// designs-2012.md section 7: four JVMs of 12901 MiB with a young generation of a third (4.2 GiB), 33
/// collector threads on 48 CPUs, warehouses 1, 2, 3 ... one after the other.
#[test]
fn specjbb_multi_has_the_shape_of_2012() {
    let w = resolved("specjbb-multi", "e7-4807-4s", 0, &[("first", "1"), ("warehouses", "18")]);
    assert_eq!(w.processes.len(), 1 + 4, "the script and the JVMs that it starts");
    let jvms = &w.processes[1..];
    let names: Vec<&str> = w.scores.iter().map(|s| s.name.as_str()).collect();
    assert_eq!((names.len(), names[0], names[17]), (18, "tput-1", "tput-18"));
    for p in jvms {
        assert!(p.parent == Some(0) && p.fork == ForkPoint::BeforePrologue, "nothing of the script is inherited");
        assert_eq!(p.threads.len(), 1 + 33 + 18 * 19 / 2, "new warehouses at every point");
        let heap: u64 = p.regions.iter().map(|r| r.size_bytes).sum();
        assert!((heap as f64 / (0.8 * 64.0 / 4.0 * 1e0 * GIB as f64) - 1.0).abs() < 1e-6);
        assert!((p.regions[1].size_bytes as f64 / (4.27 * GIB as f64) - 1.0).abs() < 0.01);
        assert!(p.threads.iter().all(|t| t.affinity.is_none()), "not bound");
    }
    // Barriers: collectors and main when the data of new warehouses are there, main and warehouses at the end, and the
    // four main threads at the start of a point.
    let mut widths: Vec<u32> = w.barrier_widths.iter().copied().filter(|w| *w > 0).collect();
    widths.sort_unstable();
    let of_point = |n: u32| [n + 1, 34].repeat(4).into_iter().chain([4]);
    let mut expected: Vec<u32> = (1..=18).flat_map(of_point).collect();
    expected.sort_unstable();
    assert_eq!(widths, expected);
    // A collection is a chain of wake-ups: each JVM has one channel for each collector and warehouse, and two that
    // count.
    assert_eq!(w.futexes.len(), 4 * (33 + 18 + 2));
    // Warehouses allocate anywhere in the young generation of their JVM. It grows with their number as long as each has
    // one of the JVM's six cores: 26000 operations of 20 KiB a second, for the second between two collections.
    let firsts = (0..18).map(|n| 34 + n * (n + 1) / 2);
    let eden: Vec<u64> = firsts.map(|t| accesses(&jvms[0].threads[t].ops)[0].span.len_bytes).collect();
    for (i, bytes) in eden.iter().enumerate() {
        let want = 26_000 * 20 * 1024 * (i as u64 + 1).min(6);
        assert!(bytes.abs_diff(want) < 4096, "{} warehouses: {bytes}, {want} up to whole pages", i + 1);
    }
    assert!(eden[17] < jvms[0].regions[1].size_bytes);
    let small = resolved("specjbb-multi", "e7-4807-4s", 0, &[("young", "1GiB")]);
    let last = small.processes[1].threads.last().expect("warehouses");
    assert_eq!(accesses(&last.ops)[0].span.len_bytes, GIB as u64, "never more than the young generation");
}

/// imb-numa-nr-2021 has stars, so two JVMs or more, with 1, 8, 16, … 128 warehouses in each: two JVMs on 256 CPUs.
#[test]
fn specjbb_multi_has_the_points_of_2021() {
    let set = [("first", "1"), ("next", "8"), ("step", "8")];
    let w = resolved("specjbb-multi", "milan-2s-nps1", 0, &set);
    assert_eq!(w.processes.len(), 1 + 2);
    let names: Vec<&str> = w.scores.iter().map(|s| s.name.as_str()).collect();
    assert_eq!((names.len(), names[0], names[1], names[16]), (17, "tput-1", "tput-8", "tput-128"));
    let warehouses = 1 + 8 * 16 * 17 / 2;
    assert_eq!(w.processes[2].threads.len(), 1 + 163 + warehouses, "new warehouses at every point");
    // The live data of a new warehouse follow those of the point before: 0, then 1, then 8.
    let promoted = accesses(&w.processes[1].threads[1].ops);
    let starts: Vec<u64> =
        promoted.iter().filter(|a| a.pattern == Pattern::sequential()).map(|a| a.span.offset_bytes).collect();
    assert_eq!(starts[..3], [0, 25_000_000, 8 * 25_000_000]);
    let flat = [("first".to_string(), "8".to_string()), ("next".to_string(), "8".to_string())];
    let e = spec("specjbb-multi").resolve(&machine("milan-2s-nps1"), 0, &flat).unwrap_err();
    assert!(e.to_string().contains("points that rise"), "{e}");
}

#[test]
fn specjbb_points_last_ramp_below_the_expected_peak_and_measure_from_it_on() {
    // Seconds of work of all warehouses together, in slices of a cycle.
    let seconds = |set: &[(&str, &str)]| {
        let w = resolved("specjbb", "zen3-2s-128", 0, set);
        let mut ns = 0.0;
        for list in w.processes.iter().flat_map(lists) {
            each(list, &mut |op, times| {
                if let Op::LoopStart(Bound::Time { ns: slice }) = op {
                    ns += times as f64 * *slice as f64;
                }
            });
        }
        (w.scores.len(), ns / 1e9)
    };
    let (points, all) = seconds(&[("first", "8"), ("step", "8"), ("warehouses", "128")]);
    assert_eq!(points, 16);
    let want = 30.0 * (8..128).step_by(8).sum::<usize>() as f64 + 240.0 * 128.0;
    assert!((all / want - 1.0).abs() < 1e-6, "{all} s, {want} wanted");
    let (points, one) = seconds(&[("first", "1"), ("warehouses", "1")]);
    assert_eq!((points, one.round()), (1, 30.0));
}

#[test]
fn tbench_pairs_answer_every_request() {
    let w = resolved("tbench-pairs", "milan-2s-nps1", 0, &[("pairs", "5"), ("messages", "10")]);
    assert_eq!((w.processes.len(), w.channels), (10, 10));
    let mut balance = vec![0i128; 10];
    for ops in w.processes.iter().flat_map(lists) {
        each(ops, &mut |op, times| match op {
            Op::Signal { channel } => balance[*channel as usize] += times as i128,
            Op::Wait { channel } => balance[*channel as usize] -= times as i128,
            _ => {}
        });
    }
    assert_eq!(balance, [0; 10]);
}

#[test]
fn random_seek_touches_first_and_times_only_the_reads() {
    for (huge, advice) in [("1", HugeAdvice::Huge), ("0", HugeAdvice::NoHuge)] {
        let w = resolved("random-seek", "naples-2s", 0, &[("memory_node", "5"), ("huge_pages", huge)]);
        let p = &w.processes[0];
        assert_eq!((p.regions.len(), p.regions[0].advice), (1, advice));
        // The whole process is bound, with its page tables, as numactl does it.
        let bound = |ops: &[Op]| matches!(&ops[0], Op::SetPolicy(x) if x.nodes == [5]);
        assert!(bound(&p.prologue) && bound(&p.threads[0].ops));
        assert_eq!(accesses(&p.prologue)[0].write, 1.0);
        let ops = &p.threads[0].ops[1..];
        assert!(matches!(ops[0], Op::ScoreClock { run: true, .. }));
        assert!(matches!(ops[ops.len() - 1], Op::ScoreClock { run: false, .. }));
        assert_eq!(accesses(ops)[0].pattern, Pattern::chase());
    }
    let e = spec("random-seek").resolve(&machine("naples-2s"), 0, &[("memory_node".into(), "8".into())]).unwrap_err();
    assert!(e.to_string().contains("nodes 0 to 7"), "{e}");
}

#[test]
fn swap_storm_has_the_sizes_of_the_scenario() {
    // thp-and-allocation.md section 14: 8 x 16 GiB, a guest of 40 GiB, 2 GiB of cache on node 0.
    let w = resolved("swap-storm", "naples-2s", 0, &[]);
    assert_eq!(w.processes[0].regions[0].size_bytes, 2 << 30);
    assert_eq!(w.processes[0].regions[0].kind, RegionKind::FileRead);
    assert_eq!((w.processes[1].regions[0].size_bytes, w.processes[1].regions[0].advice), (40 << 30, HugeAdvice::Huge));
    let two = resolved("swap-storm", "naples-2s", 0, &[("guests", "2")]);
    assert_eq!(two.processes[2].regions[0].size_bytes, 20 << 30);
    assert_eq!(two.scores.len(), 2, "one per guest, for fairness");
}

#[test]
fn fragmented_node_leaves_no_free_huge_block() {
    let w = resolved("fragmented-node", "naples-2s", 0, &[]);
    let discards: Vec<_> = w.processes[0].threads[0]
        .ops
        .iter()
        .filter_map(|op| if let Op::Discard(s) = op { Some(*s) } else { None })
        .collect();
    assert_eq!(discards.len(), 8192, "one per 2 MiB block of 16 GiB");
    for (i, s) in discards.iter().enumerate() {
        assert_eq!((s.offset_bytes, s.len_bytes), (i as u64 * 2 * MIB, 204 * 4096));
    }
    assert_eq!(w.processes.len(), 1 + 7 + 1);
    assert_eq!(w.processes[3].regions[0].policy.as_ref().map(|p| p.nodes.clone()), Some(vec![3]));
}

/// Of the fills with zeros in autonumabench, only those of a whole buffer are long enough to bypass the caches of a
/// Milan. On the machine of 2012 none bypasses them.
#[test]
fn whole_buffers_stream_on_a_milan_and_slices_do_not() {
    let catalog = |name: &str| {
        let path = folder().join(format!("../machines/{name}.toml"));
        let text = std::fs::read_to_string(path).expect("a readable file");
        let find = |other: &str| {
            let path = folder().join(format!("../machines/{other}.toml"));
            std::fs::read_to_string(path).ok().map(|text| (format!("{other}.toml"), text))
        };
        numalab_model::machine::from_toml_with(name, &text, &find).unwrap_or_else(|e| panic!("{e}"))
    };
    let streams = |workload: &str, on: &str| -> Vec<bool> {
        let w = spec(workload).resolve(&catalog(on), 1, &[]).unwrap_or_else(|e| panic!("{e}"));
        let p = &w.processes[0];
        let last = p.threads.last().expect("a thread");
        let ops = p.prologue.iter().chain(last.ops.iter());
        ops.filter_map(|op| if let Op::Access(a) = op { Some(a.bypass) } else { None }).collect()
    };
    for (workload, on_a_milan) in [
        ("numa01", [true, true]),
        ("numa01_THREAD_ALLOC", [true, false]),
        ("numa02", [true, false]),
        ("numa02_SMT", [true, false]),
    ] {
        assert_eq!(streams(workload, "milan-2s-nps1"), on_a_milan, "{workload}");
        assert_eq!(streams(workload, "e7-4807-4s"), [false, false], "{workload}");
    }
}

#[test]
fn first_touch_refuses_slices_that_stay_in_a_core() {
    let with = |memory: &str| {
        spec("first-touch").resolve(&machine("milan-2s-nps1"), 1, &[("memory".into(), memory.into())]).map(|_| ())
    };
    assert_eq!(with("16MiB"), Ok(()));
    let e = with("15MiB").expect_err("256 threads").to_string();
    assert!(e.contains("64 KiB of `memory` per thread"), "{e}");
}

#[test]
fn numa02_smt_wants_two_cpus() {
    let on = |machine: &str, params: &[(String, String)]| {
        let machine = numalab_model::machine::from_shorthand(machine).unwrap_or_else(|e| panic!("{e}"));
        spec("numa02_SMT").resolve(&machine, 1, params).map(|w| w.processes[0].threads.len())
    };
    let e = on("1x1x1x1", &[]).expect_err("one CPU").to_string();
    assert!(e.contains("expected at least two CPUs, as there is one thread for every two"), "{e}");
    assert_eq!(on("1x1x1x1", &[("threads_per_process".into(), "1".into())]), Ok(2));
    assert_eq!(on("1x1x2x1", &[]), Ok(2), "one node will do");
}
