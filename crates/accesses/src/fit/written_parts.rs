//! Which part of memory that processes have of each other by a fork is written.
//!
//! Problem: a page that is written after a fork is copied, one that is read alone is not. One share of writes for all
//! of a region would have all of its pages copied.
//! Approach: a stretch of 2 MiB is written, or it is read only. Runs of either are visited apart, each with its own
//! lines and writes. If writes come alone, in passes of their own, they are visits of their own, before or after those
//! that read. Where the first or last stretch of a run has fewer writes than the run's fullest one, the run
//! begins or ends inside it.
//! Bounds: with more than three runs that are written, everything from the first to the last counts as written.

use super::pattern::{Part, Visit};
use super::usage::Use;
use crate::format::{CHUNK_BYTES, LINE_BYTES, PAGE_BYTES};

/// Fewest lines written in 2 MiB, against the pages there, from which they count as written.
const WRITTEN: f64 = 0.125;
/// Most runs that are written.
const MOST_RUNS: usize = 3;
/// Share of writes that come alone from which they are passes of their own.
const ALONE: f64 = 0.7;
/// Share of a region from which all of it counts as written.
const WHOLE: f64 = 0.95;

/// A stretch of a region that is written, or read only.
struct Stretch {
    from: f64,
    to: f64,
    lines: f64,
    writes: f64,
}

/// A visit as several, by what is written; as it is if all or nothing of it is. `all` is the use of all threads.
pub fn apart(visit: Visit, all: &Use, (base_page, bytes): (u64, u64)) -> Vec<Visit> {
    if visit.part == Part::Slice || visit.reuse.is_some() || !visit.tiers.is_empty() {
        return vec![visit];
    }
    let pieces = pieces(all, base_page * PAGE_BYTES, bytes);
    let runs = runs(&pieces, bytes);
    let writes: u64 = all.written.values().sum();
    let is_alone = all.written_alone as f64 >= ALONE * writes as f64 && all.read_from.is_some();
    let stretches = match runs.is_empty() {
        true => Vec::new(),
        false if is_alone => by_pass(&pieces, &runs, all.written_from < all.read_from),
        false => by_place(&pieces, &runs),
    };
    if stretches.len() < 2 {
        return vec![visit];
    }
    let threads = all.lines as f64 / visit.lines.max(1.0);
    let bytes = bytes as f64;
    // Passes as the whole visit counts them: by its lines and its distance.
    let (from, to) = match visit.part {
        Part::Range(from, to) => (from, to),
        _ => (0.0, 1.0),
    };
    let step = visit.passes * (to - from) * bytes / visit.lines.max(1.0);
    let one = |s: Stretch| {
        let lines = s.lines / threads;
        let write_share = (s.writes / s.lines.max(1.0)).clamp(0.0, 1.0);
        let passes = lines * step / ((s.to - s.from) * bytes).max(step.max(LINE_BYTES as f64));
        let part = if s.to - s.from >= WHOLE { Part::Whole } else { Part::Range(s.from, s.to) };
        Visit { part, lines, write_share, passes, heat: Vec::new(), tiers: Vec::new(), ..visit.clone() }
    };
    stretches.into_iter().map(one).filter(|v| v.lines >= 1.0).collect()
}

/// Lines and writes of 2 MiB, with its place as shares of the region.
struct Piece {
    from: f64,
    to: f64,
    lines: f64,
    writes: f64,
}

fn pieces(all: &Use, begin: u64, bytes: u64) -> Vec<Piece> {
    let end = begin + bytes.max(1);
    let share = |at: u64| (at.clamp(begin, end) - begin) as f64 / (end - begin) as f64;
    let of = |(chunk, lines): (&u32, &u64)| {
        let from = u64::from(*chunk) * CHUNK_BYTES;
        let writes = all.written.get(chunk).copied().unwrap_or(0);
        Piece { from: share(from), to: share(from + CHUNK_BYTES), lines: *lines as f64, writes: writes as f64 }
    };
    all.chunks.iter().map(of).filter(|p| p.to > p.from).collect()
}

