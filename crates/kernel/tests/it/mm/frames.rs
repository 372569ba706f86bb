//! Frames are conserved. After any sequence of faults, forks, copies, splits, collapses, migrations, swapping and
//! exits, every page in use belongs to exactly one owner. Nothing is left when all processes have exited.

use crate::mm::machines;
use crate::mm::setup::config;
use numalab_base::node_mask::NodeId;
use numalab_base::rng::Rng;
use numalab_kernel::mm::alloc::AllocSite;
use numalab_kernel::mm::policy::PolicyNodes;
use numalab_kernel::mm::reclaim::NoAnonReclaim;
use numalab_kernel::mm::rmap::{self, AddressSpaceTable, SwapEntry, SwapOut};
use numalab_kernel::mm::{
    AddressSpace, AllocatedPage, Backing, ChunkKind, Frame, Gfp, Mapper, PageClass, PageRef, PageState, PhysicalMemory,
    SharedMemory, Vma, VmaKind, Work, CHUNK_BYTES,
};
use numalab_model::machine::Machine;

const SEQUENCES: u64 = 10_000;
const OPS: u64 = 60;
const PROCESSES: usize = 4;
const ANON_CHUNKS: u64 = 3;
const NODES: usize = 2;

/// Two nodes of 48 MiB. They become full within a sequence, so that allocations fail too.
fn machine() -> Machine {
    let mut m = crate::mm::setup::small(machines::naples());
    m.nodes.truncate(NODES);
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 48 << 20);
    m.distance = vec![vec![10, 20], vec![20, 10]];
    m
}

struct All<'a>(&'a mut [AddressSpace]);

impl AddressSpaceTable for All<'_> {
    fn space_mut(&mut self, process: u32) -> &mut AddressSpace {
        &mut self.0[process as usize]
    }
}

struct Lab {
    memory: PhysicalMemory,
    store: SharedMemory,
    spaces: Vec<AddressSpace>,
    alive: Vec<bool>,
    rng: Rng,
    log: Vec<&'static str>,
    /// Number of results of operations, by name.
    done: std::collections::BTreeMap<&'static str, u64>,
}

/// Results that must occur often enough to count as tested.
const EFFECTS: [&str; 28] = [
    "activation",
    "deactivation",
    "activated refault",
    "fault",
    "huge fault",
    "file page shared",
    "part given back",
    "huge page split late",
    "zeros",
    "huge zeros",
    "fork of zeros",
    "fork of pages",
    "fork of slots",
    "cow",
    "reuse",
    "split",
    "split of a shared page",
    "collapse",
    "migration",
    "migration of a shared page",
    "swap out",
    "swap out, huge",
    "swap out of a shared page",
    "swap out of a shared huge page",
    "swap in",
    "swap in of a shared page",
    "found in the swap cache",
    "exit",
];

/// An entry of a mapping.
#[derive(Clone, Copy)]
struct Spot {
    process: usize,
    vma: usize,
    chunk: usize,
    page: usize,
}

