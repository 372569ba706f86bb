//! Totals of a resolved workload, summed over its ops independently of the resolver.

use numalab_model::workload::{Access, Bound, Op, Process, Workload};

/// Calls `see(op, times)` for every op of `ops`, with the product of the counts of the loops around it.
pub fn each(ops: &[Op], see: &mut dyn FnMut(&Op, u128)) {
    let mut times: Vec<u128> = vec![1];
    for op in ops {
        let now = *times.last().expect("loops nest properly");
        match op {
            Op::LoopStart(Bound::Count(n)) => times.push(now * u128::from(*n)),
            Op::LoopStart(Bound::Time { .. }) => {
                see(op, now);
                times.push(now);
            }
            Op::LoopEnd => {
                times.pop();
            }
            op => see(op, now),
        }
    }
    assert_eq!(times, [1], "loops nest properly");
}

/// All op lists of a process: the prologue, then those of the threads.
pub fn lists(p: &Process) -> impl Iterator<Item = &[Op]> {
    std::iter::once(&p.prologue[..]).chain(p.threads.iter().map(|t| &t.ops[..]))
}

/// Bytes written by all writing passes.
pub fn bytes_written(w: &Workload) -> u128 {
    let mut sum = 0;
    for ops in w.processes.iter().flat_map(lists) {
        each(ops, &mut |op, times| {
            if let Op::Access(Access { span, write, .. }) = op {
                if *write > 0.0 {
                    sum += times * u128::from(span.len_bytes);
                }
            }
        });
    }
    sum
}

/// Checks every invariant of `workload/mod.rs` on which backends rely.
pub fn check_invariants(w: &Workload) {
    let mut widths = vec![0u32; w.barrier_widths.len()];
    let mut arrivals: Vec<Option<u128>> = vec![None; w.barrier_widths.len()];
    assert!(w.limit_ns > 0 && !w.processes.is_empty());
    let mut inherited: Vec<usize> = Vec::new();
    for (k, p) in w.processes.iter().enumerate() {
        let from = match p.parent {
            None => 0,
            Some(parent) => {
                assert!(parent < k, "{}: parents come first", p.name);
                let after = p.fork == numalab_model::workload::ForkPoint::AfterPrologue;
                inherited[parent] + if after { w.processes[parent].regions.len() } else { 0 }
            }
        };
        inherited.push(from);
        for r in &p.regions {
            assert!(r.size_bytes >= 4096 && r.size_bytes % 4096 == 0, "{}", r.name);
            assert!(r.misalign_bytes < 2 << 20 && r.misalign_bytes % 4096 == 0, "{}", r.name);
        }
        let region_count = from + p.regions.len();
        assert!(!p.threads.is_empty());
        for (i, t) in p.threads.iter().enumerate() {
            assert!(!t.ops.is_empty());
            let mut mine = vec![0u128; w.barrier_widths.len()];
            let prologue: &[Op] = if i == 0 { &p.prologue } else { &[] };
            for ops in [prologue, &t.ops] {
                check_loops(ops);
                each(ops, &mut |op, times| {
                    check_op(w, op, region_count as u32, i);
                    if let Op::Barrier { id, .. } = op {
                        mine[*id as usize] += times;
                    }
                });
            }
            for (id, n) in mine.into_iter().enumerate().filter(|(_, n)| *n > 0) {
                widths[id] += 1;
                assert_eq!(*arrivals[id].get_or_insert(n), n, "threads arrive equally often at barrier {id}");
            }
        }
    }
    assert_eq!(widths, w.barrier_widths);
}

/// Checks that no loop is empty, and that a loop bounded by time has no barrier or wait.
fn check_loops(ops: &[Op]) {
    let mut timed = Vec::new();
    for pair in ops.windows(2) {
        assert!(!matches!(pair, [Op::LoopStart(_), Op::LoopEnd]), "empty loop");
    }
    for op in ops {
        match op {
            Op::LoopStart(Bound::Count(n)) => {
                assert!(*n >= 1);
                timed.push(timed.last() == Some(&true));
            }
            Op::LoopStart(Bound::Time { ns }) => {
                assert!(*ns >= 1);
                timed.push(true);
            }
            Op::LoopEnd => {
                timed.pop();
            }
            Op::Barrier { .. } | Op::Wait { .. } => assert_ne!(timed.last(), Some(&true)),
            _ => {}
        }
    }
}

fn check_op(w: &Workload, op: &Op, regions: u32, thread: usize) {
    let score = |id: u32| assert!((id as usize) < w.scores.len());
    match op {
        Op::Access(a) => {
            assert!(a.span.region < regions && a.span.len_bytes >= 1 && a.accesses >= 1);
            assert!((0.0..=1.0).contains(&a.write) && a.compute_ns >= 0.0);
            if let Some((id, per_byte)) = a.score {
                score(id);
                assert!(per_byte > 0.0);
            }
        }
        Op::Discard(s) => assert!(s.region < regions && s.len_bytes >= 1),
        Op::MovePages(m) => {
            assert!(m.span.region < regions && m.span.len_bytes >= 1 && !m.nodes.is_empty());
        }
        Op::ReadFile(r) => {
            assert!(r.span.region < regions && r.into.region < regions && r.span.len_bytes >= 4096);
            assert!(r.bytes >= 4096 && r.bytes <= r.into.len_bytes && r.bytes % 4096 == 0);
        }
        Op::DirectIo(io) => {
            assert!(io.span.region < regions && io.span.len_bytes >= 4096 && io.ios >= 1 && io.latency_ns >= 1);
            assert!([io.span.offset_bytes, io.span.len_bytes, io.bytes].iter().all(|n| n % 4096 == 0));
            assert!(io.bytes >= 4096 && io.bytes <= io.span.len_bytes);
        }
        Op::Compute { ns } | Op::Sleep { ns, .. } => assert!(*ns >= 1),
        Op::Barrier { id, .. } => assert!((*id as usize) < w.barrier_widths.len()),
        Op::Signal { channel } | Op::Wait { channel } => assert!(*channel < w.channels),
        Op::ScoreClock { id, .. } | Op::Request { id, .. } => score(*id),
        Op::Score { id, amount } => {
            score(*id);
            assert!(*amount >= 0.0);
        }
        Op::Join => assert_eq!(thread, 0),
        Op::SetPolicy(_) | Op::LoopStart(_) | Op::LoopEnd => {}
    }
}
