//! NUMA hint faults (kernel: `do_numa_page`, `do_huge_pmd_numa_page`, and `do_pmd_numa_page` of 3.8).
//!
//! The balancer decides from the fault whether the page should move, [`migrate_page`](crate::numa::migrate_page) moves
//! it, and the balancer records the fault (`task_numa_fault`) with what became of the page.

use crate::charge::tlb_flush::shoot_down;
use crate::mm::reuse::write_fault;
use crate::numa::concurrent_hint_fault::{block_contenders, concurrent_hint_fault, ConcurrentFault};
use crate::numa::migrate_page::migrate_misplaced_folio;
use crate::numa::task_numa_fault::{fault_site, log_hint_fault, numa_migrate_check, task_numa_fault};
use crate::record::log::log_before;
use crate::state::page_site::{MarkedPage, PageSite};
use crate::state::simulation::Simulation;
use numalab_kernel::mm::{PageState, Vma, CHUNK_PAGES};
use numalab_kernel::numa::{FaultOutcome, LastCpupid, MigrateResult, PageFacts};

/// Splits a huge page that should migrate, on kernels without native migration of huge pages. Its base pages keep the
/// mark, fault and migrate one by one; khugepaged may collapse them again. Returns the time, ns.
fn split_for_migration(sim: &mut Simulation<'_>, cpu: usize, task: u32, f: &MarkedPage) -> u64 {
    let process = sim.tasks[task as usize].process as usize;
    let (node, frame) = sim.processes[process].space.vma_mut(f.vma).split_huge(f.chunk);
    sim.mm.physical.split_frame(node, frame);
    let e = &mut sim.mm.physical.events;
    e.thp_migration_split += 1;
    e.thp_split_page += 1;
    e.thp_split_pmd += 1;
    sim.hw.costs.split_ns() as u64 + shoot_down(sim, cpu, task, CHUNK_PAGES)
}

/// Handles an access under a marked page table: one trap for all its marked pages, in address order (3.8,
/// `do_pmd_numa_page`). Pages of shared objects keep their own marks (simplification). Returns the time, ns.
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

/// Counts a marked page and restores its entry, without a decision; returns the time, ns.
fn restore_without_migration(sim: &mut Simulation<'_>, cpu: usize, process: usize, f: &MarkedPage) -> u64 {
    let c = &mut sim.kernel.numa.counters;
    c.numa_hint_faults += 1;
    c.numa_hint_faults_local += u64::from(f.node == sim.cpus[cpu].node);
    sim.processes[process].space.vma_mut(f.vma).unmark(f.chunk, f.page);
    sim.machine.costs.hint_page_ns as u64
}

/// A hint fault on a page that one process maps; returns the time.
pub(crate) fn hint_fault(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    f: &MarkedPage,
    write: bool,
    clock: u64,
) -> u64 {
    sim.kernel.vm.pgfault += 1;
    do_numa_page(sim, cpu, task, f, Trap::Page { write, alone: false }, clock)
}

/// As [`hint_fault`], on a base page to which no other thread comes meanwhile.
pub(crate) fn hint_fault_alone(
    sim: &mut Simulation<'_>,
    (cpu, task): (usize, u32),
    f: &MarkedPage,
    write: bool,
    clock: u64,
) -> u64 {
    sim.kernel.vm.pgfault += 1;
    do_numa_page(sim, cpu, task, f, Trap::Page { write, alone: true }, clock)
}

