//! Reclaim of anonymous pages (thp-and-allocation.md section 4.4).
//!
//! The kernel keeps LRU lists. The model keeps two clock hands per node, one for the inactive pages and one for the
//! active ones, that advance through all address spaces in order. A page that stays is met again after one revolution,
//! as one that the kernel puts back at the head of its list. So the page that has waited longest goes first, and all
//! processes lose alike. A page that several processes have in common since a fork is taken from all of them when the
//! hand meets it first.

use crate::mm::move_page::move_page;
use crate::mm::pins::pins_hold;
use crate::state::clock_hand::{ClockHand, ClockHands};
use crate::state::pins::Pins;
use crate::state::process::ProcessState;
use crate::state::simulation::Simulation;
use numalab_base::node_mask::NodeMask;
use numalab_kernel::mm::reclaim::{check_references, AnonReclaim, AnonShrunk, References};
use numalab_kernel::mm::rmap::{self, AddressSpaceTable, SwapOut};
use numalab_kernel::mm::AllocatedPage;
use numalab_kernel::mm::{
    AddressSpace, Backing, ChunkKind, Frame, Mapper, PageClass, PageRef, PhysicalMemory, SharedMemory, Vma, VmaKind,
    Work, CHUNK_PAGES, NEVER,
};

const ALL_PAGES: usize = CHUNK_PAGES as usize;

/// The address spaces of all processes, by process number.
pub struct ProcessAddressSpaces<'a>(pub &'a mut [ProcessState]);

impl AddressSpaceTable for ProcessAddressSpaces<'_> {
    fn space_mut(&mut self, process: u32) -> &mut AddressSpace {
        &mut self.0[process as usize].space
    }
}

/// All address spaces, to be reclaimed from.
pub struct ReclaimContext<'a> {
    /// The processes.
    pub processes: &'a mut [ProcessState],
    /// Pages that several processes may map.
    pub shared: &'a mut SharedMemory,
    /// Clock hands of each node.
    pub hands: &'a mut [ClockHands],
    /// Nodes whose pages lose their last cpupid when they are demoted.
    pub forget: NodeMask,
    /// Pages that devices hold, and the present time, ns.
    pub pins: (&'a Pins, u64),
}

/// Physical memory, and all address spaces to be reclaimed from.
pub(crate) fn reclaim_context<'s>(sim: &'s mut Simulation<'_>) -> (&'s mut PhysicalMemory, ReclaimContext<'s>) {
    let forget = sim.kernel.numa.cpupid_forgotten_from();
    let (processes, shared, hands) = (&mut sim.processes, &mut sim.mm.shared, &mut sim.mm.clock_hands);
    let pins = (&sim.mm.pins, sim.now_ns);
    (&mut sim.mm.physical, ReclaimContext { processes, shared, hands, forget, pins })
}

/// One pass over a list of a node.
struct Pass<'a> {
    memory: &'a mut PhysicalMemory,
    work: &'a mut Work,
    node: usize,
    /// The active list, whose pages are deactivated.
    active: bool,
    demote_to: Option<usize>,
    out: AnonShrunk,
}

/// Whether a pass can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Next,
    /// Neither swap nor the slower tier has room left.
    NoRoom,
}

/// An exclusive page, or the huge page, of a mapping.
#[derive(Clone, Copy)]
struct Spot {
    process: usize,
    vma: usize,
    chunk: usize,
    page: usize,
}

impl AnonReclaim for ReclaimContext<'_> {
    fn shrink_anon(
        &mut self,
        memory: &mut PhysicalMemory,
        node: usize,
        scan: u64,
        demote_to: Option<usize>,
        work: &mut Work,
    ) -> AnonShrunk {
        let mut pass = Pass { memory, work, node, active: false, demote_to, out: AnonShrunk::default() };
        self.advance(&mut pass, scan);
        pass.out
    }
    fn age_anon(&mut self, memory: &mut PhysicalMemory, node: usize, scan: u64, work: &mut Work) -> u64 {
        let mut pass = Pass { memory, work, node, active: true, demote_to: None, out: AnonShrunk::default() };
        self.advance(&mut pass, scan);
        pass.out.scanned
    }
    fn split_deferred_thps(&mut self, memory: &mut PhysicalMemory, node: usize, work: &mut Work) {
        for p in self.processes.iter_mut() {
            for id in 0..p.space.len() {
                if p.space.vma(id).partly_mapped_thps() > 0 {
                    work.split += p.space.vma_mut(id).split_deferred_thps(Some(node), memory).1;
                }
            }
        }
    }
}

