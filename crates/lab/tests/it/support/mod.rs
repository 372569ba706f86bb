//! Machines, workloads and a `vm` backend on the user's cache, for tests with guests.

#![allow(clippy::unwrap_used, dead_code)]

use numalab_lab::failure::RunError;
use numalab_lab::guest::Budgets;
use numalab_lab::image::{Image, ImageSpec};
use numalab_lab::qemu::Timing;
use numalab_lab::vm_backend::{Lab, Plan, Run, Settings};
use numalab_model::catalog::{Catalog, Kind};
use numalab_model::machine::Machine;
use numalab_model::record::Outcome;
use numalab_model::spec::SpecError;
use numalab_model::workload::*;
use numalab_worker::job::{Drill, Knob};
use std::time::Duration;

/// The image that `NUMALAB_TEST_KERNEL` names, or else the packaged kernel.
pub fn image(lab: &Lab) -> Image {
    let name = std::env::var("NUMALAB_TEST_KERNEL").unwrap_or_else(|_| "debian-6.12".into());
    lab.image(&ImageSpec::parse(&name).unwrap(), &mut |what| eprintln!("{what}")).unwrap()
}

/// A `vm` backend with short budgets.
pub fn lab(timing: Timing) -> Lab {
    let seconds = Duration::from_secs;
    let budgets = Budgets { boot: seconds(300), run: seconds(1200), silence: seconds(300) };
    Lab::open(Settings { budgets, ..Settings::new(timing) }).unwrap()
}

/// A machine of `nodes` nodes, each with `cpus` CPUs, 1 GiB and a small cache. The local latency is 80 ns.
pub fn machine(nodes: usize, cpus: usize, remote_ns: f64) -> Machine {
    let mut m = numalab_model::machine::from_shorthand(&format!("{nodes}x1x{cpus}x1")).unwrap();
    for (i, row) in m.latency_ns.iter_mut().enumerate() {
        for (j, ns) in row.iter_mut().enumerate() {
            *ns = if i == j { 80.0 } else { remote_ns };
        }
    }
    for node in &mut m.nodes {
        node.memory_bytes = 1 << 30;
    }
    for llc in &mut m.llcs {
        llc.size_bytes = 1 << 20;
    }
    m.cache.l2_bytes = 64 << 10;
    m.warnings.clear();
    m
}

/// A machine of the catalog.
pub fn catalog_machine(name: &str) -> Machine {
    let catalog = Catalog::embedded();
    let find = |n: &str| catalog.get(Kind::Machine, n).map(|f| (f.label.clone(), f.text.to_string()));
    numalab_model::machine::load(name, &find, &[]).unwrap()
}

/// A workload of the catalog, resolved for a machine.
pub fn catalog_workload(name: &str, machine: &Machine, params: &[(&str, &str)]) -> Result<Workload, SpecError> {
    let catalog = Catalog::embedded();
    let file = catalog.get(Kind::Workload, name).unwrap();
    let params: Vec<(String, String)> = params.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    numalab_model::workload::parse(&file.label, &file.text)?.resolve(machine, 1, &params)
}

/// One process whose first thread touches `mib` MiB before `threads` threads sweep their shares for `seconds`.
pub fn first_touch(threads: usize, mib: u64, seconds: f64) -> Workload {
    let bytes = mib << 20;
    let share = bytes / threads as u64;
    let access = |offset_bytes, len_bytes, score| {
        let span = Span { region: 0, offset_bytes, len_bytes };
        let accesses = len_bytes / 64;
        Op::Access(Access {
            span,
            pattern: Pattern::sequential(),
            write: 1.0,
            bypass: false,
            compute_ns: 0.0,
            accesses,
            score,
        })
    };
    let ns = (seconds * 1e9) as u64;
    let thread = |t: usize| {
        let sweep = access(t as u64 * share, share, Some((0, 1.0 / 64e6)));
        Thread { affinity: None, ops: vec![Op::LoopStart(Bound::Time { ns }), sweep, Op::LoopEnd].into() }
    };
    let region = Region {
        name: "heap".into(),
        kind: RegionKind::PrivateAnon,
        size_bytes: bytes,
        misalign_bytes: 0,
        advice: HugeAdvice::NoHuge,
        policy: None,
        huge_policy: None,
        second_level_fault_ns: 0,
        pinned: false,
        pool_bytes: 0,
        write: true,
    };
    let process = Process {
        name: "main".into(),
        parent: None,
        fork: ForkPoint::BeforePrologue,
        regions: vec![region],
        prologue: vec![access(0, bytes, None)].into(),
        threads: (0..threads).map(thread).collect(),
        mems: None,
        cpu_group: None,
    };
    let score = Score {
        name: "rate".into(),
        unit: "Mlines/s".into(),
        higher_is_better: true,
        per_second: true,
        best: false,
        latency: false,
    };
    Workload {
        name: "first-touch".into(),
        title: String::new(),
        processes: vec![process],
        barrier_widths: vec![],
        channels: 0,
        futexes: Vec::new(),
        scores: vec![score],
        limit_ns: 600_000_000_000,
        params: vec![],
        warnings: vec![],
        histograms: Default::default(),
    }
}

/// The setting `kernel.numa_balancing`.
pub fn balancing(on: bool) -> Knob {
    Knob {
        name: "system.numa_balancing".into(),
        kernel_name: "kernel.numa_balancing".into(),
        value: u8::from(on).to_string(),
        unit: String::new(),
        required: true,
    }
}

/// Runs a workload with balancing on or off.
pub fn run(lab: &Lab, image: &Image, machine: &Machine, workload: &Workload, on: bool, seed: u64) -> Run {
    // Without a value it is reported and not written.
    let period = Knob {
        name: "scan.scan_period_min_ms".into(),
        kernel_name: "debugfs sched/numa_balancing/scan_period_min_ms".into(),
        value: String::new(),
        unit: "ms".into(),
        required: false,
    };
    let knobs = [balancing(on), period];
    lab.run(&Plan { image, machine, workload, knobs: &knobs, program: None, seed, drill: None }, &mut |_| {}).unwrap()
}

/// The error of a run that provokes a failure.
pub fn drill(lab: &Lab, image: &Image, drill: Drill) -> RunError {
    let (machine, workload) = (machine(1, 1, 80.0), first_touch(1, 1, 0.01));
    let plan =
        Plan { image, machine: &machine, workload: &workload, knobs: &[], program: None, seed: 1, drill: Some(drill) };
    lab.run(&plan, &mut |_| {}).unwrap_err()
}

/// Value of a scalar.
pub fn scalar(outcome: &Outcome, name: &str) -> f64 {
    outcome.scalars.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// Value of a counter.
pub fn counter(outcome: &Outcome, name: &str) -> u64 {
    outcome.counters.iter().find(|c| c.0 == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// All figures of an outcome as text, one line each, for test output.
pub fn summary(outcome: &Outcome) -> String {
    let mut out = format!("{:?}\n", outcome.status);
    for w in &outcome.warnings {
        out += &format!("warning: {w}\n");
    }
    for s in &outcome.scalars {
        out += &format!("{} {} {}\n", s.name, s.value, s.unit);
    }
    for (name, value) in outcome.counters.iter().chain(&outcome.reasons) {
        out += &format!("{name}={value} ");
    }
    for s in &outcome.series {
        let last: Vec<f64> = s.values.iter().map(|v| *v.last().unwrap()).collect();
        out += &format!("\n{} x{}: {last:?}", s.name, s.time_ns.len());
    }
    out
}
