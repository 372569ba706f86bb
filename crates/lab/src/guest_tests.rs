//! Tests on real guests. They run when `NUMALAB_VM_TESTS=1`; the kernel is the packaged one, or the image named
//! by `NUMALAB_TEST_KERNEL`.

use crate::cache::Cache;
use crate::qemu::Timing;
use crate::shape::tests::machine;
use crate::shape::Shape;
use crate::vm::{run, Budgets, VmError, VmReport, VmRun};
use crate::worker;
use numalab_model::record::Outcome;
use numalab_model::workload::*;
use numalab_worker::job::Job;
use std::path::PathBuf;

fn enabled() -> bool {
    std::env::var("NUMALAB_VM_TESTS").is_ok_and(|v| v == "1")
}

fn kernel() -> PathBuf {
    std::env::var_os("NUMALAB_TEST_KERNEL").map(PathBuf::from).unwrap()
}

/// `threads` threads sweep their shares of memory that the first one touched.
pub(crate) fn first_touch(threads: usize, mib: u64, seconds: u64) -> Workload {
    let bytes = mib << 20;
    let share = bytes / threads as u64;
    let access = |offset_bytes, len_bytes, score| {
        let span = Span { region: 0, offset_bytes, len_bytes };
        Op::Access(Access { span, pattern: Pattern::Sequential, write: 1.0, compute_ns: 0.0, accesses: 1, score })
    };
    let thread = |t: usize| {
        let body = vec![
            Op::LoopStart(Bound::Time { ns: seconds * 1_000_000_000 }),
            access(t as u64 * share, share, Some((0, 1.0 / 64e6))),
            Op::LoopEnd,
        ];
        Thread { affinity: None, ops: body.into() }
    };
    let region = Region {
        name: "heap".into(),
        kind: RegionKind::PrivateAnon,
        size_bytes: bytes,
        misalign_bytes: 0,
        advice: HugeAdvice::NoHuge,
        policy: None,
        write: true,
    };
    let process = Process {
        name: "main".into(),
        parent: None,
        fork: ForkPoint::BeforePrologue,
        regions: vec![region],
        prologue: vec![access(0, bytes, None)].into(),
        threads: (0..threads).map(thread).collect(),
    };
    Workload {
        name: "first-touch".into(),
        title: String::new(),
        processes: vec![process],
        barrier_widths: vec![],
        channels: 0,
        scores: vec![Score { name: "rate".into(), unit: "Mlines/s".into(), higher_is_better: true, per_second: true }],
        limit_ns: 600_000_000_000,
        params: vec![],
        warnings: vec![],
    }
}

fn guest(shape: &Shape, timing: Timing) -> VmRun<'_> {
    VmRun {
        qemu: crate::qemu::default_program(),
        worker: worker::find_static().unwrap(),
        kernel: kernel(),
        shape,
        timing,
        kvm: false,
        shift: crate::qemu::DEFAULT_SHIFT,
        plugin: None,
        boot_options: vec![],
        budgets: Budgets::default(),
    }
}

fn go(vm: &VmRun<'_>, job: &Job) -> Result<VmReport, VmError> {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::at(directory.path()).unwrap();
    run(&cache, vm, job, &mut |p| eprintln!("{p:?}"))
}

/// One line per figure.
fn summary(outcome: &Outcome) -> String {
    let mut out = format!("{:?} {:?}\n", outcome.status, outcome.warnings);
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

#[test]
fn balancing_moves_first_touched_memory() {
    if !enabled() {
        return;
    }
    let mut m = machine(4, 1, 2, 1, false);
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 1 << 30);
    let shape = Shape::of(&m).unwrap();
    let job = Job::new(first_touch(8, 64, 8), 1, shape.node_of_cpu().iter().map(|&n| n as u32).collect(), 4);
    let report = go(&guest(&shape, Timing::Counters), &job).unwrap();
    eprintln!("boot {:?} run {:?} {}", report.boot, report.run, report.release);
    eprintln!("{}", summary(&report.outcome));
    assert!(report.outcome.counters.iter().any(|c| c.0 == "numa_hint_faults" && c.1 > 1000));
}

fn env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn charging_works_on_this_qemu() {
    if !enabled() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::at(directory.path()).unwrap();
    let shape = Shape::of(&machine(1, 1, 1, 1, false)).unwrap();
    let result = crate::selftest::run(&cache, &guest(&shape, Timing::Modelled)).unwrap();
    println!("{result:?}");
    assert_eq!(result.refusal(), None, "{result:?}");
}

#[test]
fn zz_try() {
    if env("TRY", 0) == 0 {
        return;
    }
    let mut m = machine(env("NODES", 4) as usize, 1, env("CORES", 2) as usize, env("SMT", 1) as usize, false);
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 1 << 30);
    let shape = Shape::of(&m).unwrap();
    let w = first_touch(env("THREADS", 8) as usize, env("MIB", 64), env("SECS", 20));
    let mut job = Job::new(w, env("SEED", 1), shape.node_of_cpu().iter().map(|&n| n as u32).collect(), m.nodes.len());
    let value = env("NB", 1).to_string();
    job.knobs.push(numalab_worker::job::Knob {
        name: "nb".into(),
        kernel_name: "sysctl kernel.numa_balancing".into(),
        value,
        unit: "".into(),
    });
    let timing = if env("MTTCG", 0) == 1 { Timing::Counters } else { Timing::Modelled };
    let mut vm = guest(&shape, timing);
    let cache = Cache::open().unwrap();
    if env("PLUGIN", 1) == 1 {
        let library = crate::plugin::library(&cache).unwrap();
        let config = crate::plugin::Model::of(&m, &shape, env("DIV", 16)).config(timing, vm.shift).unwrap();
        vm.plugin = Some(crate::plugin::Plugin { library, config });
    }
    println!("CMD {}", crate::vm::command_line(&vm, 1));
    if env("KEEP", 0) == 1 {
        let w = std::fs::read(worker::find_static().unwrap()).unwrap();
        std::fs::write("/tmp/q/initrd", worker::initrd(&w, &job.to_bytes().unwrap())).unwrap();
        std::fs::write("/tmp/q/plugin.conf", vm.plugin.as_ref().unwrap().config.clone() + "log /tmp/q/plugin.log\n")
            .unwrap();
        return;
    }
    let report = run(&cache, &vm, &job, &mut |_| ()).unwrap();
    println!("boot {:?} run {:?} {}", report.boot, report.run, report.release);
    println!("{}", summary(&report.outcome));
    if let Some(log) = &report.plugin_log {
        std::fs::write("/tmp/plugin.log", log).unwrap();
        let r = crate::plugin::report::PluginReport::parse(log, shape.smp.cpus()).unwrap();
        println!("{} {:?}", r.charge, r.totals());
    }
    std::fs::write(
        std::env::var("OUT").unwrap_or("/tmp/out.json".into()),
        serde_json::to_vec(&report.outcome).unwrap(),
    )
    .unwrap();
}
