//! Who visited which memory when: the cells of a record with the names of their mappings, and as maps of heat.

use crate::format::{CHUNK_BYTES, PAGE_BYTES};
use crate::image::{Area, Image};
use crate::record::AccessRecord;
use crate::regions;
use crate::sites::Site;
use std::collections::BTreeMap;

/// Bands of memory of a map, about.
const BANDS: u64 = 32;
/// Steps of time of a map.
pub const STEPS: usize = 64;
/// Most threads of a map, those with most lines.
const MOST_THREADS: usize = 12;
/// Share of a process's lines below which a mapping is not shown.
const LEAST_SHARE: f64 = 0.005;

/// What a thread did with up to 2 MiB of a mapping in a slice of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the program, and its process.
    pub process: String,
    /// Process.
    pub pid: u32,
    /// Number of the thread in its image.
    pub thread: u16,
    /// Model time at the begin of the slice, instructions.
    pub begin: u64,
    /// Model time at its end.
    pub end: u64,
    /// Name of the mapping: its file, "heap", a variable, or "memory".
    pub mapping: String,
    /// Where it comes from in the program, if that is known; else empty.
    pub place: String,
    /// First byte of the first page.
    pub address: u64,
    /// Bytes from there to the end of the last page.
    pub bytes: u64,
    /// Lines visited.
    pub lines: u64,
    /// Those of them that were written.
    pub written: u64,
    /// Those that the modelled private cache does not hold.
    pub beyond_private: u64,
    /// Those that the modelled share of the last-level cache does not hold either.
    pub beyond_llc: u64,
    /// Those that another thread wrote last.
    pub foreign: u64,
}

/// The mappings of an image, with what they are called.
struct Named<'a> {
    areas: Vec<Area>,
    sites: Vec<&'a Site>,
}

impl<'a> Named<'a> {
    fn of(image: &Image, sites: &'a [Site]) -> Self {
        let own = |s: &&Site| s.pid == image.head.pid || s.pid == image.head.parent;
        let sites: Vec<&Site> = sites.iter().filter(own).collect();
        Self { areas: regions::with_variables(regions::of(image), &sites), sites }
    }

    /// Name and place of an area; `None` is memory without a mapping, such as a stack.
    fn name(&self, area: Option<usize>) -> (String, String) {
        let Some(area) = area.map(|a| &self.areas[a]) else { return ("unmapped".into(), String::new()) };
        let name = if area.name.is_empty() { "memory".into() } else { area.name.clone() };
        (name, regions::place(area, &self.sites).unwrap_or_default())
    }
}

/// Cells of an image with their times and areas.
fn placed<'a>(
    image: &'a Image,
    areas: &'a [Area],
) -> impl Iterator<Item = (&'a crate::format::Cell, (u64, u64), Option<usize>)> {
    image.cells.iter().map(|c| {
        let slice = image.slices.get(&(c.thread, c.slice));
        let time = slice.map_or((0, 0), |s| (s.begin_clock, s.end_clock.max(s.begin_clock)));
        let alive = slice.map_or((0, u64::MAX), |_| time);
        (c, time, regions::find(areas, c.chunk, (c.low, c.high), alive))
    })
}

/// All cells of a record, in the order of images and files.
pub fn rows(record: &AccessRecord) -> Vec<Row> {
    let mut out = Vec::new();
    for image in &record.images {
        let named = Named::of(image, &record.sites);
        let mut names: BTreeMap<Option<usize>, (String, String)> = BTreeMap::new();
        for (c, (begin, end), area) in placed(image, &named.areas) {
            let (mapping, place) = names.entry(area).or_insert_with(|| named.name(area)).clone();
            let pages = u64::from(c.high.saturating_sub(c.low)) + 1;
            out.push(Row {
                process: image.name().to_string(),
                pid: image.head.pid,
                thread: c.thread,
                begin,
                end,
                mapping,
                place,
                address: u64::from(c.chunk) * CHUNK_BYTES + u64::from(c.low) * PAGE_BYTES,
                bytes: pages * PAGE_BYTES,
                lines: c.lines.into(),
                written: c.writes.into(),
                beyond_private: u64::from(c.near_reads) + u64::from(c.near_writes),
                beyond_llc: u64::from(c.far_reads) + u64::from(c.far_writes),
                foreign: c.foreign.into(),
            });
        }
    }
    out
}

/// A part of a mapping, as a row of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// Name of the mapping.
    pub mapping: String,
    /// Where it comes from, or empty.
    pub place: String,
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A map of a process: lines by thread, memory and time.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Name of the program.
    pub process: String,
    /// Process.
    pub pid: u32,
    /// Threads, those with most lines.
    pub threads: Vec<u16>,
    /// Threads that are not shown.
    pub left_out: usize,
    /// Memory in the order of addresses.
    pub bands: Vec<Band>,
    /// Model time at the left and at the right end, instructions.
    pub time: (u64, u64),
    /// Lines by thread, band and step of time ([`STEPS`]).
    pub lines: Vec<Vec<Vec<f64>>>,
}

