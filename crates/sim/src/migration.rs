//! Migrating a page that several processes map: a sequence of instants during which others may meet it.
//!
//! The page is locked and taken off the LRU; every entry that shows it is found through the reverse map and replaced
//! by a migration entry, with a flush of the CPUs that may hold the translation; the page is copied; every entry is
//! restored; the lock is dropped. The time is proportional to the number of mappings. Whoever touches a migration
//! entry sleeps until the lock is dropped. In kernels before 5.0 the sleeper holds a reference meanwhile, which makes
//! the move fail; it is then tried again, ten times in all. Restored entries are ordinary ones: marks are gone, in
//! every process, whether the page has moved or not.
//!
//! Entries are replaced one after the other, each at its own instant: until then its process passes, afterwards it
//! waits. A sweep that was planned across the page before the migration began is cut short where it meets it.

use crate::access::FaultEnd;
use crate::engine::{Pending, World};
use crate::fault::{Found, Site};
use crate::host::Host;
use crate::log::{Before, Fault};
use numalab_kernel::mm::pageblock::Frame;
use numalab_kernel::mm::{Mapper, OwnPage, PageRef, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::numa::fault::FaultDecision;
use numalab_kernel::numa::migrate::NodeMemory as _;
use numalab_kernel::numa::{FaultSite, LastCpupid, MigrateResult, PageFacts};

/// Attempts of one `migrate_pages`.
const ATTEMPTS: u32 = 10;
/// Cache lines that finding and replacing one more entry brings in from the other process: its VMA, the lock of its
/// page table, the entry (model).
const RMAP_LINES: f64 = 3.0;
/// While shared pages are on the move, random and strided accesses to them look at least this often, ns (granularity
/// of the model).
pub const SHARED_STEP_NS: u64 = 50_000;

/// What the migrating task does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// All entries are replaced: the page moves, or cannot.
    Move,
    /// The entries are restored.
    Restore,
}

/// A sweep planned ahead over pages without a fault, as long as shared pages are on the move.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Its op.
    pub pc: usize,
    /// Mapping.
    pub vma: u32,
    /// Chunk.
    pub chunk: usize,
    /// Byte of the chunk where it starts.
    pub at: u64,
    /// Progress of the access at the start.
    pub done: u64,
    /// Start, ns.
    pub from_ns: u64,
    /// Time per byte, ns.
    pub per_byte: f64,
}

/// An entry that shows a page under migration.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When it is replaced by a migration entry, ns.
    replaced_ns: u64,
    /// It is PROT_NONE until then.
    marked: bool,
}

/// A migration under way.
#[derive(Clone, Debug)]
pub struct PageMigration {
    site: Site,
    at: PageRef,
    fault: FaultSite,
    facts: PageFacts,
    decision: FaultDecision,
    target: usize,
    /// Where the target page lies.
    frame: Frame,
    attempt: u32,
    phase: Phase,
    moved: bool,
    /// By mapper of the object; those that came later have none.
    entries: Vec<Entry>,
}