impl Lab {
    fn new(machine: &Machine, seed: u64) -> Self {
        let settings = ["vm.min_free_kbytes=1024", "swap.size_mb=32", "thp.enabled=always"];
        let mut lab = Self {
            memory: PhysicalMemory::with_config(machine, &config(&settings), seed),
            store: SharedMemory::default(),
            spaces: (0..PROCESSES).map(|_| AddressSpace::default()).collect(),
            alive: vec![false; PROCESSES],
            rng: Rng::new(seed),
            log: Vec::new(),
            done: EFFECTS.iter().map(|e| (*e, 0)).collect(),
        };
        lab.map(0);
        lab
    }
    fn did(&mut self, what: &'static str) {
        *self.done.get_mut(what).unwrap_or_else(|| panic!("{what}")) += 1;
    }
    fn below(&mut self, n: usize) -> usize {
        self.rng.below(n as u64) as usize
    }
    /// Maps memory for a new process: anonymous memory, and a data segment of its own file.
    fn map(&mut self, process: usize) {
        let end = ANON_CHUNKS * CHUNK_BYTES;
        self.spaces[process].insert(Vma::new(0, end, VmaKind::PrivateAnon, true, NODES));
        let mut data = Vma::new(end, end + CHUNK_BYTES, VmaKind::CowData, false, NODES);
        let object = self.store.create(Backing::File, 1);
        data.objects.push(object);
        let vma = self.spaces[process].insert(data) as u32;
        self.store.object_mut(object).mappers.push(Mapper { process: process as u32, vma });
        self.alive[process] = true;
    }
    fn alloc(&mut self, class: PageClass) -> Option<AllocatedPage> {
        let here = self.below(NODES);
        let site = AllocSite { here, policy_nodes: PolicyNodes::local(here), mems: self.memory.memory_nodes() };
        let gfp = match class {
            PageClass::AnonHuge => Gfp::TRANSHUGE_LIGHT,
            PageClass::PageTables => Gfp::KERNEL,
            _ => Gfp::HIGHUSER_MOVABLE,
        };
        self.memory.alloc_class(gfp, class, &site, &mut NoAnonReclaim, &mut Work::default()).ok()
    }
    fn spot(&mut self) -> Option<Spot> {
        let living: Vec<usize> = (0..PROCESSES).filter(|p| self.alive[*p]).collect();
        let process = *living.get(self.below(living.len().max(1)))?;
        let vma = usize::from(self.below(4) == 0);
        let chunk = if vma == 0 { self.below(ANON_CHUNKS as usize) } else { 0 };
        // Few pages are used, so that operations meet.
        Some(Spot { process, vma, chunk, page: self.below(6) })
    }
    fn vma(&mut self, s: Spot) -> &mut Vma {
        self.spaces[s.process].vma_mut(s.vma)
    }

