//! Large folios below 2 MiB: base pages of one zone, taken at once (multi-size THP).
//!
//! Contiguity is modelled for whole pageblocks only, so any free pages of a zone make such a folio. It takes what is
//! free above the low watermark, without reclaim or compaction.

use super::fast::AllocSite;
use super::gfp::Gfp;
use super::request::Request;
use super::take_page::Mark;
use crate::mm::account::PageClass;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;

impl PhysicalMemory {
    /// Allocates a folio of `pages` anonymous base pages under a policy, and writes their frames into `frames`. Returns
    /// the node; `None` if no allowed zone has room.
    pub fn alloc_folio(&mut self, at: &AllocSite, pages: u64, frames: &mut Vec<Frame>) -> Option<usize> {
        let (gfp, all) = (Gfp::TRANSHUGE_LIGHT, self.memory_nodes());
        self.take_folio(&Request::anon(gfp, false, at.here, &at.policy_nodes, at.mems, all), pages, frames)
    }
    /// Allocates a folio on one node, as the destination of a migration. Returns whether it has room.
    pub fn alloc_folio_on(&mut self, here: usize, node: usize, pages: u64, frames: &mut Vec<Frame>) -> bool {
        let req = self.request_on(here, node, PageClass::Anon);
        self.take_folio(&req, pages, frames).is_some()
    }
    fn take_folio(&mut self, req: &Request, pages: u64, frames: &mut Vec<Frame>) -> Option<usize> {
        let room = |z: &u16| req.allows(self.zones[usize::from(*z)].node) && self.has_room(usize::from(*z), pages);
        let zone = usize::from(*self.zonelists[req.preferred].iter().find(|z| room(z))?);
        frames.clear();
        for _ in 0..pages {
            let got = self.take_page_uncounted(req, zone);
            frames.push(got.frame);
        }
        let node = self.zones[zone].node;
        // A folio is one allocation (`zone_statistics`).
        self.count_alloc(req, node);
        Some(node)
    }
    /// Whether a zone is above its low watermark without `pages` of its pages.
    fn has_room(&self, zone: usize, pages: u64) -> bool {
        let facts = &self.facts[zone];
        facts.free_pages > self.mark_of(zone, Mark::Low) + facts.lowmem_reserve + pages
    }
}
