//! NUMA hint faults (kernel: `do_numa_page`, `do_huge_pmd_numa_page`, and `do_pmd_numa_page` of 3.8).
//!
//! The balancer decides from the fault whether the page should move, [`migrate_page`](crate::numa::migrate_page) moves it, and the
//! balancer records the fault (`task_numa_fault`) with what became of the page.

use crate::charge::tlb_flush::shoot_down;
use crate::mm::reuse::write_fault;
use crate::numa::concurrent_hint_fault::{block_contenders, concurrent_hint_fault, ConcurrentFault};
use crate::numa::migrate_page::migrate_misplaced_folio;
use crate::numa::task_host::SchedView;
use crate::record::log::{log_before, log_fault};
use crate::state::log::Fault;
use crate::state::page_site::{MarkedPage, PageSite};
use crate::state::policy::page_index;
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{PageState, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::numa::fault::FaultOutcome;
use numalab_kernel::numa::{FaultSite, LastCpupid, MigrateResult, PageFacts};

/// Without native migration of huge pages, one that should migrate becomes base pages that are marked as it was, fault and
/// migrate one by one; khugepaged may collapse them again. Returns the time.
pub(crate) fn split_for_migration(sim: &mut Simulation<'_>, cpu: usize, task: u32, f: &MarkedPage) -> u64 {
    let process = sim.tasks[task as usize].process as usize;
    let (node, frame) = sim.processes[process].space.vma_mut(f.vma).split_huge(f.chunk);
    sim.mm.physical.split_frame(node, frame);
    let e = &mut sim.mm.physical.events;
    e.thp_migration_split += 1;
    e.thp_split_page += 1;
    e.thp_split_pmd += 1;
    sim.hw.costs.split_ns() as u64 + shoot_down(sim, cpu, task, CHUNK_PAGES)
}

/// An access under a marked page table takes one trap, in which all its marked pages are handled, in address order
/// (3.8, `do_pmd_numa_page`). Those of shared objects keep their own marks (simplification). Returns the time.
pub(crate) fn do_pmd_numa_page(sim: &mut Simulation<'_>, s: &PageSite, clock: u64) -> u64 {
    let PageSite { cpu, task, process, vma, chunk, .. } = *s;
    sim.kernel.vm.pgfault += 1;
    let (mut ns, mut from) = (sim.machine.costs.hint_fault_ns as u64, 0);
    while let Some(page) = sim.processes[process].space.vma(vma).next_marked(chunk, from) {
        let state = sim.processes[process].space.vma(vma).page(chunk, page, &sim.mm.shared);
        if let PageState::Marked { node, last, pages: 1, shared: None } = state {
            let found = MarkedPage { vma, chunk, page, node: usize::from(node), last, pages: 1 };
            ns += if sim.kernel.numa.cfg.switches.table_faults_migrate {
                do_numa_page(sim, cpu, task, &found, Trap::Table, clock + ns)
            } else {
                restore_without_migration(sim, cpu, process, &found)
            };
        }
        from = page + 1;
    }
    ns
}

/// A marked page is only counted and restored; returns the time.
pub(crate) fn restore_without_migration(sim: &mut Simulation<'_>, cpu: usize, process: usize, f: &MarkedPage) -> u64 {
    let c = &mut sim.kernel.numa.counters;
    c.numa_hint_faults += 1;
    c.numa_hint_faults_local += u64::from(f.node == sim.cpus[cpu].node);
    sim.processes[process].space.vma_mut(f.vma).unmark(f.chunk, f.page);
    sim.machine.costs.hint_page_ns as u64
}

pub(crate) fn hint_fault(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    f: &MarkedPage,
    write: bool,
    clock: u64,
) -> u64 {
    sim.kernel.vm.pgfault += 1;
    do_numa_page(sim, cpu, task, f, Trap::Page { write }, clock)
}

/// Handles a marked page at `clock`, by itself or with its table; returns the time, that of its own trap included.
pub(crate) fn do_numa_page(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    f: &MarkedPage,
    trap: Trap,
    clock: u64,
) -> u64 {
    let mut before = log_before(sim, task);
    let process = sim.tasks[task as usize].process as usize;
    let p = &mut sim.processes[process];
    let at = FaultSite { task, cpu, now: clock / sim.cfg.jiffy_ns() };
    let mut facts = if f.pages > 1 { PageFacts::private_anon_huge(f.node) } else { PageFacts::private_anon(f.node) };
    facts.last = LastCpupid::from_raw(f.last);
    let policy = p.vma_policy[f.vma].as_ref().unwrap_or(&sim.tasks[task as usize].policy);
    let policy = policy.at_hint_fault(page_index(p.space.vma(f.vma), f.chunk, f.page, 0));
    let state = p.vma_numa[f.vma].as_mut();
    let decision = sim.kernel.numa.hint_fault_decide(at, &mut facts, state, &policy, &sim.mm.physical);
    if f.pages > 1 && decision.target.is_some() && !sim.cfg.mm.thp.native_migration {
        p.space.vma_mut(f.vma).set_last(f.chunk, f.page, facts.last.raw());
        return sim.machine.costs.hint_fault_ns as u64 + split_for_migration(sim, cpu, task, f);
    }
    p.space.vma_mut(f.vma).unmark(f.chunk, f.page);
    let costs = &sim.machine.costs;
    let (own_ns, write) = match trap {
        Trap::Page { write } => (costs.hint_fault_ns, write),
        Trap::Table => (costs.hint_page_ns, false),
    };
    let mut ns = own_ns as u64;
    let (mut result, mut met) = (MigrateResult::NotTried, ConcurrentFault::Alone);
    if let Some(target) = decision.target {
        result = migrate_misplaced_folio(sim, at, f, &facts, target, clock, &mut ns);
        if result == MigrateResult::Migrated {
            met = concurrent_hint_fault(sim, task, f, &mut facts, clock, ns);
            // What the other thread's fault decided is logged as its own.
            before = log_before(sim, task);
            ns += block_contenders(sim, task, f, clock, clock + ns);
        }
    }
    let (sched, processes, moves) = (&mut sim.kernel.sched, &sim.processes, &mut sim.task_migrations.decided);
    let mut host = SchedView { sched, processes, moves, due_moves: &sim.task_migrations.due };
    // Under a table only pages with a target are recorded.
    let recorded = trap != Trap::Table || result != MigrateResult::NotTried;
    let out = if recorded {
        sim.kernel.numa.hint_fault_done(at, &mut facts, &decision, result, &mut host)
    } else {
        FaultOutcome::default()
    };
    let vma = sim.processes[process].space.vma_mut(f.vma);
    if facts.last.raw() != f.last {
        vma.set_last(f.chunk, f.page, facts.last.raw());
    }
    if result == MigrateResult::NotTried {
        // The entry comes back as it should be: an exclusive page is written again without a fault.
        vma.restore_write(f.chunk, f.page);
    }
    if out.write_dropped && met != ConcurrentFault::Writable {
        vma.set_read_only(f.chunk, f.page);
        if write {
            // The store that caused the fault meets the read-only entry at once.
            ns += write_fault(sim, process, f.vma, f.chunk, f.page);
        }
    }
    if let Some(before) = before {
        let vma = sim.processes[process].space.vma(f.vma);
        let address = vma.chunk_base(f.chunk) + f.page as u64 * PAGE_BYTES;
        let (vma, node, pages) = (f.vma, f.node, f.pages);
        log_fault(sim, &before, &Fault { task, cpu, vma, address, node, pages, clock_ns: clock, ns, result });
    }
    ns
}

/// What a marked page is handled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trap {
    /// One of its own; whether by a store.
    Page {
        /// A store.
        write: bool,
    },
    /// That of its page table.
    Table,
}
