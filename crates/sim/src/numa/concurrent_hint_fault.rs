//! A second hint fault on a page that is about to move, and threads that sleep while it moves.
//!
//! Between the decision to move a page and its migration entry the entry is still PROT_NONE. So another thread that
//! comes to the page takes a hint fault of its own (`do_numa_page` since 5.13: `pte_unmap_unlock`, then
//! `migrate_misplaced_page`). That fault is counted. Its statistics see the first thread as the last one to fault,
//! which is how threads of one process join a group. It also decides what the entry is restored to:
//!
//! * if it leaves the page where it is, the entry is restored writable, and migrated as such;
//! * if it wants the page too, it cannot isolate it, and up to 6.10 the entry is restored without write permission.
//!
//! After that the entry is a migration entry until the page has moved, and threads that come to it sleep that long.
//! They are woken one after the other and go on together, so threads of one sweep gather. Of those, the thread that
//! sweeps fastest comes first to the next page, often one that runs near the memory. So the faults of sweeping threads
//! are taken in order of arrival ([`contender_is_first`]): a slice ends where another thread arrives earlier.
//!
//! Times are ns of model time. Sources: mm/memory.c and mm/migrate.c of 6.2 to 6.10; kernel-numa-balancing.md §9.1 (one
//! fault only) and §17.1 (the wait); machines.md section 5, "page-lock wait".

use crate::charge::blocking::block_task;
use crate::mm::contenders::{find_contenders, has_contender, offset_in_vma, sort_contenders};
use crate::numa::task_numa_fault::{fault_site, log_hint_fault, numa_migrate_check, task_numa_fault};
use crate::record::log::log_before;
use crate::state::contender::Contender;
use crate::state::page_site::{MarkedPage, PageSite};
use crate::state::simulation::Simulation;
use numalab_kernel::numa::counters::Refusal;
use numalab_kernel::numa::{MigrateResult, PageFacts};

/// Whether another thread faulted on a page that is about to move, and how it restored the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConcurrentFault {
    /// No other thread did.
    Alone,
    /// One restored a writable entry, which moves as such.
    Writable,
    /// One restored a read-only entry.
    ReadOnly,
}

/// Lets the first other thread that comes to a page before it is unmapped take a hint fault on it. `facts` describe the
/// page after the decision of the first fault at `clock`; `handled_ns` is the time of that fault with its move.
pub(crate) fn concurrent_hint_fault(
    sim: &mut Simulation<'_>,
    first: u32,
    f: &MarkedPage,
    facts: &mut PageFacts,
    clock: u64,
    handled_ns: u64,
) -> ConcurrentFault {
    if !sim.kernel.numa.cfg.switches.second_hint_faults {
        return ConcurrentFault::Alone;
    }
    let Some((task, cpu)) = first_contender(sim, first, f, clock, handled_ns) else { return ConcurrentFault::Alone };
    sim.kernel.vm.pgfault += 1;
    let before = log_before(&sim.record.log, &sim.kernel.numa, task);
    let process = sim.tasks[task as usize].process as usize;
    let s = PageSite { cpu: cpu as usize, task, process, vma: f.vma, chunk: f.chunk, page: f.page, write: false };
    let at = fault_site(sim.cfg.jiffy_ns(), &s, clock);
    let decision = numa_migrate_check(sim, at, &s, facts);
    let result = if decision.target.is_some() {
        // The page is off the LRU, or about to be, so no other thread can isolate it.
        sim.kernel.numa.reasons.refused[Refusal::NotIsolated as usize] += 1;
        MigrateResult::Refused
    } else {
        MigrateResult::NotTried
    };
    let out = task_numa_fault(sim, at, facts, &decision, result);
    let ns = sim.machine.costs.hint_fault_ns as u64;
    sim.cpus[cpu as usize].debt_ns += ns;
    sim.sweep_positions.delay(task, ns);
    log_hint_fault(sim, before, &s, (f.node, f.pages), (clock, ns), result);
    if out.write_dropped {
        ConcurrentFault::ReadOnly
    } else {
        ConcurrentFault::Writable
    }
}

