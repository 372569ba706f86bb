//! The fast path: one walk over the zonelist above the low watermarks (thp-and-allocation.md section 3.1).
//!
//! With node reclaim off, a node below its low watermark is skipped, and nothing wakes its kswapd. So a node full of
//! page cache gives no local base page until some of it is freed.

use super::gfp::Gfp;
use super::request::{AllocError, AllocatedPage, Constraint, Request};
use crate::mm::account::PageClass;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::policy::policy_nodes::PolicyNodes;
use crate::mm::reclaim::anon_reclaim::AnonReclaim;
use crate::mm::units::CHUNK_PAGES;
use crate::mm::work::Work;
use crate::mm::zone::watermark::{watermark_ok, Urgency, ZoneState};
use numalab_base::node_mask::NodeMask;

/// Which watermark a zone must pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mm) enum Mark {
    Min,
    Low,
    High,
    Promo,
}

impl PhysicalMemory {
    /// Allocates a page by the fast path, then the slow path. Reclaim takes anonymous pages through `anon`. The work
    /// that the caller waits for is added to `work`.
    ///
    /// # Errors
    /// [`AllocError::NoPage`] for a request that may fail; [`AllocError::Oom`] if a task has to be killed first.
    #[inline]
    pub fn alloc_page<A: AnonReclaim>(
        &mut self,
        req: &Request,
        anon: &mut A,
        work: &mut Work,
    ) -> Result<AllocatedPage, AllocError> {
        match self.first_zone_above_low(req, anon, work) {
            Some(zone) => Ok(self.take_page(req, zone)),
            None => self.alloc_slow(req, anon, work),
        }
    }
    /// Allocates an anonymous page under a policy. Preferred-many tries its nodes without direct reclaim, then all
    /// nodes.
    ///
    /// # Errors
    /// As [`Self::alloc_page`].
    #[inline]
    pub fn alloc_anon<A: AnonReclaim>(
        &mut self,
        gfp: Gfp,
        huge: bool,
        at: &AllocSite,
        anon: &mut A,
        work: &mut Work,
    ) -> Result<AllocatedPage, AllocError> {
        self.alloc_class(gfp, if huge { PageClass::AnonHuge } else { PageClass::Anon }, at, anon, work)
    }
    /// Allocates a page of any class under a policy, as [`Self::alloc_anon`] does.
    ///
    /// # Errors
    /// As [`Self::alloc_page`].
    #[inline]
    pub fn alloc_class<A: AnonReclaim>(
        &mut self,
        gfp: Gfp,
        class: PageClass,
        at: &AllocSite,
        anon: &mut A,
        work: &mut Work,
    ) -> Result<AllocatedPage, AllocError> {
        let (all, huge) = (self.memory_nodes(), class == PageClass::AnonHuge);
        let request = |gfp, policy_nodes: &PolicyNodes| Request {
            class,
            ..Request::anon(gfp, huge, at.here, policy_nodes, at.mems, all)
        };
        let mut policy_nodes = at.policy_nodes;
        if policy_nodes.preferred_many {
            if let Ok(got) = self.alloc_page(&request(gfp & !Gfp::DIRECT_RECLAIM, &policy_nodes), anon, work) {
                return Ok(got);
            }
            policy_nodes = PolicyNodes { mask: None, preferred_many: false, ..policy_nodes };
        }
        self.alloc_page(&request(gfp, &policy_nodes), anon, work)
    }

