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
//! After that the entry is accessible, so there is no third. Who can come is worked out in `sweepers`: a fault holds its
//! thread up and those behind it meet entries that are accessible again, so threads of one sweep gather behind whoever
//! faults. As in `race`, nothing keeps them in step to the microsecond. (Before they were followed up to where they would
//! be without faults, hence past the page, and one move in a hundred was met; in the first column of mail 000's mmtests
//! runs 20 in a hundred were: 150.5 million faults of 147.9 million marks, 13.5 million moves.) Times in ns of model time.
//! Source: mm/memory.c and mm/migrate.c of 6.2 to 6.10; kernel-numa-balancing.md §9.1 has one fault only.

use crate::engine::World;
use crate::fault::Found;
use crate::host::Host;
use crate::log::Fault;
use crate::policy::page_index;
use numalab_kernel::mm::PAGE_BYTES;
use numalab_kernel::numa::counters::Refusal;
use numalab_kernel::numa::{FaultSite, MigrateResult, PageFacts};

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
    /// after the decision of the first fault, at `clock`; `handled_ns` is the time of that fault with its move.
    pub(crate) fn second_hint_fault(
        &mut self,
        first: u32,
        f: &Found,
        facts: &mut PageFacts,
        clock: u64,
        handled_ns: u64,
    ) -> Met {
        if !self.numa.cfg.switches.second_hint_faults {
            return Met::Alone;
        }
        let Some((task, cpu)) = self.who_comes(first, f, clock, handled_ns) else { return Met::Alone };
        self.vm.pgfault += 1;
        let before = self.log_before(task);
        let process = self.tasks[task as usize].process as usize;
        let p = &mut self.processes[process];
        let at = FaultSite { task, cpu: cpu as usize, now: clock / self.cfg.jiffy_ns() };
        let policy = p.vma_policy[f.vma].as_ref().unwrap_or(&self.tasks[task as usize].policy);
        let policy = policy.at_hint_fault(page_index(p.space.vma(f.vma), f.chunk, f.page, 0));
        let state = p.vma_numa[f.vma].as_mut();
        let decision = self.numa.hint_fault_decide(at, facts, state, &policy, &self.memory);
        let result = if decision.target.is_some() {
            // The page is off the LRU, or about to be, so nobody else can isolate it.
            self.numa.reasons.refused[Refusal::NotIsolated as usize] += 1;
            MigrateResult::Refused
        } else {
            MigrateResult::NotTried
        };
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
    /// again, which is taken to be that of a hint fault on a page that stays (estimate). Whoever has caught up with the
    /// first thread by then is somewhere within the time of one page, and comes at a random moment of that.
    fn who_comes(&mut self, first: u32, f: &Found, clock: u64, handled_ns: u64) -> Option<(u32, u32)> {
        let page = self.place_in(first, f.vma, f.chunk, f.page);
        let window_ns = self.machine.costs.hint_fault_ns;
        let until_ns = clock as f64 + window_ns;
        self.find_sweepers(first, f.vma, page, until_ns);
        let mut found: Option<(f64, u32, u32)> = None;
        for s in &self.sweepers.near {
            if s.meets_ns(page).is_none_or(|ns| ns >= until_ns) {
                continue;
            }
            let turn_ns = handled_ns as f64 + PAGE_BYTES as f64 * s.ns_per_byte;
            let comes_ns = self.rng.unit() * turn_ns;
            if comes_ns < window_ns && found.is_none_or(|(least, ..)| comes_ns < least) {
                found = Some((comes_ns, s.task, s.cpu));
            }
        }
        found.map(|(_, task, cpu)| (task, cpu))
    }
}
