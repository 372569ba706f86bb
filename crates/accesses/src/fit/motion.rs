//! Motion: a window that goes through a part of a region in a phase, up or down.
//!
//! Problem: who packs a file or sorts an array uses a piece of memory for a while, and then the next one. A page that
//! was left is not used again, however often the scanner marks it.
//! Approach: where the middle of what is visited follows the time, the phase goes over the part in pieces as long as
//! the window, one after the other.
//! Units: pages, chunks of 2 MiB; shares of a region from 0 to 1.

use super::pattern::{Motion, Part, Phase};
use super::stretch::Stretch;
use super::usage::chunks_alike;
use crate::format::{CHUNK_BYTES, PAGE_BYTES};
use std::collections::BTreeMap;

/// Correlation of place and time from which a window moves evenly.
const EVEN: f64 = 0.95;
/// Fewest chunks through which a window moves.
const FEWEST_CHUNKS: u64 = 3;
/// Most pieces of a part.
const MOST_PIECES: f64 = 256.0;
/// Pages of a chunk.
const CHUNK_PAGES: u64 = CHUNK_BYTES / PAGE_BYTES;

/// Where a thread is at a time: the time as a share of its stretch, the middle of what it visits and how long that is,
/// in chunks, and its lines.
struct Point {
    time: f64,
    middle: f64,
    width: f64,
    lines: f64,
}

/// How threads move through pages of an area; `None` if they do not, or each in its own way.
pub fn of(stretches: &[&Stretch], area: usize, (begin, end): (u64, u64)) -> Option<Motion> {
    let (first, last) = (begin / CHUNK_PAGES, end.checked_sub(1)? / CHUNK_PAGES);
    if last - first + 1 < FEWEST_CHUNKS {
        return None;
    }
    let of_stretch = |s: &&Stretch| points(s, area, (first, last));
    let points: Vec<Point> = stretches.iter().flat_map(of_stretch).collect();
    let weight: f64 = points.iter().map(|p| p.lines).sum();
    let mean = |of: &dyn Fn(&Point) -> f64| points.iter().map(|p| p.lines * of(p)).sum::<f64>() / weight.max(1.0);
    let (time, middle) = (mean(&|p| p.time), mean(&|p| p.middle));
    let both = mean(&|p| (p.time - time) * (p.middle - middle));
    let (times, middles) = (mean(&|p| (p.time - time).powi(2)), mean(&|p| (p.middle - middle).powi(2)));
    let correlation = both / (times * middles).sqrt();
    let pieces = ((end - begin) as f64 / CHUNK_PAGES as f64 / usual_width(points).max(1.0)).round();
    let is_even = correlation.is_finite() && correlation.abs() >= EVEN && pieces >= 2.0;
    is_even.then(|| Motion { pieces: pieces.min(MOST_PIECES) as u32, falls: correlation < 0.0 })
}

/// The median of widths by lines. A point at which the window jumps shows two windows.
fn usual_width(mut points: Vec<Point>) -> f64 {
    points.sort_by(|a, b| a.width.total_cmp(&b.width));
    let half = points.iter().map(|p| p.lines).sum::<f64>() / 2.0;
    let mut before = 0.0;
    let is_half = |p: &&Point| {
        before += p.lines;
        before >= half
    };
    points.iter().find(is_half).map_or(0.0, |p| p.width)
}

/// The points of what a stretch was joined from, for the chunks of an area from the first to the last.
fn points(s: &Stretch, area: usize, (first, last): (u64, u64)) -> Vec<Point> {
    let all: u64 = s.windows.iter().map(|w| w.insns).sum();
    let mut before = 0;
    let mut out = Vec::new();
    for w in &s.windows {
        let time = (before as f64 + w.insns as f64 / 2.0) / all.max(1) as f64;
        before += w.insns;
        let Some(u) = w.uses.get(&area) else { continue };
        let chunks: BTreeMap<u32, u64> = u.chunks.range(first as u32..=last as u32).map(|(c, n)| (*c, *n)).collect();
        let lines: f64 = chunks.values().map(|n| *n as f64).sum();
        if lines > 0.0 {
            let middle = chunks.iter().map(|(c, n)| f64::from(*c) * *n as f64).sum::<f64>() / lines;
            out.push(Point { time, middle, width: chunks_alike(chunks.values()), lines });
        }
    }
    out
}