    /// Allocates a base page of movable data as [`Self::alloc_class`] does, and frees it at once. Returns its node.
    /// Where the fast path finds a page, only the counts of the allocation are left of it.
    ///
    /// # Errors
    /// As [`Self::alloc_page`].
    #[inline]
    pub fn alloc_and_free<A: AnonReclaim>(
        &mut self,
        gfp: Gfp,
        class: PageClass,
        at: &AllocSite,
        anon: &mut A,
        work: &mut Work,
    ) -> Result<usize, AllocError> {
        debug_assert!(class.is_movable() && class != PageClass::AnonHuge, "{class:?} is no base page of movable data");
        let policy_nodes = &at.policy_nodes;
        if self.cfg.vm.zone_reclaim_mode == 0 {
            let request =
                Request { class, ..Request::anon(gfp, false, at.here, policy_nodes, at.mems, self.memory_nodes()) };
            // Taking a page and putting it back leaves the zone as it was.
            if let Some(zone) = self.first_zone_above(&request, Mark::Low) {
                let node = self.zones[zone].node;
                self.count_alloc(&request, node);
                return Ok(node);
            }
        }
        let got = self.alloc_class(gfp, class, at, anon, work)?;
        self.free_page(got.node, got.frame, class);
        Ok(got.node)
    }

    /// Allocates above the low watermark by the fast path, without node reclaim.
    #[inline]
    pub(in crate::mm) fn alloc_above_low(&mut self, req: &Request) -> Option<AllocatedPage> {
        let zone = self.first_zone_above(req, Mark::Low)?;
        Some(self.take_page(req, zone))
    }

    /// First allowed zone of the zonelist that passes the watermark.
    #[inline]
    pub(in crate::mm) fn first_zone_above(&self, req: &Request, mark: Mark) -> Option<usize> {
        let urgency = if req.gfp.has(Gfp::HIGH) && !req.huge { Urgency::High } else { Urgency::Normal };
        let list = &self.zonelists[req.preferred];
        let passes = |z: &u16| {
            let zone = usize::from(*z);
            req.allows(self.zones[zone].node) && self.zone_ok_for(zone, req.huge, mark, urgency)
        };
        list.iter().copied().find(passes).map(usize::from)
    }
    #[inline]
    fn first_zone_above_low<A: AnonReclaim>(&mut self, req: &Request, anon: &mut A, work: &mut Work) -> Option<usize> {
        if self.cfg.vm.zone_reclaim_mode == 0 {
            return self.first_zone_above(req, Mark::Low);
        }
        self.first_zone_reclaiming(req, anon, work)
    }
    /// First allowed zone above its low watermark. A near zone that fails is reclaimed first (node reclaim).
    fn first_zone_reclaiming<A: AnonReclaim>(&mut self, req: &Request, anon: &mut A, work: &mut Work) -> Option<usize> {
        for i in 0..self.zonelists[req.preferred].len() {
            let zone = usize::from(self.zonelists[req.preferred][i]);
            let node = self.zones[zone].node;
            if !req.allows(node) {
                continue;
            }
            if self.zone_ok(zone, req.huge, Mark::Low) {
                return Some(zone);
            }
            let near = self.distance[req.preferred][node] <= self.reclaim_distance;
            if near && self.node_reclaim(node, req, anon, work).may_pass() && self.zone_ok(zone, req.huge, Mark::Low) {
                return Some(zone);
            }
        }
        None
    }
    /// Whether a zone passes the watermark for a request without privileges.
    #[inline]
    pub(in crate::mm) fn zone_ok(&self, zone: usize, huge: bool, mark: Mark) -> bool {
        self.zone_ok_for(zone, huge, mark, Urgency::Normal)
    }
    #[inline]
    fn zone_ok_for(&self, zone: usize, huge: bool, mark: Mark, urgency: Urgency) -> bool {
        let (z, facts) = (&self.zones[zone], &self.facts[zone]);
        let state = ZoneState {
            free: facts.free_pages,
            reserved: 0,
            empty: if huge { z.pageblocks.empty_blocks() } else { 0 },
            lowmem_reserve: facts.lowmem_reserve,
        };
        watermark_ok(&state, huge, self.mark_of(zone, mark), urgency)
    }
    /// A watermark of a zone with boost, pages.
    #[inline]
    pub(in crate::mm) fn mark_of(&self, zone: usize, mark: Mark) -> u64 {
        let z = &self.zones[zone];
        z.boost
            + match mark {
                Mark::Min => z.marks.min,
                Mark::Low => z.marks.low,
                Mark::High => z.marks.high,
                Mark::Promo => z.marks.promo,
            }
    }

