//! Pages that are read back from swap too soon (`mm/workingset.c`, for anonymous pages since 5.9).
//!
//! A node counts its evictions and activations as its age. A slot records that age at the eviction of its page. When
//! the page is read back, the difference says how much longer the inactive list should have been to keep it. If the
//! other lists are at least that long, the page goes to the active list at once. Evicted file pages have no identity
//! in the model, so they do not refault.

use super::shadow::{Shadow, AGE};
use crate::mm::alloc::request::AllocatedPage;
use crate::mm::pageblock::frame::Frame;
use crate::mm::physical_memory::PhysicalMemory;

impl PhysicalMemory {
    /// Notes that an anonymous page of a node is swapped out to a slot.
    pub fn note_eviction(&mut self, node: usize, page: Frame, slot: u32) {
        if self.cfg.vm.anon_workingset {
            let shadow = Shadow::new(node, self.nonresident_age[node], page.has(Frame::WORKINGSET));
            self.swap.set_shadow(slot, shadow);
            self.nonresident_age[node] += 1;
        }
    }
    /// Notes that a page is read back from a slot into `got`; returns its frame with the flags that its shadow entry
    /// gives it (`workingset_refault`).
    pub fn refault(&mut self, slot: u32, got: AllocatedPage) -> Frame {
        let Some((node, age, workingset)) = self.swap.shadow(slot).unpack() else { return got.frame };
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
