//! An address space: the mappings of a process in ascending address order.

use super::account::PageClass;
use super::object::{Mapper, SharedMemory};
use super::physical_memory::PhysicalMemory;
use super::unmapped::Unmapped;
use crate::mm::vma::kind::VmaKind;
use crate::mm::vma::mapping::Vma;
use crate::mm::vma::sharing::CopiedEntries;

/// Largest number of mappings whose resident pages are counted anew by a query.
const MAX_STALE: usize = 64;

/// The mappings of one process. The id of a mapping never changes; positions are in address order.
#[derive(Clone, Debug, Default)]
pub struct AddressSpace {
    vmas: Vec<Vma>,
    order: Vec<u32>,
    rss: Resident,
}

/// Resident pages of all mappings. A query looks only at mappings that may have changed, because a process with
/// thousands of threads has as many stacks.
#[derive(Clone, Debug, Default)]
struct Resident {
    /// Pages of all mappings at their last count.
    total: u64,
    /// Pages of each mapping at its last count.
    counted: Vec<u64>,
    /// Whether each mapping may have changed since its last count.
    is_stale: Vec<bool>,
    /// Ids of the mappings that may have changed, at most [`MAX_STALE`].
    stale: Vec<u32>,
}

impl Resident {
    fn add(&mut self, pages: u64) {
        self.total += pages;
        self.counted.push(pages);
        self.is_stale.push(false);
    }
    #[cold]
    fn mark_stale(&mut self, id: usize, vmas: &[Vma]) {
        if self.stale.len() == MAX_STALE {
            self.total = self.pages(vmas);
            for id in self.stale.drain(..) {
                self.counted[id as usize] = vmas[id as usize].rss_pages();
                self.is_stale[id as usize] = false;
            }
        }
        self.is_stale[id] = true;
        self.stale.push(id as u32);
    }
    fn pages(&self, vmas: &[Vma]) -> u64 {
        let now: u64 = self.stale.iter().map(|&id| vmas[id as usize].rss_pages()).sum();
        let then: u64 = self.stale.iter().map(|&id| self.counted[id as usize]).sum();
        self.total + now - then
    }
}

impl AddressSpace {
    /// Adds a mapping; returns its id.
    pub fn insert(&mut self, vma: Vma) -> usize {
        let id = self.vmas.len();
        let at = self.order.partition_point(|&v| self.vmas[v as usize].start < vma.start);
        self.order.insert(at, id as u32);
        self.rss.add(vma.rss_pages());
        self.vmas.push(vma);
        id
    }
    /// Number of mappings.
    pub fn len(&self) -> usize {
        self.vmas.len()
    }
    /// Whether there is no mapping.
    pub fn is_empty(&self) -> bool {
        self.vmas.is_empty()
    }
    /// Copies the mappings `ids` of process `parent`, in that order, into this empty address space of process `child`
    /// (`dup_mmap`). Returns the number of copied entries.
    pub fn dup_mmap(
        &mut self,
        ids: &[u32],
        from: &mut AddressSpace,
        (parent, child): (u32, u32),
        (memory, store): (&mut PhysicalMemory, &mut SharedMemory),
    ) -> CopiedEntries {
        let mut all = CopiedEntries::default();
        for &id in ids {
            from.vma_mut(id as usize).split_deferred_thps(None, memory);
            let to = Mapper { process: child, vma: self.vmas.len() as u32 };
            let (vma, copied) = from.vma_mut(id as usize).fork(store, Mapper { process: parent, vma: id }, to);
            all.ptes += copied.ptes;
            all.pmds += copied.pmds;
            self.insert(vma);
        }
        all
    }
    /// Id of the mapping at a position.
    #[inline]
    pub fn id_at(&self, position: usize) -> usize {
        self.order[position] as usize
    }
    /// The mapping with this id.
    #[inline]
    pub fn vma(&self, id: usize) -> &Vma {
        &self.vmas[id]
    }
    /// The mapping with this id, for changes.
    #[inline]
    pub fn vma_mut(&mut self, id: usize) -> &mut Vma {
        if !self.rss.is_stale[id] {
            self.rss.mark_stale(id, &self.vmas);
        }
        &mut self.vmas[id]
    }
    /// Position of the first mapping that ends above `addr` (`find_vma`).
    pub fn find_vma(&self, addr: u64) -> usize {
        self.order.partition_point(|&v| self.vmas[v as usize].end <= addr)
    }
    /// All mappings, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Vma> {
        self.vmas.iter()
    }
    /// Resident pages.
    pub fn rss_pages(&self) -> u64 {
        self.rss.pages(&self.vmas)
    }
    /// Adds the pages on each node to `out`.
    pub fn add_pages_on_node(&self, out: &mut [u64]) {
        for v in &self.vmas {
            for (o, p) in out.iter_mut().zip(v.pages_on_node()) {
                *o += p * v.grain.pages();
            }
        }
    }
    /// Adds the pages that no other address space can map, on each node, to `out`.
    pub fn add_exclusive_on_node(&self, out: &mut [u64]) {
        self.vmas.iter().for_each(|v| v.add_exclusive_on_node(out));
    }
    /// Adds the active ones of the pages that no other address space can map, on each node, to `out`.
    pub fn add_active_on_node(&self, out: &mut [u64]) {
        self.vmas.iter().for_each(|v| v.add_active_on_node(out));
    }
    /// Unmaps everything at the exit of process `process` (`exit_mmap`), and frees what no other process has.
    pub fn exit_mmap(&mut self, process: u32, memory: &mut PhysicalMemory, store: &mut SharedMemory) {
        for (id, v) in self.vmas.iter_mut().enumerate() {
            let (start, end) = (v.start, v.end);
            for chunk in 0..v.chunk_count() {
                while let Some((node, frame)) = v.frame_map.take_table(chunk) {
                    memory.free_page(node, frame, PageClass::PageTables);
                }
            }
            let hugetlb = v.kind == VmaKind::Hugetlb;
            let mut freed = |gone| match gone {
                Unmapped::Page { node, frame, .. } if hugetlb => memory.put_hugetlb(node, frame),
                other => memory.free_unmapped(other),
            };
            v.zap_range(start, end, store, &mut freed);
            for &object in &v.objects {
                store.drop_mapper(object, Mapper { process, vma: id as u32 }, &mut freed);
            }
        }
        self.vmas.clear();
        self.order.clear();
        self.rss = Resident::default();
    }
    /// Checks the invariants of every mapping, their order and the resident pages.
    ///
    /// # Errors
    /// A sentence that names the first violated invariant.
    pub fn check(&self) -> Result<(), String> {
        let mut last = 0;
        for (i, &id) in self.order.iter().enumerate() {
            let v = &self.vmas[id as usize];
            v.check().map_err(|e| format!("mapping {i}: {e}"))?;
            if v.start < last {
                return Err(format!("mapping {i} overlaps the one before"));
            }
            last = v.end;
        }
        let (kept, sum) = (self.rss_pages(), self.vmas.iter().map(Vma::rss_pages).sum::<u64>());
        if kept != sum {
            return Err(format!("{kept} resident pages are kept, {sum} mapped"));
        }
        Ok(())
    }
}
