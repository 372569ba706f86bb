//! How pages enter and leave the page cache of a node: reads, mappings, truncation.

use super::anon_reclaim::AnonReclaim;
use crate::mm::account::PageClass;
use crate::mm::alloc::gfp::Gfp;
use crate::mm::alloc::request::{AllocError, Request};
use crate::mm::alloc::take_page::Mark;
use crate::mm::kernel_work::Work;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::policy::policy_nodes::PolicyNodes;
use crate::mm::units::CHUNK_PAGES;
use crate::mm::unmapped::Unmapped;

impl PhysicalMemory {
    /// Reads `pages` pages of a file from a CPU of node `here` under the default policy. Each page comes from the
    /// first node above its low watermark and joins the page cache there with use `class`, one of the file classes.
    /// Tests of reclaim call it; workloads map files and read them by faults.
    ///
    /// # Errors
    /// [`AllocError`] of the first page that cannot be allocated; the pages before it stay.
    pub fn cache_read<A: AnonReclaim>(
        &mut self,
        here: usize,
        pages: u64,
        class: PageClass,
        anon: &mut A,
        work: &mut Work,
    ) -> Result<(), AllocError> {
        debug_assert!(class.is_file());
        let all = self.memory_nodes();
        let policy_nodes = PolicyNodes::local(here);
        let req = Request { class, ..Request::anon(Gfp::HIGHUSER_MOVABLE, false, here, &policy_nodes, all, all) };
        for _ in 0..pages {
            let got = self.alloc_page(&req, anon, work)?;
            self.files[got.node].add(got.frame, class);
            self.note_files(got.node);
        }
        Ok(())
    }
    /// Adds a page that no process maps any more to the page cache of its node.
    pub fn add_to_page_cache(&mut self, node: usize, frame: Frame) {
        self.accounts[node].change(PageClass::Shmem, PageClass::FileClean, 1);
        self.files[node].add(frame, PageClass::FileClean);
        self.note_files(node);
    }
    /// Takes a page of the node's clean page cache for a process that maps it again; returns its pageblock, or `None`
    /// if none is left. Which pages of a file were reclaimed is not known, only how many are left (model).
    pub fn take_from_page_cache(&mut self, node: usize) -> Option<Frame> {
        let mut found = None;
        self.files[node].drop_newest(PageClass::FileClean, |frame| found = Some(frame));
        if found.is_some() {
            self.accounts[node].change(PageClass::FileClean, PageClass::Shmem, 1);
            self.note_files(node);
        }
        found
    }
    /// Whether the node's clean page cache has a page. See [`Self::take_from_page_cache`].
    pub fn has_page_cache(&self, node: usize) -> bool {
        self.accounts[node].pages(PageClass::FileClean) > 0
    }
    /// Frees what a mapping has unmapped.
    #[inline]
    pub fn free_unmapped(&mut self, gone: Unmapped) {
        match gone {
            Unmapped::Page { node, frame, class } => self.free_page(node, frame, class),
            Unmapped::Grain { node, frame, class, pages } => self.free_grain(node, frame, class, pages),
            Unmapped::Cached { node, frame } => self.add_to_page_cache(node, frame),
            Unmapped::ThpPart { node } => self.deferred_split_pages[node] += 1,
            Unmapped::LastThpPart { node, frame } => {
                self.deferred_split_pages[node] -= CHUNK_PAGES - 1;
                self.free_page(node, frame, PageClass::AnonHuge);
            }
            Unmapped::Slot(slot) => {
                let freed = self.swap.put(slot);
                debug_assert!(freed, "slot {slot} was free");
            }
        }
    }
    /// Fills a node with page cache: `pages` pages on this node, as far as it is above its low watermark, without
    /// counting. Returns their number. Tests set up the vectors of thp-and-allocation.md section 17 and the cases of
    /// node reclaim with it.
    pub fn cache_fill(&mut self, node: usize, pages: u64, class: PageClass) -> u64 {
        debug_assert!(class.is_file());
        let req = self.request_on(node, node, class);
        let mut filled = 0;
        while filled < pages {
            let Some(zone) = self.first_zone_above(&req, Mark::Low) else { break };
            let got = self.take_page_uncounted(&req, zone);
            self.files[node].add(got.frame, class);
            filled += 1;
        }
        self.note_files(node);
        filled
    }
    /// Marks the oldest `pages` inactive pages of a node's page cache as used again. Tests set up cases of a busy page
    /// cache with it.
    pub fn cache_reference(&mut self, node: usize, pages: u64) {
        self.events.pgactivate += self.files[node].reference(pages);
        self.note_files(node);
    }
}
