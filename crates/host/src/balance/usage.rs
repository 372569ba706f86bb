//! Which pages of which process are in use, as far as samples tell.

use numalab_kernel::userspace_balance::Used;
use std::collections::BTreeMap;

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
/// Largest number of pages of a chunk: those of one page of the page table, 2 MiB.
pub const CHUNK_PAGES: usize = 512;
/// Bytes of a chunk.
pub const CHUNK_BYTES: u64 = CHUNK_PAGES as u64 * PAGE_BYTES;
/// Largest number of chunks that are remembered, 1 TiB of mappings. Of more memory a part is sampled.
const CHUNKS_MAX: usize = 1 << 19;

/// A bit for each page of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits([u64; CHUNK_PAGES / 64]);

impl Bits {
    /// Sets the bit of a page. A number beyond the chunk is ignored.
    pub fn set(&mut self, page: usize) {
        if let Some(word) = self.0.get_mut(page / 64) {
            *word |= 1 << (page % 64);
        }
    }
    /// Whether the bit of a page is set.
    pub fn has(&self, page: usize) -> bool {
        self.0.get(page / 64).is_some_and(|w| w >> (page % 64) & 1 == 1)
    }
    /// Bits that either has.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }
    /// Pages whose bits are set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..CHUNK_PAGES).filter(|i| self.has(*i))
    }
    /// Bits of the first `pages` pages.
    pub fn first(pages: usize) -> Self {
        let mut out = Self::default();
        (0..pages.min(CHUNK_PAGES)).for_each(|i| out.set(i));
        out
    }
}

/// The chunk of an address in a mapping: its first address, and the first after it.
pub fn chunk_of(range: (u64, u64), at: u64) -> (u64, u64) {
    let first = at / CHUNK_BYTES * CHUNK_BYTES;
    (first.max(range.0), (first + CHUNK_BYTES).min(range.1))
}

/// Number of chunks of a mapping.
pub fn chunks(range: (u64, u64)) -> u64 {
    range.1.div_ceil(CHUNK_BYTES).saturating_sub(range.0 / CHUNK_BYTES)
}

/// What is known of a chunk.
#[derive(Clone, Debug, Default)]
struct Chunk {
    /// Pages that the last sample saw in use, and the one before.
    last: Bits,
    before: Bits,
    /// Pages in use on each node.
    on: Vec<u16>,
    /// Node whose CPUs alone use them, if that is known.
    user: Option<usize>,
}

/// Chunks by process and first address.
#[derive(Debug, Default)]
pub struct Usage(BTreeMap<(u32, u64), Chunk>);

impl Usage {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets chunks for which `keep` does not hold, by process and first address.
    pub fn retain(&mut self, keep: impl Fn(u32, u64) -> bool) {
        self.0.retain(|(pid, start), _| keep(*pid, *start));
    }

    /// Pages of a chunk that count as in use when a new sample has seen `last`: those of this and of the last sample.
    pub fn with(&self, pid: u32, start: u64, last: Bits) -> Bits {
        self.0.get(&(pid, start)).map_or(last, |c| c.last.or(last))
    }

    /// Takes in a sample of a chunk. `on` has the pages on each node of those that [`Usage::with`] named; of these,
    /// `gone` are no longer in memory.
    pub fn take(&mut self, pid: u32, start: u64, (last, gone): (Bits, Bits), on: Vec<u16>, user: Option<usize>) {
        if self.0.len() >= CHUNKS_MAX && !self.0.contains_key(&(pid, start)) {
            return;
        }
        let without = |bits: Bits| Bits(std::array::from_fn(|i| bits.0[i] & !gone.0[i]));
        let chunk = self.0.entry((pid, start)).or_default();
        *chunk = Chunk { before: without(chunk.last), last: without(last), on, user };
    }

    /// Pages in use of a mapping on `nodes` nodes, `None` if no chunk of it was sampled. Chunks that were not count as
    /// the others do on average.
    pub fn of(&self, pid: u32, range: (u64, u64), nodes: usize) -> Option<Used> {
        let mut known = 0;
        let mut pages = vec![0u64; nodes];
        let mut alone = vec![vec![0u64; nodes]; nodes];
        for (_, chunk) in self.0.range((pid, range.0)..(pid, range.1)) {
            known += 1;
            for (node, count) in chunk.on.iter().enumerate().take(nodes) {
                pages[node] += u64::from(*count);
                if let Some(sum) = chunk.user.and_then(|user| alone[node].get_mut(user)) {
                    *sum += u64::from(*count);
                }
            }
        }
        if known == 0 {
            return None;
        }
        let all = chunks(range).max(known);
        let scale = |n: &mut u64| *n = (u128::from(*n) * u128::from(all) / u128::from(known)) as u64;
        pages.iter_mut().for_each(scale);
        alone.iter_mut().flatten().for_each(scale);
        Some(Used { pages, alone })
    }

