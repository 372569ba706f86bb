//! The slow path: no zone of the zonelist is above its low watermark (thp-and-allocation.md section 3.2).

use super::gfp::Gfp;
use super::request::{AllocError, AllocatedPage, Request};
use super::slow_rules::BailRule;
use super::take_page::Mark;
use crate::mm::compact::attempt::{Mode, Status};
use crate::mm::compact::tunables::CompactEra;
use crate::mm::kernel_work::Work;
use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::reclaim::anon_reclaim::AnonReclaim;

/// Rounds of direct reclaim without progress after which the OOM killer is called (`MAX_RECLAIM_RETRIES`).
const MAX_RECLAIM_RETRIES: u32 = 16;

impl PhysicalMemory {
    #[cold]
    pub(super) fn alloc_slow<A: AnonReclaim>(
        &mut self,
        req: &Request,
        anon: &mut A,
        work: &mut Work,
    ) -> Result<AllocatedPage, AllocError> {
        if req.gfp.has(Gfp::KSWAPD_RECLAIM) {
            self.wake_kswapds(req);
        }
        if let Some(zone) = self.first_zone_above(req, Mark::Min) {
            return Ok(self.take_page(req, zone));
        }
        if !req.gfp.has(Gfp::DIRECT_RECLAIM) {
            return Err(AllocError::NoPage);
        }
        if req.huge {
            self.alloc_slow_huge(req, anon, work)
        } else {
            self.alloc_slow_base(req, anon, work)
        }
    }

    /// A huge page: compaction, at most one round of reclaim, compaction.
    fn alloc_slow_huge<A: AnonReclaim>(
        &mut self,
        req: &Request,
        anon: &mut A,
        work: &mut Work,
    ) -> Result<AllocatedPage, AllocError> {
        let first = if self.cfg.compact.era == CompactEra::Naive { Mode::SyncLight } else { Mode::Async };
        let status = match self.direct_compact(req, first, work) {
            Ok(got) => return Ok(got),
            Err(status) => status,
        };
        if self.gives_up(req, status) || req.gfp.has(Gfp::COMPACT_ONLY) {
            return Err(AllocError::NoPage);
        }
        self.direct_reclaim(req, anon, work);
        if let Some(zone) = self.first_zone_above(req, Mark::Min) {
            return Ok(self.take_page(req, zone));
        }
        let second = if req.gfp.has(Gfp::NORETRY) { Mode::Async } else { Mode::SyncLight };
        self.direct_compact(req, second, work).map_err(|_| AllocError::NoPage)
    }
    /// Whether the request fails after its first compaction.
    fn gives_up(&self, req: &Request, status: Status) -> bool {
        let noretry = req.gfp.has(Gfp::NORETRY);
        let hopeless = matches!(status, Status::Skipped | Status::Deferred);
        let deferred = noretry && status == Status::Deferred;
        let thisnode = noretry && req.gfp.has(Gfp::THISNODE) && !self.rules.thisnode_fail_reclaims;
        let bail = match self.rules.bail {
            BailRule::Deferred => deferred,
            BailRule::Pageblock54 => deferred || req.gfp.has(Gfp::IO) && !req.gfp.has(Gfp::RETRY_MAYFAIL) && hopeless,
            BailRule::CostlyNoretry => noretry && hopeless,
        };
        bail || thisnode
    }

    /// A base page: reclaim until there is a page, or until further reclaim is hopeless.
    fn alloc_slow_base<A: AnonReclaim>(
        &mut self,
        req: &Request,
        anon: &mut A,
        work: &mut Work,
    ) -> Result<AllocatedPage, AllocError> {
        let mut no_progress_loops = 0;
        while no_progress_loops < MAX_RECLAIM_RETRIES && self.should_reclaim_retry(req) {
            let freed = self.direct_reclaim(req, anon, work);
            if let Some(zone) = self.first_zone_above(req, Mark::Min) {
                return Ok(self.take_page(req, zone));
            }
            if req.gfp.has(Gfp::NORETRY) {
                return Err(AllocError::NoPage);
            }
            no_progress_loops = if freed > 0 { 0 } else { no_progress_loops + 1 };
        }
        if req.gfp.has(Gfp::THISNODE) || req.gfp.has(Gfp::RETRY_MAYFAIL) || req.gfp.has(Gfp::NORETRY) {
            return Err(AllocError::NoPage);
        }
        self.events.oom_kill += 1;
        Err(AllocError::Oom(req.constraint))
    }
    /// Whether some allowed zone would pass its min watermark if everything reclaimable on its node were free
    /// (`should_reclaim_retry`).
    fn should_reclaim_retry(&self, req: &Request) -> bool {
        self.zonelists[req.preferred].iter().any(|z| {
            let zone = usize::from(*z);
            let node = self.zones[zone].node;
            let needed = self.mark_of(zone, Mark::Min) + self.facts[zone].lowmem_reserve;
            req.allows(node) && self.facts[zone].free_pages + self.reclaimable(node) > needed
        })
    }
}
