//! Two visits of a region as one.

use super::profile::{pieces, Piece};
use crate::fit::pattern::{Part, Tier, Visit};
use crate::fit::region::Region;
use crate::fit::usage::Order;
use crate::format::LINE_BYTES;

/// Most parts of a region that are told apart by their heat.
pub const MOST_TIERS: usize = 3;
/// Share of a visit's lines that may be elsewhere in a part of one heat.
const SAME_HEAT: f64 = 0.01;
/// Parts of a region that end so near to each other are one.
const NEAR: f64 = 1e-6;
/// Difference in parts and passes up to which visits in order are one.
const SAME_PASS: f64 = 0.05;
/// Share of writes up to which memory counts as only read.
const READ_MOSTLY: f64 = 0.02;
/// Most parts of a histogram.
const MOST_PARTS: usize = 1024;
/// Run length of blocks from which they are no single lines.
const BLOCK_RUN: f64 = 2.0;

/// Where visits are made.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The region.
    pub region: &'a Region,
    /// Whether processes have it of each other by a fork.
    pub is_forked: bool,
    /// Threads that make the visits.
    pub threads: usize,
}

/// A visit with so many times the lines.
pub fn times(v: &Visit, n: f64) -> Visit {
    Visit { lines: v.lines * n, passes: v.passes * n, ..v.clone() }
}

/// Two visits of a region by the same threads as one; `None` if that would be another order or another use.
pub fn join(a: &Visit, b: &Visit, at: Site<'_>) -> Option<Visit> {
    if a.region != b.region || a.reuse.is_some() != b.reuse.is_some() {
        return None;
    }
    if (a.part == Part::Slice) != (b.part == Part::Slice) || a.is_pass() != b.is_pass() {
        return None;
    }
    if a.is_pass() && (a.order != b.order || !are_one_pass(a, b)) {
        return None;
    }
    // Readers of memory that nobody writes would wait for writers.
    let is_written = |v: &Visit| v.write_share > READ_MOSTLY;
    if is_written(a) != is_written(b) {
        return None;
    }
    // Windows that move are one if they go the same way.
    if a.motion != b.motion || a.motion.is_some() && ends(a) != ends(b) {
        return None;
    }
    // What is written of it is copied, so it stays apart from what is only read.
    let is_same = |x: f64, y: f64| (x - y).abs() < 0.01;
    let ((af, at_), (bf, bt)) = (ends(a), ends(b));
    if at.is_forked && ((a.write_share > 0.0) != (b.write_share > 0.0) || !is_same(af, bf) || !is_same(at_, bt)) {
        return None;
    }
    Some(joined(a, b, at))
}

/// First and last place of a visit.
fn ends(v: &Visit) -> (f64, f64) {
    let all = pieces(v);
    (all.iter().map(|p| p.from).fold(1.0, f64::min), all.iter().map(|p| p.to).fold(0.0, f64::max))
}

/// Whether two passes are one over both their parts: over the same part, or next to each other equally often.
fn are_one_pass(a: &Visit, b: &Visit) -> bool {
    let ((af, at), (bf, bt)) = (ends(a), ends(b));
    let is_near = |x: f64, y: f64| (x - y).abs() <= SAME_PASS * (at - af).max(bt - bf);
    let is_same = is_near(af, bf) && is_near(at, bt);
    let follows = is_near(at, bf) || is_near(bt, af);
    is_same || follows && (a.passes - b.passes).abs() <= SAME_PASS * a.passes.max(b.passes)
}

fn joined(a: &Visit, b: &Visit, at: Site<'_>) -> Visit {
    let (major, lines) = (if a.lines >= b.lines { a } else { b }, a.lines + b.lines);
    let mean = |x: f64, y: f64| if lines > 0.0 { (x * a.lines + y * b.lines) / lines } else { x };
    let mut out = Visit {
        lines,
        write_share: mean(a.write_share, b.write_share),
        foreign: mean(a.foreign, b.foreign),
        reuse: a.reuse.zip(b.reuse).map(|(x, y)| mean(x, y)),
        order: order(a, b),
        heat: heat(a, b),
        tiers: Vec::new(),
        recorded: None,
        ..major.clone()
    };
    if out.part != Part::Slice {
        let mut of = refined(&[pieces(a), pieces(b)].concat());
        let most = if out.is_pass() || out.reuse.is_some() { 1 } else { MOST_TIERS };
        flatten(&mut of, most, SAME_HEAT * lines);
        shape(&mut out, &of);
    }
    pass(&mut out, at);
    out
}

/// The order of both together: that of more lines, with the mean length of blocks.
fn order(a: &Visit, b: &Visit) -> Order {
    let run = |v: &Visit| match v.order {
        Order::Blocks(bytes) => Some((bytes / LINE_BYTES).max(1) as f64),
        Order::Random => Some(1.0),
        Order::Sweep | Order::Strided(_) => None,
    };
    let major = if a.lines >= b.lines { a } else { b };
    let (Some(x), Some(y)) = (run(a), run(b)) else { return major.order };
    let run = (a.lines + b.lines) / (a.lines / x + b.lines / y).max(1e-9);
    if run.is_finite() && run >= BLOCK_RUN {
        Order::Blocks(run.round() as u64 * LINE_BYTES)
    } else {
        Order::Random
    }
}

