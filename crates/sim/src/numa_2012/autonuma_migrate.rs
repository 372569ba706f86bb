//! AutoNUMA's page migration: huge pages are split, and their base pages move one after the other (designs-2012.md
//! section 1.5).

use crate::charge::blocking::block_task;
use crate::charge::core::copy_slowdown;
use crate::charge::tlb_flush::shoot_down;
use crate::hardware::access_rates::When;
use crate::mm::move_page::{move_base_page, move_page};
use crate::mm::pins::is_pinned;
use crate::state::page_site::MarkedPage;
use crate::state::simulation::{Kernel, Simulation};
use crate::state::split_thp_migration::SplitThpMigration;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::{AllocatedPage, CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};

/// Moves a page to the node of the faulting CPU; a huge page is split first. Returns the time, ns; `None` if nothing
/// moved.
pub(crate) fn autonuma_migrate(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    f: &MarkedPage,
    clock: u64,
) -> Option<f64> {
    let process = sim.tasks[task as usize].process as usize;
    let here = sim.cpus[cpu].node;
    if f.pages == 1 {
        if !autonuma_migrate_base(sim, process, here, f) {
            return None;
        }
        let ns = base_migration_ns(sim, cpu, task, f, here);
        return Some(sim.hw.contention.copied(
            f.node,
            here,
            PAGE_BYTES,
            When { now_ns: sim.now_ns, from_ns: clock },
            ns,
        ));
    }
    if sim.kernel.numa_2012.cfg.autonuma.native_huge {
        let frame = sim.mm.physical.alloc_on(here, here, CHUNK_PAGES)?;
        let vma = sim.processes[process].space.vma_mut(f.vma);
        let to = AllocatedPage { node: here, frame };
        move_page(&mut sim.mm.physical, vma, (f.chunk, f.page), f.node, to, CHUNK_PAGES, f.last);
        count_moved(&mut sim.kernel, CHUNK_PAGES, CHUNK_PAGES);
        let slowdown = copy_slowdown(sim, cpu, f.node, here);
        let ns = sim.hw.costs.migrate_2m_ns(f.node, here, slowdown);
        let when = When { now_ns: sim.now_ns, from_ns: clock };
        let ns = sim.hw.contention.copied(f.node, here, CHUNK_BYTES, when, ns);
        return Some(ns + shoot_down(sim, cpu, task, CHUNK_PAGES) as f64);
    }
    let waited = wait_for_anon_vma(sim, task, process, f.vma, clock);
    let (node, frame) = sim.processes[process].space.vma_mut(f.vma).split_huge(f.chunk);
    sim.mm.physical.split_frame(node, frame);
    sim.kernel.numa_2012.counters.thp_split += 1;
    let split_ns = sim.hw.costs.split_ns() + shoot_down(sim, cpu, task, CHUNK_PAGES) as f64;
    let (mut moved, mut ns) = (0, 0.0);
    for page in 0..CHUNK_PAGES as usize {
        let found = MarkedPage { page, pages: 1, ..*f };
        if autonuma_migrate_base(sim, process, here, &found) {
            ns += base_migration_ns(sim, cpu, task, &found, here);
            moved += 1;
        }
    }
    let when = When { now_ns: sim.now_ns, from_ns: clock + waited + split_ns as u64 };
    let ns = sim.hw.contention.copied(f.node, here, moved * PAGE_BYTES, when, ns);
    let (vma, chunk, page_ns) = (f.vma, f.chunk, ns / CHUNK_PAGES as f64);
    let from_ns = clock + waited + split_ns as u64;
    let until_ns = from_ns + ns as u64;
    let front = SplitThpMigration { task, process, vma, chunk, from_ns, until_ns, page_ns };
    sim.kernel.numa_2012.split_thp_migrations.begin(front, sim.now_ns);
    sim.kernel.numa_2012.anon_vma_locks.hold((process, vma), until_ns, task, sim.now_ns);
    Some(split_ns + ns)
}

/// How long a thread that is about to split and move a huge page sleeps until other threads have moved theirs of the
/// same mapping, ns.
fn wait_for_anon_vma(sim: &mut Simulation<'_>, task: u32, process: usize, vma: usize, clock: u64) -> u64 {
    if !sim.kernel.numa_2012.cfg.autonuma.anon_vma_mutex {
        return 0;
    }
    let (waited, holder) = sim.kernel.numa_2012.anon_vma_locks.wait_ns(process, vma, clock);
    block_task(sim, task, waited, holder);
    waited
}

/// Moves a base page to node `here`; returns whether it has moved.
fn autonuma_migrate_base(sim: &mut Simulation<'_>, process: usize, here: usize, f: &MarkedPage) -> bool {
    let pinned = is_pinned(sim, (process, f.vma), (f.chunk, f.page), 1, sim.now_ns);
    if pinned || !move_base_page(sim, process, (f.vma, f.chunk, f.page), f.node, here, f.last) {
        sim.kernel.numa.counters.pgmigrate_fail += 1;
        return false;
    }
    count_moved(&mut sim.kernel, 1, 1);
    true
}

/// Time of a base page's migration, ns. The generic path unmaps an accessible page, so each page needs a TLB flush.
fn base_migration_ns(sim: &mut Simulation<'_>, cpu: usize, task: u32, f: &MarkedPage, here: usize) -> f64 {
    let slowdown = copy_slowdown(sim, cpu, f.node, here);
    let flushes = shootdowns(FlushOp::MigrateBase { pages: 1 }, &sim.cfg.flush, false);
    let flush: u64 = (0..flushes).map(|_| shoot_down(sim, cpu, task, 1)).sum();
    sim.hw.costs.migrate_4k_ns(f.node, here, slowdown) + flush as f64
}

/// Counts `pages` moved, as `counted` in vmstat.
pub(crate) fn count_moved(kernel: &mut Kernel, pages: u64, counted: u64) {
    let c = &mut kernel.numa.counters;
    c.numa_pages_migrated += counted;
    c.pgmigrate_success += counted;
    c.thp_migration_success += u64::from(pages > 1);
    kernel.numa_2012.counters.pages_copied += pages;
}
