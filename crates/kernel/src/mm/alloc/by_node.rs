//! Allocation on one node, without policy and without reclaim.

use crate::mm::account::PageClass;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::reclaim::anon_reclaim::NoAnonReclaim;
use crate::mm::work::Work;

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
}
