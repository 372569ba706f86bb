//! A second hint fault on a page that is about to move.
//!
//! Problem: between the decision to move a page and the moment its entry is replaced by a migration entry, the entry is
//! still PROT_NONE, so another thread that comes to the page takes a hint fault of its own (`do_numa_page` since 5.13:
//! `pte_unmap_unlock`, then `migrate_misplaced_page`). It is counted, its statistics see the first thread as the one
//! before, which is how threads of one process find into a group, and it decides whether the page keeps its last
//! cpupid:
//!
//! * it leaves the page where it is: the entry is restored as it should be, writable, and migrated as such;
//! * it wants the page too, and cannot isolate it: the entry is restored without write permission up to 6.10.
//!
//! After that the entry is accessible, so there is no third. Approach: threads are simulated one slice after the other,
//! so who comes to the page while it is handled is worked out from where the other threads of the process are in
//! their sweeps and how fast they go. Times in ns of model time, places in bytes of a mapping.
//! Source: mm/memory.c and mm/migrate.c of 6.2 to 6.10; kernel-numa-balancing.md §9.1 has one fault only.

use crate::engine::World;
use crate::fault::Found;
use crate::host::Host;
use crate::log::Fault;
use crate::policy::page_index;
use crate::task::Activity;
use numalab_kernel::mm::{CHUNK_BYTES, PAGE_BYTES};
use numalab_kernel::numa::{FaultSite, MigrateResult, PageFacts};
use numalab_model::workload::{Op, Pattern};

/// A thread that sweeps a mapping.
#[derive(Clone, Copy, Debug)]
struct Sweeper {
    task: u32,
    cpu: u32,
    /// Where it is in the mapping, bytes.
    at: u64,
    /// When it is there, ns.
    at_ns: f64,
    ns_per_byte: f64,
}

/// The other sweepers of a mapping during one slice of a task.
#[derive(Clone, Debug, Default)]
pub struct Sweepers {
    /// Task, start of its slice and mapping that the list is for.
    of: (u32, u64, usize),
    list: Vec<Sweeper>,
}

/// How a page that is about to move was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// By nobody.
    Alone,
    /// By somebody who restored a writable entry: it moves as such.
    Writable,
    /// By somebody who restored a read-only entry.
    ReadOnly,
}

impl World<'_> {
    /// Lets whoever else comes to a page before it is unmapped take a hint fault on it. `facts` are those of the page
    /// after the decision of the first fault, at `clock`.
    pub(crate) fn second_hint_fault(&mut self, first: u32, f: &Found, facts: &mut PageFacts, clock: u64) -> Met {
        if !self.numa.cfg.switches.second_hint_faults {
            return Met::Alone;
        }
        let Some((task, cpu)) = self.who_comes(first, f, clock) else { return Met::Alone };
        self.vm.pgfault += 1;
        let before = self.log_before(task);
        let process = self.tasks[task as usize].process as usize;
        let p = &mut self.processes[process];
        let at = FaultSite { task, cpu: cpu as usize, now: clock / self.cfg.jiffy_ns() };
        let policy = p.vma_policy[f.vma].as_ref().unwrap_or(&self.tasks[task as usize].policy);
        let policy = policy.at_hint_fault(page_index(p.space.vma(f.vma), f.chunk, f.page, 0));
        let state = p.vma_numa[f.vma].as_mut();
        let decision = self.numa.hint_fault_decide(at, facts, state, &policy, &self.memory);
        // The page is off the LRU, or about to be, so nobody else can isolate it.
        let result = if decision.target.is_some() { MigrateResult::Refused } else { MigrateResult::NotTried };
        let (sched, processes, moves) = (&mut self.sched, &self.processes, &mut self.moves);
        let mut host = Host { sched, processes, moves, due_moves: &self.due_moves };
        let out = self.numa.hint_fault_done(at, facts, &decision, result, &mut host);
        let ns = self.machine.costs.hint_fault_ns as u64;
        self.cpus[cpu as usize].debt_ns += ns;
        if let Some(before) = before {
            let v = self.processes[process].space.vma(f.vma);
            let address = v.chunk_base(f.chunk) + f.page as u64 * PAGE_BYTES;
            let (cpu, vma, node, pages) = (cpu as usize, f.vma, f.node, f.pages);
            self.log_fault(&before, &Fault { task, cpu, vma, address, node, pages, clock_ns: clock, ns, result });
        }
        if out.write_dropped {
            Met::ReadOnly
        } else {
            Met::Writable
        }
    }

    /// The thread that comes to a page within the time that one fault takes to find it, isolate it and find its entry
    /// again, which is taken to be that of a hint fault on a page that stays (estimate).
    fn who_comes(&mut self, first: u32, f: &Found, clock: u64) -> Option<(u32, u32)> {
        let slice = (first, self.now_ns, f.vma);
        if self.sweepers.of != slice {
            let mut list = std::mem::take(&mut self.sweepers.list);
            self.list_sweepers(first, f.vma, &mut list);
            self.sweepers = Sweepers { of: slice, list };
        }
        let page = f.chunk as u64 * CHUNK_BYTES + f.page as u64 * PAGE_BYTES;
        let page = page.saturating_sub(self.lead_in(first, f.vma));
        let window_ns = self.machine.costs.hint_fault_ns;
        let mut found: Option<(f64, &Sweeper)> = None;
        for s in self.sweepers.list.iter().filter(|s| s.at <= page) {
            let meets_ns = s.at_ns + (page - s.at) as f64 * s.ns_per_byte;
            let apart_ns = (meets_ns - clock as f64).abs();
            if apart_ns <= window_ns && found.map_or(true, |(least, _)| apart_ns < least) {
                found = Some((apart_ns, s));
            }
        }
        found.map(|(_, s)| (s.task, s.cpu))
    }

    /// Bytes of a mapping's first chunk that lie before the mapping.
    fn lead_in(&self, task: u32, vma: usize) -> u64 {
        let process = self.tasks[task as usize].process as usize;
        let v = self.processes[process].space.vma(vma);
        v.start - v.chunk_base(0)
    }

    fn list_sweepers(&self, first: u32, vma: usize, list: &mut Vec<Sweeper>) {
        list.clear();
        let process = self.tasks[first as usize].process;
        let region_vma = &self.processes[process as usize].region_vma;
        for (cpu, c) in self.cpus.iter().enumerate() {
            let Some(task) = c.task.filter(|&t| t != first) else { continue };
            let t = &self.tasks[task as usize];
            if t.process != process || t.activity != Activity::Running || t.ns_per_byte == 0.0 {
                continue;
            }
            let Some(Op::Access(a)) = t.ops.get(t.pc) else { continue };
            if a.pattern != Pattern::Sequential || region_vma[a.span.region as usize] as usize != vma {
                continue;
            }
            let at_ns = t.ahead_ns.max(self.now_ns) as f64;
            let at = a.span.offset_bytes + if t.entered { t.done } else { 0 };
            list.push(Sweeper { task, cpu: cpu as u32, at, at_ns, ns_per_byte: t.ns_per_byte });
        }
    }
}
