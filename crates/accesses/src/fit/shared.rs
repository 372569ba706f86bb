//! Memory that several processes share.
//!
//! Problem: a file or an anonymous mapping that processes map shared (MAP_SHARED) is one memory, however many map it.
//! Each image of a record has it at a place of its own. Approach: a shared mapping has a key, which is the name of its
//! file, or the process and address of an anonymous one, which children of a fork inherit. What the images touch of
//! one key is put together.

use super::region::word;
use crate::format::{CHUNK_BYTES, PAGE_BYTES};
use crate::image::{Area, Image};
use crate::record::AccessRecord;
use crate::regions;
use std::collections::{BTreeMap, BTreeSet};

/// Smallest shared memory, bytes from the first page touched to the last.
const LEAST_BYTES: u64 = 1 << 20;

/// Memory that several processes share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedMemory {
    /// Its name in the workload.
    pub name: String,
    /// First page that any of them touched, from the begin of the mapping.
    pub low_page: u64,
    /// Page behind the last one.
    pub end_page: u64,
    /// How many processes touch it.
    pub users: usize,
}

impl SharedMemory {
    /// Bytes from the first page touched to the last.
    pub fn bytes(&self) -> u64 {
        (self.end_page - self.low_page) * PAGE_BYTES
    }

    /// Its pages where an area maps it: the first, and the one behind the last.
    pub fn pages_in(&self, area: &Area) -> (u64, u64) {
        let begin = area.begin / PAGE_BYTES;
        (begin.saturating_add(self.low_page), begin.saturating_add(self.end_page))
    }
}

/// The shared memory of a record, by key.
pub type Sharing = BTreeMap<String, SharedMemory>;

/// The shared memory that an area is.
pub fn of<'a>(sharing: &'a Sharing, area: &Area) -> Option<&'a SharedMemory> {
    sharing.get(area.shared.as_ref()?)
}

/// Finds what several images of at least `least_lines` lines share.
pub fn find(record: &AccessRecord, least_lines: f64) -> Sharing {
    let mut seen: BTreeMap<String, (Seen, String)> = BTreeMap::new();
    for image in record.images.iter().filter(|i| i.lines() as f64 >= least_lines) {
        look(image, &mut seen);
    }
    let mut out = Sharing::new();
    for (key, (s, file)) in seen {
        if s.users.len() < 2 || (s.end - s.low) * PAGE_BYTES < LEAST_BYTES {
            continue;
        }
        let base = format!("shared_{}", if file.is_empty() { "memory".into() } else { word(&file) });
        let taken = out.values().filter(|m| m.name.starts_with(&base)).count();
        let name = if taken > 0 { format!("{base}{}", taken + 1) } else { base };
        out.insert(key, SharedMemory { name, low_page: s.low, end_page: s.end, users: s.users.len() });
    }
    out
}

/// Pages of shared memory that were touched, and the images that did.
struct Seen {
    low: u64,
    end: u64,
    users: BTreeSet<u64>,
}

fn look(image: &Image, seen: &mut BTreeMap<String, (Seen, String)>) {
    let areas = regions::of(image);
    for c in &image.cells {
        let Some(area) = regions::find(&areas, c.chunk, (c.low, c.high), image.times_of(c)) else { continue };
        let area = &areas[area];
        let Some(key) = &area.shared else { continue };
        let first = u64::from(c.chunk) * (CHUNK_BYTES / PAGE_BYTES);
        let (begin, end) = (area.begin / PAGE_BYTES, area.end.div_ceil(PAGE_BYTES));
        let low = (first + u64::from(c.low)).max(begin) - begin;
        let high = (first + u64::from(c.high) + 1).min(end).max(begin + low) - begin;
        let new = || (Seen { low, end: high, users: BTreeSet::new() }, area.name.clone());
        let (known, _) = seen.entry(key.clone()).or_insert_with(new);
        known.low = known.low.min(low);
        known.end = known.end.max(high);
        known.users.insert(image.number);
    }
}