/// Puts threads to sleep that come to a page while its entry is a migration entry (`migration_entry_wait`). Here that
/// is from the beginning of the fault, `clock`, to its end. They are woken one after the other, in order of arrival.
/// Returns the time that the waking takes the thread that moved the page, ns.
pub(crate) fn block_contenders(sim: &mut Simulation<'_>, first: u32, f: &MarkedPage, clock: u64, until_ns: u64) -> u64 {
    // A fault is over within a turn, so no thread sleeps behind it and threads do not keep in step.
    if sim.cfg.harness.cpus_take_turns() {
        return 0;
    }
    let page = offset_in_vma(&sim.processes, &sim.tasks, first, f.vma, f.chunk, f.page);
    let until = until_ns as f64;
    find_contenders(sim, first, f.vma, page, until);
    let mut contenders = std::mem::take(&mut sim.sweep_positions.contenders);
    let order = |c: &Contender| (sim.kernel.sched.cpu_of(c.task), c.task);
    contenders.sort_unstable_by(|a, b| a.ns.total_cmp(&b.ns).then_with(|| order(a).cmp(&order(b))));
    let (waking_ns, woken_ns) = (sim.hw.costs.waker_ns(), sim.hw.costs.wake_ns());
    for (turn, c) in contenders.iter().enumerate() {
        let wakes_ns = until + (turn + 1) as f64 * waking_ns;
        block_task(sim, c.task, (wakes_ns - c.ns.max(clock as f64)) as u64, first);
        sim.sweep_positions.hold_up(c.task, page, wakes_ns + woken_ns);
    }
    let woke_ns = contenders.len() as f64 * waking_ns;
    sim.sweep_positions.contenders = contenders;
    woke_ns as u64
}

/// Whether another thread comes to a marked page before `first`, which sweeps to it at `clock`, and so takes the fault.
pub(crate) fn contender_is_first(
    sim: &mut Simulation<'_>,
    first: u32,
    vma: usize,
    chunk: usize,
    page: usize,
    clock: u64,
) -> bool {
    if sim.cfg.harness.cpus_take_turns() || clock == sim.now_ns {
        return false;
    }
    let process = sim.tasks[first as usize].process as usize;
    if !sim.processes[process].space.vma(vma).is_marked(chunk, page) {
        return false;
    }
    let place = offset_in_vma(&sim.processes, &sim.tasks, first, vma, chunk, page);
    has_contender(sim, first, vma, place, clock as f64)
}

/// The first thread that comes to a page before its entry is replaced, and its CPU. A fault takes about as long to
/// isolate a page and find its entry again as a hint fault on a page that stays (estimate).
fn first_contender(
    sim: &mut Simulation<'_>,
    first: u32,
    f: &MarkedPage,
    clock: u64,
    handled_ns: u64,
) -> Option<(u32, u32)> {
    let page = offset_in_vma(&sim.processes, &sim.tasks, first, f.vma, f.chunk, f.page);
    let window_ns = sim.machine.costs.hint_fault_ns;
    let until_ns = clock as f64 + window_ns;
    find_contenders(sim, first, f.vma, page, until_ns);
    let (by_turns, page_bytes) = (sim.cfg.harness.cpus_take_turns(), sim.cfg.base_page().bytes());
    if by_turns {
        // Each draws when it comes.
        sort_contenders(&sim.kernel.sched, &mut sim.sweep_positions);
    }
    let mut found: Option<(f64, u32, u32)> = None;
    for c in &sim.sweep_positions.contenders {
        let comes_ns = if by_turns {
            // A thread that has caught up is somewhere within the time of one page.
            sim.rng.unit() * (handled_ns as f64 + page_bytes as f64 * c.ns_per_byte)
        } else {
            c.ns - clock as f64
        };
        if comes_ns < window_ns {
            let comer = (comes_ns, sim.kernel.sched.cpu_of(c.task), c.task);
            if found.is_none_or(|least| comer < least) {
                found = Some(comer);
            }
        }
    }
    found.map(|(_, cpu, task)| (task, cpu))
}