/// Runs of pieces that are written, by their first and last.
fn runs(pieces: &[Piece], bytes: u64) -> Vec<(usize, usize)> {
    let pages = |p: &Piece| (p.to - p.from) * bytes as f64 / PAGE_BYTES as f64;
    let is_written: Vec<bool> = pieces.iter().map(|p| p.writes >= WRITTEN * pages(p)).collect();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (n, _) in is_written.iter().enumerate().filter(|(_, w)| **w) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => runs.push((n, n)),
        }
    }
    if let ([first, .., last], true) = (&runs[..], runs.len() > MOST_RUNS) {
        runs = vec![(first.0, last.1)];
    }
    runs
}

/// Passes that read all, and passes that write the runs, in the order in which they began.
fn by_pass(pieces: &[Piece], runs: &[(usize, usize)], writes_first: bool) -> Vec<Stretch> {
    let is_read = |p: &&Piece| p.lines - p.writes > 0.01 * p.lines;
    let read: Vec<&Piece> = pieces.iter().filter(is_read).collect();
    let (Some(first), Some(last)) = (read.first(), read.last()) else { return Vec::new() };
    let lines = read.iter().map(|p| (p.lines - p.writes).max(0.0)).sum();
    let mut out = vec![Stretch { from: first.from, to: last.to, lines, writes: 0.0 }];
    let of = |(first, last): &(usize, usize)| {
        let own = Run::of(&pieces[*first..=*last]);
        Stretch { from: own.from, to: own.to, lines: own.writes, writes: own.writes }
    };
    let at = if writes_first { 0 } else { 1 };
    out.splice(at..at, runs.iter().map(of));
    out
}

/// The region's stretches in the order of addresses; empty if there is only one.
fn by_place(pieces: &[Piece], runs: &[(usize, usize)]) -> Vec<Stretch> {
    let written: f64 = runs.iter().map(|(a, b)| pieces[*b].to - pieces[*a].from).sum();
    let (Some(low), Some(high)) = (pieces.first(), pieces.last()) else { return Vec::new() };
    if written >= WHOLE * (high.to - low.from) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut at = (low.from, 0);
    let mut left = 0.0;
    for &(first, last) in runs {
        let own = Run::of(&pieces[first..=last]);
        let before: f64 = pieces[at.1..first].iter().map(|p| p.lines).sum::<f64>() + left + own.lines_before;
        out.push(Stretch { from: at.0, to: own.from, lines: before, writes: 0.0 });
        out.push(Stretch { from: own.from, to: own.to, lines: own.lines, writes: own.writes });
        at = (own.to, last + 1);
        left = own.lines_behind;
    }
    let behind = pieces[at.1..].iter().map(|p| p.lines).sum::<f64>() + left;
    out.push(Stretch { from: at.0, to: high.to, lines: behind, writes: 0.0 });
    out.retain(|s| s.to - s.from > 1e-6 && s.lines >= 1.0);
    out
}

/// A run that is written: where it begins and ends inside its first and last 2 MiB, and the lines outside of it there.
struct Run {
    from: f64,
    to: f64,
    lines: f64,
    writes: f64,
    lines_before: f64,
    lines_behind: f64,
}

