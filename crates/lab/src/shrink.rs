//! Divides the memory of a resolved workload.
//!
//! Sizes, offsets and access counts are divided alike: every thread keeps its share of every region, and a pass over a
//! span remains a pass. Loops, times and computation per line do not change.

use numalab_model::workload::{Access, DirectIo, ForkPoint, IoDirection, MovePages, Op, Process, Span, Workload};
use std::sync::Arc;

const PAGE: u64 = 4096;
const LINE: u64 = 64;

/// Memory that a workload can touch, bytes: its regions, and private copies of the regions that forks inherit.
pub fn memory_bytes(workload: &Workload) -> u64 {
    let own: Vec<u64> = workload.processes.iter().map(|p| p.regions.iter().map(|r| r.size_bytes).sum()).collect();
    let copied = |p: &Process| match (p.parent, p.fork) {
        // A child copies inherited memory only if it writes to it.
        (Some(q), ForkPoint::AfterPrologue) if writes_inherited(p, inherited(workload, q)) => own[q],
        _ => 0,
    };
    own.iter().sum::<u64>() + workload.processes.iter().map(copied).sum::<u64>()
}

/// Number of regions that are visible in process `p`.
fn inherited(workload: &Workload, p: usize) -> u32 {
    let process = &workload.processes[p];
    let before = match (process.parent, process.fork) {
        (Some(q), ForkPoint::AfterPrologue) => inherited(workload, q),
        _ => 0,
    };
    before + process.regions.len() as u32
}

fn writes_inherited(process: &Process, inherited: u32) -> bool {
    let ops = process.prologue.iter().chain(process.threads.iter().flat_map(|t| t.ops.iter()));
    ops.into_iter().any(|op| match op {
        Op::Access(a) => a.write > 0.0 && a.span.region < inherited,
        Op::DirectIo(io) => io.direction == IoDirection::Read && io.span.region < inherited,
        _ => false,
    })
}

/// The workload with all memory divided by `divisor`.
pub fn divide(workload: &Workload, divisor: u64) -> Workload {
    let mut out = workload.clone();
    let old_sizes: Vec<Vec<u64>> = (0..workload.processes.len()).map(|p| visible_sizes(workload, p)).collect();
    for process in &mut out.processes {
        for region in &mut process.regions {
            region.size_bytes = (region.size_bytes / divisor).next_multiple_of(PAGE).max(PAGE);
        }
    }
    let new_sizes: Vec<Vec<u64>> = (0..out.processes.len()).map(|p| visible_sizes(&out, p)).collect();
    for (p, process) in out.processes.iter_mut().enumerate() {
        let scale = |ops: &[Op]| -> Arc<[Op]> {
            ops.iter().map(|op| divide_op(op, divisor, &old_sizes[p], &new_sizes[p])).collect()
        };
        process.prologue = scale(&process.prologue);
        for thread in &mut process.threads {
            thread.ops = scale(&thread.ops);
        }
    }
    out
}

fn visible_sizes(workload: &Workload, p: usize) -> Vec<u64> {
    let process = &workload.processes[p];
    let mut out = match process.parent {
        None => Vec::new(),
        Some(q) if process.fork == ForkPoint::AfterPrologue => visible_sizes(workload, q),
        Some(q) => {
            let mut all = visible_sizes(workload, q);
            all.truncate(all.len() - workload.processes[q].regions.len());
            all
        }
    };
    out.extend(process.regions.iter().map(|r| r.size_bytes));
    out
}

