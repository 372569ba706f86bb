//! Windows: where in a region a thread is at a time, if it moves through it.
//!
//! Problem: a program that sorts, packs or searches goes through its memory piece by piece, and is in each of them for
//! a while. As accesses at random all over the region, all of it would be touched at once, and be used again after
//! each mark of the scanner.
//! Approach: a phase keeps the stretches of time that it was joined from. Where the parts of a phase visit few of the
//! chunks that all of it visits, the phase is so many phases, each with the runs of chunks that it visits.
//! Units: chunks of 2 MiB, lines.

use super::motion;
use super::pattern::{Part, Visit};
use super::stretch::Stretch;
use super::usage::{chunks_alike, Order, Use};
use crate::format::{CHUNK_BYTES, PAGE_BYTES};

/// Parts of equal time into which a phase is cut.
pub const PARTS: usize = 6;
/// Chunks that a part visits, against those of the whole, up to which a thread moves through a region.
const NARROW: f64 = 0.6;
/// Fewest chunks of a region, as many that are used alike, that show windows.
const FEWEST_CHUNKS: f64 = 3.0;
/// Share of a thread's lines from which a region decides whether a phase is cut.
const LEAST_LINES: f64 = 0.1;
/// Lines of a page, in a run of pages against the next one, from which they are used differently.
const HOTTER: f64 = 4.0;
/// Pages that are used, against the range from the first to the last, up to which a visit is in several parts.
const SPARSE: f64 = 0.6;
/// Gap up to which two runs are one, pages.
const CLOSE_PAGES: u64 = 64;
/// Most runs of a visit.
const MOST_RUNS: usize = 4;
/// Pages of a chunk.
const CHUNK_PAGES: u64 = CHUNK_BYTES / PAGE_BYTES;

/// A stretch in parts of about equal instructions: at most [`PARTS`].
fn parts(s: &Stretch) -> Vec<Stretch> {
    let all: u64 = s.windows.iter().map(|w| w.insns).sum();
    let mut out = vec![Stretch::default(); PARTS];
    let mut before = 0;
    for w in &s.windows {
        let at = ((before + w.insns / 2) * PARTS as u64 / all.max(1)).min(PARTS as u64 - 1) as usize;
        before += w.insns;
        let is_first = out[at].insns == 0 && out[at].uses.is_empty();
        out[at].add(w, is_first);
        out[at].windows.push(w.clone());
    }
    out
}

/// Whether a thread moves through what it visits in a stretch, which has `parts`, in a way that one window does not
/// follow.
fn moves(s: &Stretch, parts: &[Stretch]) -> bool {
    let least = LEAST_LINES * s.lines() as f64;
    let moves_through = |(area, whole): (&usize, &Use)| {
        let all = chunks_alike(whole.chunks.values());
        if (whole.lines as f64) < least
            || all < FEWEST_CHUNKS
            || matches!(whole.order(), Order::Sweep | Order::Strided(_))
        {
            return false;
        }
        let uses = parts.iter().filter_map(|p| p.uses.get(area));
        let weighed: f64 = uses.map(|u| u.lines as f64 * chunks_alike(u.chunks.values())).sum();
        weighed / whole.lines as f64 <= NARROW * all
            && motion::of(&[s], *area, (whole.low_page, whole.end_page)).is_none()
    };
    s.uses.iter().any(moves_through)
}

/// The stretches of several threads of a kind in one phase, part by part, if one of them moves through its memory;
/// else empty.
pub fn of(stretches: &[&Stretch]) -> Vec<Vec<Stretch>> {
    let parted: Vec<Vec<Stretch>> = stretches.iter().map(|s| parts(s)).collect();
    let is_full = parted.iter().flatten().all(|p| p.insns > 0);
    if !is_full || !stretches.iter().zip(&parted).any(|(s, p)| moves(s, p)) {
        return Vec::new();
    }
    (0..PARTS).map(|n| parted.iter().map(|p| p[n].clone()).collect()).collect()
}

/// A visit at random, or in blocks, of a region of which large parts lie between what it is about: as visits of the
/// runs of pages that it is about. Each may have a window that moves, of what `stretches` visit of the area.
pub fn apart(
    visit: Visit,
    all: &Use,
    (base_page, bytes): (u64, u64),
    (stretches, area): (&[&Stretch], usize),
) -> Vec<Visit> {
    if matches!(visit.order, Order::Sweep | Order::Strided(_)) || visit.part == Part::Slice {
        return vec![visit];
    }
    if let Some(motion) = motion::of(stretches, area, (all.low_page, all.end_page)) {
        // What looked like favoured lines is where the window was.
        let lines = all.lines as f64 / stretches.iter().filter(|s| s.uses.contains_key(&area)).count().max(1) as f64;
        let (tiers, heat) = (Vec::new(), Vec::new());
        return vec![Visit { motion: Some(motion), reuse: None, lines, tiers, heat, ..visit }];
    }
    let found = runs(all);
    let used: u64 = found.iter().map(|r| r.end - r.begin).sum();
    let is_full = used as f64 > SPARSE * (all.end_page - all.low_page) as f64;
    if found.is_empty() || is_full || visit.reuse.is_some() {
        return vec![visit];
    }
    let sum: u64 = found.iter().map(|r| r.lines).sum();
    let pages = (bytes / PAGE_BYTES).max(1) as f64;
    let share = |page: u64| (page.saturating_sub(base_page) as f64 / pages).clamp(0.0, 1.0);
    let one = |r: &Run| Visit {
        part: Part::Range(share(r.begin), share(r.end)),
        lines: visit.lines * r.lines as f64 / sum.max(1) as f64,
        passes: 0.0,
        motion: motion::of(stretches, area, (r.begin, r.end)),
        write_share: (r.written as f64 / r.lines.max(1) as f64).clamp(0.0, 1.0),
        tiers: Vec::new(),
        heat: Vec::new(),
        ..visit.clone()
    };
    let is_place = |v: &Visit| matches!(v.part, Part::Range(from, to) if to > from);
    let out: Vec<Visit> = found.iter().map(one).filter(is_place).collect();
    if out.is_empty() {
        vec![visit]
    } else {
        out
    }
}