impl World<'_> {
    /// A marked entry of a shared page was touched.
    pub(crate) fn shared_hint_fault(&mut self, s: &Site, at: PageRef) -> (u64, FaultEnd) {
        self.vm.pgfault += 1;
        let before = self.log_before(s.task);
        let fault = FaultSite { task: s.task, cpu: s.cpu, now: self.now_ns / self.cfg.jiffy_ns() };
        let policy = self.effective_policy(s);
        let p = &mut self.processes[s.process];
        let mut facts = p.space.vma(s.vma).shared_facts(at, &self.shared);
        let state = p.vma_numa[s.vma].as_mut();
        let decision = self.numa.hint_fault_decide(fault, &mut facts, state, &policy, &self.memory);
        if !self.shared.locked(at) {
            p.space.vma_mut(s.vma).unmark(s.chunk, s.page);
        }
        self.shared.block_of(at).last[usize::from(at.page)] = facts.last.raw();
        let ns = self.machine.costs.hint_fault_ns as u64;
        let mut result = MigrateResult::NotTried;
        if let Some(target) = decision.target {
            let page = usize::from(at.page);
            let b = self.shared.block_of(at);
            let batched = self.numa.cfg.switches.migration_lru_batch && b.batched.get(page);
            let isolatable = !b.locked.get(page) && !batched;
            let zones = self.memory.zones(target);
            result = MigrateResult::Refused;
            let refusal = self.numa.prepare_migration(fault, &facts, target, zones, isolatable).err();
            self.after_refusal(refusal, target, facts.pages);
            if refusal.is_none() {
                let m = PageMigration {
                    site: *s,
                    at,
                    fault,
                    facts,
                    decision,
                    target,
                    frame: Frame::UNKNOWN,
                    attempt: 0,
                    phase: Phase::Move,
                    moved: false,
                    entries: Vec::new(),
                };
                match self.start_attempt(m) {
                    Some(first_ns) => return (ns + first_ns, FaultEnd::Stop(Pending::Migration)),
                    None => result = MigrateResult::Failed,
                }
            }
        }
        (ns + self.finish_hint_fault(s, at, (fault, before), &mut facts, &decision, result), FaultEnd::Go)
    }

    /// Records a hint fault on a shared page; returns the time of a write fault that follows at once.
    fn finish_hint_fault(
        &mut self,
        s: &Site,
        at: PageRef,
        (fault, before): (FaultSite, Option<Before>),
        facts: &mut PageFacts,
        decision: &FaultDecision,
        result: MigrateResult,
    ) -> u64 {
        let node = facts.nid;
        let (sched, processes, moves) = (&mut self.sched, &self.processes, &mut self.moves);
        let mut host = Host { sched, processes, moves, due_moves: &self.due_moves };
        let out = self.numa.hint_fault_done(fault, facts, decision, result, &mut host);
        let page = usize::from(at.page);
        self.shared.block_of(at).last[page] = facts.last.raw();
        let v = self.processes[s.process].space.vma_mut(s.vma);
        let address = v.chunk_base(s.chunk) + s.page as u64 * PAGE_BYTES;
        if let Some(before) = before {
            let (task, cpu, vma, pages, clock_ns) = (s.task, s.cpu, s.vma, facts.pages, self.now_ns);
            let ns = self.machine.costs.hint_fault_ns as u64;
            self.log_fault(&before, &Fault { task, cpu, vma, address, node, pages, clock_ns, ns, result });
        }
        let v = self.processes[s.process].space.vma_mut(s.vma);
        if out.write_dropped && !facts.huge && v.shows(at) {
            v.set_read_only(s.chunk, s.page);
            if s.write {
                return self.shared_write_fault(s, at).0;
            }
        }
        0
    }

    /// Allocates the target page, locks the old one and begins to replace its entries; returns the time until all are
    /// replaced, `None` without a target page.
    fn start_attempt(&mut self, mut m: PageMigration) -> Option<u64> {
        let here = self.cpus[m.site.cpu].node;
        let class = self.shared.object(m.at.object).backing.class(m.facts.huge);
        if !self.processes[m.site.process].mems.contains(m.target) {
            return None;
        }
        m.frame = self.memory.alloc_class_on(here, m.target, class)?;
        self.shared.block_of(m.at).locked.set(usize::from(m.at.page));
        m.attempt += 1;
        m.phase = Phase::Move;
        m.moved = false;
        let unmap_ns = self.replace_entries(&mut m);
        let until = self.now_ns + 2 * unmap_ns + self.cfg.jiffy_ns();
        self.sharing_until_ns = self.sharing_until_ns.max(until);
        self.cut_stretches(&m);
        let task = m.site.task;
        self.migrating.push((m.at, task));
        self.tasks[task as usize].migration = Some(Box::new(m));
        Some(unmap_ns)
    }

    /// Works out when each entry is replaced, flushes included, and has their next access look; returns the time for
    /// all of them.
    fn replace_entries(&mut self, m: &mut PageMigration) -> u64 {
        let here = self.cpus[m.site.cpu].node;
        let mut ns = 0.0;
        m.entries.clear();
        for mapper in &self.shared.object(m.at.object).mappers {
            let p = &mut self.processes[mapper.process as usize];
            let v = p.space.vma_mut(mapper.vma as usize);
            if !v.shows(m.at) {
                m.entries.push(Entry { replaced_ns: u64::MAX, marked: false });
                continue;
            }
            let marked = !v.set_migrating(m.site.chunk, m.site.page);
            if mapper.process as usize != m.site.process {
                let tables = p.table_node.unwrap_or(here);
                ns += RMAP_LINES * self.machine.latency_ns[here][tables] * self.rates.latency_factor(here, tables);
                let running: u32 = p.running_on_node.iter().sum();
                if !marked && running > 0 {
                    let targets = self.costs.targets_by_node(here, &p.running_on_node);
                    let s = self.costs.shootdown(targets, u64::from(m.facts.pages));
                    ns += s.initiator_ns;
                    p.flush_debt_ns += s.target_ns as u64;
                    self.vm.nr_tlb_remote_flush += 1;
                    self.vm.nr_tlb_remote_flush_received += u64::from(running);
                }
            }
            m.entries.push(Entry { replaced_ns: self.now_ns + ns as u64, marked });
        }
        ns as u64
    }

    /// Ends sweeps that have been planned across the page, where they will meet the migration entry.
    fn cut_stretches(&mut self, m: &PageMigration) {
        for cpu in 0..self.cpus.len() {
            let Some(task) = self.cpus[cpu].task else { continue };
            let t = &self.tasks[task as usize];
            let Some(s) = t.stretch.filter(|s| s.chunk == m.site.chunk) else { continue };
            let page_at = m.site.page as u64 * PAGE_BYTES;
            if page_at <= s.at || !matches!(self.cpus[cpu].pending, Pending::Resume | Pending::Tick) {
                continue;
            }
            let meets_ns = s.from_ns + ((page_at - s.at) as f64 * s.per_byte) as u64;
            if meets_ns <= self.now_ns || meets_ns >= t.ahead_ns {
                continue;
            }
            let process = t.process as usize;
            let shows = self.processes[process].space.vma(s.vma as usize).shows(m.at);
            if shows && meets_ns >= self.entry(m, process, s.vma).map_or(0, |e| e.replaced_ns) {
                self.cut(cpu, task, &s, page_at - s.at, meets_ns);
            }
        }
    }

    /// Ends a sweep after `bytes`, at `at_ns`.
    fn cut(&mut self, cpu: usize, task: u32, s: &Stretch, bytes: u64, at_ns: u64) {
        self.undo(task, s, bytes, at_ns);
        self.plan(cpu, at_ns, Pending::Resume);
    }

    /// Takes back what a sweep did after `bytes`, at `at_ns`.
    pub(crate) fn undo(&mut self, task: u32, s: &Stretch, bytes: u64, at_ns: u64) {
        let t = &mut self.tasks[task as usize];
        let over = if t.pc == s.pc { t.done } else { u64::MAX };
        (t.pc, t.done, t.entered, t.stretch) = (s.pc, s.done + bytes, true, None);
        if let numalab_model::workload::Op::Access(a) = &t.ops[s.pc] {
            if let Some((id, per_byte)) = a.score {
                let undone = over.min(a.span.len_bytes) - t.done;
                self.scores[id as usize] -= per_byte * undone as f64;
            }
        }
        self.uncharge_user(task, at_ns);
    }

    /// The entry of a process in a migration.
    fn entry<'m>(&self, m: &'m PageMigration, process: usize, vma: u32) -> Option<&'m Entry> {
        m.entries.get(self.mapper_number(m.at, process, vma)?)
    }

    fn mapper_number(&self, at: PageRef, process: usize, vma: u32) -> Option<usize> {
        let mappers = &self.shared.object(at.object).mappers;
        let is = |m: &Mapper| m.process as usize == process && m.vma == vma;
        // Processes forked in a row follow each other.
        let guess = process.wrapping_sub(mappers.first()?.process as usize);
        if mappers.get(guess).is_some_and(is) {
            return Some(guess);
        }
        mappers.iter().position(is)
    }

    /// A migration entry, or one that is about to become one, was touched.
    pub(crate) fn migrating_fault(&mut self, s: &Site, at: PageRef) -> (u64, FaultEnd) {
        let Some(&(_, migrator)) = self.migrating.iter().find(|m| m.0 == at) else {
            return self.wait_on_page(s, at);
        };
        let number = self.mapper_number(at, s.process, s.vma as u32);
        let now = self.now_ns;
        let Some(m) = &mut self.tasks[migrator as usize].migration else { return self.wait_on_page(s, at) };
        match number.and_then(|n| m.entries.get_mut(n)) {
            Some(e) if now < e.replaced_ns => {
                if std::mem::take(&mut e.marked) {
                    return self.shared_hint_fault(s, at);
                }
                if s.write && self.processes[s.process].space.vma(s.vma).is_read_only(s.chunk, s.page) {
                    return self.shared_write_fault(s, at);
                }
                (0, FaultEnd::Pass)
            }
            _ => self.wait_on_page(s, at),
        }
    }

    /// The migrating task on `cpu` has come to the end of a phase.
    pub(crate) fn migration_phase(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].task else { return };
        let Some(mut m) = self.tasks[task as usize].migration.take() else { return };
        let ns = match m.phase {
            Phase::Move => {
                let pinned = self.numa.cfg.switches.migration_waiters_pin && self.waited_for(m.at);
                m.phase = Phase::Restore;
                m.moved = !pinned;
                self.restore_ns(&m)
            }
            Phase::Restore => {
                self.restore_entries(&m);
                self.migrating.retain(|x| x.0 != m.at);
                self.wake_page_waiters(m.at, cpu);
                if m.moved || m.attempt == ATTEMPTS {
                    self.end_migration(cpu, task, *m);
                    return;
                }
                let given_up = (*m).clone();
                match self.start_attempt(*m) {
                    Some(ns) => self.go_on(cpu, task, ns),
                    None => self.end_migration(cpu, task, given_up),
                }
                return;
            }
        };
        self.tasks[task as usize].migration = Some(m);
        self.go_on(cpu, task, ns);
    }

    /// The migrating task stays in the kernel for `ns`.
    fn go_on(&mut self, cpu: usize, task: u32, ns: u64) {
        self.charge_system(task, ns);
        let at = self.now_ns + ns;
        self.tasks[task as usize].ahead_ns = at;
        self.plan(cpu, at, Pending::Migration);
    }

    /// Time of copying (if the page moves) and of restoring all entries.
    fn restore_ns(&self, m: &PageMigration) -> u64 {
        let mapcount =
            self.shared.object(m.at.object).block(m.site.chunk).map_or(0, |b| b.mapcount[m.at.page as usize]);
        let entries = f64::from(mapcount) * self.machine.costs.fork_pte_ns;
        let (from, to) = (m.facts.nid, m.target);
        let slowdown = self.copy_slowdown(m.site.cpu, from, to);
        let whole = if m.facts.huge {
            self.costs.migrate_2m_ns(from, to, slowdown)
        } else {
            self.costs.migrate_4k_ns(from, to, slowdown)
        };
        (entries + if m.moved { whole } else { 0.0 }) as u64
    }

    /// Pages allocated for migrations that the end of the run cut off: node, frame, base pages, whether anonymous.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = (usize, Frame, u64, bool)> + '_ {
        let pages = |huge: bool| if huge { CHUNK_PAGES } else { 1 };
        let shared = self.tasks.iter().filter_map(|t| t.migration.as_deref()).map(move |m| {
            let anon = self.shared.object(m.at.object).backing.class(m.facts.huge).is_anon();
            (m.target, m.frame, pages(m.facts.huge), anon)
        });
        shared.chain(self.designs.copies.iter().map(|c| (c.to, c.frame, CHUNK_PAGES, true)))
    }

    /// Makes all entries ordinary again, on the target if the page has moved, and drops the lock.
    fn restore_entries(&mut self, m: &PageMigration) {
        let page = usize::from(m.at.page);
        let object = self.shared.object_mut(m.at.object);
        let class = object.backing.class(m.facts.huge);
        let b = object.block_mut(m.site.chunk);
        b.locked.clear(page);
        let old = usize::from(b.node[page]);
        if m.moved {
            b.node[page] = m.target as u8;
            let pages = if m.facts.huge { CHUNK_PAGES } else { 1 };
            let frame = b.frame[page];
            b.frame[page] =
                if class.is_anon() { self.memory.carry_flags(frame, m.target, m.frame, pages) } else { m.frame };
            self.memory.free_page(old, frame, class);
            // Its time is over; with a page or two at a time the epoch it falls into makes no difference.
            self.rates.copied(old, m.target, pages * PAGE_BYTES, 0.0);
        } else {
            self.memory.free_page(m.target, m.frame, class);
        }
        for mapper in &object.mappers {
            let v = self.processes[mapper.process as usize].space.vma_mut(mapper.vma as usize);
            if !v.shows(m.at) {
                continue;
            }
            v.unmark(m.site.chunk, m.site.page);
            if m.moved {
                v.shared_moved(m.site.chunk, old, m.target);
            }
        }
    }

    /// An exclusive page that has moved goes to the LRU (`numa.migration_drains_lru`); a huge one is never gathered
    /// (`folio_add_lru`).
    pub(crate) fn moved_joins_lru(&mut self, cpu: usize, process: usize, f: &Found) {
        if f.pages > 1 || self.numa.cfg.switches.migration_drains_lru {
            self.lru_batches.drain(cpu, &mut self.shared);
            return;
        }
        let page = OwnPage { process: process as u32, vma: f.vma as u32, chunk: f.chunk as u32, page: f.page as u16 };
        self.lru_batches.add_own(cpu, page, &mut self.shared);
    }

    fn end_migration(&mut self, cpu: usize, task: u32, mut m: PageMigration) {
        if m.facts.huge || m.moved && self.numa.cfg.switches.migration_drains_lru {
            self.lru_batches.drain(cpu, &mut self.shared);
        } else {
            self.lru_batches.add(cpu, m.at, &mut self.shared);
        }
        let result = if m.moved { MigrateResult::Migrated } else { MigrateResult::Failed };
        m.facts.last = LastCpupid::from_raw(self.shared.block_of(m.at).last[usize::from(m.at.page)]);
        let log = (m.fault, self.log_before(task));
        let ns = self.finish_hint_fault(&m.site, m.at, log, &mut m.facts, &m.decision, result);
        self.cpus[cpu].debt_ns += ns;
        debug_assert_eq!(task, m.site.task);
        self.apply_new_moves(cpu);
    }
}
