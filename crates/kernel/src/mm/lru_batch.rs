//! New pages that are not yet on the LRU.
//!
//! Problem: a new page does not go to the LRU at once. Its CPU keeps it in a batch, with a reference, until the batch
//! is full (`folio_add_lru`, mm/swap.c). A CPU that allocates little keeps pages there for as long as it runs. Such a
//! page cannot be isolated, and a page filter that counts references takes it for a shared page.
//! Approach: each CPU has a list of the pages in its batch. Pages of shared objects also carry a bit. Exclusive pages
//! are far more. Those in batches are chained by a slot that follows from the page, so that a query looks at few of
//! them. An entry can outlive its page, by at most a batch. Another page at the same place is then taken for it.

use super::object::{PageRef, SharedMemory};

/// Number of chains; a power of two.
const SLOTS: usize = 1 << 14;

/// End of a chain.
const END: u32 = u32::MAX;

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
    /// Places that pages of shared objects have in the batch of each CPU, and in all.
    of_cpu: Vec<usize>,
    of_objects: usize,
    /// Number of pages that fill a batch.
    size: usize,
    /// First place of each chain of exclusive pages; [`END`] if there is none. Place `i` of a CPU's batch is
    /// `cpu * size + i`.
    first: Vec<u32>,
    /// The next place of the chain, by place.
    next: Vec<u32>,
}

impl OwnPage {
    /// The chain that the page belongs to; neighbouring pages have neighbouring ones.
    fn slot(&self) -> usize {
        let page = (self.chunk as usize) << 9 | usize::from(self.page);
        (page + 977 * self.vma as usize + 8111 * self.process as usize) % SLOTS
    }
}