impl ReclaimContext<'_> {
    /// Looks at up to `scan` pages of a list, at most once at each.
    fn advance(&mut self, pass: &mut Pass, scan: u64) {
        let lru = pass.memory.account(pass.node).lru;
        if scan == 0 || (if pass.active { lru.active_anon } else { lru.inactive_anon }) == 0 {
            return;
        }
        // One revolution, and one chunk more for the part of the first one that lies before the hand.
        let mut left = 1 + self.processes.iter().flat_map(|p| p.space.iter()).map(Vma::chunk_count).sum::<usize>();
        let list = usize::from(pass.active);
        while pass.out.scanned < scan && left > 0 {
            let Some(vma) = self.at(pass.node, list) else { break };
            let ClockHand { process, chunk, page, .. } = self.hands[pass.node].at[list];
            let spot = Spot { process, vma, chunk, page };
            let mut next = ALL_PAGES;
            // Hugetlb pages are on no LRU list.
            let listed = self.processes[process].space.vma(vma).kind != VmaKind::Hugetlb;
            if listed && self.vma(spot).node_counts(chunk)[pass.node] > 0 {
                let after;
                (next, after) = self.look_at_chunk(pass, spot, scan);
                if after == After::NoRoom {
                    break;
                }
            }
            let hand = &mut self.hands[pass.node].at[list];
            if next < ALL_PAGES {
                hand.page = next;
            } else {
                (hand.chunk, hand.page) = (chunk + 1, 0);
                left -= 1;
            }
        }
    }
    /// Moves a hand of a node past the ends of mappings and processes. Returns the id of the mapping that it points
    /// into; `None` if no process has memory.
    fn at(&mut self, node: usize, list: usize) -> Option<usize> {
        let hand = &mut self.hands[node].at[list];
        for _ in 0..=self.processes.len() {
            let Some(p) = self.processes.get(hand.process) else {
                *hand = ClockHand::default();
                continue;
            };
            while hand.position < p.space.len() {
                let id = p.space.id_at(hand.position);
                if hand.chunk < p.space.vma(id).chunk_count() {
                    return Some(id);
                }
                *hand = ClockHand { position: hand.position + 1, chunk: 0, page: 0, ..*hand };
            }
            *hand = ClockHand { process: hand.process + 1, ..ClockHand::default() };
        }
        None
    }
    fn vma(&mut self, at: Spot) -> &mut Vma {
        self.processes[at.process].space.vma_mut(at.vma)
    }

    /// Looks at the pages of one chunk that are on the node, from `spot` on, until `scan` pages of the list have been
    /// seen. Returns the page to go on from.
    fn look_at_chunk(&mut self, pass: &mut Pass, spot: Spot, scan: u64) -> (usize, After) {
        let rng = self.hands[pass.node].rng();
        let vma = self.processes[spot.process].space.vma_mut(spot.vma);
        vma.update_young(spot.chunk, rng);
        if vma.chunk(spot.chunk).kind == ChunkKind::Huge {
            let first = Spot { page: 0, ..spot };
            let after = match vma.page_ref(spot.chunk, 0) {
                Some(at) => self.look_at_shared(pass, first, at),
                None => self.look_at_own(pass, first, CHUNK_PAGES),
            };
            return (ALL_PAGES, after);
        }
        for page in spot.page..ALL_PAGES {
            if pass.out.scanned >= scan {
                return (page, After::Next);
            }
            let here = Spot { page, ..spot };
            let vma = self.vma(here);
            let after = if vma.exclusive_node(spot.chunk, page) == Some(pass.node) {
                self.look_at_own(pass, here, 1)
            } else {
                let shared = vma.page_ref(spot.chunk, page);
                match shared.filter(|at| self.shared.anon_node(*at) == Some(pass.node)) {
                    Some(at) => self.look_at_shared(pass, here, at),
                    None => After::Next,
                }
            };
            if after == After::NoRoom {
                return (page, after);
            }
        }
        (ALL_PAGES, After::Next)
    }

    /// Looks at an exclusive page, and evicts it if it has not been used.
    fn look_at_own(&mut self, pass: &mut Pass, at: Spot, pages: u64) -> After {
        let frame = self.vma(at).frame(at.chunk, at.page);
        if frame.has(Frame::ACTIVE) != pass.active {
            return After::Next;
        }
        let young = self.vma(at).test_clear_young(at.chunk, at.page);
        match pass.verdict(u32::from(young), frame, pages) {
            Some(kept) => {
                self.vma(at).set_flags(at.chunk, at.page, kept);
                After::Next
            }
            None if self.is_pinned(&at, pages) => After::Next,
            None if pages > 1 => self.evict_huge(pass, at),
            None => self.evict(pass, at, 1),
        }
    }

    /// Whether a device holds the page, so that it stays.
    fn is_pinned(&self, at: &Spot, pages: u64) -> bool {
        let (pins, now_ns) = self.pins;
        pins_hold(pins, &self.processes[at.process].space, (at.process, at.vma), (at.chunk, at.page), pages, now_ns)
    }

    /// Moves an exclusive page or huge page to the slower tier, or an exclusive base page to a swap slot.
    fn evict(&mut self, pass: &mut Pass, at: Spot, pages: u64) -> After {
        let Pass { memory, node, .. } = pass;
        let class = if pages > 1 { PageClass::AnonHuge } else { PageClass::Anon };
        let vma = self.processes[at.process].space.vma_mut(at.vma);
        if let Some(to) = pass.demote_to {
            let Some(frame) = memory.alloc_on(*node, to, pages) else {
                // A base page may still find room there.
                return if pages > 1 { After::Next } else { After::NoRoom };
            };
            // The copy keeps its last cpupid unless tiering is about to use the field for a time (folio_migrate_flags).
            let last = if self.forget.contains(*node) { NEVER } else { vma.last_cpupid(at.chunk, at.page) };
            // The new entry has the protection of the VMA (remove_migration_pte), so its mark is gone.
            vma.unmark(at.chunk, at.page);
            move_page(memory, vma, (at.chunk, at.page), *node, AllocatedPage { node: to, frame }, pages, last);
            pass.work.demoted += pages;
        } else {
            let Some(slot) = memory.swap.take() else { return After::NoRoom };
            let (_, frame) = vma.swap_out(at.chunk, at.page, slot);
            memory.note_eviction(*node, frame, slot);
            memory.free_page(*node, frame, class);
            pass.swapped_out(pages);
        }
        pass.out.freed += pages;
        After::Next
    }
    /// Moves a huge page to the slower tier or to 512 adjacent swap slots. Without such slots it is split.
    fn evict_huge(&mut self, pass: &mut Pass, at: Spot) -> After {
        if pass.demote_to.is_some() {
            return self.evict(pass, at, CHUNK_PAGES);
        }
        let Pass { memory, node, .. } = pass;
        let vma = self.processes[at.process].space.vma_mut(at.vma);
        let whole = memory.config().swap.whole_huge_pages;
        if let Some(first) = whole.then(|| memory.swap.take_cluster()).flatten() {
            let (_, frame) = vma.swap_out_huge(at.chunk, first);
            (0..CHUNK_PAGES as u32).for_each(|i| memory.note_eviction(*node, frame, first + i));
            memory.free_page(*node, frame, PageClass::AnonHuge);
            memory.events.thp_swpout += 1;
            pass.swapped_out(CHUNK_PAGES);
            pass.out.freed += CHUNK_PAGES;
            return After::Next;
        }
        if memory.swap.free_slots() == 0 {
            return After::NoRoom;
        }
        let (_, frame) = vma.split_huge(at.chunk);
        memory.split_frame(*node, frame);
        pass.split();
        // Its pages go one by one, in the same pass.
        let gone = (0..ALL_PAGES).all(|page| self.evict(pass, Spot { page, ..at }, 1) == After::Next);
        if gone {
            After::Next
        } else {
            After::NoRoom
        }
    }

    /// Looks at a page that several mappings may show, met at one of them. Only the first of these mappings counts, so
    /// that each revolution looks at the page once.
    fn look_at_shared(&mut self, pass: &mut Pass, met: Spot, at: PageRef) -> After {
        let object = self.shared.object(at.object);
        let Some(b) = object.block(at.chunk as usize).filter(|_| object.backing == Backing::Anon) else {
            return After::Next;
        };
        let (frame, pages) = (b.frame[usize::from(at.page)], if b.huge { CHUNK_PAGES } else { 1 });
        if frame.has(Frame::ACTIVE) != pass.active {
            return After::Next;
        }
        let shows = |m: &&Mapper| self.processes[m.process as usize].space.vma(m.vma as usize).maps(at);
        let first = object.mappers.iter().find(shows).map(|m| (m.process as usize, m.vma as usize));
        if first != Some((met.process, met.vma)) {
            return After::Next;
        }
        let rng = self.hands[pass.node].rng();
        let mut young = 0;
        for m in &object.mappers {
            let vma = self.processes[m.process as usize].space.vma_mut(m.vma as usize);
            if vma.maps(at) {
                vma.update_young(at.chunk as usize, rng);
                young += u32::from(vma.test_clear_young(at.chunk as usize, usize::from(at.page)));
                pass.work.rmap_steps += 1;
            }
        }
        if let Some(kept) = pass.verdict(young, frame, pages) {
            self.shared.block_of(at).frame[usize::from(at.page)] = kept;
            return After::Next;
        }
        self.evict_shared(pass, at, pages)
    }
    fn evict_shared(&mut self, pass: &mut Pass, at: PageRef, pages: u64) -> After {
        let mut all = ProcessAddressSpaces(self.processes);
        let memory = &mut *pass.memory;
        if let Some(to) = pass.demote_to {
            let b = self.shared.block_of(at);
            if b.locked.get(usize::from(at.page)) || b.batched.get(usize::from(at.page)) {
                // Isolated by a migration, or not on the LRU yet, as for `swap_out`.
                return After::Next;
            }
            let Some(frame) = memory.alloc_on(pass.node, to, pages) else {
                return if pages > 1 { After::Next } else { After::NoRoom };
            };
            rmap::migrate(at, (to, frame), self.shared, &mut all, memory);
            if self.forget.contains(pass.node) {
                self.shared.block_of(at).last[usize::from(at.page)] = NEVER;
            }
            pass.work.demoted += pages;
            pass.out.freed += pages;
            return After::Next;
        }
        let whole = pages == 1 || memory.config().swap.whole_huge_pages;
        let done = if whole { rmap::swap_out(at, self.shared, &mut all, memory) } else { SwapOut::NoCluster };
        match done {
            SwapOut::Done { pages, written, entries } => {
                memory.events.thp_swpout += u64::from(pages > 1);
                pass.swapped_out(written);
                pass.work.rmap_steps += entries;
                pass.out.freed += pages;
                After::Next
            }
            SwapOut::Busy => After::Next,
            SwapOut::Full => After::NoRoom,
            SwapOut::NoCluster if memory.swap.free_slots() == 0 => After::NoRoom,
            SwapOut::NoCluster => {
                rmap::split(at, self.shared, &mut all, memory);
                pass.split();
                let base = |page| PageRef { page, ..at };
                let gone = (0..CHUNK_PAGES as u16).all(|p| self.evict_shared(pass, base(p), 1) == After::Next);
                if gone {
                    After::Next
                } else {
                    After::NoRoom
                }
            }
        }
    }
}

