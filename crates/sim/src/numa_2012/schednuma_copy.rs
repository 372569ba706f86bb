//! schednuma's page migration: huge pages are copied whole while their entry stays marked (designs-2012.md section
//! 2.4).

use crate::charge::core::copy_slowdown;
use crate::charge::tlb_flush::shoot_down;
use crate::hardware::access_rates::When;
use crate::mm::move_page::{move_base_page, move_page};
use crate::numa_2012::autonuma_migrate::count_moved;
use crate::state::inflight_thp_copy::InflightThpCopy;
use crate::state::page_site::MarkedPage;
use crate::state::simulation::{Kernel, Simulation};
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::block::NEVER;
use numalab_kernel::mm::{AllocatedPage, ChunkKind, PageClass, CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::numa::design::TaskMoves;

pub(crate) fn schednuma_record(kernel: &mut Kernel, task: u32, process: usize, node: usize, pages: u64) {
    let seq = kernel.numa_2012.schednuma.mms[process].seq;
    if let Some(home) = kernel.numa_2012.schednuma.record(task, seq, node, pages) {
        kernel.numa_2012.counters.homes += 1;
        if kernel.numa_2012.cfg.moves == TaskMoves::HomeNode {
            kernel.sched.set_preferred_nid(task, Some(home));
        }
    }
}

/// Moves a base page. Its entry is not present, so no flush is needed unless a scan is under way. Returns the time, ns;
/// `None` if there is no room.
pub(crate) fn schednuma_migrate_base(
    sim: &mut Simulation<'_>,
    cpu: usize,
    task: u32,
    f: &MarkedPage,
    last: Option<u32>,
) -> Option<u64> {
    let here = sim.cpus[cpu].node;
    let process = sim.tasks[task as usize].process as usize;
    let remembered = sim.kernel.numa_2012.schednuma.after_move().unwrap_or(NEVER);
    if !move_base_page(sim, process, (f.vma, f.chunk, f.page), f.node, here, remembered) {
        return None;
    }
    sim.kernel.numa_2012.schednuma.stale.leave(f.node, last.unwrap_or(0));
    count_moved(&mut sim.kernel, 1, 1);
    let slowdown = copy_slowdown(sim, cpu, f.node, here);
    let flushes = shootdowns(FlushOp::HintMigrateBase, &sim.cfg.flush, false);
    let flush: u64 = (0..flushes).map(|_| shoot_down(sim, cpu, task, 1)).sum();
    let ns = sim.hw.costs.migrate_4k_ns(f.node, here, slowdown);
    let ns = sim.hw.contention.copied(f.node, here, PAGE_BYTES, When::now(sim.now_ns), ns);
    Some(ns as u64 + flush)
}

/// Starts copying a huge page; its entry keeps the mark. Returns the time the copy takes.
pub(crate) fn begin_copy(sim: &mut Simulation<'_>, cpu: usize, task: u32, f: &MarkedPage, clock: u64) -> Option<u64> {
    let to = sim.cpus[cpu].node;
    let frame = sim.mm.physical.alloc_on(to, to, CHUNK_PAGES)?;
    let process = sim.tasks[task as usize].process as usize;
    let slowdown = copy_slowdown(sim, cpu, f.node, to);
    let ns = sim.hw.costs.migrate_2m_ns(f.node, to, slowdown) as u64 + shoot_down(sim, cpu, task, CHUNK_PAGES);
    let when = When { now_ns: sim.now_ns, from_ns: clock };
    let ns = sim.hw.contention.copied(f.node, to, CHUNK_BYTES, when, ns as f64) as u64;
    sim.kernel.numa_2012.counters.pages_copied += CHUNK_PAGES;
    sim.kernel.numa_2012.inflight_thp_copies.begin(InflightThpCopy {
        task,
        process,
        vma: f.vma,
        chunk: f.chunk,
        from: f.node,
        to,
        frame,
        until_ns: clock + ns,
        lost: false,
    });
    Some(ns)
}

/// Ends the copy that a task makes, if it makes one.
pub(crate) fn end_copy_of(sim: &mut Simulation<'_>, task: u32) {
    if !sim.kernel.numa_2012.inflight_thp_copies.is_empty() {
        if let Some(copy) = sim.kernel.numa_2012.inflight_thp_copies.end_of_task(task) {
            finish_copy(sim, &copy);
        }
    }
}

pub(crate) fn end_copy(sim: &mut Simulation<'_>, process: usize, vma: usize, chunk: usize) {
    if let Some(copy) = sim.kernel.numa_2012.inflight_thp_copies.end_of_chunk(process, vma, chunk) {
        finish_copy(sim, &copy);
    }
}

/// Maps the copy, or throws it away if the entry has changed.
fn finish_copy(sim: &mut Simulation<'_>, c: &InflightThpCopy) {
    let p = &mut sim.processes[c.process];
    let there = !p.ended && {
        let v = p.space.vma(c.vma);
        let chunk = v.chunk(c.chunk);
        chunk.kind == ChunkKind::Huge && usize::from(chunk.node) == c.from && chunk.pmd_marked
    };
    let changed = !there && sim.kernel.numa_2012.cfg.schednuma.copies_lost;
    let gone = p.ended || p.space.vma(c.vma).chunk(c.chunk).kind != ChunkKind::Huge;
    let moved = !gone && usize::from(p.space.vma(c.vma).chunk(c.chunk).node) != c.from;
    if c.lost || changed || gone || moved {
        sim.mm.physical.free_page(c.to, c.frame, PageClass::AnonHuge);
        sim.kernel.numa_2012.counters.copies_lost += 1;
        sim.kernel.numa.counters.thp_migration_fail += 1;
        return;
    }
    let remembered = sim.kernel.numa_2012.schednuma.after_move().unwrap_or(NEVER);
    let vma = p.space.vma_mut(c.vma);
    vma.unmark(c.chunk, 0);
    let to = AllocatedPage { node: c.to, frame: c.frame };
    move_page(&mut sim.mm.physical, vma, (c.chunk, 0), c.from, to, CHUNK_PAGES, remembered);
    sim.kernel.numa_2012.schednuma.stale.leave(c.from, c.to as u32);
    let n = &mut sim.kernel.numa.counters;
    n.numa_hint_faults += 1;
    // A huge page counts as one (section 5.4).
    n.numa_pages_migrated += 1;
    n.pgmigrate_success += 1;
    n.thp_migration_success += 1;
    schednuma_record(&mut sim.kernel, c.task, c.process, c.to, CHUNK_PAGES);
}
