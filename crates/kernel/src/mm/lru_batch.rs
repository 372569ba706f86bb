//! Pages on their way to the LRU.
//!
//! Problem: a new page does not go to the LRU at once. Its CPU keeps it in a batch, with a reference of its own, until the
//! batch is full (`folio_add_lru`, mm/swap.c); a CPU that allocates little keeps pages there for as long as it runs. Such
//! a page cannot be isolated, and a page filter that counts references takes it for a shared one.
//! Approach: a list per CPU of what its batch holds. Pages of objects also carry a bit; exclusive ones, of which faults
//! make millions, are looked for in the lists when somebody asks. Who asks for a single page is told by a table of counts
//! first, so that the lists are read only for pages that are probably there.
//! An entry can outlive its page, by at most a batch; the page that lies there by then is taken for it.

use super::object::{PageRef, SharedMemory};

/// Slots of the table of counts; a power of two.
const SLOTS: usize = 1 << 14;

/// A page that only one mapping can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnPage {
    /// Process.
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
    /// Pages after which a batch is full.
    size: usize,
    /// Exclusive pages held, by slot.
    own: Vec<u16>,
}

impl OwnPage {
    /// Neighbouring pages have neighbouring slots.
    fn slot(&self) -> usize {
        let page = (self.chunk as usize) << 9 | usize::from(self.page);
        (page + 977 * self.vma as usize + 8111 * self.process as usize) % SLOTS
    }
}

impl LruBatches {
    /// Empty batches for so many CPUs, each full with `size` pages (1 and up; `vm.lru_batch`).
    pub fn new(cpus: usize, size: usize) -> Self {
        Self { batches: vec![Vec::with_capacity(size); cpus], size, own: vec![0; SLOTS] }
    }
    /// A page of an object joins the batch of a CPU.
    pub fn add(&mut self, cpu: usize, page: PageRef, store: &mut SharedMemory) {
        store.block_of(page).batched.set(usize::from(page.page));
        self.push(cpu, Held::Object(page), store);
    }
    /// A page that only one mapping can show joins the batch of a CPU.
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
    /// The batch of a CPU goes to the LRU (`lru_add_drain`: also when an address space is unmapped there).
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
    /// Exclusive pages of a mapping that are in some batch: chunk and page, in no particular order.
    pub fn own_of(&self, process: u32, vma: u32) -> impl Iterator<Item = (u32, u16)> + '_ {
        self.batches.iter().flatten().filter_map(move |held| match held {
            Held::Own(p) if (p.process, p.vma) == (process, vma) => Some((p.chunk, p.page)),
            _ => None,
        })
    }
}
