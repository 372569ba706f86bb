//! Page faults: first touch, NUMA hint faults with migration, write-protection faults after it.
//!
//! Here are the faults on pages that only one process can show; the others are in `shared` and `migration`.

use crate::access::FaultEnd;
use crate::engine::{Pending, World};
use crate::host::Host;
use crate::log::Fault;
use crate::place::Placed;
use crate::policy::page_index;
use crate::window::Met;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::hw::smt::stream_share;
use numalab_kernel::mm::{ChunkKind, OwnPage, PageClass, PageState, CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::numa::design::Faults;
use numalab_kernel::numa::fault::policy::EffectivePolicy;
use numalab_kernel::numa::fault::FaultOutcome;
use numalab_kernel::numa::migrate::NodeMemory as _;
use numalab_kernel::numa::{FaultSite, LastCpupid, MigrateResult, PageFacts};

/// A fault: who, where, how.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// CPU.
    pub cpu: usize,
    /// Task.
    pub task: u32,
    /// Its process.
    pub process: usize,
    /// Mapping.
    pub vma: usize,
    /// Chunk of the mapping.
    pub chunk: usize,
    /// Page of the chunk.
    pub page: usize,
    /// A store.
    pub write: bool,
}

impl World<'_> {
    /// Handles the fault on one page; returns its time in the kernel and how it ended.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn fault(
        &mut self,
        cpu: usize,
        task: u32,
        vma: usize,
        chunk: usize,
        page: usize,
        write: bool,
        clock: u64,
    ) -> (u64, FaultEnd) {
        let process = self.tasks[task as usize].process as usize;
        let s = Site { cpu, task, process, vma, chunk, page, write };
        let p = &mut self.processes[process];
        p.table_node.get_or_insert(self.cpus[cpu].node);
        let v = p.space.vma(vma);
        let state = v.page(chunk, page, &self.shared);
        let of_object = match state {
            PageState::Absent if v.places.slot(chunk, page).is_none() => v.kind.backing().is_some(),
            PageState::Absent => false,
            PageState::Marked { shared, .. } | PageState::ReadOnly { shared, .. } => shared.is_some(),
            PageState::Migrating(_) => true,
            PageState::Ready { .. } => false,
        };
        let in_common = of_object || state == PageState::Absent && v.slot_layer(chunk, page, &self.shared).is_some();
        if in_common && clock > self.now_ns {
            return (0, FaultEnd::Stop(Pending::Resume));
        }
        let waited = self.wait_for_mmap_lock(task, process, clock);
        self.fault_on(&s, state, of_object, clock + waited)
    }

    /// The fault on a page in this state; `of_object`: it is absent and an object has it.
    fn fault_on(&mut self, s: &Site, state: PageState, of_object: bool, clock: u64) -> (u64, FaultEnd) {
        let Site { cpu, task, process, vma, chunk, page, write } = *s;
        if self.numa.cfg.switches.table_marks && self.processes[process].space.vma_mut(vma).unmark_table(chunk) {
            let table = self.table_fault(s, clock);
            let (ns, end) = self.fault(cpu, task, vma, chunk, page, write, clock + table);
            return (table + ns, end);
        }
        match state {
            PageState::Absent => {
                let trap = self.table_trap(s, clock);
                let (ns, end) = if of_object { self.object_fault(s) } else { self.first_touch(s, clock + trap) };
                (trap + ns, end)
            }
            PageState::Marked { shared: Some(at), .. } => self.shared_hint_fault(s, at),
            PageState::Marked { node, last, pages, .. } => {
                let found = Found { vma, chunk, page, node: node as usize, last, pages };
                match self.designs.cfg.faults {
                    Faults::Kernel => {
                        let ns = self.hint_fault(cpu, task, &found, write, clock);
                        if pages == 1 || self.is_huge(s) {
                            return (ns, FaultEnd::Go);
                        }
                        // It has been split, and its pages are still marked.
                        let (more, end) = self.fault(cpu, task, vma, chunk, page, write, clock + ns);
                        (ns + more, end)
                    }
                    Faults::AutoNuma => (self.autonuma_fault(cpu, task, &found, clock), FaultEnd::Go),
                    Faults::SchedNuma => self.schednuma_fault(cpu, task, &found, write, clock),
                }
            }
            PageState::Migrating(at) => self.migrating_fault(s, at),
            PageState::ReadOnly { shared: Some(at), .. } => self.shared_write_fault(s, at),
            PageState::ReadOnly { .. } if self.designs.cfg.faults == Faults::SchedNuma && self.is_huge(s) => {
                (self.huge_write_fault(s, clock), FaultEnd::Go)
            }
            PageState::ReadOnly { .. } => (self.write_fault(process, vma, chunk, page), FaultEnd::Go),
            PageState::Ready { .. } => (0, FaultEnd::Go),
        }
    }

    fn is_huge(&self, s: &Site) -> bool {
        self.processes[s.process].space.vma(s.vma).chunk(s.chunk).kind == ChunkKind::Huge
    }

    /// The policy of a page as a hint fault sees it.
    pub(crate) fn effective_policy(&self, s: &Site) -> EffectivePolicy {
        let index = page_index(self.processes[s.process].space.vma(s.vma), s.chunk, s.page, 0);
        self.policy(s).at_hint_fault(index)
    }

    /// Without native migration of huge pages, one that should migrate becomes base pages that are marked as it was, fault and
    /// migrate one by one; khugepaged may collapse them again. Returns the time.
    fn split_for_migration(&mut self, cpu: usize, task: u32, f: &Found) -> u64 {
        let process = self.tasks[task as usize].process as usize;
        let (node, frame) = self.processes[process].space.vma_mut(f.vma).split_huge(f.chunk);
        self.memory.split_frame(node, frame);
        let e = &mut self.memory.events;
        e.thp_migration_split += 1;
        e.thp_split_page += 1;
        e.thp_split_pmd += 1;
        self.costs.split_ns() as u64 + self.shoot_down(cpu, task, CHUNK_PAGES)
    }

    fn first_touch(&mut self, s: &Site, clock: u64) -> (u64, FaultEnd) {
        let here = self.cpus[s.cpu].node;
        self.vm.pgfault += 1;
        if self.processes[s.process].space.vma(s.vma).places.slot(s.chunk, s.page).is_some() {
            return self.swap_in(s, clock).map_or((0, FaultEnd::OutOfMemory), |ns| (ns, FaultEnd::Go));
        }
        if !s.write {
            if let Some(ns) = self.read_zeros(s, clock) {
                return (ns, FaultEnd::Go);
            }
        }
        let mut ns = self.break_zeros(s);
        let Some(Placed { huge, got }) = self.place(s, clock, &mut ns) else { return (ns, FaultEnd::OutOfMemory) };
        let vma = self.processes[s.process].space.vma_mut(s.vma);
        if huge {
            vma.populate_huge(s.chunk, got.node, got.frame);
            // A huge page goes to the LRU at once, and all that its CPU has gathered with it (folio_add_lru).
            self.lru_batches.drain(s.cpu, &mut self.shared);
        } else {
            vma.populate(s.chunk, s.page, got.node, got.frame);
            self.joins_lru(s);
        }
        let fault = self.fill_ns(here, got.node, huge);
        self.log_first_touch(got.node, if huge { CHUNK_PAGES } else { 1 });
        self.race_to_fill(s, huge, clock, ns + fault as u64);
        if huge && self.cfg.mm.vm.fault_holds_mmap_lock {
            let p = &mut self.processes[s.process];
            p.filling_until_ns = p.filling_until_ns.max(clock + ns + fault as u64);
        }
        (ns + fault as u64, FaultEnd::Go)
    }

    /// The fault of a page of `node` that a CPU of `here` clears; returns its time.
    pub(crate) fn fill_ns(&mut self, here: usize, node: usize, huge: bool) -> f64 {
        let slower = self.rates.latency_factor(here, node);
        if !huge {
            // Its lines stay in the CPU's cache: who faulted finds them there, and pays for them with its own access.
            return self.costs.minor_fault_ns(here, node, slower);
        }
        let ns = self.costs.huge_fault_ns(here, node, slower);
        self.rates.cleared(here, node, CHUNK_BYTES, ns);
        ns
    }

    /// A new page of a mapping's own starts in the batch of its CPU.
    #[inline]
    pub(crate) fn joins_lru(&mut self, s: &Site) {
        let page = OwnPage { process: s.process as u32, vma: s.vma as u32, chunk: s.chunk as u32, page: s.page as u16 };
        self.lru_batches.add_own(s.cpu, page, &mut self.shared);
    }

    /// An access under a marked page table takes one trap, in which all its marked pages are handled, in address order
    /// (3.8, `do_pmd_numa_page`). Those of shared objects keep their own marks (simplification). Returns the time.
    fn table_fault(&mut self, s: &Site, clock: u64) -> u64 {
        let Site { cpu, task, process, vma, chunk, .. } = *s;
        self.vm.pgfault += 1;
        let (mut ns, mut from) = (self.machine.costs.hint_fault_ns as u64, 0);
        while let Some(page) = self.processes[process].space.vma(vma).next_marked(chunk, from) {
            let state = self.processes[process].space.vma(vma).page(chunk, page, &self.shared);
            if let PageState::Marked { node, last, pages: 1, shared: None } = state {
                let found = Found { vma, chunk, page, node: usize::from(node), last, pages: 1 };
                ns += if self.numa.cfg.switches.table_faults_migrate {
                    self.hint_page(cpu, task, &found, Trap::Table, clock + ns)
                } else {
                    self.let_go(cpu, process, &found)
                };
            }
            from = page + 1;
        }
        ns
    }

    /// A marked page is only counted and restored; returns the time.
    fn let_go(&mut self, cpu: usize, process: usize, f: &Found) -> u64 {
        let c = &mut self.numa.counters;
        c.numa_hint_faults += 1;
        c.numa_hint_faults_local += u64::from(f.node == self.cpus[cpu].node);
        self.processes[process].space.vma_mut(f.vma).unmark(f.chunk, f.page);
        self.machine.costs.hint_page_ns as u64
    }

    fn hint_fault(&mut self, cpu: usize, task: u32, f: &Found, write: bool, clock: u64) -> u64 {
        self.vm.pgfault += 1;
        self.hint_page(cpu, task, f, Trap::Page { write }, clock)
    }

    /// Handles a marked page at `clock`, by itself or with its table; returns the time, that of its own trap included.
    fn hint_page(&mut self, cpu: usize, task: u32, f: &Found, trap: Trap, clock: u64) -> u64 {
        let mut before = self.log_before(task);
        let process = self.tasks[task as usize].process as usize;
        let p = &mut self.processes[process];
        let at = FaultSite { task, cpu, now: clock / self.cfg.jiffy_ns() };
        let mut facts =
            if f.pages > 1 { PageFacts::private_anon_huge(f.node) } else { PageFacts::private_anon(f.node) };
        facts.last = LastCpupid::from_raw(f.last);
        let policy = p.vma_policy[f.vma].as_ref().unwrap_or(&self.tasks[task as usize].policy);
        let policy = policy.at_hint_fault(page_index(p.space.vma(f.vma), f.chunk, f.page, 0));
        let state = p.vma_numa[f.vma].as_mut();
        let decision = self.numa.hint_fault_decide(at, &mut facts, state, &policy, &self.memory);
        if f.pages > 1 && decision.target.is_some() && !self.cfg.mm.thp.native_migration {
            p.space.vma_mut(f.vma).set_last(f.chunk, f.page, facts.last.raw());
            return self.machine.costs.hint_fault_ns as u64 + self.split_for_migration(cpu, task, f);
        }
        p.space.vma_mut(f.vma).unmark(f.chunk, f.page);
        let costs = &self.machine.costs;
        let (own_ns, write) = match trap {
            Trap::Page { write } => (costs.hint_fault_ns, write),
            Trap::Table => (costs.hint_page_ns, false),
        };
        let mut ns = own_ns as u64;
        let (mut result, mut met) = (MigrateResult::NotTried, Met::Alone);
        if let Some(target) = decision.target {
            result = self.migrate_page(at, f, &facts, target, clock, &mut ns);
            if result == MigrateResult::Migrated {
                met = self.second_hint_fault(task, f, &mut facts, clock, ns);
                // What the other thread's fault decided is logged as its own.
                before = self.log_before(task);
                ns += self.sleep_behind_move(task, f, clock, clock + ns);
            }
        }
        let (sched, processes, moves) = (&mut self.sched, &self.processes, &mut self.moves);
        let mut host = Host { sched, processes, moves, due_moves: &self.due_moves };
        // Under a table only pages with a target are recorded.
        let recorded = trap != Trap::Table || result != MigrateResult::NotTried;
        let out = if recorded {
            self.numa.hint_fault_done(at, &mut facts, &decision, result, &mut host)
        } else {
            FaultOutcome::default()
        };
        let vma = self.processes[process].space.vma_mut(f.vma);
        if facts.last.raw() != f.last {
            vma.set_last(f.chunk, f.page, facts.last.raw());
        }
        if result == MigrateResult::NotTried {
            // The entry comes back as it should be: an exclusive page is written again without a fault.
            vma.restore_write(f.chunk, f.page);
        }
        if out.write_dropped && met != Met::Writable {
            vma.set_read_only(f.chunk, f.page);
            if write {
                // The store that caused the fault meets the read-only entry at once.
                ns += self.write_fault(process, f.vma, f.chunk, f.page);
            }
        }
        if let Some(before) = before {
            let vma = self.processes[process].space.vma(f.vma);
            let address = vma.chunk_base(f.chunk) + f.page as u64 * PAGE_BYTES;
            let (vma, node, pages) = (f.vma, f.node, f.pages);
            self.log_fault(&before, &Fault { task, cpu, vma, address, node, pages, clock_ns: clock, ns, result });
        }
        ns
    }

    /// Makes a read-only entry writable again; returns the time. That of a huge page counts as no reuse (`do_huge_pmd_wp_page`).
    fn write_fault(&mut self, process: usize, vma: usize, chunk: usize, page: usize) -> u64 {
        self.vm.pgfault += 1;
        let vma = self.processes[process].space.vma_mut(vma);
        self.numa.counters.pgreuse += u64::from(vma.chunk(chunk).kind != ChunkKind::Huge);
        vma.reuse_for_write(chunk, page);
        self.machine.costs.exception_ns as u64
    }

    fn migrate_page(
        &mut self,
        at: FaultSite,
        f: &Found,
        facts: &PageFacts,
        target: usize,
        clock: u64,
        ns: &mut u64,
    ) -> MigrateResult {
        let zones = self.memory.zones(target);
        let process = self.tasks[at.task as usize].process as usize;
        let isolatable = !self.numa.cfg.switches.migration_lru_batch || !self.batched(process, f);
        if let Err(refusal) = self.numa.prepare_migration(at, facts, target, zones, isolatable) {
            self.after_refusal(Some(refusal), target, facts.pages);
            return MigrateResult::Refused;
        }
        let here = self.cpus[at.cpu].node;
        let pages = u64::from(f.pages);
        // The target page is allocated within the cpuset of the faulting task (`__cpuset_zone_allowed`).
        let allowed = self.processes[process].mems.contains(target);
        let Some(frame) = allowed.then(|| self.memory.alloc_on(here, target, pages)).flatten() else {
            return MigrateResult::Failed;
        };
        *ns += self.settle(process, f.vma, f.chunk);
        let vma = self.processes[process].space.vma_mut(f.vma);
        let frame = self.memory.carry_flags(vma.frame(f.chunk, f.page), target, frame, pages);
        let old = vma.move_page(f.chunk, f.page, target, frame, f.last);
        self.moved_joins_lru(at.cpu, process, f);
        self.memory.free_page(f.node, old, if pages > 1 { PageClass::AnonHuge } else { PageClass::Anon });
        let moving_ns = self.migration_ns(at.cpu, at.task, f, target, clock);
        self.rates.copied(f.node, target, pages * PAGE_BYTES, moving_ns as f64);
        *ns += moving_ns;
        MigrateResult::Migrated
    }

    /// Whether a base page is still on its way to the LRU.
    fn batched(&self, process: usize, f: &Found) -> bool {
        let (process, vma, chunk, page) = (process as u32, f.vma as u32, f.chunk as u32, f.page as u16);
        f.pages == 1 && self.lru_batches.holds_own(OwnPage { process, vma, chunk, page })
    }

    /// How much longer than on the idle machine a copy by `cpu` from memory of node `from` to memory of node `to` takes: it
    /// reads the one and writes the other, and goes as fast as the slower of them lets it, with the lines in flight that a
    /// stream beside the core's other thread has (machines.md section 7).
    pub(crate) fn copy_slowdown(&self, cpu: usize, from: usize, to: usize) -> f64 {
        let here = self.cpus[cpu].node;
        let leg = |memory| self.costs.copy_4k_ns(here, memory, self.rates.latency_factor(here, memory));
        let slower = (leg(from).max(leg(to)) / self.costs.copy_4k_ns(from, to, 1.0)).max(1.0);
        slower / stream_share(self.sibling(cpu))
    }

    /// Time to migrate a page on a hint fault at `clock`, its shoot-down included where the kernel needs one.
    fn migration_ns(&mut self, cpu: usize, task: u32, f: &Found, target: usize, clock: u64) -> u64 {
        let slowdown = self.copy_slowdown(cpu, f.node, target);
        let (ns, op) = if f.pages > 1 {
            (self.costs.migrate_2m_ns(f.node, target, slowdown), FlushOp::MigrateHuge)
        } else {
            (self.costs.migrate_4k_ns(f.node, target, slowdown), FlushOp::HintMigrateBase)
        };
        let process = self.tasks[task as usize].process as usize;
        let protecting = self.processes[process].protecting_until_ns > clock;
        let flushes = shootdowns(op, &self.cfg.flush, protecting);
        let flush: u64 = (0..flushes).map(|_| self.shoot_down(cpu, task, u64::from(f.pages))).sum();
        ns as u64 + flush
    }
}

/// What a marked page is handled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trap {
    /// One of its own; whether by a store.
    Page {
        /// A store.
        write: bool,
    },
    /// That of its page table.
    Table,
}

/// A marked page that was touched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub vma: usize,
    pub chunk: usize,
    pub page: usize,
    pub node: usize,
    pub last: u32,
    pub pages: u32,
}