    fn fault(&mut self, s: Spot, write: bool) {
        match self.spaces[s.process].vma(s.vma).page(s.chunk, s.page, &self.store) {
            PageState::Absent if self.vma(s).frame_map.slot(s.chunk, s.page).is_some() => self.swap_in(s),
            PageState::Absent if s.vma == 1 => self.file_fault(s, write),
            PageState::Absent if !write => self.read_zeros(s),
            PageState::Absent => self.anon_fault(s),
            PageState::ReadOnly { shared: Some(at), .. } if write => self.write_shared(s, at),
            _ => {}
        }
    }
    fn anon_fault(&mut self, s: Spot) {
        let fits = self.vma(s).huge_fault_fits(s.chunk);
        if !self.table(s) {
            return;
        }
        if fits && self.below(2) == 0 {
            if let Some(got) = self.alloc(PageClass::AnonHuge) {
                self.did("huge fault");
                return self.vma(s).populate_huge(s.chunk, got.node, got.frame);
            }
        }
        if let Some(got) = self.alloc(PageClass::Anon) {
            self.did("fault");
            self.vma(s).populate(s.chunk, s.page, got.node, got.frame);
        }
    }
    fn read_zeros(&mut self, s: Spot) {
        let huge = self.vma(s).huge_fault_fits(s.chunk) && self.below(2) == 0;
        if self.vma(s).maps_zero_page(s.chunk, s.page) || !self.table(s) {
            return;
        }
        if huge {
            self.did("huge zeros");
            return self.vma(s).map_huge_zero_page(s.chunk);
        }
        self.did("zeros");
        self.vma(s).map_zero_page(s.chunk, s.page);
    }
    /// Adds a page table to a chunk that has none; returns false if there is no page for it.
    fn table(&mut self, s: Spot) -> bool {
        if self.vma(s).frame_map.has_table(s.chunk) {
            return true;
        }
        let got = self.alloc(PageClass::PageTables);
        if let Some(table) = got {
            self.vma(s).frame_map.set_table(s.chunk, table.node, table.frame);
        }
        got.is_some()
    }
    fn file_fault(&mut self, s: Spot, write: bool) {
        let at = PageRef { object: self.vma(s).objects[0], chunk: s.chunk as u32, page: s.page as u16 };
        if !self.store.object(at.object).resident(s.chunk, s.page) {
            let b = self.store.block_of(at);
            let node = usize::from(b.node.get(s.page));
            let left = b.cached.get(s.page).then(|| self.memory.take_from_page_cache(node)).flatten();
            let got = left.map(|frame| AllocatedPage { node, frame }).or_else(|| self.alloc(PageClass::Shmem));
            let b = self.store.block_of(at);
            b.cached.clear(s.page);
            let Some(got) = got else { return };
            b.resident.set(s.page);
            b.node.set(s.page, got.node as NodeId);
            b.frame[s.page] = got.frame;
        }
        if write {
            if let Some(got) = self.alloc(PageClass::Anon) {
                self.vma(s).populate(s.chunk, s.page, got.node, got.frame);
            }
            let memory = &mut self.memory;
            return self.store.leave_in_page_cache(at, &mut |gone| memory.free_unmapped(gone));
        }
        let b = self.store.block_of(at);
        b.mapcount[s.page] += 1;
        let node = usize::from(b.node.get(s.page));
        self.did("file page shared");
        self.vma(s).map_shared(s.chunk, s.page, node, true);
    }
    /// Copy-on-write, reuse by the last owner, or the split of a shared huge page.
    fn write_shared(&mut self, s: Spot, mut at: PageRef) {
        let backing = self.store.object(at.object).backing;
        let b = self.store.block_of(at);
        let page = usize::from(at.page);
        if backing == Backing::Anon && b.mapcount[page] == 1 && b.slot(page).is_none() {
            self.did("reuse");
            return self.vma(s).reuse_for_write(s.chunk, s.page);
        }
        if b.huge {
            self.split_shared(at);
            at.page = s.page as u16;
        }
        let Some(got) = self.alloc(PageClass::Anon) else { return };
        self.did("cow");
        let old = usize::from(self.store.block_of(at).node.get(s.page));
        self.vma(s).break_cow(s.chunk, s.page, old, (got.node, got.frame));
        let memory = &mut self.memory;
        self.store.unmap(at, &mut |gone| memory.free_unmapped(gone));
    }
    fn split_shared(&mut self, at: PageRef) {
        self.did("split of a shared page");
        rmap::split(at, &mut self.store, &mut All(&mut self.spaces), &mut self.memory);
    }
    fn fork(&mut self, s: Spot) {
        let Some(child) = (0..PROCESSES).find(|p| !self.alive[*p]) else { return };
        let mut parent = std::mem::take(&mut self.spaces[s.process]);
        let mut space = AddressSpace::default();
        space.dup_mmap(&[0, 1], &mut parent, (s.process as u32, child as u32), (&mut self.memory, &mut self.store));
        self.spaces[s.process] = parent;
        self.spaces[child] = space;
        self.alive[child] = true;
        self.did("fork of pages");
        if self.spaces[child].iter().any(|v| v.frame_map.swapped() > 0) {
            self.did("fork of slots");
        }
        if self.spaces[child].iter().any(|v| v.zero_entries() > 0) {
            self.did("fork of zeros");
        }
        for vma in 0..2 {
            for chunk in 0..self.spaces[child].vma(vma).chunk_count() {
                let spot = Spot { process: child, vma, chunk, page: 0 };
                if self.vma(spot).lacks_table(chunk) {
                    self.table(spot);
                }
            }
        }
    }
    fn split(&mut self, s: Spot) {
        let c = *self.vma(s).chunk(s.chunk);
        if c.kind != ChunkKind::Huge {
            return;
        }
        if c.shared > 0 {
            let at = self.spaces[s.process].vma(s.vma).page_ref(s.chunk, 0).unwrap();
            return self.split_shared(at);
        }
        self.did("split");
        let (node, frame) = self.vma(s).split_huge(s.chunk);
        assert!(self.memory.split_frame(node, frame), "{frame:?} is a huge page");
    }
    /// Splits a partly mapped huge page, as other operations need it.
    fn split_deferred_thp(&mut self, s: Spot) {
        let kept: u64 = (0..NODES).map(|n| self.memory.deferred_split_pages(n)).sum();
        let v = self.spaces[s.process].vma_mut(s.vma);
        if let Some(freed) = v.split_deferred_thp(s.chunk, &mut self.memory) {
            self.did("huge page split late");
            assert_eq!((0..NODES).map(|n| self.memory.deferred_split_pages(n)).sum::<u64>(), kept - freed);
        }
    }
    /// Splits all partly mapped huge pages, as when memory is short.
    fn pressure(&mut self, _: Spot) {
        for process in 0..PROCESSES {
            for vma in 0..self.spaces[process].len() {
                let (_, split) = self.spaces[process].vma_mut(vma).split_deferred_thps(None, &mut self.memory);
                (0..split).for_each(|_| self.did("huge page split late"));
            }
        }
    }
    fn collapse(&mut self, s: Spot) {
        let v = self.vma(s);
        let c = *v.chunk(s.chunk);
        let fits = v.huge_ok && v.frame_map.swapped_in_chunk(s.chunk) == 0;
        if c.kind != ChunkKind::Small || c.shared > 0 || !fits {
            return;
        }
        let Some(got) = self.alloc(PageClass::AnonHuge) else { return };
        self.did("collapse");
        self.split_deferred_thp(s);
        let (v, memory) = (self.spaces[s.process].vma_mut(s.vma), &mut self.memory);
        v.collapse(s.chunk, got.node, got.frame, |node, frame| memory.free_page(node, frame, PageClass::Anon));
    }
    fn migrate(&mut self, s: Spot) {
        let (here, to) = (self.below(NODES), self.below(NODES));
        if let Some(at) = self.spaces[s.process].vma(s.vma).page_ref(s.chunk, s.page) {
            return self.migrate_shared(at, here, to);
        }
        let v = self.spaces[s.process].vma_mut(s.vma);
        let c = *v.chunk(s.chunk);
        let (from, pages, class) = match c.kind {
            ChunkKind::Huge => (usize::from(c.node), 512, PageClass::AnonHuge),
            _ => match v.exclusive_node(s.chunk, s.page) {
                Some(node) => (node, 1, PageClass::Anon),
                None => return,
            },
        };
        let Some(frame) = self.memory.alloc_on(here, to, pages) else { return };
        self.split_deferred_thp(s);
        let v = self.spaces[s.process].vma_mut(s.vma);
        let frame = self.memory.carry_flags(v.frame(s.chunk, s.page), to, frame, pages);
        let old = v.move_page(s.chunk, s.page, to, frame, 7);
        self.memory.free_page(from, old, class);
        self.did("migration");
    }
    fn migrate_shared(&mut self, at: PageRef, here: usize, to: usize) {
        let o = self.store.object(at.object);
        let class = o.backing.class(o.block(at.chunk as usize).unwrap().huge);
        let Some(frame) = self.memory.alloc_class_on(here, to, class) else { return };
        rmap::migrate(at, (to, frame), &mut self.store, &mut All(&mut self.spaces), &mut self.memory);
        self.did("migration of a shared page");
    }
    fn swap_out(&mut self, s: Spot) {
        if let Some(at) = self.spaces[s.process].vma(s.vma).page_ref(s.chunk, s.page) {
            let huge = self.store.block_of(at).huge;
            let out = rmap::swap_out(at, &mut self.store, &mut All(&mut self.spaces), &mut self.memory);
            if let SwapOut::Done { entries, .. } = out {
                assert!(entries > 0);
                self.did(if huge { "swap out of a shared huge page" } else { "swap out of a shared page" });
            }
            return;
        }
        let v = self.spaces[s.process].vma_mut(s.vma);
        let c = *v.chunk(s.chunk);
        if c.kind == ChunkKind::Huge {
            let Some(first) = self.memory.swap.take_cluster() else { return };
            let (node, frame) = v.swap_out_huge(s.chunk, first);
            (0..512).for_each(|i| self.memory.note_eviction(node, frame, first + i));
            self.memory.free_page(node, frame, PageClass::AnonHuge);
            self.did("swap out, huge");
        } else if v.exclusive_node(s.chunk, s.page).is_some() {
            let Some(slot) = self.memory.swap.take() else { return };
            self.split_deferred_thp(s);
            let v = self.spaces[s.process].vma_mut(s.vma);
            let (node, frame) = v.swap_out(s.chunk, s.page, slot);
            self.memory.note_eviction(node, frame, slot);
            self.memory.free_page(node, frame, PageClass::Anon);
            self.did("swap out");
        }
    }
    fn swap_in(&mut self, s: Spot) {
        let entry = self.spaces[s.process].vma(s.vma).swap_entry(s.chunk, s.page, &self.store).unwrap();
        let got = match entry {
            SwapEntry::Cached(_) => None,
            _ => match self.alloc(PageClass::Anon) {
                None => return,
                got => got,
            },
        };
        let slot = self.vma(s).frame_map.slot(s.chunk, s.page);
        let got = got.map(|got| AllocatedPage { frame: self.memory.refault(slot.unwrap(), got), ..got });
        if got.is_some_and(|got| got.frame.has(Frame::ACTIVE)) {
            self.did("activated refault");
        }
        let memory = &mut self.memory;
        let v = self.spaces[s.process].vma_mut(s.vma);
        let mut freed = |gone| memory.free_unmapped(gone);
        match (entry, got) {
            (SwapEntry::Shared(at), Some(got)) => {
                self.store.read_back(at, (got.node, got.frame));
                v.swap_in_shared(at, &mut self.store, &mut freed);
                self.did("swap in of a shared page");
            }
            (SwapEntry::Cached(at), _) => {
                v.swap_in_shared(at, &mut self.store, &mut freed);
                self.did("found in the swap cache");
            }
            (_, Some(got)) => {
                v.release_slot(s.chunk, s.page, &mut self.store, &mut freed);
                v.populate(s.chunk, s.page, got.node, got.frame);
                self.did("swap in");
            }
            (_, None) => {}
        }
    }
    /// Scans a page as reclaim does: it moves to the other list, and its entry loses its accessed bit.
    fn look(&mut self, s: Spot) {
        let memory = &mut self.memory;
        let v = self.spaces[s.process].vma_mut(s.vma);
        v.update_young(s.chunk, &mut self.rng);
        v.test_clear_young(s.chunk, s.page);
        let (node, frame, pages, at) = match v.page_ref(s.chunk, s.page) {
            Some(at) if self.store.anon_node(at).is_none() => return,
            Some(at) => {
                let b = self.store.block_of(at);
                let page = usize::from(at.page);
                (usize::from(b.node.get(page)), b.frame[page], if b.huge { 512 } else { 1 }, Some(at))
            }
            None => match v.chunk(s.chunk).kind {
                ChunkKind::Huge => (usize::from(v.chunk(s.chunk).node), v.frame(s.chunk, 0), 512, None),
                _ => match v.exclusive_node(s.chunk, s.page) {
                    Some(node) => (node, v.frame(s.chunk, s.page), 1, None),
                    None => return,
                },
            },
        };
        let frame = memory.set_active(node, frame, pages, !frame.has(Frame::ACTIVE)).with(Frame::WORKINGSET, true);
        match at {
            Some(at) => self.store.block_of(at).frame[usize::from(at.page)] = frame,
            None => v.set_flags(s.chunk, s.page, frame),
        }
        self.did(if frame.has(Frame::ACTIVE) { "activation" } else { "deactivation" });
    }
    fn discard(&mut self, s: Spot) {
        let v = self.spaces[s.process].vma_mut(s.vma);
        let from = v.chunk_base(s.chunk) + s.page as u64 * 4096;
        let to = if s.page == 0 { from + CHUNK_BYTES } else { from + 3 * 4096 };
        let memory = &mut self.memory;
        if v.split_pmds_at(from, to.min(v.end)) > 0 {
            *self.done.get_mut("part given back").unwrap() += 1;
        }
        v.zap_range(from, to.min(v.end), &mut self.store, |gone| memory.free_unmapped(gone));
    }
    fn exit(&mut self, process: usize) {
        self.spaces[process].exit_mmap(process as u32, &mut self.memory, &mut self.store);
        self.alive[process] = false;
        self.did("exit");
    }