impl Run {
    fn of(pieces: &[Piece]) -> Self {
        let width = |p: &Piece| p.to - p.from;
        let fullest = pieces.iter().map(|p| p.writes / width(p)).fold(0.0, f64::max);
        let densest = pieces.iter().map(|p| p.lines / width(p)).fold(0.0, f64::max);
        let share = |p: &Piece| (p.writes / (fullest * width(p))).clamp(0.0, 1.0);
        // What is not written of a piece has the lines that the written part, as dense as any, leaves.
        let outside = |p: &Piece| (p.lines - share(p) * densest * width(p)).max(0.0);
        let (first, last) = (&pieces[0], &pieces[pieces.len() - 1]);
        let all = |of: &dyn Fn(&Piece) -> f64| pieces.iter().map(of).sum::<f64>();
        let is_one = pieces.len() == 1;
        let lines_before = if is_one { 0.0 } else { outside(first) };
        let lines_behind = if is_one { 0.0 } else { outside(last) };
        Self {
            from: if is_one { first.from } else { first.to - share(first) * width(first) },
            to: if is_one { last.to } else { last.from + share(last) * width(last) },
            lines: all(&|p| p.lines) - lines_before - lines_behind,
            writes: all(&|p| p.writes),
            lines_before,
            lines_behind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::pattern::{self, Caches};
    use crate::format::Cell;

    /// A region of 32 MiB that begins in the middle of 2 MiB.
    const EXTENT: (u64, u64) = (256, 32 << 20);

    /// Two passes over all, and two more that write from one page to another.
    fn visits(written: &[(u64, u64)]) -> Vec<Visit> {
        let (all, caches) = (used(written), Caches { near_bytes: 2 << 20, far_bytes: 4 << 20 });
        apart(pattern::visit(0, &[&all], EXTENT, &caches), &all, EXTENT)
    }

    fn used(written: &[(u64, u64)]) -> Use {
        let mut all = Use::default();
        for chunk in 0..17u32 {
            let pages = |(low, end): (u64, u64)| {
                let (first, last) = (u64::from(chunk) * 512, (u64::from(chunk) + 1) * 512);
                end.min(last).saturating_sub(low.max(first))
            };
            let reads = 2 * 64 * pages((256, 256 + 8192));
            let writes = 2 * 64 * written.iter().map(|w| pages(*w)).sum::<u64>();
            let (low, high) = (if chunk == 0 { 256 } else { 0 }, if chunk == 16 { 255 } else { 511 });
            let (lines, writes) = ((reads + writes) as u32, writes as u32);
            all.add(&Cell { chunk, lines, writes, low, high, runs: 1, ..Cell::default() });
        }
        all
    }

    #[test]
    fn writes_that_come_alone_are_passes_of_their_own() {
        let caches = Caches { near_bytes: 2 << 20, far_bytes: 4 << 20 };
        let of = |read_from: u64, written_from: u64| {
            let mut all = used(&[(256, 256 + 2048)]);
            all.written_alone = all.writes;
            (all.read_from, all.written_from) = (Some(read_from), Some(written_from));
            let v = apart(pattern::visit(0, &[&all], EXTENT, &caches), &all, EXTENT);
            v.iter().map(|v| (v.write_share, v.part == Part::Whole, v.passes.round())).collect::<Vec<_>>()
        };
        assert_eq!(of(5, 9), [(0.0, true, 2.0), (1.0, false, 2.0)]);
        assert_eq!(of(9, 5), [(1.0, false, 2.0), (0.0, true, 2.0)]);
    }

    #[test]
    fn what_is_written_is_apart_from_what_is_read() {
        // The first quarter, which ends in the middle of 2 MiB.
        let v = visits(&[(256, 256 + 2048)]);
        assert_eq!(v.len(), 2, "{v:?}");
        let Part::Range(from, to) = v[0].part else { panic!("{v:?}") };
        assert!(from.abs() < 1e-9 && (to - 0.25).abs() < 1e-9, "{from} {to}");
        assert!((v[0].write_share - 0.5).abs() < 1e-9 && (v[0].passes - 4.0).abs() < 1e-6, "{v:?}");
        assert!(v[1].write_share == 0.0 && (v[1].passes - 2.0).abs() < 1e-6, "{v:?}");
        let lines: f64 = v.iter().map(|v| v.lines).sum();
        assert!((lines - 2.5 * 524_288.0).abs() < 1.0, "{lines}");
        // Two runs in between.
        let v = visits(&[(1024, 3072), (5120, 6144)]);
        assert_eq!(v.iter().map(|v| v.write_share > 0.0).collect::<Vec<_>>(), [false, true, false, true, false]);
    }

    #[test]
    fn all_or_nothing_is_one_visit() {
        for written in [&[][..], &[(256, 256 + 8192)]] {
            let v = visits(written);
            assert!(v.len() == 1 && v[0].part == Part::Whole, "{v:?}");
        }
        // Many runs count as one, from the first to the last.
        let many: Vec<(u64, u64)> = (2..6).map(|n| (n * 1024, n * 1024 + 512)).collect();
        let v = visits(&many);
        assert_eq!(v.iter().map(|v| v.write_share > 0.0).collect::<Vec<_>>(), [false, true, false]);
    }
}
