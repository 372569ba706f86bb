//! `change_prot_numa` on the entries of a mapping (kernel-numa-balancing.md section 7).
//!
//! Exclusive pages differ only in their node, so they are marked a bitmap at a time. Pages of shared objects go
//! through the page filter one by one, because their mapcounts may differ. Kernel 3.8 also marks a page table that
//! holds marks and whose pages are all on one node (`change_pmd_protnuma`). It does so even if no entry in the table
//! is marked, which costs one trap; the model leaves out this case. It also leaves out the trap of an access to an
//! unmarked entry of a marked table.

use super::chunk::ChunkKind;
use super::mapping::Vma;
use crate::mm::block::Bits512;
use crate::mm::object::SharedMemory;
use crate::mm::units::CHUNK_PAGES;
use crate::numa::mark::MarkRules;
use crate::numa::page::{PageFacts, PIN_BIAS};
use crate::numa::page_filter::Verdict;

/// Result of marking a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkOutcome {
    /// Base pages newly PROT_NONE (512 per huge page).
    pub updates: u64,
    /// Huge entries newly PROT_NONE, events.
    pub huge: u64,
    /// Populated entries that were not changed.
    pub skipped: u64,
    /// Address of the page at which a filter ended the scan of the mapping.
    pub stop_at: Option<u64>,
}

/// Pages of a mapping that somebody else holds a reference to, as filters see them.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeldPages<'a> {
    /// Exclusive base pages in LRU batches that stay unmarked, as chunk and page.
    pub batched: &'a [(u32, u16)],
    /// Pages that devices hold: ranges of page numbers, counted from the start of the first chunk.
    pub pinned: &'a [(u64, u64)],
}

impl HeldPages<'_> {
    /// The pinned pages of a chunk.
    fn pinned_in(&self, chunk: usize) -> Bits512 {
        let base = chunk as u64 * CHUNK_PAGES;
        let within = |n: u64| n.saturating_sub(base).min(CHUNK_PAGES) as usize;
        self.pinned.iter().fold(Bits512::default(), |all, &(first, end)| {
            let (from, to) = (within(first), within(end));
            if from < to {
                all.zip(&Bits512::range(from, to), |a, b| a | b)
            } else {
                all
            }
        })
    }
}

/// The facts of a page with a pin of `pin_user_pages`.
fn with_pin(facts: PageFacts) -> PageFacts {
    PageFacts { refcount: facts.refcount + PIN_BIAS, pincount: facts.pincount + 1, ..facts }
}

