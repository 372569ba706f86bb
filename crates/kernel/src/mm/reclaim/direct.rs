//! Direct reclaim: the allocating task frees memory itself (thp-and-allocation.md section 4.2).
//!
//! For huge pages it goes on within a node until compaction can work there: the first request on a short node
//! reclaims what is missing to `low + 1024`, and since every success takes 512 pages, each following one reclaims 512
//! or more again. That is the engine of the swap storm under `__GFP_THISNODE`.

use super::anon_reclaim::AnonReclaim;
use super::files::FileRules;
use super::scan_control::{ScanControl, DEF_PRIORITY, SWAP_CLUSTER_MAX};
use crate::mm::alloc::fast::Mark;
use crate::mm::alloc::request::Request;
use crate::mm::compact::suitable::COMPACT_GAP;
use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::work::Work;

impl PhysicalMemory {
    /// One round over the nodes of the walk; returns the pages freed.
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

    /// Shrinks every node of the walk once; says whether some zone is ready for compaction already.
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
    /// `should_continue_reclaim` for order 9.
    fn should_continue_reclaim(&self, node: usize) -> bool {
        let lru = &self.accounts[node].lru;
        let inactive = lru.inactive_file + if self.can_reclaim_anon(node) { lru.inactive_anon } else { 0 };
        let enough = self.zones_of(node).any(|z| self.zone_ok(z, true, Mark::Min) || self.compaction_suitable(z));
        !enough && inactive > COMPACT_GAP
    }
    /// `compaction_ready`: a huge page is there already, or compaction can run with room to spare.
    fn compaction_ready(&self, zone: usize) -> bool {
        let spare = self.mark_of(zone, Mark::High) + COMPACT_GAP + self.facts[zone].lowmem_reserve;
        self.zone_ok(zone, true, Mark::Min) || self.compaction_suitable(zone) && self.facts[zone].free_pages > spare
    }
    /// Whether the first node of the walk has less than half of its min marks left, so that its users sleep.
    fn reserves_exhausted(&self, req: &Request) -> bool {
        let first = self.fallback[req.preferred].iter().map(|n| usize::from(*n)).find(|n| req.allows(*n));
        first.is_some_and(|node| {
            let min: u64 = self.zones_of(node).map(|z| self.zones[z].marks.min).sum();
            self.free(node) < min / 2
        })
    }
}
