//! New pages that are not yet on the LRU.
//!
//! Problem: a new page does not go to the LRU at once. Its CPU keeps it in a batch, with a reference, until the batch
//! is full (`folio_add_lru`, mm/swap.c). A CPU that allocates little keeps pages there for as long as it runs. Such a
//! page cannot be isolated, and a page filter that counts references takes it for a shared page.
//! Approach: each CPU has a list of the pages in its batch. Pages of shared objects also carry a bit. Exclusive pages
//! are far more, so a query searches the lists for them. A table of counts comes first, so that the lists are searched
//! only if the page is probably there.
//! An entry can outlive its page, by at most a batch. Another page at the same place is then taken for it.

use super::object::{PageRef, SharedMemory};

/// Number of slots in the table of counts; a power of two.
const SLOTS: usize = 1 << 14;

/// A page that only one VMA can map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnPage {
    /// Process number.
    pub process: u32,
    /// Mapping id in its address space.
    pub vma: u32,
    /// 2 MiB chunk of the mapping.
    pub chunk: u32,
    /// Page of the chunk.
    pub page: u16,
}

#[derive(Clone, Copy, Debug)]
enum Held {
    Object(PageRef),
    Own(OwnPage),
}

/// The batch of each CPU (`lru_add` of `struct cpu_fbatches`).
#[derive(Clone, Debug)]
pub struct LruBatches {
    batches: Vec<Vec<Held>>,
    /// Number of pages that fill a batch.
    size: usize,
    /// Number of exclusive pages in batches, by slot.
    own: Vec<u16>,
}

impl OwnPage {
    /// Slot in the table of counts; neighbouring pages have neighbouring slots.
    fn slot(&self) -> usize {
        let page = (self.chunk as usize) << 9 | usize::from(self.page);
        (page + 977 * self.vma as usize + 8111 * self.process as usize) % SLOTS
    }
}

impl LruBatches {
    /// Empty batches for `cpus` CPUs. A batch is full with `size` pages, at least 1 (`vm.lru_batch`).
    pub fn new(cpus: usize, size: usize) -> Self {
        Self { batches: vec![Vec::with_capacity(size); cpus], size, own: vec![0; SLOTS] }
    }
    /// Adds a page of a shared object to the batch of a CPU.
    pub fn add(&mut self, cpu: usize, page: PageRef, store: &mut SharedMemory) {
        store.block_of(page).batched.set(usize::from(page.page));
        self.push(cpu, Held::Object(page), store);
    }
    /// Adds an exclusive page to the batch of a CPU.
    #[inline]
    pub fn add_own(&mut self, cpu: usize, page: OwnPage, store: &mut SharedMemory) {
        self.own[page.slot()] += 1;
        self.push(cpu, Held::Own(page), store);
    }
    #[inline]
    fn push(&mut self, cpu: usize, held: Held, store: &mut SharedMemory) {
        self.batches[cpu].push(held);
        if self.batches[cpu].len() >= self.size {
            self.drain(cpu, store);
        }
    }
    /// Moves the batch of a CPU to the LRU (`lru_add_drain`); also called when a CPU unmaps an address space.
    pub fn drain(&mut self, cpu: usize, store: &mut SharedMemory) {
        for held in self.batches[cpu].drain(..) {
            match held {
                Held::Object(page) => store.block_of(page).batched.clear(usize::from(page.page)),
                Held::Own(page) => self.own[page.slot()] -= 1,
            }
        }
    }
    /// Whether an exclusive page is in some batch.
    pub fn holds_own(&self, page: OwnPage) -> bool {
        let is = |held: &Held| matches!(held, Held::Own(p) if *p == page);
        self.own[page.slot()] > 0 && self.batches.iter().flatten().any(is)
    }
    /// Exclusive pages of a mapping that are in some batch, as chunk and page, in no particular order.
    pub fn own_of(&self, process: u32, vma: u32) -> impl Iterator<Item = (u32, u16)> + '_ {
        self.batches.iter().flatten().filter_map(move |held| match held {
            Held::Own(p) if (p.process, p.vma) == (process, vma) => Some((p.chunk, p.page)),
            _ => None,
        })
    }
}
