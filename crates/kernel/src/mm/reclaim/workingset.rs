//! Pages that come back from swap too soon (`mm/workingset.c`, for anonymous pages since 5.9).
//!
//! A node counts what it evicts and activates. A slot remembers that count from when its page went; when the page comes
//! back, the difference is how much longer the inactive list would have had to be to keep it. If the rest of memory that
//! could have given way is at least as long, the page goes to the active list at once.
//! File pages have no identity here once they are evicted, so they do not refault (model).

use super::shadow::{Shadow, AGE};
use crate::mm::alloc::request::AllocatedPage;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;

impl PhysicalMemory {
    /// An anonymous page of a node goes to a slot of the swap device.
    pub fn note_eviction(&mut self, node: usize, page: Frame, slot: u32) {
        if self.cfg.vm.anon_workingset {
            let shadow = Shadow::new(node, self.nonresident_age[node], page.has(Frame::WORKINGSET));
            self.swap.remember(slot, shadow);
            self.nonresident_age[node] += 1;
        }
    }
    /// A page comes back from a slot into `got`; returns it with the flags that its shadow gives it
    /// (`workingset_refault`).
    pub fn refault(&mut self, slot: u32, got: AllocatedPage) -> Frame {
        let Some((node, age, workingset)) = self.swap.recall(slot).unpack() else { return got.frame };
        self.events.workingset_refault_anon += 1;
        let distance = self.nonresident_age[node].wrapping_sub(age) & AGE;
        let lru = &self.accounts[node].lru;
        if distance > lru.active_file + lru.inactive_file + lru.active_anon {
            return got.frame;
        }
        self.nonresident_age[node] += 1;
        self.events.workingset_activate_anon += 1;
        self.events.workingset_restore_anon += u64::from(workingset);
        self.set_active(got.node, got.frame, 1, true).with(Frame::WORKINGSET, workingset)
    }
}
