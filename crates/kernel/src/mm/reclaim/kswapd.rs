//! kswapd and kcompactd, one each per node (thp-and-allocation.md sections 4.1 and 10.3).
//!
//! Both run in steps, so that the caller decides when and on which CPU. [`PhysicalMemory::kswapd_step`] is one pass at
//! one priority.

use super::anon_reclaim::AnonReclaim;
use super::daemons::{Kcompactd, Kswapd, KswapdStep};
use super::files::FileRules;
use super::scan_control::{ScanControl, DEF_PRIORITY, SWAP_CLUSTER_MAX};
use crate::mm::alloc::gfp::Gfp;
use crate::mm::alloc::request::Request;
use crate::mm::alloc::take_page::Mark;
use crate::mm::compact::attempt::{Mode, Status};
use crate::mm::compact::daemon::proactive_wants;
use crate::mm::compact::suitable::COMPACT_GAP;
use crate::mm::kernel_work::Work;
use crate::mm::pageblock::fragmentation;
use crate::mm::physical_memory::PhysicalMemory;

/// Runs without progress after which a node is hopeless (`MAX_RECLAIM_RETRIES`).
const MAX_RECLAIM_RETRIES: u32 = 16;
/// Priority from which kswapd writes dirty file pages.
const WRITES_FROM: u32 = 10;

impl PhysicalMemory {
    /// State of a node's kswapd.
    pub fn kswapd(&self, node: usize) -> &Kswapd {
        &self.kswapd[node]
    }
    /// State of a node's kcompactd.
    pub fn kcompactd(&self, node: usize) -> &Kcompactd {
        &self.kcompactd[node]
    }
    /// Wakes kswapd of every allowed node in the fallback order of a request.
    pub(in crate::mm) fn wake_kswapds(&mut self, req: &Request) {
        for i in 0..self.fallback[req.preferred].len() {
            let node = usize::from(self.fallback[req.preferred][i]);
            if req.allows(node) {
                self.wake_kswapd(node, req.huge, req.gfp.has(Gfp::DIRECT_RECLAIM));
            }
        }
    }
    /// Wakes kswapd of a node for a base or a huge page (`wakeup_kswapd`). A node that is balanced or hopeless is not
    /// woken; if the request cannot compact directly, kcompactd is woken.
    pub fn wake_kswapd(&mut self, node: usize, huge: bool, can_block: bool) {
        if self.kswapd[node].failures >= MAX_RECLAIM_RETRIES || self.balanced(node, huge) {
            if huge && !can_block {
                self.kcompactd[node].woken = true;
            }
            return;
        }
        let k = &mut self.kswapd[node];
        if !k.running {
            *k = Kswapd { running: true, priority: DEF_PRIORITY, failures: k.failures, ..Kswapd::default() };
            self.events.pageoutrun += 1;
        }
        k.huge |= huge;
        k.asked_huge |= huge;
    }
    /// Whether some zone of a node is above the watermark that kswapd aims at (`pgdat_balanced`).
    fn balanced(&self, node: usize, huge: bool) -> bool {
        let goal = if self.cfg.vm.tiering { Mark::Promo } else { Mark::High };
        self.zones_of(node).any(|z| self.zone_ok(z, huge, goal))
    }

    /// One pass of kswapd on a node, if it is awake.
    pub fn kswapd_step<A: AnonReclaim>(&mut self, node: usize, anon: &mut A, work: &mut Work) -> KswapdStep {
        if !self.kswapd[node].running {
            return KswapdStep::Asleep;
        }
        if self.balanced(node, self.kswapd[node].huge) {
            return self.kswapd_sleeps(node);
        }
        let goal = |z: usize| self.mark_of(z, Mark::High).max(SWAP_CLUSTER_MAX);
        let target = self.zones_of(node).map(goal).sum();
        let priority = self.kswapd[node].priority;
        let sc = ScanControl {
            target,
            priority,
            files: FileRules { may_write: priority <= WRITES_FROM, may_unmap: true },
            may_swap: true,
            kswapd: true,
        };
        self.age_anon_if_low(node, anon, work);
        let seen = work.scanned;
        let freed = self.shrink_node(node, &sc, anon, work);
        let seen = work.scanned - seen;
        let k = &mut self.kswapd[node];
        k.reclaimed += freed;
        if k.reclaimed >= COMPACT_GAP {
            // Enough pages are free for compaction.
            k.huge = false;
        }
        if seen < target || freed == 0 {
            if k.priority == 1 {
                k.failures += u32::from(k.reclaimed == 0);
                return self.kswapd_sleeps(node);
            }
            k.priority -= 1;
        }
        if self.balanced(node, self.kswapd[node].huge) {
            return self.kswapd_sleeps(node);
        }
        KswapdStep::Running
    }
    fn kswapd_sleeps(&mut self, node: usize) -> KswapdStep {
        for z in self.zones_of(node) {
            self.zones[z].boost = 0;
        }
        let k = &mut self.kswapd[node];
        self.kcompactd[node].woken |= k.asked_huge;
        *k = Kswapd { failures: k.failures, ..Kswapd::default() };
        KswapdStep::Asleep
    }

    /// Runs kcompactd of a node if it was woken: light synchronous compaction until a block is free.
    pub fn run_kcompactd(&mut self, node: usize, work: &mut Work) {
        if !std::mem::take(&mut self.kcompactd[node].woken) {
            return;
        }
        self.events.compact_daemon_wake += 1;
        for z in self.zones_of(node) {
            if !self.zones[z].compaction.defer.deferred(9) {
                self.compact_zone(z, Mode::SyncLight, work);
            }
        }
    }
    /// Starts proactive compaction of a node if its memory is fragmented enough and kswapd sleeps
    /// (`should_proactive_compact_node`). kcompactd asks every 500 ms.
    pub fn start_proactive(&mut self, node: usize) {
        let score = self.fragmentation_score(node);
        let wanted = proactive_wants(self.cfg.compact.proactiveness, score, false) && !self.kswapd[node].running;
        self.kcompactd[node].proactive_from = wanted.then_some(score);
    }
    /// Goes on with proactive compaction until one more block is free. It ends at a score that is low enough, where
    /// nothing more can be freed, and for kswapd (`__compact_finished`). Returns whether it has ended without progress:
    /// then kcompactd looks again after [`PROACTIVE_DEFERRED`](crate::mm::compact::PROACTIVE_DEFERRED) intervals.
    pub fn proactive_step(&mut self, node: usize, work: &mut Work) -> bool {
        let Some(from) = self.kcompactd[node].proactive_from else { return false };
        let progress = !self.kswapd[node].running
            && self.zones_of(node).any(|z| self.compact_zone_further(z, Mode::SyncLight, work) == Status::Success);
        let score = self.fragmentation_score(node);
        if progress && proactive_wants(self.cfg.compact.proactiveness, score, true) {
            return false;
        }
        self.kcompactd[node].proactive_from = None;
        score >= from
    }
    /// Fragmentation score of a node, 0..=100; its zones are weighted by size.
    pub fn fragmentation_score(&self, node: usize) -> u64 {
        let of = |z: usize| {
            let zone = &self.zones[z];
            fragmentation::score(self.facts[z].free_pages, zone.pageblocks.empty_blocks()) * zone.managed
        };
        self.zones_of(node).map(of).sum::<u64>() / self.present[node].max(1)
    }
}