    /// Takes a page from a zone that passed its watermark, and counts the allocation.
    #[inline]
    pub(in crate::mm) fn take_page(&mut self, req: &Request, zone: usize) -> AllocatedPage {
        let got = self.take_page_uncounted(req, zone);
        self.count_alloc(req, got.node);
        got
    }
    /// Takes a page as [`Self::take_page`] does, without counting the allocation; scenarios use it.
    #[inline]
    pub(in crate::mm) fn take_page_uncounted(&mut self, req: &Request, zone: usize) -> AllocatedPage {
        let pageblocks = &mut self.zones[zone].pageblocks;
        let frame = if req.huge {
            pageblocks.take_huge()
        } else if req.class.is_movable() {
            pageblocks.take_movable()
        } else {
            self.take_unmovable(zone)
        };
        // The zone passed its watermark, so it has such a page.
        debug_assert!(frame.is_some(), "zone {zone} passed the test without a free page");
        let node = self.zones[zone].node;
        self.facts[zone].free_pages -= req.pages();
        let frame = frame.unwrap_or(Frame::UNKNOWN);
        let frame = frame.with(Frame::ACTIVE, req.class.is_anon() && !self.cfg.vm.anon_workingset);
        self.accounts[node].add(req.class, req.pages(), frame.has(Frame::ACTIVE));
        AllocatedPage { node, frame }
    }
    /// Takes a page of unmovable data. If it pollutes a pageblock, the zone is boosted, if that is enabled.
    fn take_unmovable(&mut self, zone: usize) -> Option<Frame> {
        let (frame, stolen) = self.zones[zone].pageblocks.take_unmovable()?;
        if stolen && self.cfg.vm.boost {
            let z = &mut self.zones[zone];
            let most = z.marks.high * u64::from(self.cfg.vm.watermark_boost_factor) / 10_000;
            z.boost = (z.boost + CHUNK_PAGES).min(most.max(CHUNK_PAGES));
        }
        Some(frame)
    }
    /// Counts one allocation event (`zone_statistics`). The intended node is the first allowed one in the fallback
    /// order.
    #[inline]
    fn count_alloc(&mut self, req: &Request, node: usize) {
        let first = if req.allows(req.preferred) && self.present[req.preferred] > 0 {
            req.preferred
        } else {
            let order = self.fallback[req.preferred].iter().map(|n| usize::from(*n));
            order.into_iter().find(|n| req.allows(*n)).unwrap_or(node)
        };
        let total = &mut self.counters;
        if node == first {
            total.numa_hit += 1;
            self.node_counters[node].numa_hit += 1;
            if req.interleaved && node == req.preferred {
                total.numa_interleave += 1;
                self.node_counters[node].numa_interleave += 1;
            }
        } else {
            total.numa_miss += 1;
            total.numa_foreign += 1;
            self.node_counters[node].numa_miss += 1;
            self.node_counters[first].numa_foreign += 1;
        }
        if node == req.here {
            total.numa_local += 1;
            self.node_counters[node].numa_local += 1;
        } else {
            total.numa_other += 1;
            self.node_counters[node].numa_other += 1;
        }
    }

    /// A request for one node without reclaim, as migration and kernel daemons make it.
    pub(in crate::mm) fn request_on(&self, here: usize, node: usize, class: PageClass) -> Request {
        let huge = class == PageClass::AnonHuge;
        Request {
            gfp: if huge { Gfp::MIGRATE_HUGE } else { Gfp::MIGRATE_BASE },
            huge,
            here,
            preferred: node,
            allowed: NodeMask::of([node]),
            class,
            constraint: Constraint::None,
            interleaved: false,
        }
    }
}

/// Where an allocation comes from and which nodes it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocSite {
    /// Node of the CPU that allocates.
    pub here: usize,
    /// Nodes by the memory policy.
    pub policy_nodes: PolicyNodes,
    /// Memory nodes of the task's cpuset.
    pub mems: NodeMask,
}
