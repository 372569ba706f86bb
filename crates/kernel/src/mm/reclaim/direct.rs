//! Direct reclaim: the allocating task frees memory itself (thp-and-allocation.md section 4.2).
//!
//! For huge pages it continues on a node until compaction can work there. The first request on a short node reclaims
//! what is missing to `low + 1024`. Every success takes 512 pages, so each following request reclaims 512 or more
//! again. This drives the swap storm under `__GFP_THISNODE`.

use super::anon_reclaim::AnonReclaim;
use super::files::FileRules;
use super::scan_control::{ScanControl, DEF_PRIORITY, SWAP_CLUSTER_MAX};
use crate::mm::alloc::request::Request;
use crate::mm::alloc::take_page::Mark;
use crate::mm::compact::suitable::COMPACT_GAP;
use crate::mm::kernel_work::Work;
use crate::mm::physical_memory::PhysicalMemory;

impl PhysicalMemory {
    /// One round over the nodes in fallback order; returns the freed pages.
    pub(in crate::mm) fn direct_reclaim<A: AnonReclaim>(
        &mut self,
        req: &Request,
        anon: &mut A,
        work: &mut Work,
    ) -> u64 {
        self.events.allocstall += 1;
        if self.reserves_exhausted(req) {
            work.throttled += 1;
        }
        let mut freed = 0;
        for priority in (0..=DEF_PRIORITY).rev() {
            let (got, ready) = self.shrink_walk(req, priority, anon, work);
            freed += got;
            if freed >= SWAP_CLUSTER_MAX || ready {
                break;
            }
        }
        freed
    }

    /// Scans every allowed node once. Returns the freed pages, and whether some zone is ready for compaction.
    fn shrink_walk<A: AnonReclaim>(
        &mut self,
        req: &Request,
        priority: u32,
        anon: &mut A,
        work: &mut Work,
    ) -> (u64, bool) {
        let (mut freed, mut ready) = (0, false);
        for i in 0..self.fallback[req.preferred].len() {
            let node = usize::from(self.fallback[req.preferred][i]);
            if !req.allows(node) {
                continue;
            }
            if req.huge && self.zones_of(node).any(|z| self.compaction_ready(z)) {
                ready = true;
                continue;
            }
            freed += self.shrink_for(node, req.huge, priority, anon, work);
        }
        (freed, ready)
    }
    fn shrink_for<A: AnonReclaim>(
        &mut self,
        node: usize,
        huge: bool,
        priority: u32,
        anon: &mut A,
        work: &mut Work,
    ) -> u64 {
        let sc = ScanControl {
            target: SWAP_CLUSTER_MAX,
            priority,
            files: FileRules { may_write: false, may_unmap: true },
            may_swap: true,
            kswapd: false,
        };
        let mut freed = 0;
        loop {
            let batch = self.shrink_node(node, &sc, anon, work);
            freed += batch;
            if !huge || batch == 0 || !self.should_continue_reclaim(node) {
                return freed;
            }
        }
    }
    /// Whether reclaim continues on a node for order 9 (`should_continue_reclaim`).
    fn should_continue_reclaim(&self, node: usize) -> bool {
        let lru = &self.accounts[node].lru;
        let inactive = lru.inactive_file + if self.can_reclaim_anon(node) { lru.inactive_anon } else { 0 };
        let enough = self.zones_of(node).any(|z| self.zone_ok(z, true, Mark::Min) || self.compaction_suitable(z));
        !enough && inactive > COMPACT_GAP
    }
    /// Whether a huge page is free, or compaction can run with room to spare (`compaction_ready`).
    fn compaction_ready(&self, zone: usize) -> bool {
        let spare = self.mark_of(zone, Mark::High) + COMPACT_GAP + self.facts[zone].lowmem_reserve;
        self.zone_ok(zone, true, Mark::Min) || self.compaction_suitable(zone) && self.facts[zone].free_pages > spare
    }
    /// Whether the first allowed node has less than half of its min watermarks free, so that allocating tasks are
    /// throttled.
    fn reserves_exhausted(&self, req: &Request) -> bool {
        let first = self.fallback[req.preferred].iter().map(|n| usize::from(*n)).find(|n| req.allows(*n));
        first.is_some_and(|node| {
            let min: u64 = self.zones_of(node).map(|z| self.zones[z].marks.min).sum();
            self.free(node) < min / 2
        })
    }
}