    /// The first page at or after `at` and before `range.1` that is in use and may move to `to`: one that CPUs of
    /// another node alone use may not. `range.1` if there is none.
    pub fn next(&self, pid: u32, range: (u64, u64), at: u64, to: usize) -> u64 {
        let (first, _) = chunk_of(range, at);
        for (&(_, start), chunk) in self.0.range((pid, first)..(pid, range.1)) {
            if chunk.user.is_some_and(|user| user != to) {
                continue;
            }
            let used = chunk.last.or(chunk.before);
            let from = (at.saturating_sub(start) / PAGE_BYTES) as usize;
            let page = used.iter().find(|p| *p >= from);
            if let Some(page) = page {
                return (start + page as u64 * PAGE_BYTES).min(range.1);
            }
        }
        range.1
    }

    /// Notes that a page has moved.
    pub fn moved(&mut self, pid: u32, range: (u64, u64), page: u64, (from, to): (usize, usize)) {
        let start = chunk_of(range, page).0;
        let Some(chunk) = self.0.get_mut(&(pid, start)) else { return };
        if let Some(count) = chunk.on.get_mut(from) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = chunk.on.get_mut(to) {
            *count = count.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const RANGE: (u64, u64) = (0x10_0000, 0x10_0000 + 3 * CHUNK_BYTES);

    #[test]
    fn chunks_are_cut_at_multiples_of_2_mib() {
        assert_eq!(chunks(RANGE), 4);
        assert_eq!(chunk_of(RANGE, RANGE.0 + 5), (RANGE.0, CHUNK_BYTES));
        assert_eq!(chunk_of(RANGE, RANGE.1 - 1), (3 * CHUNK_BYTES, RANGE.1));
        assert_eq!(chunks((CHUNK_BYTES, 2 * CHUNK_BYTES)), 1);
    }

    #[test]
    fn what_was_not_sampled_counts_as_the_rest_and_used_pages_are_found() {
        let mut u = Usage::default();
        assert_eq!(u.of(7, RANGE, 2), None);
        let mut used = Bits::default();
        [3, 100].into_iter().for_each(|p| used.set(p));
        u.take(7, CHUNK_BYTES, (used, Bits::default()), vec![2, 0], None);
        assert_eq!(u.of(7, RANGE, 2).unwrap().pages, [8, 0], "one of four chunks");
        assert_eq!(u.next(7, RANGE, RANGE.0, 1), CHUNK_BYTES + 3 * PAGE_BYTES);
        assert_eq!(u.next(7, RANGE, CHUNK_BYTES + 4 * PAGE_BYTES, 1), CHUNK_BYTES + 100 * PAGE_BYTES);
        assert_eq!(u.next(7, RANGE, CHUNK_BYTES + 101 * PAGE_BYTES, 1), RANGE.1);
        u.moved(7, RANGE, CHUNK_BYTES + 3 * PAGE_BYTES, (0, 1));
        assert_eq!(u.of(7, RANGE, 2).unwrap().pages, [4, 4]);
        // A page counts for two samples.
        let mut other = Bits::default();
        other.set(9);
        assert_eq!(u.with(7, CHUNK_BYTES, other).iter().collect::<Vec<_>>(), [3, 9, 100]);
        let mut gone = Bits::default();
        gone.set(100);
        u.take(7, CHUNK_BYTES, (other, gone), vec![1, 1], Some(1));
        assert_eq!(u.next(7, RANGE, CHUNK_BYTES + 10 * PAGE_BYTES, 1), RANGE.1, "it is gone");
        assert_eq!(u.next(7, RANGE, RANGE.0, 0), RANGE.1, "only CPUs of node 1 use them");
        assert_eq!(u.of(7, RANGE, 2).unwrap().alone, [[0, 4], [0, 4]]);
        u.retain(|pid, _| pid != 7);
        assert_eq!(u.of(7, RANGE, 2), None);
    }
}
