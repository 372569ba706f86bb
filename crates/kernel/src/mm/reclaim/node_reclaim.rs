//! Node reclaim: `vm.zone_reclaim_mode` (thp-and-allocation.md section 4.3).
//!
//! Modes 1 to 3 prefer freeing clean local page cache to remote memory, for base and huge pages. Bit 4 also unmaps
//! pages, so it may swap.

use super::anon_reclaim::AnonReclaim;
use super::files::FileRules;
use super::scan_control::ScanControl;
use crate::mm::account::PageClass;
use crate::mm::alloc::gfp::Gfp;
use crate::mm::alloc::request::Request;
use crate::mm::kernel_work::Work;
use crate::mm::physical_memory::PhysicalMemory;

const WRITE: u8 = 2;
const UNMAP: u8 = 4;
/// Priority of the first pass: 1/16 of the lists.
const PRIORITY: u32 = 4;
/// Smallest number of pages that it tries to free.
const LEAST: u64 = 32;

/// Result of node reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeReclaim {
    /// Not tried: the request cannot block, another task reclaims the node, or the node belongs to other CPUs.
    NoScan,
    /// Not tried: there is too little to free.
    Full,
    /// It freed pages, but not enough.
    Some,
    /// It freed enough.
    Success,
}

impl NodeReclaim {
    /// Whether the watermark should be tested again.
    pub fn may_pass(self) -> bool {
        matches!(self, Self::Some | Self::Success)
    }
}

impl PhysicalMemory {
    /// Reclaims a node that failed its low watermark for a request.
    pub fn node_reclaim<A: AnonReclaim>(
        &mut self,
        node: usize,
        req: &Request,
        anon: &mut A,
        work: &mut Work,
    ) -> NodeReclaim {
        if self.little_to_gain(node) {
            return NodeReclaim::Full;
        }
        let foreign = self.cpu_nodes.contains(node) && node != req.here;
        if !req.gfp.has(Gfp::DIRECT_RECLAIM) || foreign || self.reclaiming[node] {
            return NodeReclaim::NoScan;
        }
        self.reclaiming[node] = true;
        let freed = self.reclaim_cache(node, req.pages().max(LEAST), anon, work);
        self.reclaiming[node] = false;
        if freed >= req.pages() {
            self.events.zone_reclaim_success += 1;
            NodeReclaim::Success
        } else {
            self.events.zone_reclaim_failed += 1;
            NodeReclaim::Some
        }
    }
    /// Pages that node reclaim could free (`node_pagecache_reclaimable`).
    pub fn node_reclaim_candidates(&self, node: usize) -> u64 {
        let a = &self.accounts[node];
        let mode = self.cfg.vm.zone_reclaim_mode;
        let mapped = if mode & UNMAP != 0 { a.pages(PageClass::FileMapped) } else { 0 };
        let dirty = if mode & WRITE != 0 { a.pages(PageClass::FileDirty) } else { 0 };
        a.pages(PageClass::FileClean) + dirty + mapped
    }
    fn little_to_gain(&self, node: usize) -> bool {
        let part = |percent: u32| self.present[node] * u64::from(percent) / 100;
        self.node_reclaim_candidates(node) <= part(self.cfg.vm.min_unmapped_ratio)
            && self.accounts[node].pages(PageClass::SlabReclaimable) <= part(self.cfg.vm.min_slab_ratio)
    }
    fn reclaim_cache<A: AnonReclaim>(&mut self, node: usize, target: u64, anon: &mut A, work: &mut Work) -> u64 {
        let mode = self.cfg.vm.zone_reclaim_mode;
        let least = self.present[node] * u64::from(self.cfg.vm.min_unmapped_ratio) / 100;
        let mut freed = 0;
        for priority in (0..=PRIORITY).rev() {
            if freed >= target || self.node_reclaim_candidates(node) <= least {
                break;
            }
            let sc = ScanControl {
                target: target - freed,
                priority,
                files: FileRules { may_write: mode & WRITE != 0, may_unmap: mode & UNMAP != 0 },
                may_swap: mode & UNMAP != 0,
                kswapd: false,
            };
            freed += self.shrink_node(node, &sc, anon, work);
        }
        freed
    }
}