impl Pass<'_> {
    /// Judges a page of the list of which `young` entries have been used. Returns its new flags if it stays, `None` if
    /// it is to be evicted.
    fn verdict(&mut self, young: u32, page: Frame, pages: u64) -> Option<Frame> {
        self.out.scanned += pages;
        if self.active {
            // Used or not, it is deactivated; the inactive list decides whether it comes back.
            self.work.rotated += 1;
            return Some(self.memory.set_active(self.node, page, pages, false).with(Frame::WORKINGSET, true));
        }
        let (references, page) = check_references(young, page, self.memory.anon_workingset());
        match references {
            References::Reclaim => return None,
            References::Keep => {}
            References::Activate => self.out.activated += pages,
        }
        self.work.rotated += 1;
        Some(self.memory.set_active(self.node, page, pages, references == References::Activate))
    }
    fn swapped_out(&mut self, pages: u64) {
        self.memory.events.pswpout += pages;
        self.work.swapped_out += pages;
    }
    fn split(&mut self) {
        let events = &mut self.memory.events;
        events.thp_swpout_fallback += 1;
        events.thp_split_page += 1;
        events.thp_split_pmd += 1;
        self.work.split += 1;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use numalab_base::base_page::BasePage;
    use numalab_kernel::mm::{MmConfig, VmaKind, CHUNK_BYTES};
    use numalab_kernel::numa::mark::MarkRules;
    use numalab_kernel::numa::NumaTopology;
    use numalab_kernel::registry;
    use numalab_kernel::sched::shapes::Shape;

    const LAST: u32 = 77;

    /// Marked pages with a last cpupid, a base page, a huge page and one shared by two processes, are demoted from
    /// node 0 to node 1; their last cpupids afterwards. Their marks are gone.
    fn demoted(forget: NodeMask) -> [u32; 3] {
        let mut machine = Shape::flat(2, 2, 1, 20).machine("two tiers");
        machine.nodes[1].tier = 1;
        let mut memory = PhysicalMemory::with_config(&machine, &MmConfig::default(), 0);
        let mut shared = SharedMemory::default();
        let nodes = NodeMask::of([0, 1]);
        let mut processes: Vec<_> = (0..2).map(|_| ProcessState::new(BasePage::Kib4, 2, nodes)).collect();
        let mut vma = Vma::new(0, CHUNK_BYTES, VmaKind::PrivateAnon, true, 2);
        vma.populate(0, 3, 0, memory.alloc_on(0, 0, 1).unwrap());
        processes[0].space.insert(vma);
        let (parent, child) = processes.split_at_mut(1);
        child[0].space.dup_mmap(&[0], &mut parent[0].space, (0, 1), (&mut memory, &mut shared));
        let at = processes[0].space.vma(0).page_ref(0, 3).unwrap();
        shared.block_of(at).last[3] = LAST;
        let mut own = Vma::new(CHUNK_BYTES, 3 * CHUNK_BYTES, VmaKind::PrivateAnon, true, 2);
        own.populate(0, 3, 0, memory.alloc_on(0, 0, 1).unwrap());
        own.populate_huge(1, 0, memory.alloc_on(0, 0, 512).unwrap());
        own.set_last_cpupid(0, 3, LAST);
        own.set_last_cpupid(1, 0, LAST);
        processes[0].space.insert(own);
        let kernel = numalab_model::catalog::built_in_kernel("3.13", &registry::vocabulary()).unwrap();
        let cfg = registry::numa_settings(&kernel).resolve(1000).unwrap();
        let rules = MarkRules::new(&cfg, &NumaTopology::new(&machine).unwrap(), 1, 2, false, 0);
        for (process, vma) in [(0, 0), (0, 1), (1, 0)] {
            let v = processes[process].space.vma_mut(vma);
            let (start, end) = (v.start, v.end);
            v.mark_range(start, end, &rules, &mut shared);
            assert!(v.marked_pages() > 0);
        }
        let mut hands = [ClockHands::new(1, 0), ClockHands::new(1, 1)];
        let mut work = Work::default();
        let mut env = ReclaimContext {
            processes: &mut processes,
            shared: &mut shared,
            hands: &mut hands,
            forget,
            pins: (&Pins::default(), 0),
        };
        for _ in 0..4 {
            env.age_anon(&mut memory, 0, 2048, &mut work);
            env.shrink_anon(&mut memory, 0, 2048, Some(1), &mut work);
        }
        assert_eq!(work.demoted, 514);
        for (process, vma) in [(0, 0), (0, 1), (1, 0)] {
            let v = processes[process].space.vma(vma);
            assert_eq!((v.marked_pages(), v.pages_on_node()[0]), (0, 0), "process {process}, mapping {vma}");
        }
        let own = processes[0].space.vma(1);
        [own.last_cpupid(0, 3), own.last_cpupid(1, 0), shared.block_of(at).last[3]]
    }

    #[test]
    fn demotion_removes_marks_and_forgets_who_faulted_only_in_tiering_mode() {
        assert_eq!(demoted(NodeMask::EMPTY), [LAST; 3]);
        assert_eq!(demoted(NodeMask::of([0])), [NEVER; 3]);
    }
}
