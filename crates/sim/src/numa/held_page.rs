//! Migrations that fail because somebody else holds a reference to the page, for pages that one process maps (kernel:
//! `migrate_pages`, `folio_migrate_mapping`; `migrate_misplaced_transhuge_page` up to 5.13).
//!
//! A base page is tried ten times. Each try replaces the entry by a migration entry, finds the reference, and restores
//! the entry. Since 6.3 the entry is replaced once for all tries (`migrate_pages_batch`). Before 5.0 the holders may be
//! tasks that came to the migration entry: they keep their reference until they run again (9a1ea439b16b). A huge page
//! was copied first up to 5.13, and then left where it was if anybody had come meanwhile.

use crate::charge::core::copy_slowdown;
use crate::charge::tlb_flush::{flush_of, shoot_down};
use crate::hardware::access_rates::When;
use crate::mm::contenders::{find_contenders, offset_in_vma};
use crate::mm::pins::is_pinned;
use crate::numa::concurrent_hint_fault::block_contenders;
use crate::state::page_site::MarkedPage;
use crate::state::simulation::Simulation;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::CHUNK_PAGES;
use numalab_kernel::numa::counters::Refusal;

/// Most tries of one `migrate_pages` (kernel: `NR_MAX_MIGRATE_PAGES_RETRY`).
pub(crate) const ATTEMPTS: u32 = 10;

/// Whether a device holds the page of a hint fault at `clock`.
pub(crate) fn is_held_by_device(sim: &Simulation<'_>, process: usize, f: &MarkedPage, clock: u64) -> bool {
    is_pinned(sim, (process, f.vma), (f.chunk, f.page), u64::from(f.pages), clock)
}

/// Tries to move a page whose migration begins at `clock` + `ns`, and adds the time of tries that fail to `ns`. Returns
/// who holds the page if it has to stay.
pub(crate) fn tries_that_fail(
    sim: &mut Simulation<'_>,
    (cpu, task): (usize, u32),
    f: &MarkedPage,
    target: usize,
    clock: u64,
    ns: &mut u64,
) -> Option<Refusal> {
    let process = sim.tasks[task as usize].process as usize;
    if is_held_by_device(sim, process, f, clock + *ns) {
        let attempts = if sim.cfg.flush.migrate_batch_flush { 1 } else { ATTEMPTS };
        for _ in 0..attempts {
            *ns += failed_try_ns(sim, cpu, task, f);
        }
        return Some(Refusal::Pinned);
    }
    if !sim.kernel.numa.cfg.switches.migration_waiters_pin || sim.cfg.harness.cpus_take_turns() {
        return None;
    }
    let moved = if f.is_huge() {
        copy_in_vain(sim, (cpu, task), f, target, clock, ns)
    } else {
        tries_against_waiters(sim, (cpu, task), f, clock, ns)
    };
    if moved {
        return None;
    }
    *ns += block_contenders(sim, task, f, clock, clock + *ns);
    Some(Refusal::Waiters)
}

/// Time of a try that finds a reference: the entry is replaced, flushed where that is needed, and restored.
fn failed_try_ns(sim: &mut Simulation<'_>, cpu: usize, task: u32, f: &MarkedPage) -> u64 {
    let op = if f.is_huge() { FlushOp::MigrateHuge } else { FlushOp::HintMigrateBase };
    let flushes = shootdowns(op, &sim.cfg.flush, false);
    let flush_ns: u64 = (0..flushes).map(|_| shoot_down(sim, cpu, task, u64::from(f.pages))).sum();
    (2.0 * sim.machine.costs.fork_pte_ns) as u64 + flush_ns
}

/// Number of threads that come to the page from `from_ns` on and before `until_ns`.
fn comers(sim: &mut Simulation<'_>, task: u32, f: &MarkedPage, (from_ns, until_ns): (u64, u64)) -> usize {
    let place = offset_in_vma(&sim.processes, &sim.tasks, task, f.vma, f.chunk, f.page);
    find_contenders(sim, task, f.vma, place, until_ns as f64);
    sim.sweep_positions.contenders.iter().filter(|c| c.ns >= from_ns as f64).count()
}

/// Tries to move a base page while threads wait for it. Returns whether a try succeeds; its own time is not added.
fn tries_against_waiters(
    sim: &mut Simulation<'_>,
    (cpu, task): (usize, u32),
    f: &MarkedPage,
    clock: u64,
    ns: &mut u64,
) -> bool {
    let begun = clock + *ns;
    // Who comes between the entry's replacement and the look at the references waits and holds the page.
    let flushes = f64::from(shootdowns(FlushOp::HintMigrateBase, &sim.cfg.flush, false) as u32);
    let window_ns = (sim.machine.costs.fork_pte_ns + flushes * flush_of(sim, cpu, task, 1).initiator_ns) as u64;
    let waiters = comers(sim, task, f, (begun, begun + window_ns)) as f64;
    if waiters == 0.0 {
        return true;
    }
    let awake_ns = (waiters * sim.hw.costs.waker_ns() + sim.hw.costs.wake_ns()) as u64;
    let mut released = u64::MAX;
    for _ in 0..ATTEMPTS {
        if clock + *ns >= released {
            return true;
        }
        *ns += failed_try_ns(sim, cpu, task, f);
        // The first try wakes them when it restores the entry.
        released = released.min(clock + *ns + awake_ns);
    }
    false
}

/// Copies a huge page and finds that somebody has come meanwhile. Returns whether nobody has, and then takes no time.
fn copy_in_vain(
    sim: &mut Simulation<'_>,
    (cpu, task): (usize, u32),
    f: &MarkedPage,
    target: usize,
    clock: u64,
    ns: &mut u64,
) -> bool {
    let slowdown = copy_slowdown(sim, cpu, f.node, target);
    let copy_ns = sim.hw.costs.migrate_2m_ns(f.node, target, slowdown);
    let begun = clock + *ns;
    if comers(sim, task, f, (begun, begun + copy_ns as u64)) == 0 {
        return true;
    }
    let when = When { now_ns: sim.now_ns, from_ns: begun };
    *ns += sim.hw.contention.copied(f.node, target, sim.cfg.base_page().bytes_of(CHUNK_PAGES), when, copy_ns) as u64;
    false
}