impl Vma {
    /// Marks the present entries of `from..to` in address order, if they are not yet PROT_NONE and the rules do not
    /// exclude them. A huge entry is marked if it is wholly inside the range.
    pub fn mark_range(&mut self, from: u64, to: u64, rules: &MarkRules, store: &mut SharedMemory) -> MarkOutcome {
        self.mark_range_except(from, to, rules, HeldPages::default(), store)
    }
    /// As [`Self::mark_range`], with pages that others hold: those in batches stay unmarked, and the filter sees the
    /// pins.
    pub fn mark_range_except(
        &mut self,
        from: u64,
        to: u64,
        rules: &MarkRules,
        held: HeldPages<'_>,
        store: &mut SharedMemory,
    ) -> MarkOutcome {
        let mut out = MarkOutcome::default();
        for (chunk, lo, hi) in self.chunk_ranges(from, to) {
            if out.stop_at.is_some() {
                break;
            }
            match self.chunks[chunk].kind {
                ChunkKind::Empty => {}
                ChunkKind::Huge => {
                    let pinned = held.pinned_in(chunk).count() > 0;
                    self.mark_huge(chunk, (hi - lo == 512, pinned), rules, store, &mut out);
                }
                ChunkKind::Small => self.mark_small(chunk, (lo, hi), rules, held, store, &mut out),
            }
        }
        out
    }
    fn mark_huge(
        &mut self,
        chunk: usize,
        (whole, pinned): (bool, bool),
        rules: &MarkRules,
        store: &mut SharedMemory,
        out: &mut MarkOutcome,
    ) {
        let c = &self.chunks[chunk];
        let node = c.node as usize;
        let shared = self.page_ref(chunk, 0);
        let facts = match shared {
            Some(at) => self.shared_facts(at, store),
            None => PageFacts::private_anon_huge(node),
        };
        let facts = if pinned { with_pin(facts) } else { facts };
        let spared = shared.is_some() && rules.own_only;
        if !whole || spared || c.pmd_marked || rules.huge(&facts) != Verdict::Mark {
            out.skipped += 1;
            return;
        }
        let stamped = rules.stamp_nodes.contains(node);
        let c = &mut self.chunks[chunk];
        c.pmd_marked = true;
        self.marked_pages += CHUNK_PAGES;
        out.updates += CHUNK_PAGES;
        out.huge += 1;
        match shared {
            Some(at) if stamped => store.block_of(at).last[0] = rules.stamp.raw(),
            None if stamped => c.index = rules.stamp.raw(),
            _ => {}
        }
    }
    fn mark_small(
        &mut self,
        chunk: usize,
        (lo, hi): (usize, usize),
        rules: &MarkRules,
        held: HeldPages<'_>,
        store: &mut SharedMemory,
        out: &mut MarkOutcome,
    ) {
        let index = self.chunks[chunk].index as usize;
        let populated = Bits512::range(lo, hi).zip(&self.blocks[index].present, |r, p| r & p);
        let mut fresh = populated.zip(&self.blocks[index].marked, |a, m| a & !m);
        let mut seen = populated;
        let pinned = held.pinned_in(chunk);
        if self.chunks[chunk].shared > 0 {
            let shared = fresh.zip(&self.blocks[index].shared, |f, s| f & s);
            if let Some(stop) = self.filter_shared(chunk, (shared, pinned), rules, store, &mut fresh) {
                out.stop_at = Some(self.page_addr(chunk, stop));
                let before = Bits512::range(0, stop);
                fresh = fresh.zip(&before, |f, b| f & b);
                seen = seen.zip(&Bits512::range(0, stop + 1), |s, b| s & b);
            }
        }
        if self.folios.of(chunk).is_some() && !rules.marks_folios() {
            fresh = fresh.zip(&self.folio_pages(chunk), |f, p| f & !p);
        }
        let own = fresh.zip(&self.blocks[index].shared, |f, s| f & !s);
        self.filter_own(chunk, own, rules, &mut fresh);
        if rules.spares_pinned() {
            fresh = fresh.zip(&own.zip(&pinned, |o, p| o & p), |f, p| f & !p);
        }
        for &(_, page) in held.batched.iter().filter(|(c, p)| *c as usize == chunk && own.get(usize::from(*p))) {
            fresh.clear(usize::from(page));
        }
        let (c, b) = self.small_block(chunk);
        let n = fresh.count();
        b.marked = b.marked.zip(&fresh, |a, f| a | f);
        c.marked += n as u16;
        self.marked_pages += u64::from(n);
        out.updates += u64::from(n) * self.grain.pages();
        out.skipped += u64::from(seen.count() - n) * self.grain.pages();
        if rules.tables && self.chunks[chunk].marked > 0 && self.is_on_one_node(chunk) {
            self.chunks[chunk].pmd_marked = true;
        }
    }
    /// Whether all present pages of a chunk are on one node.
    fn is_on_one_node(&self, chunk: usize) -> bool {
        self.node_counts(chunk).iter().filter(|&&pages| pages > 0).count() == 1
    }
    /// Removes the exclusive pages in `own` that the rules exclude from `fresh`, and writes the access time into pages
    /// on slow tiers.
    fn filter_own(&mut self, chunk: usize, own: Bits512, rules: &MarkRules, fresh: &mut Bits512) {
        let on =
            |nodes: &dyn Fn(usize) -> bool| self.node_counts(chunk).iter().enumerate().any(|(n, &k)| k > 0 && nodes(n));
        let spares = on(&|n| !rules.marks_exclusive_anon(n));
        let stamps = on(&|n| rules.stamp_nodes.contains(n));
        if !spares && !stamps {
            return;
        }
        let (_, b) = self.small_block(chunk);
        let mut from = 0;
        while let Some(p) = own.next(from) {
            let node = usize::from(b.own_page(p).0);
            if !rules.marks_one_exclusive_anon(node) {
                fresh.clear(p);
            } else if rules.stamp_nodes.contains(node) {
                b.own_mut().last[p] = rules.stamp.raw();
            }
            from = p + 1;
        }
    }
    /// Removes the shared pages in `shared` that the rules exclude from `fresh`, and writes the access time into pages
    /// on slow tiers. Returns the page at which the filter ended the scan of the mapping, if it did.
    fn filter_shared(
        &self,
        chunk: usize,
        (shared, pinned): (Bits512, Bits512),
        rules: &MarkRules,
        store: &mut SharedMemory,
        fresh: &mut Bits512,
    ) -> Option<usize> {
        let mut from = 0;
        while let Some(p) = shared.next(from) {
            from = p + 1;
            if rules.own_only {
                fresh.clear(p);
                continue;
            }
            let Some(at) = self.page_ref(chunk, p) else { continue };
            let facts = self.shared_facts(at, store);
            let facts = if pinned.get(p) { with_pin(facts) } else { facts };
            match rules.pte(&facts) {
                Verdict::Mark if rules.stamp_nodes.contains(facts.nid) => {
                    store.block_of(at).last[p] = rules.stamp.raw();
                }
                Verdict::Mark => {}
                Verdict::Skip => fresh.clear(p),
                Verdict::SkipVma => return Some(p),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::pageblock::frame::Frame;
    use crate::mm::units::CHUNK_BYTES;
    use crate::mm::vma::kind::VmaKind;
    use crate::numa::page::PageFacts;
    use crate::numa::page_filter::{PageFilter, PagePolicy};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Marks pages of node 1, and counts the questions.
    struct Node1(AtomicU32);

    impl PagePolicy for Node1 {
        fn verdict(&self, page: &PageFacts) -> Verdict {
            self.0.fetch_add(1, Ordering::Relaxed);
            Verdict::skip_if(page.nid != 1)
        }
    }

    #[test]
    fn a_filter_of_the_caller_is_asked_for_exclusive_pages() {
        static POLICY: Node1 = Node1(AtomicU32::new(0));
        let rules = MarkRules { filter: PageFilter::NONE.with_policy(&POLICY), ..MarkRules::OWN_PAGES };
        let mut v = Vma::new(0, CHUNK_BYTES, VmaKind::PrivateAnon, true, 2);
        (0..8).for_each(|p| v.populate(0, p, usize::from(p >= 5), Frame::UNKNOWN));
        let out = v.mark_range(0, CHUNK_BYTES, &rules, &mut SharedMemory::default());
        assert_eq!((out.updates, out.skipped, POLICY.0.load(Ordering::Relaxed)), (3, 5, 8));
        // Marked pages are not asked about again.
        let out = v.mark_range(0, CHUNK_BYTES, &rules, &mut SharedMemory::default());
        assert_eq!((out.updates, POLICY.0.load(Ordering::Relaxed)), (0, 8 + 5));
    }
}
