//! What must hold of a mapping at any instant: bitmaps against counts, chunks against the whole.

use super::chunk::ChunkKind;
use super::mapping::Vma;
use super::pending::PendingKind;
use crate::mm::pageblock::frame::Frame;
use crate::mm::units::CHUNK_PAGES;

impl Vma {
    /// Checks the invariants of a mapping.
    ///
    /// # Errors
    /// A sentence that names the first violated invariant.
    pub fn check(&self) -> Result<(), String> {
        let mut on_node = vec![0u64; self.nodes];
        let mut marked = 0u64;
        for (i, c) in self.chunks.iter().enumerate() {
            let sum: u64 = self.node_counts(i).iter().map(|&k| u64::from(k)).sum();
            if sum != u64::from(c.present) {
                return Err(format!("chunk {i}: {sum} pages on nodes, {} present", c.present));
            }
            for (n, &k) in self.node_counts(i).iter().enumerate() {
                on_node[n] += u64::from(k);
            }
            match c.kind {
                ChunkKind::Small => {
                    let b = &self.blocks[c.index as usize];
                    if b.marked.zip(&b.present, |m, p| m & !p).count() > 0 {
                        return Err(format!("chunk {i}: a marked page is absent"));
                    }
                    let counts = [c.present, c.marked, c.read_only, c.shared].map(u32::from);
                    if [b.present, b.marked, b.read_only, b.shared].map(|m| m.count()) != counts {
                        return Err(format!("chunk {i}: bitmap and count differ"));
                    }
                    if b.shared.zip(&b.present, |s, p| s & !p).count() > 0 {
                        return Err(format!("chunk {i}: a shared page is absent"));
                    }
                    marked += u64::from(c.marked);
                }
                ChunkKind::Huge => marked += CHUNK_PAGES * u64::from(c.pmd_marked),
                ChunkKind::Empty => {}
            }
        }
        self.check_partly_mapped()?;
        self.check_folios()?;
        let zeros = |i: usize| u64::from(self.zeros.bits(i).count());
        let maps_page = |i: usize| (0..512).any(|p| self.zeros.bits(i).get(p) && !self.is_absent(i, p));
        let n = self.chunks.len();
        if (0..n).map(zeros).sum::<u64>() != self.zeros.pages()
            || (0..n).any(|i| self.has_zero_entries(i) && maps_page(i))
        {
            return Err("an entry maps the zero page and a page, or the count of zero entries is wrong".into());
        }
        if !self.write_protected && self.chunks.iter().any(|c| c.read_only > 0) {
            return Err("an entry is write-protected in a mapping that never had one".into());
        }
        if on_node != self.pages_on_node || marked != self.marked_pages {
            return Err("totals of the mapping and of its chunks differ".into());
        }
        Ok(())
    }

    /// Checks that as many pages are pending in the whole mapping as in its chunks, for reads and for stores.
    ///
    /// # Errors
    /// A sentence with the counts that differ.
    pub fn check_pending(&self) -> Result<(), String> {
        let all = self.pending_in(self.start, self.end);
        for (what, kind) in [("reads", PendingKind::Read), ("stores", PendingKind::Store)] {
            let (sum, all) = (self.pending_chunks(self.start, self.end, kind), all.count(kind));
            let sum: u64 = sum.map(|(_, pages)| pages).sum();
            if sum != all {
                return Err(format!("{what} fault on {all} pages of the mapping, and on {sum} of its chunks"));
            }
        }
        Ok(())
    }

    /// Checks the invariants of partly mapped huge pages.
    fn check_partly_mapped(&self) -> Result<(), String> {
        for p in &self.partly_mapped {
            let wrong = |page: &usize| {
                p.mapped.get(*page)
                    && (self.exclusive_node(p.chunk, *page) != Some(p.node)
                        || self.frame_map.get(p.chunk, *page) != Frame::UNKNOWN)
            };
            if let Some(page) = (0..CHUNK_PAGES as usize).find(wrong) {
                return Err(format!("chunk {}: page {page} is no part of its huge page", p.chunk));
            }
        }
        Ok(())
    }
}
