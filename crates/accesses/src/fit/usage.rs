//! What threads did with a region: counts of lines, and the order in which they came.

use crate::format::{Cell, CHUNK_BYTES, LINE_BYTES, PAGE_BYTES};
use std::collections::BTreeMap;

/// Run length in lines from which accesses are a sweep.
const SWEEP_RUN: f64 = 4096.0;
/// Lines of a page.
const PAGE_RUN: f64 = (PAGE_BYTES / LINE_BYTES) as f64;
/// Visits of a line, and pages touched first, up to and from which all of a range is passed over once.
const FIRST_PASS: (f64, f64) = (1.1, 0.95);
/// Run length from which they are blocks.
const BLOCK_RUN: f64 = 2.0;
/// Share of a cell's lines that are hardly any.
const HARDLY: f64 = 0.1;
/// Share of visits at one distance from which they are strided.
const STRIDED: f64 = 0.5;

/// Use of a region.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Use {
    /// Lines visited.
    pub lines: u64,
    /// Those that were written.
    pub writes: u64,
    /// Those beyond the modelled private cache.
    pub near: u64,
    /// Those beyond the modelled share of the last-level cache.
    pub far: u64,
    /// Those that another thread wrote last.
    pub foreign: u64,
    /// Pages that were touched for the first time.
    pub first: u64,
    /// Visits at the distance of the visit before.
    pub strided: u64,
    /// Visits that neither follow the line before nor keep its distance.
    pub breaks: u64,
    /// The last distance of strided visits, lines.
    pub stride: i64,
    /// First page of those used, from address 0.
    pub low_page: u64,
    /// Page behind the last one.
    pub end_page: u64,
    /// Lines visited by chunk.
    pub chunks: BTreeMap<u32, u64>,
    /// Lines written by chunk.
    pub written: BTreeMap<u32, u64>,
    /// First and last page that were visited of a chunk, from its begin.
    pub spans: BTreeMap<u32, (u16, u16)>,
    /// Those written in cells that hardly read.
    pub written_alone: u64,
    /// When lines were first read in cells that hardly write, in model time.
    pub read_from: Option<u64>,
    /// When lines were first written in cells that hardly read.
    pub written_from: Option<u64>,
}

/// How lines follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// Every line after the other.
    Sweep,
    /// At a distance, bytes.
    Strided(u64),
    /// Blocks of so many bytes anywhere, each in order.
    Blocks(u64),
    /// Anywhere.
    Random,
}

/// As many chunks as are visited, if all were visited alike (the exponential of the entropy).
pub fn chunks_alike<'a>(lines: impl Iterator<Item = &'a u64> + Clone) -> f64 {
    let all: f64 = lines.clone().map(|n| *n as f64).sum();
    let share = |n: &u64| *n as f64 / all.max(1.0);
    lines.filter(|n| **n > 0).map(|n| -share(n) * share(n).ln()).sum::<f64>().exp()
}

impl Use {
    /// Adds a cell of a slice that began at a time.
    pub fn add_at(&mut self, c: &Cell, clock: u64) {
        self.add(c);
        let (all, writes) = (f64::from(c.lines), f64::from(c.writes));
        let earliest = |seen: Option<u64>| Some(seen.unwrap_or(clock).min(clock));
        if writes >= (1.0 - HARDLY) * all {
            self.written_alone += u64::from(c.writes);
            self.written_from = earliest(self.written_from);
        } else if writes <= HARDLY * all {
            self.read_from = earliest(self.read_from);
        }
    }

    /// Adds a cell.
    pub fn add(&mut self, c: &Cell) {
        let base = u64::from(c.chunk) * (CHUNK_BYTES / PAGE_BYTES);
        let (low, end) = (base + u64::from(c.low), base + u64::from(c.high) + 1);
        let one = Self {
            lines: c.lines.into(),
            writes: c.writes.into(),
            near: u64::from(c.near_reads) + u64::from(c.near_writes),
            far: u64::from(c.far_reads) + u64::from(c.far_writes),
            foreign: c.foreign.into(),
            first: c.first.into(),
            strided: c.strided.into(),
            // The first visit of a cell follows none.
            breaks: u64::from(c.runs).saturating_sub(1),
            stride: c.stride.into(),
            low_page: low,
            end_page: end,
            chunks: BTreeMap::from([(c.chunk, c.lines.into())]),
            spans: BTreeMap::from([(c.chunk, (c.low, c.high))]),
            written: if c.writes > 0 { BTreeMap::from([(c.chunk, c.writes.into())]) } else { BTreeMap::new() },
            ..Self::default()
        };
        self.join(&one);
    }

