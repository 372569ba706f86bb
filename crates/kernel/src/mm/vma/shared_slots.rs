//! Swap slots that the entries of several mappings may name.

use super::mapping::Vma;
use crate::mm::object::SharedMemory;
use crate::mm::units::CHUNK_PAGES;
use crate::mm::unmapped::Unmapped;

impl Vma {
    /// Index of the mapping's object that counts the slot an entry names; `None` if there is no slot or only this
    /// mapping names it.
    pub fn slot_layer(&self, chunk: usize, page: usize, store: &SharedMemory) -> Option<usize> {
        let slot = self.frame_map.slot(chunk, page)?;
        let named = |o: &u32| store.object(*o).block(chunk).and_then(|b| b.slot(page)).map(|(s, _)| s) == Some(slot);
        self.objects.iter().position(named)
    }

    /// Whether an entry of a chunk names a slot that another mapping may name too.
    pub fn has_shared_slots(&self, chunk: usize, store: &SharedMemory) -> bool {
        let any = !self.objects.is_empty() && self.frame_map.swapped_in_chunk(chunk) > 0;
        any && (0..CHUNK_PAGES as usize).any(|page| self.slot_layer(chunk, page, store).is_some())
    }

    /// Pages of a chunk whose slot only this mapping names, with the slots.
    pub(in crate::mm) fn own_slots(&self, chunk: usize, store: &SharedMemory) -> Vec<(usize, u32)> {
        if self.frame_map.swapped_in_chunk(chunk) == 0 {
            return Vec::new();
        }
        let own = |page: &usize| self.slot_layer(chunk, *page, store).is_none();
        let slot = |page: usize| self.frame_map.slot(chunk, page).map(|slot| (page, slot));
        (0..CHUNK_PAGES as usize).filter(own).filter_map(slot).collect()
    }

    /// The entry stops naming its slot. If no other entry names it, the slot is reported to `freed`.
    pub fn release_slot(
        &mut self,
        chunk: usize,
        page: usize,
        store: &mut SharedMemory,
        freed: &mut impl FnMut(Unmapped),
    ) {
        let layer = self.slot_layer(chunk, page, store);
        let Some(slot) = self.frame_map.take_slot(chunk, page) else { return };
        let free = match layer {
            Some(layer) => store.object_mut(self.objects[layer]).block_mut(chunk).drop_slot(page),
            None => Some(slot),
        };
        if let Some(slot) = free {
            freed(Unmapped::Slot(slot));
        }
    }
}
