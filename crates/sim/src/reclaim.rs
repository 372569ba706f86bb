//! Reclaim of anonymous pages, and what memory operations cost in time.
//!
//! The kernel keeps LRU lists; the model keeps a *hand* per node that goes round all address spaces in order, so the
//! page that has waited longest goes first and processes lose alike (thp-and-allocation.md section 4.4). A page that
//! several processes have in common since a fork goes when the hand meets it first, from all of them.

use crate::engine::World;
use crate::process::ProcessState;
use numalab_kernel::mm::reclaim::{AnonShrunk, Owners, SwapTunables};
use numalab_kernel::mm::rmap::{self, AddressSpaces, SwapOut};
use numalab_kernel::mm::{
    AddressSpace, Backing, ChunkKind, NodeMemory, PageClass, PageRef, SharedMemory, Work, CHUNK_PAGES,
};
use numalab_model::machine::KernelCosts;

/// Where reclaim of a node goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hand {
    process: usize,
    /// Position of the mapping in its address space.
    position: usize,
    chunk: usize,
}

/// The address spaces of all processes, by process number.
pub struct Everybody<'a>(pub &'a mut [ProcessState]);

impl AddressSpaces for Everybody<'_> {
    fn space_mut(&mut self, process: u32) -> &mut AddressSpace {
        &mut self.0[process as usize].space
    }
}

/// All address spaces, to be reclaimed from.
pub struct Spaces<'a> {
    /// The processes.
    pub processes: &'a mut [ProcessState],
    /// What they have in common.
    pub shared: &'a mut SharedMemory,
    /// One hand per node.
    pub hands: &'a mut [Hand],
}

/// How an attempt to free a page ended.
enum Fate {
    Freed,
    /// Swap is full.
    NoRoom,
}

impl Owners for Spaces<'_> {
    fn shrink_anon(
        &mut self,
        memory: &mut NodeMemory,
        node: usize,
        scan: u64,
        demote_to: Option<usize>,
        work: &mut Work,
    ) -> AnonShrunk {
        let mut out = AnonShrunk::default();
        let all: usize = self.processes.iter().flat_map(|p| p.space.iter()).map(|v| v.chunk_count()).sum();
        let mut left = all;
        while out.scanned < scan && left > 0 {
            let Some(id) = self.at(node) else { break };
            let hand = self.hands[node];
            let vma = self.processes[hand.process].space.vma(id);
            if vma.node_counts(hand.chunk)[node] > 0 && !self.shrink_chunk(memory, node, id, demote_to, &mut out, work)
            {
                break;
            }
            let vma = self.processes[hand.process].space.vma(id);
            let more = vma.chunk(hand.chunk).kind == ChunkKind::Small && out.scanned >= scan;
            if !(more && vma.node_counts(hand.chunk)[node] > 0) {
                self.hands[node].chunk += 1;
                left -= 1;
            }
        }
        out
    }
    fn settle_partials(&mut self, memory: &mut NodeMemory, node: usize, work: &mut Work) {
        for p in self.processes.iter_mut() {
            for id in 0..p.space.len() {
                if p.space.vma(id).partial_pages() > 0 {
                    work.split += p.space.vma_mut(id).settle_all(Some(node), memory).1;
                }
            }
        }
    }
}

impl World<'_> {
    /// Splits the huge page of a chunk if it is mapped in part, before something else happens to it; returns the time.
    pub(crate) fn settle(&mut self, process: usize, vma: usize, chunk: usize) -> u64 {
        let vma = self.processes[process].space.vma_mut(vma);
        if vma.partial_pages() == 0 || vma.settle(chunk, &mut self.memory).is_none() {
            return 0;
        }
        self.costs.split_ns() as u64
    }
}

