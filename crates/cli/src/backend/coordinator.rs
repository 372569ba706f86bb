//! The model of the coordinator, the task that samples a guest.
//!
//! Problem: in a guest, the coordinator wakes every second to read the kernel's files, on a machine whose CPUs are all
//! busy. The task that it preempts waits, and CPUs become idle for moments. A simulation without it would be compared
//! with another machine. Approach: the simulator runs the same task, with the CPU time that was measured in a guest.
//! The task ends with the programs, and does not delay the end of the run.

use numalab_model::workload::{Bound, ForkPoint, Op, Process, Thread, Workload};
use numalab_worker::run::POLL_NS;
use std::sync::Arc;

/// Number of polls between two samples. Polls are [`POLL_NS`] apart; the poll of the sample itself is not counted.
const LOOKS: u64 = 3;
/// CPU time of a poll, ns. Source of this and the next two constants: `CLOCK_PROCESS_CPUTIME_ID` of the coordinator in
/// a guest of Debian 6.1 with timing `modelled` and the nine tasks of `cow-shared`; 24 polls took 68 ms.
const LOOK_CPU_NS: u64 = 2_800_000;
/// CPU time of a sample, ns (measured: 28.3 to 29.2 ms).
const SAMPLE_CPU_NS: u64 = 28_700_000;
/// CPU time of a sample that also reads the placement of pages, which every other sample does, ns (measured: 50.7 to
/// 52.2 ms).
const PLACEMENT_CPU_NS: u64 = 51_600_000;

/// The workload with the coordinator as its last process.
pub fn beside(workload: &Workload) -> Workload {
    let mut ops = vec![Op::LoopStart(Bound::Time { ns: workload.limit_ns })];
    for sample in [PLACEMENT_CPU_NS, SAMPLE_CPU_NS] {
        for cpu_ns in std::iter::repeat_n(LOOK_CPU_NS, LOOKS as usize).chain([sample]) {
            ops.push(Op::Sleep { ns: POLL_NS, exponential: false });
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
        cpu_group: None,
    };
    let mut out = workload.clone();
    out.processes.push(coordinator);
    out
}
