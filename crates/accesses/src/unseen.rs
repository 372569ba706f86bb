//! Slices whose accesses were not recorded get those of recorded ones.
//!
//! Problem: a long run is recorded in stretches (`plugin/sampling.c`), and what follows must not take what lies between
//! for idle.
//! Approach: between two stretches a thread goes on as it did in the second half of the one before, which showed
//! nothing new: its slices there are gone through by turns, each for as many instructions as it had. Counts of lines
//! are scaled to the instructions; pages are those of the slice that is repeated, and nobody touches one first.
//! Bounds: a thread without recorded slices before keeps a gap. A gap that is longer than all that it repeats takes one
//! round, scaled. At most [`MOST_LOOKS`] times as many cells are looked at as there are, whatever a file says.

use crate::format::{Cell, Slice};
use std::collections::BTreeMap;

/// Looks at cells for each cell of the record. Nine times as many instructions as a stretch has need about nine.
const MOST_LOOKS: usize = 64;

/// Slices and cells by thread and number.
type Slices = BTreeMap<(u16, u32), Slice>;

/// What a thread did before a gap, which it repeats in it.
struct Pattern<'a> {
    slices: Vec<(&'a Slice, &'a [Cell])>,
    next: usize,
}

/// Adds cells for all slices that were spared.
pub fn fill(slices: &Slices, cells: &mut Vec<Cell>) {
    if !slices.values().any(|s| s.is_spared) {
        return;
    }
    let mut of: BTreeMap<(u16, u32), Vec<Cell>> = BTreeMap::new();
    cells.iter().for_each(|c| of.entry((c.thread, c.slice)).or_default().push(*c));
    let mut threads: BTreeMap<u16, Vec<&Slice>> = BTreeMap::new();
    slices.values().for_each(|s| threads.entry(s.thread).or_default().push(s));
    let mut looks = MOST_LOOKS * cells.len();
    for own in threads.values() {
        let mut pattern = Pattern { slices: Vec::new(), next: 0 };
        let mut begin = 0;
        for (at, slice) in own.iter().enumerate() {
            if !slice.is_spared {
                continue;
            }
            if at > 0 && !own[at - 1].is_spared {
                pattern = Pattern { slices: second_half(&own[begin..at], &of), next: 0 };
            }
            begin = at + 1;
            cells.extend(pattern.repeated(slice, &mut looks));
        }
    }
}

/// The recorded slices that have the second half of a stretch's instructions.
fn second_half<'a>(stretch: &[&'a Slice], of: &'a BTreeMap<(u16, u32), Vec<Cell>>) -> Vec<(&'a Slice, &'a [Cell])> {
    let all = stretch.iter().fold(0u64, |sum, s| sum.saturating_add(s.insns));
    let mut before = 0u64;
    let mut out = Vec::new();
    for slice in stretch {
        if before >= all / 2 && slice.insns > 0 {
            out.push((*slice, of.get(&(slice.thread, slice.slice)).map_or(&[][..], Vec::as_slice)));
        }
        before = slice.insns.saturating_add(before);
    }
    out
}

impl Pattern<'_> {
    /// The cells of a spared slice.
    fn repeated(&mut self, slice: &Slice, looks: &mut usize) -> Vec<Cell> {
        let mut parts: BTreeMap<u32, Cell> = BTreeMap::new();
        let mut insns = 0u64;
        for _ in 0..self.slices.len() {
            let (from, cells) = self.slices[self.next];
            if insns >= slice.insns || *looks < cells.len() {
                break;
            }
            *looks -= cells.len();
            self.next = (self.next + 1) % self.slices.len();
            insns = insns.saturating_add(from.insns);
            cells.iter().for_each(|c| add(parts.entry(c.chunk).or_insert(blank(c, slice.slice)), c));
        }
        let share = slice.insns as f64 / insns.max(1) as f64;
        parts.into_values().map(|c| scaled(&c, share)).filter(|c| c.lines > 0).collect()
    }
}

/// A cell of a chunk that nothing was counted in.
fn blank(c: &Cell, slice: u32) -> Cell {
    Cell { thread: c.thread, slice, chunk: c.chunk, low: c.low, high: c.high, ..Cell::default() }
}

/// Counts of a cell that stand for visits.
fn counts(c: &mut Cell) -> [&mut u32; 10] {
    let Cell { lines, writes, near_reads, near_writes, far_reads, far_writes, forward, strided, runs, foreign, .. } = c;
    [lines, writes, near_reads, near_writes, far_reads, far_writes, forward, strided, runs, foreign]
}

fn add(to: &mut Cell, c: &Cell) {
    let mut from = *c;
    counts(to).into_iter().zip(counts(&mut from)).for_each(|(a, b)| *a = a.saturating_add(*b));
    (to.low, to.high) = (to.low.min(c.low), to.high.max(c.high));
    to.pages = to.pages.max(c.pages);
    to.stride = if c.strided > 0 { c.stride } else { to.stride };
}

fn scaled(c: &Cell, share: f64) -> Cell {
    let mut out = *c;
    counts(&mut out).into_iter().for_each(|n| *n = (f64::from(*n) * share).round() as u32);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(number: u32, insns: u64, is_spared: bool) -> ((u16, u32), Slice) {
        ((1, number), Slice { thread: 1, slice: number, insns, is_spared, ..Slice::default() })
    }

    fn cell(slice: u32, chunk: u32, lines: u32) -> Cell {
        Cell { thread: 1, slice, chunk, lines, writes: lines / 2, pages: 3, first: 3, ..Cell::default() }
    }

    #[test]
    fn a_gap_repeats_the_second_half_of_what_was_recorded() {
        // The first slice touches memory, the next two go over two chunks by turns.
        let recorded = [slice(1, 200, false), slice(2, 100, false), slice(3, 100, false)];
        let spared = [slice(4, 100, true), slice(5, 50, true), slice(6, 200, true), slice(7, 100, false)];
        let slices: Slices = recorded.into_iter().chain(spared).collect();
        let mut cells = vec![cell(1, 7, 999), cell(2, 8, 40), cell(3, 9, 60), cell(7, 8, 1)];
        fill(&slices, &mut cells);
        let added: Vec<_> = cells[4..].iter().map(|c| (c.slice, c.chunk, c.lines, c.writes, c.first)).collect();
        assert_eq!(added, [(4, 8, 40, 20, 0), (5, 9, 30, 15, 0), (6, 8, 40, 20, 0), (6, 9, 60, 30, 0)]);
        assert_eq!(cells[4].pages, 3);
    }

    /// What no recorder writes: slices of all instructions there are, and a great many of them.
    #[test]
    fn a_gap_of_any_length_takes_bounded_work() {
        let slices: Slices = (1..=1000).map(|n| slice(n, if n < 500 { 1 } else { u64::MAX }, n >= 500)).collect();
        let mut cells: Vec<Cell> = (1..500).map(|n| cell(n, n, 8)).collect();
        fill(&slices, &mut cells);
        assert!(cells.len() > 700 && cells.len() <= 499 * (MOST_LOOKS + 1), "{}", cells.len());
        assert!(cells.iter().any(|c| c.lines == u32::MAX));
    }

    #[test]
    fn a_thread_that_was_never_recorded_keeps_its_gap() {
        let slices: Slices = [slice(1, 100, true), slice(2, 10, false)].into();
        let mut cells = vec![cell(2, 1, 1)];
        fill(&slices, &mut cells);
        assert_eq!(cells.len(), 1);
    }
}
