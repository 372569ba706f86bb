//! Allocation of anonymous pages by node, for callers that need no policy and no reclaim.

use super::gfp::Gfp;
use super::request::Request;
use crate::mm::account::PageClass;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::NodeMemory;
use crate::mm::reclaim::anon_reclaim::NoOwners;
use crate::mm::work::Work;
use numalab_base::node_mask::NodeMask;

impl NodeMemory {
    /// Allocates an anonymous page of `pages` (1 or 512) for a CPU of node `here`, walking `preferred`'s fallback
    /// order within `allowed` (a node bit mask). Returns the node, or `None` when memory is exhausted.
    #[inline]
    pub fn alloc(&mut self, here: usize, preferred: usize, allowed: u64, pages: u64) -> Option<usize> {
        let huge = pages > 1;
        let req = Request {
            gfp: if huge { Gfp::TRANSHUGE_LIGHT } else { Gfp::HIGHUSER_MOVABLE },
            allowed: NodeMask::from_bits(u128::from(allowed)).and(self.memory_nodes()),
            ..self.request_on(here, preferred, if huge { PageClass::AnonHuge } else { PageClass::Anon })
        };
        self.alloc_page(&req, &mut NoOwners, &mut Work::default()).ok().map(|got| got.node)
    }
    /// Allocates an anonymous page of `pages` (1 or 512) strictly on `node`, without any reclaim; returns its frame.
    pub fn alloc_on(&mut self, here: usize, node: usize, pages: u64) -> Option<Frame> {
        let class = if pages > 1 { PageClass::AnonHuge } else { PageClass::Anon };
        let req = self.request_on(here, node, class);
        self.alloc_page(&req, &mut NoOwners, &mut Work::default()).ok().map(|got| got.frame)
    }
    /// Allocates a page of a class strictly on `node` as the destination of a migration; returns its frame.
    pub fn alloc_class_on(&mut self, here: usize, node: usize, class: PageClass) -> Option<Frame> {
        let req = self.request_on(here, node, class);
        self.alloc_page(&req, &mut NoOwners, &mut Work::default()).ok().map(|got| got.frame)
    }
    /// Frees an anonymous page of `pages` (1 or 512) of a node whose frame was not noted.
    #[inline]
    pub fn release(&mut self, node: usize, pages: u64) {
        let class = if pages > 1 { PageClass::AnonHuge } else { PageClass::Anon };
        self.free_page(node, Frame::UNKNOWN, class);
    }
}
