//! Pages that no other mapping can have.

use super::chunk::ChunkKind;
use super::mapping::Vma;
use crate::mm::units::CHUNK_PAGES;

impl Vma {
    /// Adds the pages that no other VMA can map, on each node, to `out`, with the unmapped pages of partly mapped
    /// huge pages.
    pub fn add_exclusive_on_node(&self, out: &mut [u64]) {
        self.add_deferred_split_pages(out);
        for (i, c) in self.chunks.iter().enumerate() {
            match c.kind {
                ChunkKind::Empty => {}
                ChunkKind::Huge => out[c.node as usize] += CHUNK_PAGES - u64::from(c.shared),
                // Nothing is shared, so the counts by node are those of exclusive pages.
                ChunkKind::Small if c.shared == 0 => {
                    out.iter_mut().zip(self.node_counts(i)).for_each(|(o, &n)| *o += u64::from(n) * self.grain.pages());
                }
                ChunkKind::Small if c.shared == c.present => {}
                ChunkKind::Small => {
                    let b = &self.blocks[c.index as usize];
                    let (own, mut from) = (b.exclusive(), 0);
                    while let Some(p) = own.next(from) {
                        out[usize::from(b.own_page(p).0)] += 1;
                        from = p + 1;
                    }
                }
            }
        }
    }
}
