//! Tests on real guests. They run when `NUMALAB_VM_TESTS=1`; the kernel is the packaged one, or the image named
//! by `NUMALAB_TEST_KERNEL`.

use crate::cache::Cache;
use crate::qemu::Timing;
use crate::shape::tests::machine;
use crate::shape::Shape;
use crate::vm::{run, Budgets, VmError, VmReport, VmRun};
use crate::worker;
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
        scores: vec![Score {
            name: "rate".into(),
            unit: "Mlines/s".into(),
            higher_is_better: true,
            per_second: true,
        }],
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
    eprintln!("{:#?}", report.outcome);
    assert!(report.outcome.counters.iter().any(|c| c.0 == "numa_hint_faults" && c.1 > 1000));
}