/// Sets the part and the tiers of a visit.
pub fn shape(v: &mut Visit, of: &[Piece]) {
    let used = || of.iter().filter(|p| p.lines > 0.0);
    let from = used().map(|p| p.from).fold(1.0, f64::min);
    let to = used().map(|p| p.to).fold(0.0, f64::max);
    v.part = if from <= NEAR && to >= 1.0 - NEAR || from >= to { Part::Whole } else { Part::Range(from, to) };
    let all: f64 = used().map(|p| p.lines).sum();
    v.tiers = if used().count() > 1 {
        used().map(|p| Tier { from: p.from, to: p.to, accesses: p.lines / all }).collect()
    } else {
        Vec::new()
    };
}

/// Sets the passes of a visit by its lines.
fn pass(v: &mut Visit, at: Site<'_>) {
    let bytes = at.region.bytes as f64;
    let part = match v.part {
        Part::Slice => bytes / at.threads.max(1) as f64,
        Part::Whole => bytes,
        Part::Range(from, to) => (to - from) * bytes,
    };
    let step = match v.order {
        Order::Strided(stride) => stride as f64,
        _ => LINE_BYTES as f64,
    };
    v.passes = v.lines * step / part.max(step);
}

/// Stretches that may lie over each other as ones that do not, in the order of places, those between them too.
pub fn refined(all: &[Piece]) -> Vec<Piece> {
    let mut ends: Vec<f64> = all.iter().flat_map(|p| [p.from, p.to]).collect();
    ends.sort_by(f64::total_cmp);
    ends.dedup_by(|a, b| (*a - *b).abs() < NEAR);
    let of = |w: &[f64]| {
        let (from, to) = (w[0], w[1]);
        let common = |p: &Piece| (p.to.min(to) - p.from.max(from)).max(0.0) / (p.to - p.from).max(1e-12);
        Piece { from, to, lines: all.iter().map(|p| p.lines * common(p)).sum() }
    };
    ends.windows(2).map(of).collect()
}

/// Lines that are elsewhere if two neighbours are one.
fn apart(a: &Piece, b: &Piece) -> f64 {
    (a.lines - (a.lines + b.lines) * (a.to - a.from) / (b.to - a.from).max(1e-12)).abs()
}

/// Joins neighbours, the most alike first, until at most `most` have lines, and those for which no more than `free`
/// lines are elsewhere.
pub fn flatten(all: &mut Vec<Piece>, most: usize, free: f64) {
    while all.len() > 1 {
        let at = (0..all.len() - 1).min_by(|a, b| {
            let of = |n: usize| apart(&all[n], &all[n + 1]);
            of(*a).total_cmp(&of(*b))
        });
        let Some(at) = at else { break };
        let used = all.iter().filter(|p| p.lines > 0.0).count();
        if used <= most && apart(&all[at], &all[at + 1]) > free {
            break;
        }
        let next = all.remove(at + 1);
        all[at].to = next.to;
        all[at].lines += next.lines;
    }
}

/// A visit with a part of its region and the next as one.
pub fn with_part(v: &Visit, at: usize) -> Visit {
    let mut of = refined(&pieces(v));
    let used: Vec<usize> = (0..of.len()).filter(|n| of[*n].lines > 0.0).collect();
    let mut out = v.clone();
    if let (Some(&first), Some(&last)) = (used.get(at), used.get(at + 1)) {
        let lines = of[first..=last].iter().map(|p| p.lines).sum();
        let one = Piece { from: of[first].from, to: of[last].to, lines };
        of.splice(first..=last, [one]);
    }
    shape(&mut out, &of);
    out
}

/// The histogram of both together; empty if neither has one.
fn heat(a: &Visit, b: &Visit) -> Vec<u64> {
    let parts = a.heat.len().max(b.heat.len());
    let mut out = vec![0.0; parts];
    for v in [a, b].into_iter().filter(|_| parts > 0) {
        for p in histogram(v) {
            add(&mut out, p);
        }
    }
    out.into_iter().map(|n| n.round() as u64).collect()
}

/// A visit's stretches, as its histogram tells them if it has one.
fn histogram(v: &Visit) -> Vec<Piece> {
    let all = v.heat.iter().sum::<u64>() as f64;
    if all <= 0.0 {
        return pieces(v);
    }
    let width = 1.0 / v.heat.len() as f64;
    let of = |(n, lines): (usize, &u64)| Piece {
        from: n as f64 * width,
        to: (n + 1) as f64 * width,
        lines: v.lines * *lines as f64 / all,
    };
    v.heat.iter().enumerate().map(of).collect()
}

fn add(parts: &mut [f64], p: Piece) {
    let n = parts.len() as f64;
    let (low, high) = (p.from * n, (p.to * n).max(p.from * n + 1e-9));
    for part in (low as usize)..(high.ceil() as usize).min(parts.len()) {
        let common = high.min(part as f64 + 1.0) - low.max(part as f64);
        parts[part] += p.lines * common.max(0.0) / (high - low);
    }
}

/// A visit of a region that is now from `from` to `to` of a larger one, `site`.
pub fn moved(v: &Visit, region: usize, (from, to): (f64, f64), at: Site<'_>) -> Visit {
    let place = |share: f64| from + share * (to - from);
    let within = |p: Piece| Piece { from: place(p.from), to: place(p.to), ..p };
    let mut out = Visit { region, ..v.clone() };
    if v.part != Part::Slice {
        let of: Vec<Piece> = pieces(v).into_iter().map(within).collect();
        shape(&mut out, &of);
    }
    if !v.heat.is_empty() {
        let parts = ((v.heat.len() as f64 / (to - from).max(1e-3)).ceil() as usize).min(MOST_PARTS);
        let mut all = vec![0.0; parts.max(v.heat.len())];
        histogram(v).into_iter().for_each(|p| add(&mut all, within(p)));
        out.heat = all.into_iter().map(|n| n.round() as u64).collect();
    }
    pass(&mut out, at);
    out
}
