//! The swap device: slots, in clusters that can take a whole huge page (model; thp-and-allocation.md section 4.5).

use super::shadow::Shadow;
use crate::mm::pageblock::bit_tree::BitTree;
use crate::mm::units::CHUNK_PAGES;
use numalab_base::base_page::BasePage;
use numalab_base::tunable::Needs;

numalab_base::tunables! {
    /// Settings of the swap device.
    pub struct SwapTunables: "swap" {
        /// Size, at most 1 TiB; 0 for no swap.
        size_mb: u64 = 0, "MiB", "swapon", range 0..=1_048_576;
        /// Sustained time to write a page.
        write_page_ns: u32 = 8000, "ns", "model", range 0..=1_000_000_000, read when "swap.size_mb" is Needs::Not("0");
        /// Time to read a page at random.
        read_page_ns: u32 = 90_000, "ns", "model", range 0..=1_000_000_000, read when "swap.size_mb" is Needs::Not("0");
        /// Huge pages are swapped out whole if there are 512 adjacent slots (4.13 on).
        whole_huge_pages: bool = true, "", "CONFIG_THP_SWAP", read when "swap.size_mb" is Needs::Not("0");
    }
}

const CLUSTER: usize = CHUNK_PAGES as usize;

/// Slots of a swap device, numbered from 0.
#[derive(Clone, Debug)]
pub struct SwapDevice {
    free: BitTree,
    /// Number of used slots in each cluster of 512.
    used: Vec<u16>,
    /// Clusters without a used slot.
    empty: BitTree,
    /// Shadow entry of each slot, up to the highest slot that has had one. The lowest free slot is used first, so this
    /// grows with what is swapped out and not with the device.
    shadows: Vec<Shadow>,
}

impl SwapDevice {
    /// An unused device of `mib` MiB, with a slot for each base page.
    pub fn new(mib: u64, page: BasePage) -> Self {
        // Whole clusters only; a part at the end is not used.
        let slots = page.of_mib(mib) as usize / CLUSTER * CLUSTER;
        let clusters = slots / CLUSTER;
        let (free, empty) = (BitTree::full(slots), BitTree::full(clusters));
        Self { free, used: vec![0; clusters], empty, shadows: Vec::new() }
    }
    /// Number of free slots.
    #[inline]
    pub fn free_slots(&self) -> u64 {
        self.free.count() as u64
    }
    /// Number of used slots.
    pub fn used_slots(&self) -> u64 {
        self.used.iter().map(|u| u64::from(*u)).sum()
    }
    /// Takes the lowest free slot.
    pub fn take(&mut self) -> Option<u32> {
        let slot = self.free.first()?;
        self.free.remove(slot);
        self.used[slot / CLUSTER] += 1;
        self.empty.remove(slot / CLUSTER);
        Some(slot as u32)
    }
    /// Takes 512 adjacent slots; returns the first.
    pub fn take_cluster(&mut self) -> Option<u32> {
        let cluster = self.empty.first()?;
        self.empty.remove(cluster);
        let first = cluster * CLUSTER;
        (first..first + CLUSTER).for_each(|slot| {
            self.free.remove(slot);
        });
        self.used[cluster] = CLUSTER as u16;
        Some(first as u32)
    }
    /// Sets the shadow entry of a slot.
    pub fn set_shadow(&mut self, slot: u32, shadow: Shadow) {
        let slot = slot as usize;
        if slot >= self.used.len() * CLUSTER {
            return;
        }
        if slot >= self.shadows.len() {
            self.shadows.resize(slot + 1, Shadow::default());
        }
        self.shadows[slot] = shadow;
    }
    /// Shadow entry of a slot.
    pub fn shadow(&self, slot: u32) -> Shadow {
        self.shadows.get(slot as usize).copied().unwrap_or_default()
    }
    /// Frees a slot. Returns false if it was free, which is an error of the caller.
    pub fn put(&mut self, slot: u32) -> bool {
        let slot = slot as usize;
        if slot >= self.used.len() * CLUSTER || !self.free.insert(slot) {
            return false;
        }
        let used = &mut self.used[slot / CLUSTER];
        *used -= 1;
        if let Some(shadow) = self.shadows.get_mut(slot) {
            *shadow = Shadow::default();
        }
        if *used == 0 {
            self.empty.insert(slot / CLUSTER);
        }
        true
    }
    /// Checks that every slot is used or free, and that clusters without a used slot are known as empty.
    ///
    /// # Errors
    /// A sentence that names the first disagreement.
    pub fn check(&self) -> Result<(), String> {
        let (free, used, all) = (self.free_slots(), self.used_slots(), (self.used.len() * CLUSTER) as u64);
        if free + used != all {
            return Err(format!("{free} free and {used} used slots of {all}"));
        }
        match self.used.iter().enumerate().find(|(c, used)| self.empty.contains(*c) != (**used == 0)) {
            Some((c, used)) => Err(format!("cluster {c} has {used} used slots, and the index says otherwise")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::tunable::Group;

    #[test]
    fn slots_and_clusters() {
        let mut s = SwapDevice::new(6, BasePage::Kib4);
        assert_eq!(s.free_slots(), 1536);
        assert_eq!((s.take(), s.take()), (Some(0), Some(1)));
        assert_eq!((s.take_cluster(), s.take_cluster(), s.take_cluster()), (Some(512), Some(1024), None));
        assert_eq!((s.free_slots(), s.used_slots()), (510, 1026));
        assert!(s.put(0) && !s.put(0) && s.put(1));
        assert_eq!(s.take_cluster(), Some(0), "a cluster that is empty again");
        assert!((0..1536).all(|slot| s.put(slot)));
        assert_eq!((s.free_slots(), s.used_slots()), (1536, 0));
        assert!(!s.put(5000));
        assert_eq!(SwapDevice::new(0, BasePage::Kib4).take(), None);
    }

    #[test]
    fn a_slot_that_is_neither_used_nor_free_is_found() {
        let mut s = SwapDevice::new(6, BasePage::Kib4);
        s.take();
        assert_eq!(s.check(), Ok(()));
        s.used[0] += 1;
        assert_eq!(s.check().unwrap_err(), "1535 free and 2 used slots of 1536");
        s.used[0] -= 1;
        s.empty.insert(0);
        assert_eq!(s.check().unwrap_err(), "cluster 0 has 1 used slots, and the index says otherwise");
    }

    #[test]
    fn the_largest_device_costs_little_until_it_is_used() {
        let largest = SwapTunables::DECLS[0].range.1 as u64;
        let mut s = SwapDevice::new(largest, BasePage::Kib4);
        assert_eq!((s.free_slots(), s.shadows.capacity()), (largest << 8, 0));
        assert!(s.free_slots() <= u64::from(u32::MAX), "slots are numbered in 32 bits");
        let (first, second) = (s.take().unwrap(), s.take().unwrap());
        s.set_shadow(second, Shadow::new(3, 7, true));
        assert_eq!(s.shadow(first), Shadow::default());
        assert_eq!(s.shadow(second).unpack(), Some((3, 7, true)));
        assert!(s.put(first) && s.put(second), "with and without a shadow");
        assert_eq!((s.shadow(second), s.shadows.len()), (Shadow::default(), 2));
        s.set_shadow(u32::MAX, Shadow::new(1, 1, false));
        assert_eq!((s.shadow(u32::MAX), s.shadows.len()), (Shadow::default(), 2), "there is no such slot");
    }
}
