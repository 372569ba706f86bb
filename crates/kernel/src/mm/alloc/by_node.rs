//! Allocation on one node, without policy and without reclaim.

use super::gfp::Gfp;
use super::request::AllocatedPage;
use crate::mm::account::PageClass;
use crate::mm::kernel_work::Work;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::reclaim::anon_reclaim::NoAnonReclaim;

impl PhysicalMemory {
    /// Allocates an anonymous page of `pages` (1 or 512) on `node`, without reclaim; returns its frame.
    pub fn alloc_on(&mut self, here: usize, node: usize, pages: u64) -> Option<Frame> {
        let class = if pages > 1 { PageClass::AnonHuge } else { PageClass::Anon };
        self.alloc_class_on(here, node, class)
    }
    /// Allocates a page of a class on `node`, as the destination of a migration; returns its frame.
    pub fn alloc_class_on(&mut self, here: usize, node: usize, class: PageClass) -> Option<Frame> {
        let req = self.request_on(here, node, class);
        self.alloc_page(&req, &mut NoAnonReclaim, &mut Work::default()).ok().map(|got| got.frame)
    }
    /// Allocates a page of a class for a migration that DAMON makes: on `node`, with `fallback` on any other node if
    /// that has no room. It wakes kswapd and does not reclaim (`__damon_migrate_folio_list`).
    pub fn alloc_for_damon(
        &mut self,
        here: usize,
        node: usize,
        class: PageClass,
        fallback: bool,
    ) -> Option<AllocatedPage> {
        let mut req = self.request_on(here, node, class);
        req.gfp = req.gfp | Gfp::KSWAPD_RECLAIM;
        if fallback {
            req.gfp = req.gfp & !Gfp::THISNODE;
            req.allowed = self.memory_nodes();
        }
        self.alloc_page(&req, &mut NoAnonReclaim, &mut Work::default()).ok()
    }
}
