//! The program that watches a guest, in the simulator.
//!
//! Problem: in a guest a ninth task wakes every second on a machine of eight CPUs that are all busy, to read the
//! kernel's files; whoever runs there waits, and idle CPUs appear for moments. A simulator without it is held against
//! another machine. Approach: the same task with the CPU time that it was seen to use. It runs as long as the programs
//! do and counts as one of them nowhere else.

use numalab_model::workload::{Bound, ForkPoint, Op, Process, Thread, Workload};
use numalab_worker::run::LOOK_NS;
use std::sync::Arc;

/// Looks ([`LOOK_NS`] apart) between two samples, the sample's own not counted.
const LOOKS: u64 = 3;
/// CPU time of a look, ns. This and the next two: `CLOCK_PROCESS_CPUTIME_ID` of the coordinator in a guest of Debian
/// 6.1, timing modelled, nine tasks of `cow-shared`: 68 ms for 24 looks.
const LOOK_CPU_NS: u64 = 2_800_000;
/// CPU time of a sample, ns (28.3 to 29.2 ms).
const SAMPLE_CPU_NS: u64 = 28_700_000;
/// CPU time of a sample that also reads where pages are, every other one, ns (50.7 to 52.2 ms).
const PLACEMENT_CPU_NS: u64 = 51_600_000;

/// The workload with the coordinator as its last process.
pub fn beside(workload: &Workload) -> Workload {
    let mut ops = vec![Op::LoopStart(Bound::Time { ns: workload.limit_ns })];
    for sample in [PLACEMENT_CPU_NS, SAMPLE_CPU_NS] {
        for cpu_ns in std::iter::repeat_n(LOOK_CPU_NS, LOOKS as usize).chain([sample]) {
            ops.push(Op::Sleep { ns: LOOK_NS, exponential: false });
            ops.push(Op::Compute { ns: cpu_ns });
        }
    }
    ops.push(Op::LoopEnd);
    let coordinator = Process {
        name: "coordinator".into(),
        parent: None,
        fork: ForkPoint::BeforePrologue,
        regions: Vec::new(),
        prologue: Arc::from([]),
        threads: vec![Thread { affinity: None, ops: ops.into() }],
        mems: None,
    };
    let mut out = workload.clone();
    out.processes.push(coordinator);
    out
}