impl Spaces<'_> {
    /// Mapping id that the hand of a node points into, after moving it past the ends of mappings and processes; `None`
    /// if nobody has memory.
    fn at(&mut self, node: usize) -> Option<usize> {
        let hand = &mut self.hands[node];
        for _ in 0..=self.processes.len() {
            let Some(p) = self.processes.get(hand.process) else {
                *hand = Hand::default();
                continue;
            };
            while hand.position < p.space.len() {
                let id = p.space.id_at(hand.position);
                if hand.chunk < p.space.vma(id).chunk_count() {
                    return Some(id);
                }
                *hand = Hand { position: hand.position + 1, chunk: 0, ..*hand };
            }
            *hand = Hand { process: hand.process + 1, ..Hand::default() };
        }
        None
    }

    /// Looks at the pages of one chunk that are on the node; false if no page can go anywhere any more.
    fn shrink_chunk(
        &mut self,
        memory: &mut NodeMemory,
        node: usize,
        id: usize,
        demote_to: Option<usize>,
        out: &mut AnonShrunk,
        work: &mut Work,
    ) -> bool {
        let Hand { process, chunk, .. } = self.hands[node];
        let vma = self.processes[process].space.vma_mut(id);
        let c = *vma.chunk(chunk);
        if c.kind == ChunkKind::Huge {
            if let Some(at) = vma.page_ref(chunk, 0) {
                return self.shrink_shared(memory, node, at, demote_to, out, work);
            }
            if let Some(to) = demote_to {
                out.scanned += CHUNK_PAGES;
                if let Some(frame) = memory.alloc_on(node, to, CHUNK_PAGES) {
                    let old = vma.move_page(chunk, 0, to, frame, c.index);
                    memory.free_page(node, old, PageClass::AnonHuge);
                    work.demoted += CHUNK_PAGES;
                    out.freed += CHUNK_PAGES;
                }
                return true;
            }
            let whole = memory.config().swap.whole_huge_pages;
            if let Some(first) = whole.then(|| memory.swap.take_cluster()).flatten() {
                let (_, frame) = vma.swap_out_huge(chunk, first);
                memory.free_page(node, frame, PageClass::AnonHuge);
                memory.events.thp_swpout += 1;
                swapped_out(memory, out, work, CHUNK_PAGES);
                return true;
            }
            if memory.swap.free_slots() == 0 {
                return false;
            }
            let (_, frame) = vma.split_huge(chunk);
            memory.split_frame(node, frame);
            memory.events.thp_swpout_fallback += 1;
            memory.events.thp_split_page += 1;
            memory.events.thp_split_pmd += 1;
            work.split += 1;
        }
        self.shrink_small(memory, node, id, demote_to, out, work)
    }

    fn shrink_small(
        &mut self,
        memory: &mut NodeMemory,
        node: usize,
        id: usize,
        demote_to: Option<usize>,
        out: &mut AnonShrunk,
        work: &mut Work,
    ) -> bool {
        let Hand { process, chunk, .. } = self.hands[node];
        for page in 0..CHUNK_PAGES as usize {
            let vma = self.processes[process].space.vma_mut(id);
            if vma.exclusive_node(chunk, page) != Some(node) {
                let shared = vma.page_ref(chunk, page).filter(|at| self.shared.anon_node(*at) == Some(node));
                if shared.is_some_and(|at| !self.shrink_shared(memory, node, at, demote_to, out, work)) {
                    return false;
                }
                continue;
            }
            out.scanned += 1;
            let fate = match demote_to {
                Some(to) => match memory.alloc_on(node, to, 1) {
                    Some(frame) => {
                        let old = vma.move_page(chunk, page, to, frame, numalab_kernel::mm::NEVER);
                        memory.free_page(node, old, PageClass::Anon);
                        work.demoted += 1;
                        out.freed += 1;
                        Fate::Freed
                    }
                    None => Fate::NoRoom,
                },
                None => match memory.swap.take() {
                    Some(slot) => {
                        let (_, frame) = vma.swap_out(chunk, page, slot);
                        memory.free_page(node, frame, PageClass::Anon);
                        swapped_out(memory, out, work, 1);
                        Fate::Freed
                    }
                    None => Fate::NoRoom,
                },
            };
            if matches!(fate, Fate::NoRoom) {
                return false;
            }
        }
        true
    }
}

