//! About how much model time a workload takes, from its text alone.
//!
//! Only the number of samples in the time series depends on it. So it is a guess from the machine at rest: a thread's
//! compute time, sleeps, loops bounded by time, and memory at [`NS_PER_LINE`], times the threads for each CPU.
//! `move_pages` and `read` copy pages: each of their lines counts twice.

use numalab_nouns::machine::Machine;
use numalab_nouns::workload::{Bound, Op, Workload};
use std::sync::Arc;

/// Time of a line of 64 bytes that comes from memory, ns (10 GB/s).
const NS_PER_LINE: f64 = 6.4;

/// The guess, ns; at most the workload's limit.
pub(crate) fn model_time_ns(machine: &Machine, workload: &Workload) -> u64 {
    let threads: usize = workload.processes.iter().map(|p| p.threads.len()).sum();
    let share = (threads as f64 / machine.cpu_count().max(1) as f64).max(1.0);
    let (mut longest, mut before) = (0.0f64, None::<(&Arc<[Op]>, f64)>);
    for p in &workload.processes {
        let mut own = 0.0f64;
        for t in &p.threads {
            let ns = match before {
                Some((ops, ns)) if Arc::ptr_eq(ops, &t.ops) => ns,
                _ => program_ns(&t.ops, share),
            };
            before = Some((&t.ops, ns));
            own = own.max(ns);
        }
        longest = longest.max(program_ns(&p.prologue, 1.0) + own);
    }
    longest.min(workload.limit_ns as f64) as u64
}

/// Time of a program whose CPU work takes `share` times as long as alone, ns.
fn program_ns(ops: &[Op], share: f64) -> f64 {
    // Time of each open loop so far, and how often or how long it runs.
    let mut open = vec![(0.0, Bound::Count(1))];
    for op in ops {
        let ns = match op {
            Op::LoopStart(bound) => {
                open.push((0.0, *bound));
                continue;
            }
            Op::LoopEnd if open.len() > 1 => match open.pop() {
                Some((once, Bound::Count(n))) => once * n as f64,
                Some((_, Bound::Time { ns })) => ns as f64,
                None => 0.0,
            },
            Op::Compute { ns } => *ns as f64 * share,
            Op::Sleep { ns, .. } => *ns as f64,
            Op::DirectIo(io) => io.ios as f64 * io.latency_ns as f64,
            // Each line is read and written by a copy.
            Op::ReadFile(r) => 2.0 * r.span.len_bytes as f64 / 64.0 * NS_PER_LINE * share,
            Op::MovePages(m) => 2.0 * m.span.len_bytes as f64 / 64.0 * NS_PER_LINE * share,
            Op::Access(a) => a.accesses as f64 * (a.compute_ns + NS_PER_LINE) * share,
            _ => 0.0,
        };
        if let Some(top) = open.last_mut() {
            top.0 += ns;
        }
    }
    open.iter().map(|o| o.0).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_nouns::workload::{MovePages, ReadFile, Span};

    #[test]
    fn loops_multiply_or_last_as_long_as_they_say() {
        let compute = || Op::Compute { ns: 10 };
        let counted = [
            Op::LoopStart(Bound::Count(3)),
            compute(),
            Op::Sleep { ns: 5, exponential: false },
            Op::LoopEnd,
            compute(),
        ];
        assert_eq!(program_ns(&counted, 2.0), 3.0 * 25.0 + 20.0);
        let span = Span { region: 0, offset_bytes: 0, len_bytes: 6400 };
        let moved = [Op::MovePages(MovePages { span, nodes: vec![1] })];
        assert_eq!(program_ns(&moved, 1.0), 2.0 * 100.0 * NS_PER_LINE);
        let read = [Op::ReadFile(ReadFile { span, into: span, bytes: 4096 })];
        assert_eq!(program_ns(&read, 3.0), 3.0 * program_ns(&moved, 1.0));
        let timed = [Op::LoopStart(Bound::Time { ns: 700 }), compute(), Op::LoopEnd];
        assert_eq!(program_ns(&timed, 2.0), 700.0);
    }
}
