//! Migrating a page that several processes map: a sequence of instants during which others may meet it.
//!
//! The page is locked and taken off the LRU; every entry that shows it is found through the reverse map and replaced
//! by a migration entry, with a flush of the CPUs that may hold the translation; the page is copied; every entry is
//! restored; the lock is dropped. The time is proportional to the number of mappings. Whoever touches a migration
//! entry sleeps until the lock is dropped. In kernels before 5.0 the sleeper holds a reference meanwhile, which makes
//! the move fail; it is then tried again, ten times in all. Restored entries are ordinary ones: marks are gone, in
//! every process, whether the page has moved or not.
//!
//! Entries are replaced one after the other; the model replaces all of them half-way.

use crate::access::FaultEnd;
use crate::engine::{Pending, World};
use crate::fault::Site;
use crate::host::Host;
use numalab_kernel::mm::pageblock::Frame;
use numalab_kernel::mm::{PageRef, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::numa::fault::FaultDecision;
use numalab_kernel::numa::migrate::NodeMemory as _;
use numalab_kernel::numa::{FaultSite, LastCpupid, MigrateResult, PageFacts};

/// Attempts of one `migrate_pages`.
const ATTEMPTS: u32 = 10;
/// Cache lines that finding and replacing one more entry brings in from the other process: its VMA, the lock of its
/// page table, the entry (model).
const RMAP_LINES: f64 = 3.0;
/// Processes that share pages on the move look at them at least this often, ns (granularity of the model).
pub const SHARED_STEP_NS: u64 = 100_000;

/// What the migrating task does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Half of the entries are replaced.
    Replace,
    /// All are: the page moves, or cannot.
    Move,
    /// The entries are restored.
    Restore,
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
    unmap_ns: u64,
    moved: bool,
}

