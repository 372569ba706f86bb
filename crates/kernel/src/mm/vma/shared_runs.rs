//! Many pages of a shared object at once: mapping what lies around a fault, and unmapping 2 MiB.

use super::access_runs::runs;
use super::chunk::ChunkKind;
use super::kind::VmaKind;
use super::mapping::Vma;
use crate::mm::block::Bits512;
use crate::mm::object::SharedBlock;
use crate::mm::units::CHUNK_PAGES;

impl Vma {
    /// Maps pages `from..to` of a chunk that are in memory and not locked, where nothing is mapped yet
    /// (`filemap_map_pages`). `block` is the block of the mapping's first object there. Returns how many entries are
    /// set.
    pub fn map_around(&mut self, chunk: usize, (from, to): (usize, usize), block: &mut SharedBlock) -> u32 {
        let base = self.chunk_base(chunk);
        let first = (self.grain.count_up(self.start.saturating_sub(base)) as usize).max(from);
        let last = (self.grain.count_up(self.end.saturating_sub(base)).min(CHUNK_PAGES) as usize).min(to);
        if first >= last || self.chunks[chunk].kind == ChunkKind::Huge {
            return 0;
        }
        let there = |page| block.resident.get(page) && !block.locked.get(page);
        if self.chunks[chunk].kind == ChunkKind::Empty && !(first..last).any(there) {
            return 0;
        }
        let (kind, nodes) = (self.kind, self.nodes);
        let index = self.small_block(chunk).0.index as usize;
        let (c, b) = (&mut self.chunks[chunk], &mut self.blocks[index]);
        let counts = &mut self.counts[index * nodes..(index + 1) * nodes];
        let on_node = &mut self.pages_on_node;
        let (mut set, mut write_protected) = (0, 0);
        for w in first >> 6..=(last - 1) >> 6 {
            let low = u64::MAX << first.saturating_sub(w << 6);
            let high = u64::MAX >> (((w + 1) << 6).saturating_sub(last));
            let fresh = low & high & block.resident.0[w] & !block.locked.0[w] & !b.present.0[w];
            if fresh == 0 {
                continue;
            }
            let read_only = match kind {
                VmaKind::SharedAnon => 0,
                VmaKind::FileShared => fresh & !block.dirty.0[w],
                _ => fresh,
            };
            b.present.0[w] |= fresh;
            b.shared.0[w] |= fresh;
            b.read_only.0[w] |= read_only;
            set += fresh.count_ones();
            write_protected += read_only.count_ones();
            for_runs(w, fresh, |from, to| {
                block.mapcount[from..to].iter_mut().for_each(|m| *m += 1);
                block.node.each(from..to, |node, pages| {
                    counts[node] += pages as u16;
                    on_node[node] += pages;
                });
            });
            let (from, to) = (fresh.trailing_zeros() as usize, 64 - fresh.leading_zeros() as usize);
            c.touched |= runs((w << 6) + from, (w << 6) + to);
        }
        c.present += set as u16;
        c.shared += set as u16;
        c.read_only += write_protected as u16;
        self.write_protected |= write_protected > 0;
        set
    }
    /// Counts the pages in `gone` off the nodes, and off the mapcounts of `block`, to whose object they belong. The
    /// caller clears the entries.
    pub(super) fn unmap_run(&mut self, chunk: usize, gone: &Bits512, block: &mut SharedBlock) {
        let index = self.chunks[chunk].index as usize;
        let counts = &mut self.counts[index * self.nodes..(index + 1) * self.nodes];
        let on_node = &mut self.pages_on_node;
        for (w, &word) in gone.0.iter().enumerate() {
            for_runs(w, word, |from, to| {
                block.mapcount[from..to].iter_mut().for_each(|m| *m -= 1);
                block.node.each(from..to, |node, pages| {
                    counts[node] -= pages as u16;
                    on_node[node] -= pages;
                });
            });
        }
    }
}

/// Calls `f` with the bounds of each run of set bits in word number `w` of a bitmap.
#[inline]
pub(in crate::mm) fn for_runs(w: usize, mut word: u64, mut f: impl FnMut(usize, usize)) {
    while word != 0 {
        let from = word.trailing_zeros();
        let len = (word >> from).trailing_ones();
        let start = (w << 6) + from as usize;
        f(start, start + len as usize);
        let through = from + len;
        word = if through == 64 { 0 } else { word >> through << through };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::object::{Backing, SharedMemory};
    use crate::mm::units::PAGE_BYTES;
    use numalab_base::node_mask::NodeId;

    /// 512 pages of a file: every third on node 1, some away, locked or dirty.
    fn object() -> SharedMemory {
        let mut store = SharedMemory::default();
        let id = store.create(Backing::File, 1);
        let b = store.object_mut(id).block_mut(0);
        for page in 0..512 {
            b.node.set(page, NodeId::from(page % 3 == 0));
        }
        b.node.fill(128..192, 1);
        b.resident = Bits512::range(0, 500);
        b.locked.set(70);
        b.dirty.set(71);
        store
    }

    #[test]
    fn mapping_around_is_mapping_one_by_one() {
        for (start, end) in [(0, 512), (3, 400)] {
            for (from, to) in [(0, 512), (64, 80), (60, 70), (128, 192), (448, 512), (0, 1)] {
                let (mut store, mut single) = (object(), object());
                let mut v = Vma::new(start * PAGE_BYTES, end * PAGE_BYTES, VmaKind::FileShared, false, 2);
                v.objects.push(0);
                v.map_shared(0, 65, 0, false);
                let mut one = v.clone();
                let set = v.map_around(0, (from, to), store.object_mut(0).block_mut(0));
                let b = single.object_mut(0).block_mut(0);
                let mut expected = 0;
                for page in from.max(start as usize)..to.min(end as usize) {
                    if b.resident.get(page) && !b.locked.get(page) && one.is_absent(0, page) {
                        b.mapcount[page] += 1;
                        one.map_shared(0, page, usize::from(b.node.get(page)), !b.dirty.get(page));
                        expected += 1;
                    }
                }
                assert_eq!(set, expected);
                assert_eq!(format!("{v:?}"), format!("{one:?}"));
                assert_eq!(format!("{store:?}"), format!("{single:?}"));
                v.check().unwrap();
            }
        }
    }

    #[test]
    fn runs_are_those_of_the_bits() {
        for word in [0, 1, u64::MAX, 0xf0f0, 1 << 63, u64::MAX << 1, 0x8000_0000_0000_0001] {
            let mut seen = 0;
            for_runs(2, word, |from, to| (from..to).for_each(|i| seen |= 1u64 << (i - 128)));
            assert_eq!(seen, word);
        }
    }
}
