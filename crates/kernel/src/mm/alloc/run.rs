//! Base pages that one CPU allocates one after the other: as many as the same pageblock gives, at once.
//!
//! Nothing that decides about the next page changes in between, so a run is what as many single allocations of the fast
//! path would be.

use super::fast::AllocSite;
use super::gfp::Gfp;
use super::request::{AllocatedPage, Request};
use super::take_page::Mark;
use crate::mm::account::PageClass;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;

/// A zone that gives base pages by the fast path.
#[derive(Clone, Copy, Debug)]
pub struct RunSource {
    req: Request,
    zone: usize,
    /// Its node.
    pub node: usize,
    /// Pages that it gives before it comes to its low watermark, at least 1.
    pub most: u64,
}

impl PhysicalMemory {
    /// Where the next anonymous base pages of a CPU come from, if the fast path has them and all come from one node;
    /// `None` under a policy that chooses a node for each page, and with node reclaim.
    pub fn run_source(&self, at: &AllocSite) -> Option<RunSource> {
        if at.policy_nodes.interleaved {
            return None;
        }
        self.page_source(at)
    }
    /// As [`Self::run_source`], for pages of which the policy has chosen this node for each.
    pub fn page_source(&self, at: &AllocSite) -> Option<RunSource> {
        let p = &at.policy_nodes;
        if self.cfg.vm.zone_reclaim_mode != 0 || p.preferred_many {
            return None;
        }
        let req = Request::anon(Gfp::HIGHUSER_MOVABLE, false, at.here, p, at.mems, self.memory_nodes());
        let zone = self.first_zone_above(&req, Mark::Low)?;
        let facts = &self.facts[zone];
        let most = facts.free_pages.saturating_sub(self.mark_of(zone, Mark::Low) + facts.lowmem_reserve);
        (most > 0).then_some(RunSource { req, zone, node: self.zones[zone].node, most })
    }
    /// Takes up to `pages` base pages of one pageblock, at most [`RunSource::most`]. Returns the page and how many
    /// there are of it, at least 1; `None` if the zone has no movable page.
    pub fn take_run(&mut self, from: &RunSource, pages: u64) -> Option<(AllocatedPage, u64)> {
        debug_assert!(pages >= 1 && pages <= from.most, "{pages} pages of {from:?}");
        let (frame, pages) = self.zones[from.zone].pageblocks.take_movable_run(pages)?;
        self.facts[from.zone].free_pages -= pages;
        let frame = frame.with(Frame::ACTIVE, !self.cfg.vm.anon_workingset);
        self.accounts[from.node].add(PageClass::Anon, pages, frame.has(Frame::ACTIVE));
        self.count_allocs(&from.req, from.node, pages);
        Some((AllocatedPage { node: from.node, frame }, pages))
    }
}
