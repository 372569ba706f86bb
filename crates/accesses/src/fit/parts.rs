//! Parts of a mapping between which nothing is touched: a buffer of which only both ends are used is no buffer that is
//! used whole.

use crate::format::CHUNK_BYTES;
use crate::image::{Area, Image};
use crate::regions;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest chunks of 2 MiB in a row, touched by nobody, that part a mapping.
const GAP_CHUNKS: u32 = 8;

/// Areas, and the parts of those that have gaps as areas of their own. What processes share stays whole, since others
/// may use what this one does not.
pub fn with_parts(image: &Image, mut areas: Vec<Area>) -> Vec<Area> {
    let mut touched: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for c in &image.cells {
        if let Some(area) = regions::find(&areas, c.chunk, (c.low, c.high), image.times_of(c)) {
            touched.entry(area).or_default().insert(c.chunk);
        }
    }
    // The last of several areas that hold an address is taken, so parts stand last.
    for (area, chunks) in touched {
        let whole = areas[area].clone();
        let runs = runs(&chunks);
        if whole.shared.is_some() || runs.len() < 2 {
            continue;
        }
        let part = |(first, last): (u32, u32)| Area {
            begin: whole.begin.max(u64::from(first) * CHUNK_BYTES),
            end: whole.end.min((u64::from(last) + 1) * CHUNK_BYTES),
            ..whole.clone()
        };
        areas.extend(runs.into_iter().map(part));
    }
    areas
}

/// First and last chunk of each run without a gap.
pub fn runs(chunks: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let mut out: Vec<(u32, u32)> = Vec::new();
    for &chunk in chunks {
        match out.last_mut() {
            Some((_, last)) if chunk - *last <= GAP_CHUNKS => *last = chunk,
            _ => out.push((chunk, chunk)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Cell, Mapping};
    use crate::image::tests::empty;

    #[test]
    fn a_buffer_of_which_both_ends_are_used_is_two_parts() {
        let mut image = empty(0);
        let (begin, length) = (64 * CHUNK_BYTES + 4096, 64 * CHUNK_BYTES);
        let mapping = |flags: u32| {
            let call = libc::SYS_mmap as u32;
            (Mapping { call, address: begin, length, flags, ..Mapping::default() }, None)
        };
        let cell = |chunk: u32| Cell { chunk, lines: 9, low: 1, high: 511, ..Cell::default() };
        image.cells = [64, 65, 73, 100, 101].map(cell).to_vec();
        let ends = |image: &Image| -> Vec<(u64, u64)> {
            let areas = with_parts(image, regions::of(image));
            areas.iter().map(|a| (a.begin, a.end)).collect()
        };
        image.mappings = vec![mapping(2)];
        let whole = (begin, begin + length);
        let parts = [(begin, 74 * CHUNK_BYTES), (100 * CHUNK_BYTES, 102 * CHUNK_BYTES)];
        assert_eq!(ends(&image), [&[whole][..], &parts].concat(), "seven chunks are no gap");
        image.mappings = vec![mapping(1)];
        assert_eq!(ends(&image), [whole], "others may use the rest");
        image.mappings = vec![mapping(2)];
        image.cells.truncate(3);
        assert_eq!(ends(&image), [whole]);
    }
}