/// Into how many pieces a phase is divided: as many as the longest motion of its visits has. 1: nothing moves.
pub fn pieces(phase: &Phase) -> u32 {
    phase.visits.iter().filter_map(|v| v.motion).map(|m| m.pieces).max().unwrap_or(1)
}

/// The window of a part in piece number `piece` of `pieces`, as keys.
pub fn window(part: Part, motion: Motion, pieces: u32, size: &str) -> String {
    let (from, to) = match part {
        Part::Range(from, to) => (from, to),
        _ => (0.0, 1.0),
    };
    let width = (to - from) / f64::from(motion.pieces);
    // Cut off, not rounded: the last window must not go beyond the part.
    let cut = |share: f64| (share.max(0.0) * 1e6).floor() / 1e6;
    let (from, way, width) = (cut(from), cut(to - from - width), cut(width));
    let steps = pieces.max(2) - 1;
    let at = match motion.falls {
        false => format!("piece / {steps}"),
        true => format!("({steps} - piece) / {steps}"),
    };
    let offset = format!("floor(({from:.6} + {way:.6} * {at}) * {size})");
    format!(", offset = \"{offset}\", len = \"max(64B, floor({width:.6} * {size}))\"")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::format::Cell;

    /// A stretch of 30 parts, in the n-th of which a thread visits 4 chunks from `at` on.
    fn stretch(at: impl Fn(u32) -> u32) -> Stretch {
        let part = |n: u32| {
            let mut one = Stretch { insns: 1000, begin: u64::from(n) * 1000, ..Stretch::default() };
            for chunk in at(n)..at(n) + 4 {
                let cell = Cell { chunk, lines: 100, runs: 100, high: 511, ..Cell::default() };
                one.uses.entry(0).or_default().add(&cell);
            }
            one
        };
        Stretch::sum(&(0..30).map(part).collect::<Vec<_>>())
    }

    #[test]
    fn a_window_is_followed_up_and_down() {
        let (up, down) = (stretch(|n| 10 + n), stretch(|n| 39 - n));
        let pages = (10 * CHUNK_PAGES, 43 * CHUNK_PAGES);
        assert_eq!(of(&[&up], 0, pages), Some(Motion { pieces: 8, falls: false }));
        assert_eq!(of(&[&down, &down], 0, pages), Some(Motion { pieces: 8, falls: true }));
        assert_eq!(of(&[&up, &down], 0, pages), None, "each in its own way");
        assert_eq!(of(&[&stretch(|n| 10 + n * 7 % 30)], 0, pages), None, "anywhere");
        assert_eq!(of(&[&up], 1, pages), None, "not there");
        assert_eq!(of(&[&up], 0, (0, 0)), None);
    }

    #[test]
    fn windows_begin_and_end_with_their_part() {
        let motion = |falls: bool| Motion { pieces: 4, falls };
        let up = window(Part::Whole, motion(false), 4, "size");
        assert!(up.starts_with(", offset = \"floor((0.000000 + 0.750000 * piece / 3) * size)\""), "{up}");
        assert!(up.ends_with(", len = \"max(64B, floor(0.250000 * size))\""), "{up}");
        let down = window(Part::Range(0.5, 1.0), motion(true), 8, "size");
        assert!(down.contains("floor((0.500000 + 0.375000 * (7 - piece) / 7) * size)"), "{down}");
        // The last one of any part ends within it.
        for pieces in 2..40 {
            let text = window(Part::Range(0.1234567, 0.9999999), Motion { pieces, falls: false }, pieces, "1");
            let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
            let numbers: Vec<f64> = words.filter(|w| w.len() == 8).map(|w| w.parse().unwrap()).collect();
            assert_eq!(numbers.len(), 3);
            assert!(numbers.iter().sum::<f64>() <= 0.9999999, "{text}");
        }
    }
}