impl World<'_> {
    /// A marked entry of a shared page was touched.
    pub(crate) fn shared_hint_fault(&mut self, s: &Site, at: PageRef) -> (u64, FaultEnd) {
        self.vm.pgfault += 1;
        let fault = FaultSite { task: s.task, cpu: s.cpu, now: self.now_ns / self.cfg.jiffy_ns() };
        let policy = self.effective_policy(s);
        let p = &mut self.processes[s.process];
        let mut facts = p.space.vma(s.vma).shared_facts(at, &self.shared);
        let state = p.vma_numa[s.vma].as_mut();
        let decision = self.numa.hint_fault_decide(fault, &mut facts, state, &policy, &self.memory);
        p.space.vma_mut(s.vma).unmark(s.chunk, s.page);
        self.shared.block_of(at).last[usize::from(at.page)] = facts.last.raw();
        let ns = self.machine.costs.hint_fault_ns as u64;
        let mut result = MigrateResult::NotTried;
        if let Some(target) = decision.target {
            let isolatable = !self.shared.locked(at);
            let zones = self.memory.zones(target);
            result = MigrateResult::Refused;
            if self.numa.prepare_migration(fault, &facts, target, zones, isolatable).is_ok() {
                let m = PageMigration {
                    site: *s,
                    at,
                    fault,
                    facts,
                    decision,
                    target,
                    frame: Frame::UNKNOWN,
                    attempt: 0,
                    phase: Phase::Replace,
                    unmap_ns: 0,
                    moved: false,
                };
                match self.start_attempt(m) {
                    Some(first_ns) => return (ns + first_ns, FaultEnd::Stop(Pending::Migration)),
                    None => result = MigrateResult::Failed,
                }
            }
        }
        (ns + self.finish_hint_fault(s, at, fault, &mut facts, &decision, result), FaultEnd::Go)
    }

    /// Records a hint fault on a shared page; returns the time of a write fault that follows at once.
    fn finish_hint_fault(
        &mut self,
        s: &Site,
        at: PageRef,
        fault: FaultSite,
        facts: &mut PageFacts,
        decision: &FaultDecision,
        result: MigrateResult,
    ) -> u64 {
        let mut host = Host { sched: &mut self.sched, processes: &self.processes, moves: &mut self.moves };
        let out = self.numa.hint_fault_done(fault, facts, decision, result, &mut host);
        let page = usize::from(at.page);
        self.shared.block_of(at).last[page] = facts.last.raw();
        let v = self.processes[s.process].space.vma_mut(s.vma);
        if out.write_dropped && !facts.huge && v.shows(at) {
            v.set_read_only(s.chunk, s.page);
            if s.write {
                return self.shared_write_fault(s, at).0;
            }
        }
        0
    }

    /// Allocates the target page and locks the old one; the time to half of the entries, `None` without a target page.
    fn start_attempt(&mut self, mut m: PageMigration) -> Option<u64> {
        let here = self.cpus[m.site.cpu].node;
        let class = self.shared.object(m.at.object).backing.class(m.facts.huge);
        m.frame = self.memory.alloc_class_on(here, m.target, class)?;
        self.shared.block_of(m.at).locked.set(usize::from(m.at.page));
        m.attempt += 1;
        m.phase = Phase::Replace;
        m.moved = false;
        m.unmap_ns = self.unmap_ns(&m);
        let half = m.unmap_ns / 2;
        let until = self.now_ns + 2 * m.unmap_ns + self.cfg.jiffy_ns();
        self.sharing_until_ns = self.sharing_until_ns.max(until);
        let task = m.site.task as usize;
        self.tasks[task].migration = Some(Box::new(m));
        Some(half)
    }

    /// Time to find and replace all entries but the faulting one, flushes included.
    fn unmap_ns(&self, m: &PageMigration) -> u64 {
        let here = self.cpus[m.site.cpu].node;
        let mut ns = 0.0;
        for mapper in &self.shared.object(m.at.object).mappers {
            let p = &self.processes[mapper.process as usize];
            let v = p.space.vma(mapper.vma as usize);
            if mapper.process as usize == m.site.process || !v.shows(m.at) {
                continue;
            }
            let tables = p.table_node;
            ns += RMAP_LINES * self.machine.latency_ns[here][tables] * self.rates.latency_factor(here, tables);
            if !v.is_pending(m.site.chunk, m.site.page) && p.running_on_node.iter().any(|&n| n > 0) {
                let targets = self.costs.targets_by_node(here, &p.running_on_node);
                ns += self.costs.shootdown(targets, u64::from(m.facts.pages)).initiator_ns;
            }
        }
        ns as u64
    }

    /// The migrating task on `cpu` has come to the end of a phase.
    pub(crate) fn migration_phase(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].task else { return };
        let Some(mut m) = self.tasks[task as usize].migration.take() else { return };
        let ns = match m.phase {
            Phase::Replace => {
                self.replace_entries(&m);
                m.phase = Phase::Move;
                m.unmap_ns - m.unmap_ns / 2
            }
            Phase::Move => {
                let pinned = self.numa.cfg.switches.migration_waiters_pin && self.waited_for(m.at);
                m.phase = Phase::Restore;
                m.moved = !pinned;
                self.restore_ns(&m)
            }
            Phase::Restore => {
                self.restore_entries(&m);
                let (moved, attempt) = (m.moved, m.attempt);
                if !moved && attempt < ATTEMPTS {
                    let copy = (*m).clone();
                    match self.start_attempt(copy) {
                        Some(ns) => {
                            self.go_on(cpu, task, ns);
                            self.wake_page_waiters(m.at, cpu);
                            return;
                        }
                        None => self.end_migration(cpu, task, *m),
                    }
                } else {
                    self.end_migration(cpu, task, *m);
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
        let slowdown = self.rates.latency_factor(from, to);
        let whole = if m.facts.huge {
            self.costs.migrate_2m_ns(from, to, slowdown)
        } else {
            self.costs.migrate_4k_ns(from, to, slowdown)
        };
        (entries + if m.moved { whole } else { 0.0 }) as u64
    }

    /// Puts migration entries in place and interrupts the CPUs that may hold translations.
    fn replace_entries(&mut self, m: &PageMigration) {
        for mapper in &self.shared.object(m.at.object).mappers {
            let p = &mut self.processes[mapper.process as usize];
            let v = p.space.vma_mut(mapper.vma as usize);
            if !v.shows(m.at) {
                continue;
            }
            let accessible = v.set_migrating(m.site.chunk, m.site.page);
            let running: u32 = p.running_on_node.iter().sum();
            if accessible && mapper.process as usize != m.site.process && running > 0 {
                p.flush_debt_ns += self.machine.costs.flush_target_ns as u64;
                self.vm.nr_tlb_remote_flush += 1;
                self.vm.nr_tlb_remote_flush_received += u64::from(running);
            }
        }
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
            let frame = std::mem::replace(&mut b.frame[page], m.frame);
            self.memory.free_page(old, frame, class);
            let pages = if m.facts.huge { CHUNK_PAGES } else { 1 };
            self.rates.copied(old, m.target, pages * PAGE_BYTES);
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

    fn end_migration(&mut self, cpu: usize, task: u32, mut m: PageMigration) {
        self.wake_page_waiters(m.at, cpu);
        let result = if m.moved { MigrateResult::Migrated } else { MigrateResult::Failed };
        m.facts.last = LastCpupid::from_raw(self.shared.block_of(m.at).last[usize::from(m.at.page)]);
        let ns = self.finish_hint_fault(&m.site, m.at, m.fault, &mut m.facts, &m.decision, result);
        self.cpus[cpu].debt_ns += ns;
        debug_assert_eq!(task, m.site.task);
        self.apply_new_moves(cpu);
    }
}
