//! How often parts of a region were visited, where no pattern says it.

use super::usage::{Order, Use};
use crate::format::{CHUNK_BYTES, PAGE_BYTES};
use std::collections::BTreeMap;

/// Most parts of a region.
const MOST_PARTS: u64 = 1024;
/// Parts of 2 MiB, so that a region that begins inside of 2 MiB is hardly blurred.
const PARTS_OF_CHUNK: u64 = 8;
/// Visits of the hottest tenth of a region against the others from which a pass over it is no pass.
const UNEVEN: f64 = 2.0;

/// Lines of equal parts of a region of `bytes` from `base_page` on; empty if a pattern says as much: a pass in order
/// visits all alike.
pub fn of(all: &Use, order: Order, base_page: u64, bytes: u64) -> Vec<u64> {
    let chunks = bytes.div_ceil(CHUNK_BYTES).max(1);
    let is_pass = matches!(order, Order::Sweep | Order::Strided(_));
    if all.lines == 0 || is_pass && !is_uneven(&all.chunks, chunks) {
        return Vec::new();
    }
    let parts = (chunks * PARTS_OF_CHUNK).min(MOST_PARTS);
    let begin = base_page * PAGE_BYTES;
    let end = begin + bytes.max(1);
    let mut out = vec![0.0; parts as usize];
    let width = (end - begin) as f64 / parts as f64;
    for (chunk, lines) in &all.chunks {
        // What a chunk has outside the region is a neighbour's.
        let from = u64::from(*chunk) * CHUNK_BYTES;
        let (from, to) = (from.max(begin), (from + CHUNK_BYTES).min(end));
        if from >= to {
            continue;
        }
        let (low, high) = ((from - begin) as f64 / width, (to - begin) as f64 / width);
        for part in low as usize..(high.ceil() as usize).min(out.len()) {
            let common = high.min(part as f64 + 1.0) - low.max(part as f64);
            out[part] += *lines as f64 * common.max(0.0) / (high - low);
        }
    }
    out.into_iter().map(|n| n.round() as u64).collect()
}

/// Whether a tenth of the chunks has several times the visits of the rest.
fn is_uneven(visits: &BTreeMap<u32, u64>, chunks: u64) -> bool {
    let mut all: Vec<u64> = visits.values().copied().collect();
    all.resize(all.len().max(chunks as usize), 0);
    all.sort_unstable_by(|a, b| b.cmp(a));
    let hot = all.len() / 10;
    let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len().max(1) as f64;
    hot > 0 && mean(&all[..hot]) > UNEVEN * mean(&all[hot..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(chunks: &[(u32, u64)]) -> Use {
        let mut out = Use { lines: 1, ..Use::default() };
        out.chunks = chunks.iter().copied().collect();
        out
    }

    #[test]
    fn parts_have_what_their_chunks_have() {
        let heat = of(&used(&[(0, 800), (1, 80)]), Order::Random, 0, 4 << 20);
        assert_eq!(heat, [vec![100; 8], vec![10; 8]].concat());
        // Half of the first chunk is no part of the region, and its lines are.
        let heat = of(&used(&[(0, 800), (1, 800)]), Order::Random, 256, 3 << 20);
        assert_eq!(heat.iter().sum::<u64>(), 1600);
        assert!(heat[0] > heat[15], "{heat:?}");
        assert_eq!(of(&used(&[(0, 5)]), Order::Random, 0, 1 << 40).len(), 1024);
    }

    #[test]
    fn an_even_pass_needs_no_histogram() {
        let even: Vec<(u32, u64)> = (0..20).map(|c| (c, 1000)).collect();
        assert!(of(&used(&even), Order::Sweep, 0, 40 << 20).is_empty());
        assert!(!of(&used(&even), Order::Random, 0, 40 << 20).is_empty());
        let mut hot = even;
        hot[3].1 = 9000;
        hot[4].1 = 9000;
        assert!(!of(&used(&hot), Order::Sweep, 0, 40 << 20).is_empty());
    }
}
