//! Machines × kernels × workloads × seeds drawn by lot, for longer than a moment: whatever runs ends or reaches its
//! limit, with the engine's checks on, and its totals fit each other. `NUMALAB_SWEEP=N` makes N longer runs
//! (`make sweep`), drawn by `NUMALAB_SWEEP_SEED` if it is given (`make soak`).

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_base::rng::Rng;
use numalab_model::machine::Machine;
use numalab_model::record::{Outcome, Status};
use numalab_sim::SimError;

/// Runs of the short form.
const RUNS: usize = 40;
/// CPU-seconds of model time that a run may take at most, short and long form, and seconds.
const LIMITS: [(f64, f64); 2] = [(100.0, 2.0), (4000.0, 60.0)];
/// Slices are planned a tick ahead and kernel work may end after them: time that totals may be ahead of the end, s per
/// CPU.
const AHEAD_S: f64 = 0.1;

/// What must hold of the totals of any run.
fn check(what: &str, m: &Machine, o: &Outcome) {
    assert!(matches!(o.status, Status::Timeout | Status::Completed), "{what}: {:?}", o.status);
    let n = |name: &str| o.counters.iter().find(|c| c.0 == name).unwrap_or_else(|| panic!("{what}: no {name}")).1;
    let s = |name: &str| scalar(o, name);
    let (busy, room) = (s("user_s") + s("system_s"), m.cpu_count() as f64 * (s("elapsed_s") + AHEAD_S));
    assert!(busy <= room, "{what}: {busy} s of work in {room} s of all CPUs");
    // zone_statistics: an allocation is a hit or a miss, which is foreign to the node preferred, and local or other.
    let (hit, miss) = (n("numa_hit"), n("numa_miss"));
    assert_eq!(hit + miss, n("numa_local") + n("numa_other"), "{what}: allocations");
    assert_eq!(miss, n("numa_foreign"), "{what}: misses");
    assert!(n("numa_hint_faults_local") <= n("numa_hint_faults"), "{what}: local faults");
    assert!(n("numa_pages_migrated") <= n("pgmigrate_success"), "{what}: pages migrated");
    let series = o.series.iter().flat_map(|s| &s.values);
    assert!(series.flat_map(|v| v.iter()).all(|x| x.is_finite()), "{what}: a sample is no number");
}

/// The number that a variable of the environment has.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|n| n.parse().unwrap())
}

#[test]
fn runs_drawn_by_lot_end_with_totals_that_fit() {
    let asked = number("NUMALAB_SWEEP").map(|n| n as usize);
    let (runs, (cpu_s, most_s)) = (asked.unwrap_or(RUNS), LIMITS[usize::from(asked.is_some())]);
    // The long form draws others than the short one.
    let mut rng = Rng::new(number("NUMALAB_SWEEP_SEED").unwrap_or(asked.unwrap_or(0) as u64));
    let (machines, kernels, workloads) = (names("machines"), names("kernels"), names("workloads"));
    let mut lot = |names: &[String]| names[rng.below(names.len() as u64) as usize].clone();
    let mut ran = 0;
    for seed in 1.. {
        if ran == runs {
            break;
        }
        let (m, k, w) = (machine(&lot(&machines)), lot(&kernels), lot(&workloads));
        let what = format!("--machine {} --kernel {k} --workload {w} --seed {seed}", m.name);
        let path = format!("{}/../../catalog/workloads/{w}.toml", env!("CARGO_MANIFEST_DIR"));
        let spec = numalab_model::workload::parse(&w, &std::fs::read_to_string(path).unwrap()).unwrap();
        let Ok(mut workload) = spec.resolve(&m, seed, &[]) else { continue };
        workload.limit_ns = ((cpu_s / m.cpu_count() as f64).min(most_s) * 1e9) as u64;
        if asked.is_some() {
            println!("{what}");
        }
        match numalab_sim::run(&m, &workload, &kernel(&k), seed, true) {
            Ok(o) => check(&what, &m, &o),
            // Some memory is not modelled on every kernel, which the command says before it runs.
            Err(SimError::Unsupported(_)) => continue,
            Err(e) => panic!("{what}: {e}"),
        }
        ran += 1;
    }
}

/// A limit can come while the kernel copies pages: their targets are allocated and shown by no page table yet.
#[test]
fn runs_cut_off_while_pages_move_keep_their_books() {
    for (kernel_name, workload_name, params, from_ms, step_us) in [
        ("3.7-schednuma-v1r3", "numa01_THREAD_ALLOC", &[("memory", "64MiB"), ("loops", "12000")][..], 2000, 500),
        ("4.15", "cow-shared", &[][..], 1001, 130),
    ] {
        let m = machine("4x1x2x1");
        let k = kernel(kernel_name);
        for cut in 0..100 {
            let mut w = workload(workload_name, &m, 1, params);
            w.limit_ns = from_ms * 1_000_000 + cut * step_us * 1000;
            let o = numalab_sim::run(&m, &w, &k, 1, true);
            let o = o.unwrap_or_else(|e| panic!("{kernel_name} {workload_name} until {} ns: {e}", w.limit_ns));
            assert_eq!(o.status, Status::Timeout, "{kernel_name} {workload_name}");
        }
    }
}

/// Whoever of the processes has ended before.
#[test]
fn a_run_cut_off_lasts_to_its_limit() {
    let m = machine("2x1x2x1");
    let process = |name: &str, time: &str| {
        format!("[[process]]\nname = \"{name}\"\n[[process.phase]]\nsteps = [{{ compute = \"{time}\" }}]\n")
    };
    let mut w = inline(&format!("{}{}", process("short", "100ms"), process("long", "10s")), &m, 1, &[]);
    w.limit_ns = 1_000_000_000;
    let o = numalab_sim::run(&m, &w, &kernel("6.1"), 1, true).unwrap();
    assert_eq!(o.status, Status::Timeout);
    assert_eq!(scalar(&o, "elapsed_s"), 1.0);
    // Few busy cores run faster than the sustained clock, in which `compute` is counted.
    assert!((1.05..=1.1).contains(&scalar(&o, "user_s")));
}