fn divide_op(op: &Op, divisor: u64, old: &[u64], new: &[u64]) -> Op {
    let span = |s: Span| {
        let r = s.region as usize;
        // A span up to the end of its region still ends there; other spans keep their share, in whole lines.
        let (old, new) = (old.get(r).copied().unwrap_or(1).max(1), new.get(r).copied().unwrap_or(1));
        let at = |bytes: u64| (u128::from(bytes) * u128::from(new) / u128::from(old)) as u64 / LINE * LINE;
        let start = at(s.offset_bytes).min(new - LINE.min(new));
        let end = if s.offset_bytes + s.len_bytes >= old { new } else { at(s.offset_bytes + s.len_bytes) };
        let len = end.saturating_sub(start).max(LINE.min(s.len_bytes)).max(1);
        Span { region: s.region, offset_bytes: start, len_bytes: len }
    };
    match op {
        Op::Access(a) => {
            let span = span(a.span);
            // A pass has as many lines as its span.
            let of_pass = a.pattern.walk().lines_of_pass(span.len_bytes);
            let accesses = of_pass.unwrap_or((a.accesses / divisor).max(1));
            Op::Access(Access { span, accesses, ..*a })
        }
        Op::Discard(s) => Op::Discard(span(*s)),
        Op::MovePages(m) => Op::MovePages(MovePages { span: span(m.span), nodes: m.nodes.clone() }),
        Op::DirectIo(io) => {
            // Regions have whole pages, and so have the spans of direct I/O.
            let page = DirectIo::UNIT_BYTES;
            let cut = span(io.span);
            let offset_bytes = cut.offset_bytes / page * page;
            let len_bytes = (cut.offset_bytes + cut.len_bytes - offset_bytes).max(page) / page * page;
            let span = Span { region: cut.region, offset_bytes, len_bytes };
            let small = DirectIo { span, bytes: io.bytes.min(len_bytes), ..*io };
            let ios = if io.ios == io.places() { small.places() } else { (io.ios / divisor).max(1) };
            Op::DirectIo(DirectIo { ios, ..small })
        }
        other => other.clone(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use numalab_model::workload::{HugeAdvice, Pattern, Region, RegionKind, Thread};

    /// One process with one region, whose halves two threads sweep.
    pub(crate) fn workload(bytes: u64) -> Workload {
        let half = |n: u64| {
            let span = Span { region: 0, offset_bytes: n * bytes / 2, len_bytes: bytes / 2 };
            let access = Access {
                span,
                pattern: Pattern::sequential(),
                write: 1.0,
                bypass: false,
                compute_ns: 0.0,
                accesses: 1,
                score: None,
            };
            Thread { affinity: None, ops: vec![Op::Access(access), Op::Discard(span)].into() }
        };
        let region = Region {
            name: "r".into(),
            kind: RegionKind::PrivateAnon,
            size_bytes: bytes,
            misalign_bytes: 0,
            advice: HugeAdvice::Default,
            policy: None,
            huge_policy: None,
            second_level_fault_ns: 0,
            pinned: false,
            pool_bytes: 0,
            write: true,
        };
        let process = Process {
            name: "p".into(),
            parent: None,
            fork: ForkPoint::BeforePrologue,
            regions: vec![region],
            prologue: vec![].into(),
            threads: vec![half(0), half(1)],
            mems: None,
            cpu_group: None,
        };
        Workload {
            name: "w".into(),
            title: String::new(),
            processes: vec![process],
            barrier_widths: vec![],
            channels: 0,
            futexes: Vec::new(),
            scores: vec![],
            limit_ns: 1,
            params: vec![],
            warnings: vec![],
            histograms: Default::default(),
        }
    }

    fn spans(w: &Workload) -> Vec<(u64, u64)> {
        let of = |op: &Op| match op {
            Op::Access(a) => (a.span.offset_bytes, a.span.len_bytes),
            Op::Discard(s) => (s.offset_bytes, s.len_bytes),
            _ => (0, 0),
        };
        w.processes[0].threads.iter().flat_map(|t| t.ops.iter().map(of)).collect()
    }

    #[test]
    fn threads_keep_their_shares() {
        let w = divide(&workload(1 << 30), 16);
        let half = 1 << 25;
        assert_eq!(w.processes[0].regions[0].size_bytes, 2 * half);
        assert_eq!(spans(&w), vec![(0, half), (0, half), (half, half), (half, half)]);
    }

    #[test]
    fn the_smallest_region_is_a_page_and_spans_stay_inside() {
        let mut w = workload(12288);
        w.processes[0].threads[1].ops = vec![Op::Discard(Span { region: 0, offset_bytes: 12287, len_bytes: 1 })].into();
        let w = divide(&w, 1 << 20);
        assert_eq!(w.processes[0].regions[0].size_bytes, 4096);
        assert!(spans(&w).iter().all(|(o, l)| o + l <= 4096 && *l > 0), "{:?}", spans(&w));
    }

    #[test]
    fn forks_that_write_inherited_memory_count_twice() {
        let mut w = workload(1 << 20);
        let mut child = w.processes[0].clone();
        (child.parent, child.fork, child.regions) = (Some(0), ForkPoint::AfterPrologue, vec![]);
        w.processes.push(child);
        assert_eq!(memory_bytes(&w), 2 << 20);
        for t in &mut w.processes[1].threads {
            t.ops = vec![Op::Join].into();
        }
        assert_eq!(memory_bytes(&w), 1 << 20);
    }
}
