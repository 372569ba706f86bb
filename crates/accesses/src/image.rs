//! A program image of a record, read from its file of units.

use crate::format::{self, Born, Cell, Edge, Ended, Head, Mapping, Slice, Unit, Work, Writer, UNIT};
use crate::unseen;
use std::collections::BTreeMap;

/// A mapping during its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub begin: u64,
    /// First byte behind it.
    pub end: u64,
    /// Model time at which it was mapped.
    pub from: u64,
    /// Model time at which it was unmapped; `u64::MAX` if it was not.
    pub to: u64,
    /// The last part of the file's name; "heap" or empty for memory without file.
    pub name: String,
    /// What it is called in all processes that share it, if it is mapped shared.
    pub shared: Option<String>,
    /// Whether the program asked for huge pages for most of it.
    pub is_huge: bool,
    /// Number of the image that mapped it, if it is private memory that this one has by a fork.
    pub inherited_from: Option<u64>,
}

impl Area {
    /// Private memory that is mapped at a time and stays.
    pub fn private((begin, end): (u64, u64), from: u64, name: String) -> Self {
        Self { begin, end, from, to: u64::MAX, name, shared: None, is_huge: false, inherited_from: None }
    }
}

/// A program image: what a process did between its begin or an exec, and its end or the next exec.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Number of its file.
    pub number: u64,
    /// Its head.
    pub head: Head,
    /// Path of the program, as far as it is kept.
    pub path: String,
    /// First byte of its code.
    pub code: u64,
    /// Threads by number.
    pub threads: BTreeMap<u16, Born>,
    /// Slices by thread and number.
    pub slices: BTreeMap<(u16, u32), Slice>,
    /// Counts, in the order of the file.
    pub cells: Vec<Cell>,
    /// Changes of the address space in the order of time, with names of files.
    pub mappings: Vec<(Mapping, Option<String>)>,
    /// Memory that it has of the process that forked it.
    pub inherited: Vec<Area>,
    /// Children for whose end it waited, with the model time at which it went on.
    pub reaped: Vec<(u32, u64)>,
    /// When it ended on the machine that recorded, and how long it had taken until then, ns. A signal leaves none.
    pub ended_at: Option<(u64, u64)>,
    /// Waits and wake-ups.
    pub edges: Vec<Edge>,
    /// Who writes what of lines that threads write by turns.
    pub writers: Vec<Writer>,
    /// What the kernel did, by thread and number of the slice.
    pub work: BTreeMap<(u16, u32), Work>,
}

impl Image {
    /// When a cell of it was counted, in model time.
    pub fn times_of(&self, c: &Cell) -> (u64, u64) {
        let slice = self.slices.get(&(c.thread, c.slice));
        slice.map_or((0, u64::MAX), |s| (s.begin_clock, s.end_clock.max(s.begin_clock)))
    }
    /// Lines that its threads visited.
    pub fn lines(&self) -> u64 {
        self.cells.iter().map(|c| u64::from(c.lines)).sum()
    }
    /// Instructions of its threads.
    pub fn insns(&self) -> u64 {
        self.threads.values().map(|t| t.insns).sum()
    }
    /// Instructions whose accesses were recorded.
    pub fn seen_insns(&self) -> u64 {
        self.slices.values().filter(|s| !s.is_spared).map(|s| s.insns).sum()
    }
    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
    /// Whether a signal ended it, as far as it can be told when the whole program has ended.
    pub fn was_killed(&self) -> bool {
        self.head.ended == Ended::Unsaid
    }
}

/// Reads the file of an image; `None` if it has no head.
pub fn image(number: u64, bytes: &[u8]) -> Option<Image> {
    let Some(Unit::Head(head)) = bytes.get(..UNIT).and_then(format::unit) else { return None };
    let mut image = Image {
        number,
        head,
        path: String::new(),
        code: 0,
        threads: BTreeMap::new(),
        slices: BTreeMap::new(),
        cells: Vec::new(),
        mappings: Vec::new(),
        inherited: Vec::new(),
        reaped: Vec::new(),
        ended_at: None,
        edges: Vec::new(),
        writers: Vec::new(),
        work: BTreeMap::new(),
    };
    let text = |number: u32| match bytes.chunks_exact(UNIT).nth(number as usize).and_then(format::unit) {
        Some(Unit::Text(text)) if number > 0 => Some(text),
        _ => None,
    };
    for unit in bytes.chunks_exact(UNIT).skip(1).filter_map(format::unit) {
        match unit {
            Unit::Cell(c) if c.lines > 0 => image.cells.push(c),
            Unit::Slice(s) => drop(image.slices.insert((s.thread, s.slice), s)),
            Unit::Born(b) => drop(image.threads.insert(b.thread, b)),
            Unit::Mapping(m) if m.call == EXECVE => {
                image.path = text(m.text).unwrap_or_default();
                image.code = m.address;
            }
            Unit::Mapping(m) if m.call == WAIT4 => image.reaped.push((m.address as u32, m.clock)),
            Unit::Mapping(m) if m.call == EXIT_GROUP => image.ended_at = Some((m.address, m.length)),
            Unit::Mapping(m) => image.mappings.push((m, text(m.text))),
            Unit::Edge(e) => image.edges.push(e),
            Unit::Writer(w) if w.writes > 0 => image.writers.push(w),
            Unit::Work(w) => drop(image.work.insert((w.thread, w.slice), w)),
            _ => {}
        }
    }
    image.mappings.sort_by_key(|(m, _)| m.clock);
    unseen::fill(&image.slices, &mut image.cells);
    Some(image)
}

/// Number of the system call under which the program itself is noted.
const EXECVE: u32 = libc::SYS_execve as u32;
/// Number under which the end of a child is noted that was waited for.
const WAIT4: u32 = libc::SYS_wait4 as u32;
/// Number under which the end of a process is noted.
const EXIT_GROUP: u32 = libc::SYS_exit_group as u32;

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// An image that has a head and nothing else.
    pub(crate) fn empty(number: u64) -> Image {
        let mut head = vec![0; UNIT];
        (head[0], head[2]) = (1, 1);
        head[16..24].copy_from_slice(&format::MAGIC.to_le_bytes());
        image(number, &head).unwrap()
    }

    #[test]
    fn any_file_is_read_without_panic() {
        // Bytes of a small generator: kinds of all sorts behind a right head.
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u8
        };
        let mut bytes = vec![0; UNIT];
        bytes[0] = 1;
        bytes[2] = 1;
        bytes[16..24].copy_from_slice(&format::MAGIC.to_le_bytes());
        for _ in 0..2000 {
            let at = bytes.len();
            bytes.extend((0..UNIT).map(|_| next()));
            bytes[at] = next() % 11;
            bytes[at + 1] = 0;
        }
        let read = image(0, &bytes).unwrap();
        assert!(!read.cells.is_empty() && !read.mappings.is_empty());
    }
}
