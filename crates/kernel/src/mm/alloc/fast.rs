//! The fast path: one walk over the zonelist above the low watermarks (thp-and-allocation.md section 3.1).
//!
//! With node reclaim off, a node below its low watermark is skipped, and nothing wakes its kswapd. So a node full of
//! page cache gives no local base page until some of it is freed.

use super::gfp::Gfp;
use super::request::{AllocError, AllocatedPage, Request};
use super::take_page::Mark;
use crate::mm::account::PageClass;
use crate::mm::kernel_work::Work;
use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::policy::policy_nodes::PolicyNodes;
use crate::mm::reclaim::anon_reclaim::AnonReclaim;
use numalab_base::node_mask::NodeMask;

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
