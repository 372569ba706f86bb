//! The base pages of a grain: on one node, and if possible of one pageblock (docs/explanation/grains.md).
//!
//! The first page comes as any other: policy, watermarks, reclaim. The others come from the zone that had it, as the
//! next ones of the same CPU would. So a zone may end up to a grain below the watermark that stopped single pages.

use super::fast::AllocSite;
use super::gfp::Gfp;
use super::request::{AllocError, AllocatedPage, Constraint, Request};
use crate::mm::account::PageClass;
use crate::mm::kernel_work::Work;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::reclaim::anon_reclaim::{AnonReclaim, NoAnonReclaim};

impl PhysicalMemory {
    /// Allocates `pages` base pages of movable data under a policy, one after the other. The frame is
    /// [`Frame::UNKNOWN`] if they are of several pageblocks.
    ///
    /// # Errors
    /// As [`Self::alloc_class`].
    pub fn alloc_grain<A: AnonReclaim>(
        &mut self,
        class: PageClass,
        at: &AllocSite,
        pages: u64,
        anon: &mut A,
        work: &mut Work,
    ) -> Result<AllocatedPage, AllocError> {
        let gfp = Gfp::HIGHUSER_MOVABLE;
        let first = self.alloc_class(gfp, class, at, anon, work)?;
        let all = self.memory_nodes();
        let req = Request { class, ..Request::anon(gfp, false, at.here, &at.policy_nodes, at.mems, all) };
        self.take_rest(&req, first, pages).ok_or(AllocError::Oom(Constraint::None))
    }
    /// Allocates a grain of `pages` base pages on `node`, as the destination of a migration; returns its frame.
    pub fn alloc_grain_on(&mut self, here: usize, node: usize, class: PageClass, pages: u64) -> Option<Frame> {
        let req = self.request_on(here, node, class);
        let first = self.alloc_page(&req, &mut NoAnonReclaim, &mut Work::default()).ok()?;
        self.take_rest(&req, first, pages).map(|got| got.frame)
    }
    /// Frees the pages of a grain.
    pub fn free_grain(&mut self, node: usize, frame: Frame, class: PageClass, pages: u64) {
        if frame == Frame::UNKNOWN {
            (0..pages).for_each(|_| self.free_page(node, frame, class));
            return;
        }
        let zone = self.zone_of_frame(node, frame, class);
        let freed = self.zones[zone].pageblocks.put_movable_run(frame, pages);
        debug_assert!(freed, "{pages} of {class:?} {frame:?} are not in use on node {node}");
        if freed {
            self.facts[zone].free_pages += pages;
            let accounted = self.accounts[node].remove(class, pages, frame.has(Frame::ACTIVE));
            debug_assert!(accounted, "no {class:?} pages on node {node}");
        }
    }
    /// Takes the pages of a grain beside the first one from its zone; `None`, with the first one freed, if the zone has
    /// too few.
    fn take_rest(&mut self, req: &Request, first: AllocatedPage, pages: u64) -> Option<AllocatedPage> {
        let (node, mut frame) = (first.node, first.frame);
        let zone = self.zone_of_frame(node, frame, req.class);
        let mut left = pages - 1;
        if self.facts[zone].free_pages < left {
            self.free_page(node, frame, req.class);
            return None;
        }
        while left > 0 {
            let Some((from, taken)) = self.zones[zone].pageblocks.take_movable_run(left) else { break };
            if from.block() != frame.block() {
                frame = Frame::UNKNOWN;
            }
            left -= taken;
        }
        debug_assert_eq!(left, 0, "zone {zone} has fewer free pages than it counts");
        let taken = pages - 1 - left;
        self.facts[zone].free_pages -= taken;
        self.accounts[node].add(req.class, taken, false);
        self.count_allocs(req, node, taken);
        Some(AllocatedPage { node, frame })
    }
}
