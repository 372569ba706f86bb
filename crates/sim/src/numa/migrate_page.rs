//! Migrating the page of a hint fault (kernel: `migrate_misplaced_folio`), for pages that one process maps.

use crate::charge::core::copy_slowdown;
use crate::charge::tlb_flush::shoot_down;
use crate::hardware::access_rates::When;
use crate::mm::lru::{add_migrated_to_lru, is_in_lru_batch};
use crate::mm::move_page::move_page;
use crate::mm::reclaim_threads::wake_kswapd_after_refusal;
use crate::mm::split_partial::split_deferred_thp;
use crate::numa::held_page::{is_held_by_device, tries_that_fail};
use crate::state::page_site::MarkedPage;
use crate::state::simulation::Simulation;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::{AllocatedPage, PageClass};
use numalab_kernel::numa::counters::Refusal;
use numalab_kernel::numa::migrate::ZoneInfo as _;
use numalab_kernel::numa::{FaultSite, MigrateResult, PageFacts};

/// Migrates the page of a hint fault at `clock` to node `target`, and adds the time to `ns`.
pub(crate) fn migrate_misplaced_folio(
    sim: &mut Simulation<'_>,
    at: FaultSite,
    f: &MarkedPage,
    facts: &PageFacts,
    target: usize,
    clock: u64,
    ns: &mut u64,
) -> MigrateResult {
    let zones = sim.mm.physical.zones(target);
    let process = sim.tasks[at.task as usize].process as usize;
    let isolatable = !sim.kernel.numa.cfg.switches.migration_lru_batch || !is_in_lru_batch(&sim.mm, process, f);
    if let Err(refusal) = sim.kernel.numa.migrate_misplaced_folio_prepare(at, facts, target, zones, isolatable) {
        wake_kswapd_after_refusal(&mut sim.mm.physical, &sim.kernel.numa, Some(refusal), target, facts.pages);
        return MigrateResult::Refused;
    }
    let device = f.is_huge() && sim.kernel.numa.cfg.switches.huge_references_refuse;
    if device && is_held_by_device(sim, process, f, clock + *ns) {
        sim.kernel.numa.reasons.refused[Refusal::Pinned as usize] += 1;
        return MigrateResult::Refused;
    }
    let here = sim.cpus[at.cpu].node;
    let pages = u64::from(f.pages);
    // The target page is allocated within the cpuset of the faulting task (`__cpuset_zone_allowed`).
    let allowed = sim.processes[process].mems.contains(target);
    if !allowed || !alloc_target(sim, f, (here, target)) {
        return MigrateResult::Failed;
    }
    if let Some(holder) = tries_that_fail(sim, (at.cpu, at.task), f, target, clock, ns) {
        let class = if f.is_huge() { PageClass::AnonHuge } else { PageClass::Anon };
        for frame in sim.mm.folio_frames.drain(..) {
            sim.mm.physical.free_page(target, frame, class);
        }
        sim.kernel.numa.reasons.refused[holder as usize] += 1;
        return MigrateResult::Failed;
    }
    *ns += split_deferred_thp(sim, process, f.vma, f.chunk);
    move_folio(sim, process, f, target);
    add_migrated_to_lru(sim, at.cpu, process, f);
    let moving_ns = migration_ns(sim, at.cpu, at.task, f, target, clock);
    let when = When { now_ns: sim.now_ns, from_ns: clock + *ns };
    *ns += sim.hw.contention.copied(f.node, target, sim.cfg.base_page().bytes_of(pages), when, moving_ns as f64) as u64;
    MigrateResult::Migrated
}

/// Allocates the page on the target that the page moves to, or the pages of its large folio, into
/// [`Memory::folio_frames`](crate::state::simulation::Memory::folio_frames). Returns whether there is room.
fn alloc_target(sim: &mut Simulation<'_>, f: &MarkedPage, (here, target): (usize, usize)) -> bool {
    let (memory, frames, pages) = (&mut sim.mm.physical, &mut sim.mm.folio_frames, u64::from(f.pages));
    if f.pages > 1 && !f.is_huge() {
        return memory.alloc_folio_on(here, target, pages, frames);
    }
    frames.clear();
    frames.extend(memory.alloc_on(here, target, pages));
    !frames.is_empty()
}

/// Moves the page, or all pages of its large folio, to the frames that have been allocated.
fn move_folio(sim: &mut Simulation<'_>, process: usize, f: &MarkedPage, target: usize) {
    let Simulation { processes, mm, .. } = sim;
    let vma = processes[process].space.vma_mut(f.vma);
    let folio = f.pages > 1 && !f.is_huge();
    let (first, each) = if folio { (f.entries().start, 1) } else { (f.page, u64::from(f.pages)) };
    for (i, &frame) in mm.folio_frames.iter().enumerate() {
        let to = AllocatedPage { node: target, frame };
        move_page(&mut mm.physical, vma, (f.chunk, first + i), f.node, to, each, f.last);
    }
    if folio {
        vma.join_folio(f.chunk, first, f.pages as usize);
    }
}

/// Time to migrate the page of a hint fault at `clock`, ns, with a TLB flush where the kernel needs one.
fn migration_ns(sim: &mut Simulation<'_>, cpu: usize, task: u32, f: &MarkedPage, target: usize, clock: u64) -> u64 {
    let slowdown = copy_slowdown(sim, cpu, f.node, target);
    let (ns, op) = if f.is_huge() {
        (sim.hw.costs.migrate_2m_ns(f.node, target, slowdown), FlushOp::MigrateHuge)
    } else {
        (sim.hw.costs.migrate_folio_ns(f.pages, (f.node, target), slowdown), FlushOp::HintMigrateBase)
    };
    let process = sim.tasks[task as usize].process as usize;
    let protecting = sim.processes[process].protecting_until_ns > clock;
    let flushes = shootdowns(op, &sim.cfg.flush, protecting);
    let flush: u64 = (0..flushes).map(|_| shoot_down(sim, cpu, task, u64::from(f.pages))).sum();
    ns as u64 + flush
}