    /// Adds another use of the same region.
    pub fn join(&mut self, other: &Self) {
        if other.lines == 0 {
            return;
        }
        let is_first = self.lines == 0;
        self.low_page = if is_first { other.low_page } else { self.low_page.min(other.low_page) };
        self.end_page = self.end_page.max(other.end_page);
        self.lines += other.lines;
        self.writes += other.writes;
        self.near += other.near;
        self.far += other.far;
        self.foreign += other.foreign;
        self.first += other.first;
        self.breaks += other.breaks;
        if other.strided > self.strided {
            self.stride = other.stride;
        }
        self.strided += other.strided;
        for (chunk, lines) in &other.chunks {
            *self.chunks.entry(*chunk).or_default() += lines;
        }
        for (chunk, span) in &other.spans {
            let own = self.spans.entry(*chunk).or_insert(*span);
            *own = (own.0.min(span.0), own.1.max(span.1));
        }
        self.written_alone += other.written_alone;
        self.read_from = self.read_from.into_iter().chain(other.read_from).min();
        self.written_from = self.written_from.into_iter().chain(other.written_from).min();
        for (chunk, lines) in &other.written {
            *self.written.entry(*chunk).or_default() += lines;
        }
    }

    /// Bytes from the first page to the last.
    pub fn span_bytes(&self) -> u64 {
        (self.end_page - self.low_page) * PAGE_BYTES
    }

    /// Share of lines that were written.
    pub fn write_share(&self) -> f64 {
        self.writes as f64 / self.lines.max(1) as f64
    }

    /// Whether every page was touched first, and every line visited about once. So many blocks anywhere would leave a
    /// third of the pages out.
    fn is_first_pass(&self) -> bool {
        let (bytes, (most, least)) = (self.span_bytes() as f64, FIRST_PASS);
        bytes > 0.0
            && (self.lines * LINE_BYTES) as f64 <= most * bytes
            && (self.first * PAGE_BYTES) as f64 >= least * bytes
    }

    /// How its lines follow each other.
    pub fn order(&self) -> Order {
        let lines = self.lines as f64;
        if self.strided as f64 > STRIDED * lines {
            let bytes = self.stride.unsigned_abs().saturating_mul(LINE_BYTES);
            return if bytes <= LINE_BYTES { Order::Sweep } else { Order::Strided(bytes) };
        }
        let run = lines / (self.breaks + 1) as f64;
        if run >= PAGE_RUN && self.is_first_pass() {
            return Order::Sweep;
        }
        // A region that is no longer than a run is swept too.
        if run >= SWEEP_RUN.min(self.span_bytes() as f64 / LINE_BYTES as f64 / 2.0) {
            Order::Sweep
        } else if run >= BLOCK_RUN {
            Order::Blocks(run.round() as u64 * LINE_BYTES)
        } else {
            Order::Random
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(chunk: u32, lines: u32, strided: u32, runs: u32) -> Cell {
        Cell { chunk, lines, strided, runs, stride: 4, high: 511, ..Cell::default() }
    }

    #[test]
    fn the_order_follows_from_runs_and_distances() {
        let of = |cells: &[Cell]| {
            let mut u = Use::default();
            cells.iter().for_each(|c| u.add(c));
            u.order()
        };
        assert_eq!(of(&[cell(0, 32768, 0, 1), cell(1, 32768, 0, 1)]), Order::Sweep);
        assert_eq!(of(&[cell(0, 32768, 30000, 2)]), Order::Strided(256));
        assert_eq!(of(&[cell(0, 1024 * 32, 0, 33)]), Order::Blocks(993 * 64));
        assert_eq!(of(&[cell(0, 1000, 0, 990)]), Order::Random);
        // A fill that something interrupts every 100 lines is one all the same. So many blocks anywhere are none.
        let fill = |first: u16, lines: u32| Cell { first, ..cell(0, lines, 0, 327) };
        assert_eq!(of(&[fill(512, 32768)]), Order::Sweep);
        assert_eq!(of(&[fill(324, 32768)]), Order::Blocks(100 * 64));
        assert_eq!(of(&[fill(512, 2 * 32768)]), Order::Blocks(200 * 64));
    }

    #[test]
    fn spans_join() {
        let mut u = Use::default();
        u.add(&Cell { chunk: 2, lines: 1, low: 3, high: 7, ..Cell::default() });
        u.add(&Cell { chunk: 1, lines: 1, low: 500, high: 511, ..Cell::default() });
        assert_eq!((u.low_page, u.end_page, u.lines), (1012, 1032, 2));
        assert_eq!(u.span_bytes(), 20 * 4096);
    }
}
