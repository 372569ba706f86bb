//! An address space: mappings in ascending address order.

use super::account::PageClass;
use super::object::{Mapper, SharedMemory};
use super::physical_memory::PhysicalMemory;
use crate::mm::vma::mapping::Vma;
use crate::mm::vma::sharing::CopiedEntries;

/// Most mappings whose resident pages are counted anew when somebody asks.
const OPEN: usize = 64;

/// The mappings of one process. A mapping keeps its id for life; positions are in address order.
#[derive(Clone, Debug, Default)]
pub struct AddressSpace {
    vmas: Vec<Vma>,
    order: Vec<u32>,
    rss: Resident,
}

/// Resident pages of all mappings. Only those that may have changed are looked at: a process with thousands of threads
/// has as many stacks.
#[derive(Clone, Debug, Default)]
struct Resident {
    /// Pages of all mappings when they were last counted.
    total: u64,
    /// The same per mapping.
    counted: Vec<u64>,
    /// Whether a mapping may have changed since.
    is_open: Vec<bool>,
    /// Those that may have, at most [`OPEN`].
    open: Vec<u32>,
}

impl Resident {
    fn add(&mut self, pages: u64) {
        self.total += pages;
        self.counted.push(pages);
        self.is_open.push(false);
    }
    #[cold]
    fn open(&mut self, id: usize, vmas: &[Vma]) {
        if self.open.len() == OPEN {
            self.total = self.pages(vmas);
            for id in self.open.drain(..) {
                self.counted[id as usize] = vmas[id as usize].rss_pages();
                self.is_open[id as usize] = false;
            }
        }
        self.is_open[id] = true;
        self.open.push(id as u32);
    }
    fn pages(&self, vmas: &[Vma]) -> u64 {
        let now: u64 = self.open.iter().map(|&id| vmas[id as usize].rss_pages()).sum();
        let then: u64 = self.open.iter().map(|&id| self.counted[id as usize]).sum();
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
    /// Copies the mappings `ids` of process `parent` into this empty address space of process `child`
    /// (`dup_mmap`), in that order. Returns what was copied.
    pub fn inherit(
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
    /// A mapping by id.
    #[inline]
    pub fn vma(&self, id: usize) -> &Vma {
        &self.vmas[id]
    }
    /// A mapping by id, to change.
    #[inline]
    pub fn vma_mut(&mut self, id: usize) -> &mut Vma {
        if !self.rss.is_open[id] {
            self.rss.open(id, &self.vmas);
        }
        &mut self.vmas[id]
    }
    /// Position of the first mapping that ends above `addr`.
    pub fn find_vma(&self, addr: u64) -> usize {
        self.order.partition_point(|&v| self.vmas[v as usize].end <= addr)
    }
    /// All mappings.
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
                *o += p;
            }
        }
    }
    /// Adds the pages that no other address space can show, on each node, to `out`.
    pub fn add_exclusive_on_node(&self, out: &mut [u64]) {
        self.vmas.iter().for_each(|v| v.add_exclusive_on_node(out));
    }
    /// The same for those of them on the active list.
    pub fn add_active_on_node(&self, out: &mut [u64]) {
        self.vmas.iter().for_each(|v| v.add_active_on_node(out));
    }
    /// Unmaps everything (exit of process number `process`) and frees what nobody else has.
    pub fn release(&mut self, process: u32, memory: &mut PhysicalMemory, store: &mut SharedMemory) {
        for (id, v) in self.vmas.iter_mut().enumerate() {
            let (start, end) = (v.start, v.end);
            for chunk in 0..v.chunk_count() {
                if let Some((node, frame)) = v.frame_map.take_table(chunk) {
                    memory.free_page(node, frame, PageClass::PageTables);
                }
            }
            let mut freed = |gone| memory.free_unmapped(gone);
            v.zap_range(start, end, store, &mut freed);
            for &object in &v.objects {
                store.drop_mapper(object, Mapper { process, vma: id as u32 }, &mut freed);
            }
        }
        self.vmas.clear();
        self.order.clear();
        self.rss = Resident::default();
    }
    /// Checks the invariants of every mapping and their order.
    ///
    /// # Errors
    /// A sentence naming the first violated one.
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