    fn step(&mut self) {
        let Some(s) = self.spot() else { return self.map(0) };
        let (name, op): (_, fn(&mut Self, Spot)) = match self.below(19) {
            0..=3 => ("read", |l, s| l.fault(s, false)),
            4..=7 => ("write", |l, s| l.fault(s, true)),
            8 => ("fork", Self::fork),
            9 => ("split", Self::split),
            10 => ("collapse", Self::collapse),
            11 => ("migrate", Self::migrate),
            12 | 13 => ("swap out", Self::swap_out),
            14 => ("discard", Self::discard),
            15 => ("pressure", Self::pressure),
            16 | 17 => ("look", Self::look),
            _ if self.below(4) == 0 => ("exit", |l, s| l.exit(s.process)),
            _ => ("write", |l, s| l.fault(s, true)),
        };
        self.log.push(name);
        op(self, s);
    }

    /// Checks that mapcounts and swap counts are the numbers of entries.
    fn check_entries(&self) -> Result<(), String> {
        for (object, o) in self.store.iter() {
            let of = |m: &Mapper| self.spaces[m.process as usize].vma(m.vma as usize);
            for (chunk, b) in o.blocks() {
                for page in 0..if b.huge { 1 } else { 512 } {
                    let at = PageRef { object, chunk: chunk as u32, page: page as u16 };
                    let entries_found = o.mappers.iter().filter(|m| of(m).maps(at)).count();
                    let mapped = if b.resident.get(page) { b.mapcount[page] as usize } else { 0 };
                    let (slot, entries) = b.slot(page).unwrap_or((u32::MAX, 0));
                    let named = o.mappers.iter().filter(|m| of(m).frame_map.slot(chunk, page) == Some(slot)).count();
                    if (entries_found, named) != (mapped, entries as usize) {
                        return Err(format!(
                            "{at:?}: entries_found {entries_found}, mapcount {mapped}; named {named}, count {entries}"
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        self.memory.check()?;
        let mut used = vec![0; NODES];
        let (mut tables, mut swapped) = (0, 0);
        for space in &self.spaces {
            space.check()?;
            space.add_exclusive_on_node(&mut used);
            tables += space.iter().map(|v| v.frame_map.tables()).sum::<u64>();
            swapped += space.iter().map(|v| v.frame_map.swapped()).sum::<u64>();
        }
        self.store.add_pages_on_node(&mut used);
        let mut active = vec![0; NODES];
        self.spaces.iter().for_each(|s| s.add_active_on_node(&mut active));
        self.store.add_active_on_node(&mut active);
        let mut owned = 0;
        for (node, &mapped) in used.iter().enumerate() {
            let a = self.memory.account(node);
            let pages = a.pages(PageClass::Anon) + a.pages(PageClass::AnonHuge) + a.pages(PageClass::Shmem);
            if pages != mapped {
                return Err(format!("node {node}: {pages} pages in use, {mapped} mapped"));
            }
            if a.lru.active_anon != active[node] {
                return Err(format!("node {node}: {} pages active, {:?}", active[node], a.lru));
            }
            owned += a.pages(PageClass::PageTables);
        }
        let (common, entries) = self.store.slots();
        self.check_entries()?;
        let swapped = swapped + common - entries;
        let kept: u64 = (0..NODES).map(|n| self.memory.deferred_split_pages(n)).sum();
        let partial: usize = self.spaces.iter().flat_map(|s| s.iter()).map(Vma::partly_mapped_thps).sum();
        if (kept > 0) != (partial > 0) {
            return Err(format!("{kept} pages kept of {partial} huge pages"));
        }
        if (owned, self.memory.swap.used_slots()) != (tables, swapped) {
            return Err(format!("{owned} tables for {tables}, {swapped} slots"));
        }
        Ok(())
    }
}

#[test]
fn frames_are_conserved_under_every_interleaving() {
    let machine = machine();
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..SEQUENCES {
        let mut lab = Lab::new(&machine, seed);
        for op in 0..OPS {
            lab.step();
            if op % 20 == 19 {
                lab.check().unwrap_or_else(|e| panic!("seed {seed}: {e} after {:?}", lab.log));
            }
        }
        for p in 0..PROCESSES {
            if lab.alive[p] {
                lab.exit(p);
            }
        }
        lab.check().unwrap_or_else(|e| panic!("seed {seed}: {e} after {:?} and the exits", lab.log));
        let left: u64 = (0..NODES).map(|n| lab.memory.used(n) - lab.memory.account(n).file()).sum();
        assert_eq!((left, lab.memory.swap.used_slots()), (0, 0), "seed {seed}: only page cache is left");
        for (name, n) in lab.done {
            *seen.entry(name).or_insert(0u64) += n;
        }
    }
    assert!(seen.values().all(|n| *n > 500), "{seen:?}");
}