/// Handles a marked page at `clock`, in a trap of its own or of its table. Returns the time, ns, including its own
/// trap.
fn do_numa_page(sim: &mut Simulation<'_>, cpu: usize, task: u32, f: &MarkedPage, trap: Trap, clock: u64) -> u64 {
    let mut before = log_before(&sim.record.log, &sim.kernel.numa, task);
    let process = sim.tasks[task as usize].process as usize;
    let (own_ns, write) = match trap {
        Trap::Page { write, .. } => (sim.machine.costs.hint_fault_ns, write),
        Trap::Table => (sim.machine.costs.hint_page_ns, false),
    };
    let s = PageSite { cpu, task, process, vma: f.vma, chunk: f.chunk, page: f.page, write };
    let at = fault_site(sim.cfg.jiffy_ns(), &s, clock);
    let mut facts = PageFacts::private_anon_of(f.node, f.pages);
    facts.last = LastCpupid::from_raw(f.last);
    let decision = numa_migrate_check(sim, at, &s, &mut facts);
    let vma = sim.processes[process].space.vma_mut(f.vma);
    if f.is_huge() && decision.target.is_some() && !sim.cfg.mm.thp.native_migration {
        vma.set_last_cpupid(f.chunk, f.page, facts.last.raw());
        return sim.machine.costs.hint_fault_ns as u64 + split_for_migration(sim, cpu, task, f);
    }
    unmark(vma, f, decision.ignored);
    let mut ns = own_ns as u64;
    let (mut result, mut met) = (MigrateResult::NotTried, ConcurrentFault::Alone);
    if let Some(target) = decision.target {
        result = migrate_misplaced_folio(sim, at, f, &facts, target, clock, &mut ns);
        let alone = matches!(trap, Trap::Page { alone: true, .. });
        if result == MigrateResult::Migrated && !alone {
            met = concurrent_hint_fault(sim, task, f, &mut facts, clock, ns);
            // The other thread's fault has logged its own decisions.
            before = log_before(&sim.record.log, &sim.kernel.numa, task);
            ns += block_contenders(sim, task, f, clock, clock + ns);
        }
    }
    // Under a marked table only pages with a target are recorded.
    let recorded = trap != Trap::Table || result != MigrateResult::NotTried;
    let out = if recorded { task_numa_fault(sim, at, &mut facts, &decision, result) } else { FaultOutcome::default() };
    let read_only = out.write_dropped && met != ConcurrentFault::Writable;
    ns += restore_entry(sim, &s, f, facts.last.raw(), result, read_only);
    log_hint_fault(sim, before, &s, (f.node, f.pages), (clock, ns), result);
    ns
}

/// Removes the mark of the page, and those of its large folio (`numa_rebuild_large_mapping`), unless the kernel
/// restores the entry alone (`only_own`).
fn unmark(vma: &mut Vma, f: &MarkedPage, only_own: bool) {
    if f.pages == 1 || f.is_huge() || only_own {
        vma.unmark(f.chunk, f.page);
    } else {
        f.entries().for_each(|page| vma.unmark(f.chunk, page));
    }
}

/// Restores the entries of a page that one process maps: its last cpupid, where it changed, and whether they may be
/// written. Returns the time of a write fault that follows at once.
fn restore_entry(
    sim: &mut Simulation<'_>,
    s: &PageSite,
    f: &MarkedPage,
    last: u32,
    result: MigrateResult,
    read_only: bool,
) -> u64 {
    let vma = sim.processes[s.process].space.vma_mut(s.vma);
    let entries = if f.is_huge() { s.page..s.page + 1 } else { f.entries() };
    if last != f.last {
        vma.set_last_cpupid(s.chunk, entries.start, last);
    }
    if result == MigrateResult::NotTried {
        // The entry is restored writable where the page is exclusive, so the next store does not fault.
        entries.clone().for_each(|page| vma.restore_write(s.chunk, page));
    }
    if read_only {
        entries.for_each(|page| vma.set_read_only(s.chunk, page));
        if s.write {
            // The store that caused the fault meets the read-only entry at once.
            return write_fault(sim, s.process, s.vma, s.chunk, s.page);
        }
    }
    0
}

/// The trap in which a marked page is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trap {
    /// A trap of its own.
    Page {
        /// The access is a store.
        write: bool,
        /// No other thread comes to the page meanwhile.
        alone: bool,
    },
    /// The trap of its page table.
    Table,
}
