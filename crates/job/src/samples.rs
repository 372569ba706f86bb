//! Small jobs, for tests of this crate and of the worker.

use crate::job::Job;
use numalab_nouns::workload::{
    Access, ForkPoint, HugeAdvice, Op, Pattern, Process, Region, RegionKind, Span, Thread, Workload,
};

/// A private writable region.
pub fn region(name: &str, size_bytes: u64) -> Region {
    Region {
        name: name.into(),
        kind: RegionKind::PrivateAnon,
        size_bytes,
        misalign_bytes: 0,
        advice: HugeAdvice::NoHuge,
        policy: None,
        huge_policy: None,
        second_level_fault_ns: 0,
        pinned: false,
        pool_bytes: 0,
        write: true,
    }
}

/// A process with one thread running `ops`.
pub fn process(name: &str, regions: Vec<Region>, ops: Vec<Op>) -> Process {
    Process {
        name: name.into(),
        parent: None,
        fork: ForkPoint::BeforePrologue,
        regions,
        prologue: Vec::new().into(),
        threads: vec![Thread { affinity: None, ops: ops.into() }],
        mems: None,
        cpu_group: None,
    }
}

/// An access that is one sequential pass.
pub fn access(region: u32, offset_bytes: u64, len_bytes: u64, write: f64) -> Access {
    let span = Span { region, offset_bytes, len_bytes };
    Access { span, pattern: Pattern::sequential(), write, bypass: false, compute_ns: 0.0, accesses: 1, score: None }
}

/// A job of these processes without scores, on one node.
pub fn job(processes: Vec<Process>) -> Job {
    let workload = Workload {
        name: "test".into(),
        title: String::new(),
        processes,
        barrier_widths: vec![],
        channels: 0,
        futexes: Vec::new(),
        scores: vec![],
        limit_ns: 20_000_000_000,
        params: vec![],
        warnings: vec![],
        histograms: Default::default(),
    };
    Job::new(workload, 1, vec![0], 1)
}
