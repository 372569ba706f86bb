//! Page faults: first touch, NUMA hint faults with migration, write-protection faults after it.
//!
//! Here are the faults on pages that only one process can show; the others are in `shared` and `migration`.

use crate::access::FaultEnd;
use crate::engine::{Pending, World};
use crate::host::Host;
use crate::log::Fault;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::{PageState, Vma, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::numa::design::Faults;
use numalab_kernel::numa::fault::policy::EffectivePolicy;
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
            PageState::Absent => v.kind.backing().is_some(),
            PageState::Marked { shared, .. } | PageState::ReadOnly { shared, .. } => shared.is_some(),
            PageState::Migrating(_) => true,
            PageState::Ready { .. } => false,
        };
        if of_object && clock > self.now_ns {
            return (0, FaultEnd::Stop(Pending::Resume));
        }
        match state {
            PageState::Absent if of_object => self.object_fault(&s),
            PageState::Absent => self.first_touch(cpu, task, vma, chunk, page),
            PageState::Marked { shared: Some(at), .. } => self.shared_hint_fault(&s, at),
            PageState::Marked { node, last, pages, .. } => {
                let found = Found { vma, chunk, page, node: node as usize, last, pages };
                match self.designs.cfg.faults {
                    Faults::Kernel => (self.hint_fault(cpu, task, &found, write, clock), FaultEnd::Go),
                    Faults::AutoNuma => (self.autonuma_fault(cpu, task, &found, clock), FaultEnd::Go),
                    Faults::SchedNuma => self.schednuma_fault(cpu, task, &found, clock),
                }
            }
            PageState::Migrating(at) => self.migrating_fault(&s, at),
            PageState::ReadOnly { shared: Some(at), .. } => self.shared_write_fault(&s, at),
            PageState::ReadOnly { .. } => (self.write_fault(process, vma, chunk, page), FaultEnd::Go),
            PageState::Ready { .. } => (0, FaultEnd::Go),
        }
    }

    /// Node to try first and nodes allowed for a page, by the mapping's policy or else the task's.
    pub(crate) fn first_choice(&self, s: &Site) -> (usize, u64) {
        let p = &self.processes[s.process];
        let index = page_index(p.space.vma(s.vma), s.chunk, s.page);
        let policy = p.vma_policy[s.vma].as_ref().unwrap_or(&self.tasks[s.task as usize].policy);
        policy.first_choice(self.cpus[s.cpu].node, index, self.machine.node_count())
    }

    /// The policy of a page as a hint fault sees it.
    pub(crate) fn effective_policy(&self, s: &Site) -> EffectivePolicy {
        let p = &self.processes[s.process];
        let policy = p.vma_policy[s.vma].as_ref().unwrap_or(&self.tasks[s.task as usize].policy);
        policy.effective(page_index(p.space.vma(s.vma), s.chunk, s.page))
    }

    pub(crate) fn out_of_memory(&mut self, process: usize) -> (u64, FaultEnd) {
        let name = &self.workload.processes[process].name;
        self.status = numalab_model::record::Status::Failed(format!(
            "out of memory: {name} touched a page and no allowed node has any left"
        ));
        (0, FaultEnd::OutOfMemory)
    }

    fn first_touch(&mut self, cpu: usize, task: u32, vma: usize, chunk: usize, page: usize) -> (u64, FaultEnd) {
        let here = self.cpus[cpu].node;
        let process = self.tasks[task as usize].process as usize;
        let s = Site { cpu, task, process, vma, chunk, page, write: true };
        let (preferred, allowed) = self.first_choice(&s);
        let v = self.processes[process].space.vma(vma);
        let preferred = self.home_of(task).unwrap_or(preferred);
        self.vm.pgfault += 1;
        if v.huge_ok && v.chunk_is_whole(chunk) && v.chunk(chunk).present == 0 {
            // A bind to other nodes takes the nearest of them.
            let target =
                self.memory.fallback(preferred).iter().map(|n| usize::from(*n)).find(|n| allowed >> n & 1 != 0);
            let preferred = target.unwrap_or(preferred);
            if self.memory.alloc_this_node(here, preferred, CHUNK_PAGES) {
                self.vm.thp_fault_alloc += 1;
                self.processes[process].space.vma_mut(vma).populate_huge(chunk, preferred);
                self.log_first_touch(preferred, CHUNK_PAGES);
                let ns = self.costs.huge_fault_ns(here, preferred, self.rates.latency_factor(here, preferred));
                return (ns as u64, FaultEnd::Go);
            }
            self.vm.thp_fault_fallback += 1;
        }
        let Some(node) = self.memory.alloc(here, preferred, allowed, 1) else {
            return self.out_of_memory(process);
        };
        self.processes[process].space.vma_mut(vma).populate(chunk, page, node);
        self.log_first_touch(node, 1);
        let ns = self.costs.minor_fault_ns(here, node, self.rates.latency_factor(here, node));
        (ns as u64, FaultEnd::Go)
    }

    fn hint_fault(&mut self, cpu: usize, task: u32, f: &Found, write: bool, clock: u64) -> u64 {
        self.vm.pgfault += 1;
        let before = self.log_before(task);
        let process = self.tasks[task as usize].process as usize;
        let p = &mut self.processes[process];
        let at = FaultSite { task, cpu, now: clock / self.cfg.jiffy_ns() };
        let mut facts =
            if f.pages > 1 { PageFacts::private_anon_huge(f.node) } else { PageFacts::private_anon(f.node) };
        facts.last = LastCpupid::from_raw(f.last);
        let policy = p.vma_policy[f.vma].as_ref().unwrap_or(&self.tasks[task as usize].policy);
        let policy = policy.effective(f.index(p.space.vma(f.vma)));
        let state = p.vma_numa[f.vma].as_mut();
        let decision = self.numa.hint_fault_decide(at, &mut facts, state, &policy, &self.memory);
        p.space.vma_mut(f.vma).unmark(f.chunk, f.page);
        let mut ns = self.machine.costs.hint_fault_ns as u64;
        let result = match decision.target {
            None => MigrateResult::NotTried,
            Some(target) => self.migrate_page(at, f, &facts, target, &mut ns),
        };
        let mut host = Host { sched: &mut self.sched, processes: &self.processes, moves: &mut self.moves };
        let out = self.numa.hint_fault_done(at, &mut facts, &decision, result, &mut host);
        let vma = self.processes[process].space.vma_mut(f.vma);
        if facts.last.raw() != f.last {
            vma.set_last(f.chunk, f.page, facts.last.raw());
        }
        if out.write_dropped && f.pages == 1 {
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

    /// Makes a read-only entry writable again; returns the time.
    fn write_fault(&mut self, process: usize, vma: usize, chunk: usize, page: usize) -> u64 {
        self.vm.pgfault += 1;
        self.numa.counters.pgreuse += 1;
        self.processes[process].space.vma_mut(vma).reuse_for_write(chunk, page);
        self.machine.costs.exception_ns as u64
    }

    fn migrate_page(
        &mut self,
        at: FaultSite,
        f: &Found,
        facts: &PageFacts,
        target: usize,
        ns: &mut u64,
    ) -> MigrateResult {
        let zones = self.memory.zones(target);
        if self.numa.prepare_migration(at, facts, target, zones, true).is_err() {
            return MigrateResult::Refused;
        }
        let here = self.cpus[at.cpu].node;
        let pages = u64::from(f.pages);
        if !self.memory.alloc_migration(here, target, pages) {
            return MigrateResult::Failed;
        }
        self.memory.release(f.node, pages);
        let process = self.tasks[at.task as usize].process as usize;
        self.processes[process].space.vma_mut(f.vma).move_page(f.chunk, f.page, target, f.last);
        self.rates.copied(f.node, target, pages * PAGE_BYTES);
        *ns += self.migration_ns(at.cpu, at.task, f, target);
        MigrateResult::Migrated
    }

    /// Time to migrate a page on a hint fault, its shoot-down included where the kernel needs one.
    fn migration_ns(&mut self, cpu: usize, task: u32, f: &Found, target: usize) -> u64 {
        let slowdown = self.rates.latency_factor(f.node, target);
        let (ns, op) = if f.pages > 1 {
            (self.costs.migrate_2m_ns(f.node, target, slowdown), FlushOp::MigrateHuge)
        } else {
            (self.costs.migrate_4k_ns(f.node, target, slowdown), FlushOp::HintMigrateBase)
        };
        let process = self.tasks[task as usize].process as usize;
        let protecting = self.processes[process].protecting_until_ns > self.now_ns;
        let flushes = shootdowns(op, &self.cfg.flush, protecting);
        let flush: u64 = (0..flushes).map(|_| self.shoot_down(cpu, task, u64::from(f.pages))).sum();
        ns as u64 + flush
    }
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

impl Found {
    /// Page number inside the mapping, which interleaving counts by.
    fn index(&self, vma: &Vma) -> u64 {
        page_index(vma, self.chunk, self.page)
    }
}

fn page_index(vma: &Vma, chunk: usize, page: usize) -> u64 {
    (vma.chunk_base(chunk) / PAGE_BYTES + page as u64).saturating_sub(vma.start / PAGE_BYTES)
}