/// Pages one after the other, with the lines visited and written there.
struct Run {
    begin: u64,
    end: u64,
    lines: u64,
    written: u64,
}

impl Run {
    /// Lines of a page.
    fn heat(&self) -> f64 {
        self.lines as f64 / (self.end - self.begin) as f64
    }
}

/// The runs of pages that a use is about: of each chunk from the first page to the last. Those that lie close together
/// and are used alike are one, and at most [`MOST_RUNS`] are left.
fn runs(all: &Use) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    for (chunk, &(low, high)) in &all.spans {
        let (base, lines) = (u64::from(*chunk) * CHUNK_PAGES, all.chunks.get(chunk).copied().unwrap_or(0));
        let written = all.written.get(chunk).copied().unwrap_or(0);
        out.push(Run { begin: base + u64::from(low), end: base + u64::from(high) + 1, lines, written });
    }
    let is_like = |a: &Run, b: &Run| (1.0 / HOTTER..=HOTTER).contains(&(a.heat() / b.heat()));
    while let Some(at) = (0..out.len().saturating_sub(1))
        .filter(|&i| {
            out.len() > MOST_RUNS || out[i + 1].begin - out[i].end <= CLOSE_PAGES && is_like(&out[i], &out[i + 1])
        })
        .min_by_key(|&i| out[i + 1].begin - out[i].end)
    {
        let next = out.remove(at + 1);
        let run = &mut out[at];
        (run.end, run.lines, run.written) = (next.end, run.lines + next.lines, run.written + next.written);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::pattern::{self, Caches};
    use super::*;
    use crate::format::Cell;

    const CACHES: Caches = Caches { near_bytes: 2 << 20, far_bytes: 4 << 20 };

    fn cell(chunk: u32, lines: u32, (low, high): (u16, u16)) -> Cell {
        Cell { chunk, lines, runs: lines, writes: lines / 2, low, high, ..Cell::default() }
    }

    /// A phase of 24 stretches; in the n-th a thread visits the chunks that `at` says.
    fn phase(at: impl Fn(u32) -> Vec<u32>) -> Stretch {
        let mut all = Vec::new();
        for n in 0..24 {
            let mut one = Stretch { insns: 1000, begin: u64::from(n) * 1000, ..Stretch::default() };
            for chunk in at(n) {
                one.uses.entry(0).or_default().add(&cell(chunk, 500, (0, 511)));
            }
            all.push(one);
        }
        Stretch::sum(&all)
    }

    #[test]
    fn who_goes_through_memory_piece_by_piece_has_windows() {
        // There and back.
        let moving = phase(|n| vec![n.min(23 - n), n.min(23 - n) + 1]);
        let parts = of(&[&moving]);
        assert_eq!(parts.len(), PARTS);
        let lines: u64 = parts.iter().flatten().map(Stretch::lines).sum();
        assert_eq!((lines, moving.lines()), (24_000, 24_000), "no line is lost");
        assert!(parts.iter().all(|p| p[0].uses[&0].chunks.len() <= 5));
        assert!(of(&[&phase(|n| vec![n / 2, n / 2 + 1])]).is_empty(), "one window follows it");
        assert!(of(&[&phase(|_| (0..12).collect())]).is_empty(), "everywhere all the time");
        assert!(of(&[&phase(|n| vec![n % 3])]).is_empty(), "by turns, faster than parts");
        assert!(of(&[&phase(|n| vec![n / 12])]).is_empty(), "too few chunks");
    }

    #[test]
    fn both_ends_of_a_range_are_two_visits() {
        let mut u = Use::default();
        [cell(0, 400, (0, 63)), cell(9, 100, (448, 511))].iter().for_each(|c| u.add(c));
        let extent = (0, 10 << 21);
        let visit = pattern::visit(0, &[&u], extent, &CACHES);
        let out = apart(visit.clone(), &u, extent, (&[], 0));
        let part = |v: &Visit| (v.part, v.lines.round());
        let pages = 5120.0;
        assert_eq!(part(&out[0]), (Part::Range(0.0, 64.0 / pages), 400.0));
        assert_eq!(part(&out[1]), (Part::Range(5056.0 / pages, 1.0), 100.0));
        assert_eq!(out.iter().map(|v| v.lines).sum::<f64>(), visit.lines);
        u.add(&cell(4, 400, (0, 511)));
        (0..10).for_each(|chunk| u.add(&cell(chunk, 400, (0, 511))));
        assert_eq!(apart(visit.clone(), &u, extent, (&[], 0)), [visit], "all of it is used");
    }
}
