//! Kernel threads of the memory side: kswapd and kcompactd of each node, proactive compaction, khugepaged.
//!
//! They are looked after at every epoch: each may use the epoch's time once, on an idle CPU of its node if there is one,
//! else at the cost of a task there.

use crate::engine::{World, EPOCH_NS};
use crate::reclaim::{cpu_ns, Spaces};
use numalab_kernel::mm::alloc::{Constraint, Request};
use numalab_kernel::mm::khugepaged::{
    scan_slot, slot::too_far_apart, slot::Target, target_node, Pace, Pause, SlotFacts, SlotVerdict,
};
use numalab_kernel::mm::thp::collapse_gfp;
use numalab_kernel::mm::{ChunkKind, Gfp, Got, MmConfig, PageClass, VmaKind, Work, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::numa::counters::Refusal;
use numalab_kernel::numa::topology::NodeMask;

/// A pass that finds nothing to do takes this long at least, ns.
const PASS_NS: u64 = 10_000;
/// Proactive compaction looks at a node this often, ns.
const PROACTIVE_NS: u64 = 500_000_000;
const MS: u64 = 1_000_000;

/// State of the kernel threads.
#[derive(Clone, Debug)]
pub struct Daemons {
    /// Time that kswapd and kcompactd of a node have used beyond the epochs so far, ns.
    over_ns: Vec<u64>,
    proactive_at_ns: u64,
    khugepaged: Khugepaged,
}

/// Where khugepaged is.
#[derive(Clone, Copy, Debug)]
struct Khugepaged {
    pace: Pace,
    awake_at_ns: u64,
    process: usize,
    /// The address space has been entered.
    entered: bool,
    position: usize,
    chunk: usize,
}

impl Daemons {
    /// All asleep.
    pub fn new(nodes: usize, cfg: &MmConfig) -> Self {
        let sleep = u64::from(cfg.khugepaged.scan_sleep_millisecs) * MS;
        let khugepaged = Khugepaged {
            pace: Pace::new(&cfg.khugepaged),
            awake_at_ns: sleep,
            process: 0,
            entered: false,
            position: 0,
            chunk: 0,
        };
        Self { over_ns: vec![0; nodes], proactive_at_ns: PROACTIVE_NS, khugepaged }
    }
}

impl World<'_> {
    /// Lets the kernel threads work for an epoch.
    pub(crate) fn memory_daemons(&mut self) {
        let proactive = self.now_ns >= self.daemons.proactive_at_ns;
        if proactive {
            self.daemons.proactive_at_ns = self.now_ns + PROACTIVE_NS;
        }
        for node in 0..self.memory.nodes() {
            if proactive && self.memory.memory_nodes().contains(node) {
                let mut work = Work::default();
                self.memory.proactive_compaction(node, &mut work);
                self.daemons.over_ns[node] += cpu_ns(&work, &self.machine.costs);
            }
            let busy = self.memory.kswapd(node).is_running() || self.memory.kcompactd(node).is_woken();
            if busy || self.daemons.over_ns[node] > 0 {
                self.reclaim_in_background(node);
            }
        }
        self.collapse_in_background();
    }

    /// With memory tiering a hint fault that finds its target nearly full wakes the kswapd there, so that later ones
    /// find room (`numamigrate_isolate_page`, later `migrate_misplaced_folio_prepare`). `pages` are those of the page.
    pub(crate) fn after_refusal(&mut self, refusal: Option<Refusal>, target: usize, pages: u32) {
        if refusal == Some(Refusal::NearlyFull) && self.numa.cfg.tiering() {
            // No allocation waits: the kernel passes no flags (gfp 0).
            self.memory.wake_kswapd(target, pages > 1, false);
        }
    }

    fn reclaim_in_background(&mut self, node: usize) {
        let mut used = self.daemons.over_ns[node];
        while used < EPOCH_NS && self.memory.kswapd(node).is_running() {
            let mut work = Work::default();
            let (processes, shared, hands) = (&mut self.processes, &mut self.shared, &mut self.hands);
            let mut env = Spaces { processes, shared, hands, forget: self.numa.cpupid_forgotten_from() };
            self.memory.kswapd_step(node, &mut env, &mut work);
            let ns = PASS_NS.max(self.background_ns(&work, used));
            self.copied_by_daemon(node, &work, ns);
            used += ns;
        }
        if used < EPOCH_NS && self.memory.kcompactd(node).is_woken() {
            let mut work = Work::default();
            self.memory.run_kcompactd(node, &mut work);
            let ns = PASS_NS.max(self.background_ns(&work, used));
            self.copied_by_daemon(node, &work, ns);
            used += ns;
        }
        self.occupy(node, used.min(EPOCH_NS));
        self.daemons.over_ns[node] = used.saturating_sub(EPOCH_NS);
    }

    /// What a kernel thread of `node` copies in `ns`: pages that go to the slower tier, and those that compaction moves.
    /// (What tasks do themselves in direct reclaim loads no memory.)
    fn copied_by_daemon(&mut self, node: usize, work: &Work, ns: u64) {
        if let Some(to) = self.memory.demotion_target(node) {
            self.rates.copied(node, to, work.demoted * PAGE_BYTES, ns as f64);
        }
        self.rates.copied(node, node, work.compact_moved * PAGE_BYTES, ns as f64);
    }

    /// Time of a kernel thread's work, waits for the swap device included.
    fn background_ns(&mut self, work: &Work, used: u64) -> u64 {
        let cpu = cpu_ns(work, &self.machine.costs);
        cpu + self.swap_queue.wait(self.now_ns + used + cpu, work, &self.cfg.mm.swap)
    }

    /// A kernel thread runs for `ns` on a CPU of the node: an idle one, else it delays a task.
    fn occupy(&mut self, node: usize, ns: u64) {
        let cpus = &self.machine.nodes[node].cpus;
        if cpus.is_empty() || cpus.iter().any(|&c| self.cpus[c].task.is_none()) {
            return;
        }
        let turn = (self.now_ns / EPOCH_NS) as usize % cpus.len();
        self.cpus[cpus[turn]].debt_ns += ns;
    }

    fn collapse_in_background(&mut self) {
        let t = self.cfg.mm.khugepaged;
        // The trees of 2012 bring their own.
        if self.designs.active()
            || !t.collapse
            || self.cfg.mm.thp.enabled == "never"
            || self.now_ns < self.daemons.khugepaged.awake_at_ns
        {
            return;
        }
        let mut used = 0;
        while used < EPOCH_NS {
            match self.khugepaged_step(&mut used) {
                Pause::None => {}
                Pause::Retry(ms) | Pause::NextRound(ms) => {
                    self.daemons.khugepaged.awake_at_ns = self.now_ns + used + u64::from(ms) * MS;
                    return;
                }
            }
        }
        // It goes on where it is when the time it has used is over.
        self.daemons.khugepaged.awake_at_ns = self.now_ns + used;
    }

    /// Looks at the next address space, mapping or slot.
    fn khugepaged_step(&mut self, used: &mut u64) -> Pause {
        let t = &self.cfg.mm.khugepaged;
        let k = &mut self.daemons.khugepaged;
        let Some(p) = self.processes.get(k.process) else {
            *k = Khugepaged { process: 0, entered: false, position: 0, chunk: 0, ..*k };
            self.memory.events.full_scans += 1;
            return k.pace.end_of_list(t);
        };
        if !p.started || p.ended || k.position >= p.space.len() {
            *k = Khugepaged { process: k.process + 1, entered: false, position: 0, chunk: 0, ..*k };
            return Pause::None;
        }
        if !k.entered {
            k.entered = true;
            return k.pace.small_step(t);
        }
        let id = p.space.id_at(k.position);
        let vma = p.space.vma(id);
        if !vma.huge_ok || vma.kind != VmaKind::PrivateAnon {
            *k = Khugepaged { position: k.position + 1, chunk: 0, ..*k };
            return k.pace.small_step(t);
        }
        if k.chunk >= vma.chunk_count() {
            *k = Khugepaged { position: k.position + 1, chunk: 0, ..*k };
            return Pause::None;
        }
        let (process, chunk) = (k.process, k.chunk);
        k.chunk += 1;
        if !vma.chunk_is_whole(chunk) {
            return Pause::None;
        }
        let pause = k.pace.slot(t);
        *used += self.machine.costs.khugepaged_slot_ns as u64;
        if self.collapse(process, id, chunk, used) == SlotVerdict::AllocFail {
            return self.daemons.khugepaged.pace.alloc_failed(t);
        }
        pause
    }

    /// The base pages of a chunk become the huge page `got`, and are freed; returns the nodes they were on, in order.
    pub(crate) fn collapse_into(&mut self, process: usize, id: usize, chunk: usize, got: Got) -> Vec<usize> {
        self.settle(process, id, chunk);
        let mut from = Vec::with_capacity(CHUNK_PAGES as usize);
        let memory = &mut self.memory;
        let vma = self.processes[process].space.vma_mut(id);
        vma.collapse(chunk, got.node, got.frame, |node, frame| {
            memory.free_page(node, frame, PageClass::Anon);
            from.push(node);
        });
        from
    }

    /// Collapses a slot if it may be, and adds the time.
    fn collapse(&mut self, process: usize, id: usize, chunk: usize, used: &mut u64) -> SlotVerdict {
        let vma = self.processes[process].space.vma_mut(id);
        if vma.chunk(chunk).kind != ChunkKind::Small {
            return SlotVerdict::NothingToDo;
        }
        // Which node's stream settles the bits does not matter: khugepaged is one thread.
        let referenced = vma.referenced_pages(chunk, self.hands[0].rng());
        let c = vma.chunk(chunk);
        let swapped = u32::from(vma.places.swapped_in_chunk(chunk));
        let facts = SlotFacts {
            present: u32::from(c.present),
            swapped,
            shared: u32::from(c.shared),
            referenced,
            writable: c.read_only < c.present,
            pinned: false,
            nothing_to_do: false,
        };
        let verdict = scan_slot(&self.cfg.mm.khugepaged, &facts);
        if verdict != SlotVerdict::Collapse {
            return verdict;
        }
        if c.shared > 0 || vma.has_shared_slots(chunk, &self.shared) {
            // Pages that other processes map too would be copied; the model leaves them.
            return SlotVerdict::ExceedShared;
        }
        let on_node: Vec<u32> = vma.node_counts(chunk).iter().map(|&n| u32::from(n)).collect();
        let near = self.machine.node_reclaim_distance;
        let reclaims = self.cfg.mm.vm.zone_reclaim_mode != 0;
        if too_far_apart(reclaims, &on_node, near, |a, b| self.memory.distance(a, b)) {
            return SlotVerdict::ScanAbort;
        }
        let Some(target) = target_node(&on_node) else { return SlotVerdict::NothingToDo };
        let req = collapse_request(&self.cfg.mm, &target);
        let mut work = Work::default();
        let (processes, shared, hands) = (&mut self.processes, &mut self.shared, &mut self.hands);
        let mut env = Spaces { processes, shared, hands, forget: self.numa.cpupid_forgotten_from() };
        let got = self.memory.alloc_page(&req, &mut env, &mut work);
        let Ok(got) = got else {
            self.memory.events.thp_collapse_alloc_failed += 1;
            *used += self.background_ns(&work, *used);
            return SlotVerdict::AllocFail;
        };
        self.memory.events.thp_collapse_alloc += 1;
        let vma = self.processes[process].space.vma_mut(id);
        if vma.chunk(chunk).kind != ChunkKind::Small {
            // Reclaim for the huge page has taken the last of the pages meanwhile.
            self.memory.free_page(got.node, got.frame, PageClass::AnonHuge);
            return SlotVerdict::NothingToDo;
        }
        for page in 0..512 {
            if let Some(slot) = vma.places.take_slot(chunk, page) {
                self.memory.swap.put(slot);
                self.memory.events.pswpin += 1;
                work.swapped_in += 1;
            }
        }
        let from = self.collapse_into(process, id, chunk, got);
        let copied = self.collapse_ns(&from, got.node) as u64;
        self.memory.events.pages_collapsed += 1;
        self.processes[process].flush_debt_ns += self.machine.costs.flush_target_ns as u64;
        *used += self.background_ns(&work, *used);
        let locked_at = self.now_ns + *used;
        self.processes[process].write_locked.hold((locked_at, locked_at + copied), self.now_ns);
        *used += copied;
        SlotVerdict::Collapse
    }
}

/// What khugepaged asks the allocator for.
fn collapse_request(cfg: &MmConfig, target: &Target) -> Request {
    let t = &cfg.khugepaged;
    let local = t.this_node;
    Request {
        gfp: if local { collapse_gfp(t.defrag) | Gfp::THISNODE } else { collapse_gfp(t.defrag) },
        huge: true,
        here: target.node,
        preferred: target.node,
        allowed: if local { NodeMask::of([target.node]) } else { target.allowed },
        class: PageClass::AnonHuge,
        constraint: Constraint::None,
        spread: false,
    }
}