/// Maps of the processes that visit most lines, at most so many.
pub fn maps(record: &AccessRecord, most: usize) -> Vec<Heat> {
    let mut images: Vec<&Image> = record.images.iter().filter(|i| i.lines() > 0).collect();
    images.sort_by_key(|i| (std::cmp::Reverse(i.lines()), i.number));
    images.into_iter().take(most).map(|i| map(i, &record.sites)).collect()
}

fn map(image: &Image, sites: &[Site]) -> Heat {
    let named = Named::of(image, sites);
    let cells: Vec<_> = placed(image, &named.areas).filter_map(|(c, t, a)| a.map(|a| (c, t, a))).collect();
    let mut used: BTreeMap<usize, (u64, u64, u64)> = BTreeMap::new();
    let mut of_thread: BTreeMap<u16, u64> = BTreeMap::new();
    for (c, _, area) in &cells {
        let chunk = u64::from(c.chunk) * CHUNK_BYTES;
        let a = &named.areas[*area];
        let low = (chunk + u64::from(c.low) * PAGE_BYTES).max(a.begin);
        let high = (chunk + (u64::from(c.high) + 1) * PAGE_BYTES).min(a.end).max(low + 1);
        let seen = used.entry(*area).or_insert((low, high, 0));
        *seen = (seen.0.min(low), seen.1.max(high), seen.2 + u64::from(c.lines));
        *of_thread.entry(c.thread).or_default() += u64::from(c.lines);
    }
    let all: u64 = used.values().map(|u| u.2).sum();
    used.retain(|_, u| u.2 as f64 >= LEAST_SHARE * all as f64);
    let (bands, first) = bands(&named, &used);
    let mut threads: Vec<u16> = of_thread.keys().copied().collect();
    threads.sort_by_key(|t| std::cmp::Reverse(of_thread[t]));
    let left_out = threads.len().saturating_sub(MOST_THREADS);
    threads.truncate(MOST_THREADS);
    threads.sort_unstable();
    let time = (cells.iter().map(|c| c.1 .0).min().unwrap_or(0), cells.iter().map(|c| c.1 .1).max().unwrap_or(0));
    let mut lines = vec![vec![vec![0.0; STEPS]; bands.len()]; threads.len()];
    for (c, (begin, end), area) in &cells {
        let (Some(t), Some(of)) = (threads.iter().position(|t| *t == c.thread), first.get(area)) else { continue };
        let chunk = u64::from(c.chunk) * CHUNK_BYTES;
        let low = chunk + u64::from(c.low) * PAGE_BYTES;
        let high = chunk + (u64::from(c.high) + 1) * PAGE_BYTES;
        let rows: Vec<usize> = of.clone().filter(|b| is_common(&bands[*b], low, high)).collect();
        let steps = step(*begin, time)..=step(*end, time);
        let share = f64::from(c.lines) / (rows.len() * steps.clone().count()).max(1) as f64;
        for b in rows {
            steps.clone().for_each(|s| lines[t][b][s] += share);
        }
    }
    let process = image.name().to_string();
    Heat { process, pid: image.head.pid, threads, left_out, bands, time, lines }
}

fn is_common(band: &Band, low: u64, high: u64) -> bool {
    band.address < high && low < band.address + band.bytes
}

/// The step of time in which a moment lies.
fn step(at: u64, (begin, end): (u64, u64)) -> usize {
    let share = (at.saturating_sub(begin)) as f64 / (end - begin).max(1) as f64;
    ((share * STEPS as f64) as usize).min(STEPS - 1)
}

/// Bands of the mappings in the order of addresses, and which of them each mapping has.
fn bands(
    named: &Named<'_>,
    used: &BTreeMap<usize, (u64, u64, u64)>,
) -> (Vec<Band>, BTreeMap<usize, std::ops::Range<usize>>) {
    let total: u64 = used.values().map(|u| u.1 - u.0).sum();
    let mut order: Vec<_> = used.iter().collect();
    order.sort_by_key(|(_, u)| u.0);
    let mut out = Vec::new();
    let mut of = BTreeMap::new();
    for (area, (low, high, _)) in order {
        let bytes = high - low;
        let count = (u128::from(bytes) * u128::from(BANDS) / u128::from(total.max(1))).max(1) as u64;
        let (mapping, place) = named.name(Some(*area));
        let begin = out.len();
        for n in 0..count {
            let at = |n: u64| low + (u128::from(bytes) * u128::from(n) / u128::from(count)) as u64;
            let (address, bytes) = (at(n), at(n + 1) - at(n));
            out.push(Band { mapping: mapping.clone(), place: place.clone(), address, bytes });
        }
        of.insert(*area, begin..out.len());
    }
    (out, of)
}
