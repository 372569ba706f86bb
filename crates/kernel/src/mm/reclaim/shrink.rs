//! One pass of reclaim over a node (`shrink_node`).

use super::anon_reclaim::AnonReclaim;
use super::balance::{scan_targets, ScanFacts};
use super::files::Extent;
use super::scan_control::{ScanControl, SWAP_CLUSTER_MAX};
use crate::mm::account::PageClass;
use crate::mm::alloc::take_page::Mark;
use crate::mm::kernel_work::Work;
use crate::mm::physical_memory::PhysicalMemory;

impl PhysicalMemory {
    /// Scans the lists of a node once; returns the freed pages.
    pub(super) fn shrink_node<A: AnonReclaim>(
        &mut self,
        node: usize,
        sc: &ScanControl,
        anon: &mut A,
        work: &mut Work,
    ) -> u64 {
        if self.deferred_split_pages[node] > 0 {
            anon.split_deferred_thps(self, node, work);
        }
        let targets = scan_targets(&self.scan_facts(node, sc));
        let (mut anon_left, mut file_left) = (targets.anon, targets.file);
        let lru = self.accounts[node].lru;
        let mut active = if anon_left > 0 && lru.anon_is_low() { lru.active_anon >> sc.priority } else { 0 };
        let mut freed = 0;
        let mut scanned = 0;
        while anon_left + file_left > 0 && freed < sc.target {
            if active > 0 {
                let seen = self.age_anon(node, active.min(SWAP_CLUSTER_MAX), anon, work);
                active = if seen == 0 { 0 } else { active.saturating_sub(seen) };
            }
            if file_left > 0 {
                let seen = self.shrink_files(node, file_left.min(SWAP_CLUSTER_MAX), sc, anon, work, &mut freed);
                file_left = if seen == 0 { 0 } else { file_left.saturating_sub(seen) };
                scanned += seen;
            }
            if anon_left > 0 && freed < sc.target {
                let seen = self.shrink_anon(node, anon_left.min(SWAP_CLUSTER_MAX), sc, anon, work, &mut freed);
                anon_left = if seen == 0 { 0 } else { anon_left.saturating_sub(seen) };
                scanned += seen;
            }
        }
        self.age_files(node);
        if sc.may_swap {
            self.age_anon_if_low(node, anon, work);
        }
        work.scanned += scanned;
        work.reclaimed += freed;
        let e = &mut self.events;
        let (scan_counter, steal_counter) = if sc.kswapd {
            (&mut e.pgscan_kswapd, &mut e.pgsteal_kswapd)
        } else {
            (&mut e.pgscan_direct, &mut e.pgsteal_direct)
        };
        *scan_counter += scanned;
        *steal_counter += freed;
        if freed > 0 {
            self.kswapd[node].reset_failures();
        }
        freed
    }

    fn scan_facts(&self, node: usize, sc: &ScanControl) -> ScanFacts {
        let lru = &self.accounts[node].lru;
        ScanFacts {
            can_reclaim_anon: sc.may_swap && self.can_reclaim_anon(node),
            priority: sc.priority,
            swappiness: u64::from(self.cfg.vm.swappiness),
            inactive_anon: lru.inactive_anon,
            inactive_file: lru.inactive_file,
            file: lru.file(),
            free: self.free(node),
            high: self.zones_of(node).map(|z| self.mark_of(z, Mark::High)).sum(),
            file_refaults: false,
            anon_cost: 0,
            file_cost: 0,
        }
    }
    fn age_files(&mut self, node: usize) {
        let aged = self.files[node].age();
        self.events.pgrefill += aged;
        self.events.pgdeactivate += aged;
        self.note_files(node);
    }
    /// Deactivates a batch of anonymous pages if the inactive list is short. They can then be used before they are
    /// scanned.
    pub(super) fn age_anon_if_low<A: AnonReclaim>(&mut self, node: usize, anon: &mut A, work: &mut Work) {
        if self.can_reclaim_anon(node) && self.accounts[node].lru.anon_is_low() {
            self.age_anon(node, SWAP_CLUSTER_MAX, anon, work);
        }
    }
    /// Deactivates active anonymous pages; returns their number.
    fn age_anon<A: AnonReclaim>(&mut self, node: usize, scan: u64, anon: &mut A, work: &mut Work) -> u64 {
        let aged = anon.age_anon(self, node, scan, work);
        self.events.pgrefill += aged;
        self.events.pgdeactivate += aged;
        aged
    }
    /// Copies the sizes of the file lists to the account of the node.
    pub(super) fn note_files(&mut self, node: usize) {
        let lru = &mut self.accounts[node].lru;
        (lru.inactive_file, lru.active_file) = (self.files[node].inactive(), self.files[node].active());
    }

    fn shrink_anon<A: AnonReclaim>(
        &mut self,
        node: usize,
        scan: u64,
        sc: &ScanControl,
        anon: &mut A,
        work: &mut Work,
        freed: &mut u64,
    ) -> u64 {
        let demoted = work.demoted;
        let out = anon.shrink_anon(self, node, scan, self.demotion_target(node), work);
        self.events.pgactivate += out.activated;
        self.nonresident_age[node] += out.activated;
        *freed += out.freed;
        self.count_demoted(work.demoted - demoted, sc.kswapd);
        out.scanned
    }
    fn count_demoted(&mut self, pages: u64, kswapd: bool) {
        if kswapd {
            self.events.pgdemote_kswapd += pages;
        } else {
            self.events.pgdemote_direct += pages;
        }
    }

    fn shrink_files<A: AnonReclaim>(
        &mut self,
        node: usize,
        scan: u64,
        sc: &ScanControl,
        anon: &mut A,
        work: &mut Work,
        freed: &mut u64,
    ) -> u64 {
        let (taken, seen) = self.files[node].shrink(scan, sc.files);
        let Some(mut extent) = taken else {
            self.note_files(node);
            return seen;
        };
        if extent.class == PageClass::FileMapped {
            let unmapped = anon.unmap_file(node, u64::from(extent.pages)).min(u64::from(extent.pages)) as u16;
            for _ in unmapped..extent.pages {
                self.files[node].add(extent.frame, extent.class);
            }
            extent.pages = unmapped;
        }
        if extent.class == PageClass::FileDirty {
            work.written += u64::from(extent.pages);
        }
        let demoted = self.demote_files(node, &mut extent, work);
        self.count_demoted(demoted, sc.kswapd);
        for _ in 0..extent.pages {
            self.free_page(node, extent.frame, extent.class);
        }
        self.note_files(node);
        *freed += u64::from(extent.pages) + demoted;
        seen
    }
    /// Demotes file pages as far as the target has free memory; the other pages stay in `extent`.
    fn demote_files(&mut self, node: usize, extent: &mut Extent, work: &mut Work) -> u64 {
        let Some(target) = self.demotion_target(node) else { return 0 };
        let mut moved = 0;
        while extent.pages > 0 {
            let req = self.request_on(node, target, extent.class);
            let Some(got) = self.alloc_above_low(&req) else { break };
            self.files[target].add(got.frame, extent.class);
            self.free_page(node, extent.frame, extent.class);
            extent.pages -= 1;
            moved += 1;
        }
        self.note_files(target);
        work.demoted += moved;
        moved
    }
    /// Pages of a node that reclaim could free.
    pub(in crate::mm) fn reclaimable(&self, node: usize) -> u64 {
        let a = &self.accounts[node];
        let file = a.pages(PageClass::FileClean) + a.pages(PageClass::FileDirty);
        self.deferred_split_pages[node] + file + if self.can_reclaim_anon(node) { a.lru.anon() } else { 0 }
    }
}