impl Spaces<'_> {
    /// Looks at a page that several mappings may show; false if no page can go anywhere any more.
    fn shrink_shared(
        &mut self,
        memory: &mut NodeMemory,
        node: usize,
        at: PageRef,
        demote_to: Option<usize>,
        out: &mut AnonShrunk,
        work: &mut Work,
    ) -> bool {
        let mut all = Everybody(self.processes);
        let object = self.shared.object(at.object);
        let huge = object.block(at.chunk as usize).is_some_and(|b| b.huge);
        if object.backing != Backing::Anon {
            return true;
        }
        let pages = if huge { CHUNK_PAGES } else { 1 };
        if let Some(to) = demote_to {
            out.scanned += pages;
            let Some(frame) = memory.alloc_on(node, to, pages) else { return huge };
            rmap::move_to(at, (to, frame), self.shared, &mut all, memory);
            work.demoted += pages;
            out.freed += pages;
            return true;
        }
        let whole = !huge || memory.config().swap.whole_huge_pages;
        let done = if whole { rmap::swap_out(at, self.shared, &mut all, memory) } else { SwapOut::NoCluster };
        match done {
            SwapOut::Done { pages, written, entries } => {
                memory.events.thp_swpout += u64::from(huge);
                memory.events.pswpout += written;
                work.swapped_out += written;
                work.rmap_steps += entries;
                out.scanned += pages;
                out.freed += pages;
                true
            }
            SwapOut::Busy => {
                out.scanned += pages;
                true
            }
            SwapOut::Full => false,
            SwapOut::NoCluster if memory.swap.free_slots() == 0 => false,
            SwapOut::NoCluster => {
                rmap::split(at, self.shared, &mut all, memory);
                memory.events.thp_swpout_fallback += 1;
                memory.events.thp_split_page += 1;
                memory.events.thp_split_pmd += 1;
                work.split += 1;
                let base = |page| PageRef { page, ..at };
                (0..CHUNK_PAGES as u16).all(|p| self.shrink_shared(memory, node, base(p), None, out, work))
            }
        }
    }
}

fn swapped_out(memory: &mut NodeMemory, out: &mut AnonShrunk, work: &mut Work, pages: u64) {
    if pages == 1 {
        out.freed += 1;
    } else {
        out.scanned += pages;
        out.freed += pages;
    }
    memory.events.pswpout += pages;
    work.swapped_out += pages;
}

/// The queue of the swap device: writes go one after the other at its sustained pace, reads beside them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SwapQueue {
    free_ns: u64,
}

impl SwapQueue {
    /// Waits at `now` for what an operation has written and read; returns the time.
    pub fn wait(&mut self, now: u64, work: &Work, swap: &SwapTunables) -> u64 {
        let writes = (work.swapped_out + work.written) * u64::from(swap.write_page_ns);
        let written = if writes > 0 {
            self.free_ns = self.free_ns.max(now) + writes;
            self.free_ns - now
        } else {
            0
        };
        written + work.swapped_in * u64::from(swap.read_page_ns)
    }
}

/// CPU time of an operation, ns: everything but the waits for the swap device.
pub fn cpu_ns(work: &Work, costs: &KernelCosts) -> u64 {
    let no_device = SwapTunables { write_page_ns: 0, read_page_ns: 0, ..SwapTunables::default() };
    // Changing the entry of another process costs about as much as copying one at a fork.
    let others = work.rmap_steps as f64 * costs.fork_pte_ns;
    (work.reclaim_ns(costs, &no_device) + work.split as f64 * costs.split_ns + others) as u64
}
