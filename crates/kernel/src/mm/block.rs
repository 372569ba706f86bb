//! Page table of one chunk of base pages: 512 entries as bitmaps, with node and last cpupid of each page.

use super::page_nodes::PageNodes;
use numalab_base::node_mask::NodeId;

/// `last_cpupid` of a page without one (all bits set).
pub const NEVER: u32 = u32::MAX;

/// 512 bits, in one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct Bits512(pub [u64; 8]);

impl Bits512 {
    /// The bits `from..to` are set (`from <= to <= 512`).
    #[inline]
    pub fn range(from: usize, to: usize) -> Self {
        let mut out = [0u64; 8];
        for (w, word) in out.iter_mut().enumerate() {
            let lo = from.saturating_sub(w * 64).min(64);
            let hi = to.saturating_sub(w * 64).min(64);
            if lo < hi {
                let ones = if hi - lo == 64 { u64::MAX } else { ((1u64 << (hi - lo)) - 1) << lo };
                *word = ones;
            }
        }
        Self(out)
    }
    /// Whether bit `i` is set.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        self.0[i >> 6] >> (i & 63) & 1 != 0
    }
    /// Sets bit `i`.
    #[inline]
    pub fn set(&mut self, i: usize) {
        self.0[i >> 6] |= 1 << (i & 63);
    }
    /// Clears bit `i`.
    #[inline]
    pub fn clear(&mut self, i: usize) {
        self.0[i >> 6] &= !(1 << (i & 63));
    }
    /// Number of set bits.
    #[inline]
    pub fn count(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }
    /// First set bit at or after `from`, below 512.
    #[inline]
    pub fn next(&self, from: usize) -> Option<usize> {
        let mut w = from >> 6;
        if w >= 8 {
            return None;
        }
        let mut word = self.0[w] & (u64::MAX << (from & 63));
        loop {
            if word != 0 {
                return Some((w << 6) + word.trailing_zeros() as usize);
            }
            w += 1;
            if w == 8 {
                return None;
            }
            word = self.0[w];
        }
    }
    /// Position of the set bit number `rank`, counted from 0.
    #[inline]
    pub fn select(&self, mut rank: u32) -> Option<usize> {
        for (w, &word) in self.0.iter().enumerate() {
            let n = word.count_ones();
            if rank < n {
                let mut rest = word;
                for _ in 0..rank {
                    rest &= rest - 1;
                }
                return Some((w << 6) + rest.trailing_zeros() as usize);
            }
            rank -= n;
        }
        None
    }
    /// Combines two bitmaps word by word.
    #[inline]
    pub fn zip(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut out = [0; 8];
        for (w, word) in out.iter_mut().enumerate() {
            *word = f(self.0[w], other.0[w]);
        }
        Self(out)
    }
}

/// The 512 entries of a chunk mapped by base pages.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The entry is populated.
    pub present: Bits512,
    /// The entry is PROT_NONE for NUMA hinting, or a migration entry.
    pub marked: Bits512,
    /// The entry is write-protected: the next store takes a minor fault.
    pub read_only: Bits512,
    /// The accessed bit of the entry, as of the last [`Vma::update_young`](super::Vma::update_young).
    pub young: Bits512,
    /// The entry maps a page of one of the mapping's shared objects. Other pages are exclusive to the mapping.
    pub shared: Bits512,
    /// Pages of the mapping's second, third, ... object. The other pages in `shared` belong to the first object.
    pub layers: Vec<Bits512>,
    /// Node and last cpupid of the exclusive pages; `None` until there is one.
    pub own: Option<Box<OwnPages>>,
}

/// Node and last cpupid of the exclusive pages of a block.
#[derive(Clone, Debug)]
pub struct OwnPages {
    /// Node of each page.
    pub node: PageNodes,
    /// `last_cpupid` of each page: `cpu << 8 | pid & 255`, or [`NEVER`].
    pub last: [u32; 512],
}

impl Block {
    /// A block without pages.
    pub fn empty() -> Self {
        Self::default()
    }
    /// Data of the exclusive pages, allocated on first use.
    #[inline]
    pub fn own_mut(&mut self) -> &mut OwnPages {
        self.own.get_or_insert_with(|| Box::new(OwnPages { node: PageNodes::ZERO, last: [NEVER; 512] }))
    }
    /// Node and last cpupid of an exclusive page.
    #[inline]
    pub fn own_page(&self, page: usize) -> (NodeId, u32) {
        self.own.as_ref().map_or((0, NEVER), |o| (o.node.get(page), o.last[page]))
    }
    /// Present pages that are exclusive to the mapping.
    #[inline]
    pub fn exclusive(&self) -> Bits512 {
        self.present.zip(&self.shared, |p, s| p & !s)
    }
    /// Index of the mapping's object that a shared page belongs to.
    #[inline]
    pub fn layer_of(&self, page: usize) -> usize {
        self.layers.iter().position(|l| l.get(page)).map_or(0, |i| i + 1)
    }
    /// Pages of the mapping's object with index `layer`.
    pub fn layer(&self, layer: usize) -> Bits512 {
        if layer > 0 {
            return self.layers.get(layer - 1).copied().unwrap_or_default();
        }
        self.layers.iter().fold(self.shared, |rest, l| rest.zip(l, |a, b| a & !b))
    }
    /// Notes that a page belongs to the mapping's object with index `layer`.
    pub fn set_shared(&mut self, page: usize, layer: usize) {
        self.shared.set(page);
        if layer > 0 {
            if self.layers.len() < layer {
                self.layers.resize(layer, Bits512::default());
            }
            self.layers[layer - 1].set(page);
        }
    }
    /// Notes that a page no longer belongs to a shared object.
    pub fn clear_shared(&mut self, page: usize) {
        self.shared.clear(page);
        self.layers.iter_mut().for_each(|l| l.clear(page));
    }
    /// First page in `from..to` whose access faults: it is absent, marked, or read-only for a write.
    #[inline]
    pub fn next_fault(&self, from: usize, to: usize, write: bool) -> Option<usize> {
        let mut w = from >> 6;
        let mut mask = u64::MAX << (from & 63);
        while w < 8 && (w << 6) < to {
            let read_only = if write { self.read_only.0[w] } else { 0 };
            let word = (!self.present.0[w] | self.marked.0[w] | read_only) & mask;
            if word != 0 {
                let i = (w << 6) + word.trailing_zeros() as usize;
                return (i < to).then_some(i);
            }
            mask = u64::MAX;
            w += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_count_and_search() {
        for (a, b) in [(0, 0), (0, 512), (3, 64), (63, 65), (64, 128), (500, 512), (1, 511)] {
            let r = Bits512::range(a, b);
            assert_eq!(r.count() as usize, b - a);
            assert_eq!(r.next(0), (a < b).then_some(a));
            assert_eq!(r.next(b), None);
            if a < b {
                assert_eq!(r.select((b - a - 1) as u32), Some(b - 1));
            }
            assert_eq!(r.select((b - a) as u32), None);
        }
    }

    #[test]
    fn next_fault_sees_absent_marked_and_read_only() {
        let mut b = Block::empty();
        assert_eq!(b.next_fault(5, 512, false), Some(5));
        b.present = Bits512::range(0, 512);
        assert_eq!(b.next_fault(0, 512, true), None);
        b.marked.set(200);
        b.read_only.set(100);
        assert_eq!(b.next_fault(0, 512, false), Some(200));
        assert_eq!(b.next_fault(0, 512, true), Some(100));
        assert_eq!(b.next_fault(0, 100, true), None);
        assert_eq!(b.next_fault(201, 512, true), None);
    }
}
