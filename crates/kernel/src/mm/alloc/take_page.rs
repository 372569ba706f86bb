//! Taking a page from the first zone of a zonelist that passes a watermark, without waiting for anything.
//!
//! The fast and the slow path, reclaim and compaction all end here.

use super::gfp::Gfp;
use super::request::{AllocatedPage, Constraint, Request};
use crate::mm::account::PageClass;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;
use crate::mm::units::CHUNK_PAGES;
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
    pub(in crate::mm) fn count_alloc(&mut self, req: &Request, node: usize) {
        self.count_allocs(req, node, 1);
    }

    /// Counts so many allocation events of one request, all of which `node` has served.
    #[inline]
    pub(in crate::mm) fn count_allocs(&mut self, req: &Request, node: usize, events: u64) {
        let first = if req.allows(req.preferred) && self.present[req.preferred] > 0 {
            req.preferred
        } else {
            let order = self.fallback[req.preferred].iter().map(|n| usize::from(*n));
            order.into_iter().find(|n| req.allows(*n)).unwrap_or(node)
        };
        let total = &mut self.counters;
        if node == first {
            total.numa_hit += events;
            self.node_counters[node].numa_hit += events;
            if req.interleaved && node == req.preferred {
                total.numa_interleave += events;
                self.node_counters[node].numa_interleave += events;
            }
        } else {
            total.numa_miss += events;
            total.numa_foreign += events;
            self.node_counters[node].numa_miss += events;
            self.node_counters[first].numa_foreign += events;
        }
        if node == req.here {
            total.numa_local += events;
            self.node_counters[node].numa_local += events;
        } else {
            total.numa_other += events;
            self.node_counters[node].numa_other += events;
        }
    }

    /// A request for one node without reclaim, as migration and kernel daemons make it.
    pub(in crate::mm) fn request_on(&self, here: usize, node: usize, class: PageClass) -> Request {
        let huge = class.is_huge();
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
