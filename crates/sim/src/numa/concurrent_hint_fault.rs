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
//! After that the entry is a migration entry until the page has moved, and whoever comes sleeps that long. Sleepers are woken
//! one after the other and go on together, behind who moved the page and those who passed before: threads of one sweep gather.
//! Of those together whoever sweeps fastest comes first to the next page, often one beside the memory. So faults of sweepers are
//! taken in the order in which they come (`comes_late`): a slice ends where another thread is due before it.
//!
//! Before they slept, threads of mail 000's NUMA01 swept 24 MB apart on average, each took the faults of the gap before it, near
//! memory or not, and the program made 69 passes where the source has 50. Times in ns of model time.
//! Source: mm/memory.c and mm/migrate.c of 6.2 to 6.10; kernel-numa-balancing.md §9.1 has one fault only, §17.1 the wait;
//! machines.md section 5, "page-lock wait".

use crate::charge::blocking::block_task;
use crate::config::Harness;
use crate::mm::contenders::{find_contenders, has_contender, offset_in_vma};
use crate::numa::task_numa_fault::{fault_site, log_hint_fault, numa_migrate_check, task_numa_fault};
use crate::record::log::log_before;
use crate::state::page_site::MarkedPage;
use crate::state::page_site::PageSite;
use crate::state::simulation::Simulation;
use crate::state::sweep_positions::Contender;
use numalab_kernel::mm::PAGE_BYTES;
use numalab_kernel::numa::counters::Refusal;
use numalab_kernel::numa::{MigrateResult, PageFacts};

/// How a page that is about to move was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConcurrentFault {
    /// By nobody.
    Alone,
    /// By somebody who restored a writable entry: it moves as such.
    Writable,
    /// By somebody who restored a read-only entry.
    ReadOnly,
}

/// Lets whoever else comes to a page before it is unmapped take a hint fault on it. `facts` are those of the page
/// after the decision of the first fault, at `clock`; `handled_ns` is the time of that fault with its move.
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
    let before = log_before(sim, task);
    let process = sim.tasks[task as usize].process as usize;
    let s = PageSite { cpu: cpu as usize, task, process, vma: f.vma, chunk: f.chunk, page: f.page, write: false };
    let at = fault_site(sim, &s, clock);
    let decision = numa_migrate_check(sim, at, &s, facts);
    let result = if decision.target.is_some() {
        // The page is off the LRU, or about to be, so nobody else can isolate it.
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

/// Whoever comes to a page whose entry is a migration entry sleeps until it has moved (`migration_entry_wait`), here from
/// the beginning of the fault, `clock`, to its end. They are woken one after the other, as they came; returns what
/// that takes who moved the page, ns.
pub(crate) fn block_contenders(sim: &mut Simulation<'_>, first: u32, f: &MarkedPage, clock: u64, until_ns: u64) -> u64 {
    if one_vcpu_at_a_time(sim) {
        return 0;
    }
    let page = offset_in_vma(sim, first, f.vma, f.chunk, f.page);
    let until = until_ns as f64;
    find_contenders(sim, first, f.vma, page, until);
    let mut contenders = std::mem::take(&mut sim.sweep_positions.contenders);
    let order = |c: &Contender| (sim.kernel.sched.cpu_of(c.task), c.task);
    contenders.sort_unstable_by(|a, b| a.ns.total_cmp(&b.ns).then_with(|| order(a).cmp(&order(b))));
    let (waking_ns, woken_ns) = (sim.hw.costs.waking_ns(), sim.hw.costs.wake_ns());
    for (turn, c) in contenders.iter().enumerate() {
        let wakes_ns = until + (turn + 1) as f64 * waking_ns;
        block_task(sim, c.task, (wakes_ns - c.ns.max(clock as f64)) as u64, first);
        sim.sweep_positions.hold_up(c.task, page, wakes_ns + woken_ns);
    }
    let woke_ns = contenders.len() as f64 * waking_ns;
    sim.sweep_positions.contenders = contenders;
    woke_ns as u64
}

/// Whether another thread comes to a marked page before the one that sweeps to it at `clock`, so that the fault is its.
pub(crate) fn contender_is_first(
    sim: &mut Simulation<'_>,
    first: u32,
    vma: usize,
    chunk: usize,
    page: usize,
    clock: u64,
) -> bool {
    if one_vcpu_at_a_time(sim) || clock == sim.now_ns {
        return false;
    }
    let process = sim.tasks[first as usize].process as usize;
    if !sim.processes[process].space.vma(vma).is_marked(chunk, page) {
        return false;
    }
    let place = offset_in_vma(sim, first, vma, chunk, page);
    has_contender(sim, first, vma, place, clock as f64)
}

/// The first thread that comes to a page within the time that one fault takes to find it, isolate it and find its entry
/// again, which is taken to be that of a hint fault on a page that stays (estimate).
fn first_contender(
    sim: &mut Simulation<'_>,
    first: u32,
    f: &MarkedPage,
    clock: u64,
    handled_ns: u64,
) -> Option<(u32, u32)> {
    let page = offset_in_vma(sim, first, f.vma, f.chunk, f.page);
    let window_ns = sim.machine.costs.hint_fault_ns;
    let until_ns = clock as f64 + window_ns;
    find_contenders(sim, first, f.vma, page, until_ns);
    let mut found: Option<(f64, u32)> = None;
    for c in &sim.sweep_positions.contenders {
        let comes_ns = if one_vcpu_at_a_time(sim) {
            // Whoever has caught up is somewhere within the time of one page.
            sim.rng.unit() * (handled_ns as f64 + PAGE_BYTES as f64 * c.ns_per_byte)
        } else {
            c.ns - clock as f64
        };
        if comes_ns < window_ns && found.is_none_or(|(least, ..)| comes_ns < least) {
            found = Some((comes_ns, c.task));
        }
    }
    found.map(|(_, task)| (task, sim.kernel.sched.cpu_of(task)))
}

/// The CPUs are those of a guest: one host thread runs them by turns, half a millisecond each, while the time of all goes
/// on. A fault is over within a turn, so nobody sleeps behind it, and nobody keeps in step with anybody.
fn one_vcpu_at_a_time(sim: &Simulation<'_>) -> bool {
    sim.cfg.harness == Harness::Worker
}