impl LruBatches {
    /// Empty batches for `cpus` CPUs. A batch is full with `size` pages, at least 1 (`vm.lru_batch`).
    pub fn new(cpus: usize, size: usize) -> Self {
        let batches = vec![Vec::with_capacity(size); cpus];
        Self {
            batches,
            of_cpu: vec![0; cpus],
            of_objects: 0,
            size,
            first: vec![END; SLOTS],
            next: vec![END; cpus * size],
        }
    }
    /// Number of pages that fill a batch.
    pub fn size(&self) -> usize {
        self.size
    }
    /// How often a page of a shared object is in batches; more than once only if it stands for a grain.
    pub fn count(&self, page: PageRef) -> u64 {
        let cpus = (0..self.batches.len()).filter(|&cpu| self.of_cpu[cpu] > 0);
        cpus.flat_map(|cpu| self.objects(cpu)).filter(|p| *p == page).count() as u64
    }
    /// Places that pages of shared objects have in all batches.
    pub fn of_objects(&self) -> usize {
        self.of_objects
    }
    /// The page of a shared object in the place of this number, below [`Self::of_objects`].
    pub fn nth_of_objects(&self, mut number: usize) -> Option<PageRef> {
        let cpu = self.of_cpu.iter().position(|&places| {
            let here = number < places;
            number -= if here { 0 } else { places };
            here
        })?;
        self.objects(cpu).nth(number)
    }
    /// The pages of shared objects in the batch of a CPU.
    fn objects(&self, cpu: usize) -> impl Iterator<Item = PageRef> + '_ {
        self.batches[cpu].iter().filter_map(|held| match held {
            Held::Object(page) => Some(*page),
            Held::Own(_) => None,
        })
    }
    /// Adds a page of a shared object to the batch of a CPU. Returns whether the batch was full and went to the LRU.
    pub fn add(&mut self, cpu: usize, page: PageRef, store: &mut SharedMemory) -> bool {
        store.block_of(page).batched.set(usize::from(page.page));
        self.of_cpu[cpu] += 1;
        self.of_objects += 1;
        self.push(cpu, Held::Object(page), store)
    }
    /// Adds an exclusive page to the batch of a CPU. Returns whether the batch was full and went to the LRU.
    #[inline]
    pub fn add_own(&mut self, cpu: usize, page: OwnPage, store: &mut SharedMemory) -> bool {
        let place = cpu * self.size + self.batches[cpu].len();
        self.next[place] = std::mem::replace(&mut self.first[page.slot()], place as u32);
        self.push(cpu, Held::Own(page), store)
    }
    /// Adds exclusive pages side by side, from `first` on, to the batch of a CPU, up to `most` of them or until it is
    /// full. Returns how many, and whether the batch was full and went to the LRU.
    pub fn add_own_run(&mut self, cpu: usize, first: OwnPage, most: u64, store: &mut SharedMemory) -> (u64, bool) {
        let room = (self.size - self.batches[cpu].len()).max(1) as u64;
        let pages = most.min(room);
        let mut full = false;
        for i in 0..pages {
            full = self.add_own(cpu, OwnPage { page: first.page + i as u16, ..first }, store);
        }
        (pages, full)
    }
    #[inline]
    fn push(&mut self, cpu: usize, held: Held, store: &mut SharedMemory) -> bool {
        self.batches[cpu].push(held);
        let full = self.batches[cpu].len() >= self.size;
        if full {
            self.drain(cpu, store);
        }
        full
    }
    /// Moves the batch of a CPU to the LRU (`lru_add_drain`); also called when a CPU unmaps an address space.
    pub fn drain(&mut self, cpu: usize, store: &mut SharedMemory) {
        for i in 0..self.batches[cpu].len() {
            match self.batches[cpu][i] {
                Held::Object(page) => {
                    store.block_of(page).batched.clear(usize::from(page.page));
                }
                Held::Own(page) => self.unchain(page.slot(), (cpu * self.size + i) as u32),
            }
        }
        self.of_objects -= std::mem::take(&mut self.of_cpu[cpu]);
        self.batches[cpu].clear();
    }
    /// Takes a place out of its chain.
    fn unchain(&mut self, slot: usize, place: u32) {
        let after = self.next[place as usize];
        if self.first[slot] == place {
            self.first[slot] = after;
            return;
        }
        let before = self.chain(slot).find(|&p| self.next[p as usize] == place);
        if let Some(before) = before {
            self.next[before as usize] = after;
        }
    }
    /// The places of a chain.
    fn chain(&self, slot: usize) -> impl Iterator<Item = u32> + '_ {
        let place = |place: u32| (place != END).then_some(place);
        std::iter::successors(place(self.first[slot]), move |&p| place(self.next[p as usize]))
    }
    /// Checks that every batch has room, and that the exclusive pages of all batches are found by their chains.
    ///
    /// # Errors
    /// A sentence that names the first disagreement.
    pub fn check(&self) -> Result<(), String> {
        for (cpu, batch) in self.batches.iter().enumerate() {
            if batch.len() >= self.size {
                return Err(format!("the batch of CPU {cpu} has {} pages and is full with {}", batch.len(), self.size));
            }
            for (i, held) in batch.iter().enumerate() {
                let Held::Own(page) = held else { continue };
                if !self.chain(page.slot()).any(|place| place as usize == cpu * self.size + i) {
                    return Err(format!("{page:?} is in the batch of CPU {cpu}, and its chain does not have it"));
                }
            }
        }
        Ok(())
    }
    /// Whether an exclusive page is in some batch.
    pub fn holds_own(&self, page: OwnPage) -> bool {
        self.chain(page.slot()).any(|place| {
            let (cpu, i) = (place as usize / self.size, place as usize % self.size);
            matches!(self.batches[cpu][i], Held::Own(p) if p == page)
        })
    }
    /// Exclusive pages of a mapping that are in some batch, as chunk and page, in no particular order.
    pub fn own_of(&self, process: u32, vma: u32) -> impl Iterator<Item = (u32, u16)> + '_ {
        self.batches.iter().flatten().filter_map(move |held| match held {
            Held::Own(p) if (p.process, p.vma) == (process, vma) => Some((p.chunk, p.page)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_its_chain_lacks_is_found() {
        let mut b = LruBatches::new(2, 4);
        let mut store = SharedMemory::default();
        for page in 0..3 {
            b.add_own(1, OwnPage { process: 0, vma: 0, chunk: 0, page }, &mut store);
        }
        assert_eq!(b.check(), Ok(()));
        b.first[1] = END;
        assert!(b.check().unwrap_err().ends_with("is in the batch of CPU 1, and its chain does not have it"));
        b.size = 3;
        assert_eq!(b.check().unwrap_err(), "the batch of CPU 1 has 3 pages and is full with 3");
    }
}
