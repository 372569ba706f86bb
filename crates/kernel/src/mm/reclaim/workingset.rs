//! Pages that come back from swap too soon (`mm/workingset.c`, for anonymous pages since 5.9).
//!
//! A node counts what it evicts and activates. A slot remembers that count from when its page went; when the page comes
//! back, the difference is how much longer the inactive list would have had to be to keep it. If the rest of memory that
//! could have given way is at least as long, the page goes to the active list at once.
//! File pages have no identity here once they are evicted, so they do not refault (model).

use crate::mm::alloc::Got;
use crate::mm::node_memory::NodeMemory;
use crate::mm::pageblock::Frame;

/// What a slot remembers of the page it holds (`shadow` entry): node, `PG_workingset`, and the node's count, packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shadow(u64);

const AGE_BITS: u32 = 48;
const AGE: u64 = (1 << AGE_BITS) - 1;
const WORKINGSET: u64 = 1 << 63;

impl Shadow {
    /// That of a page evicted from `node` when its count was `age`.
    pub fn new(node: usize, age: u64, workingset: bool) -> Self {
        // One more, so that none is all zeros.
        Self((node as u64 + 1) << AGE_BITS | age & AGE | if workingset { WORKINGSET } else { 0 })
    }
    /// Node, count, and whether the page had been active before; `None` if nothing is remembered.
    pub fn unpack(self) -> Option<(usize, u64, bool)> {
        let node = (self.0 & !WORKINGSET) >> AGE_BITS;
        (node > 0).then(|| (node as usize - 1, self.0 & AGE, self.0 & WORKINGSET != 0))
    }
}

impl NodeMemory {
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
    pub fn refault(&mut self, slot: u32, got: Got) -> Frame {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shadows_keep_what_they_are_told() {
        assert_eq!(Shadow::default().unpack(), None);
        for (node, age, workingset) in [(0, 0, false), (31, 1 << 47, true), (127, AGE, true)] {
            assert_eq!(Shadow::new(node, age, workingset).unpack(), Some((node, age, workingset)));
        }
    }
}
