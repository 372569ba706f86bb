//! `move_pages(2)`: a task or a daemon moves pages of a process to a node (kernel: `do_pages_move`).
//!
//! Pages that several processes map are refused before they are tried (`-EACCES` without `MPOL_MF_MOVE_ALL`), and count
//! nowhere. Pages of files and of shared memory count as shared, whoever maps them (simplification).

use crate::charge::core::copy_slowdown;
use crate::charge::time::charge_system;
use crate::charge::tlb_flush::{flush_from_daemon, shoot_down};
use crate::hardware::access_rates::When;
use crate::mm::move_page::{move_base_page, move_page};
use crate::mm::pins::is_pinned;
use crate::mm::split_partial::split_deferred_thp;
use crate::state::simulation::Simulation;
use crate::state::step::Step;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::{AllocatedPage, ChunkKind, CHUNK_PAGES};
use numalab_nouns::workload::MovePages;
use std::ops::Range;

/// Who calls `move_pages`.
#[derive(Clone, Copy)]
pub(crate) enum Caller {
    /// A program outside the workload.
    Daemon,
    /// A task of the workload, which moves pages of its own process.
    Task {
        /// The CPU that it runs on.
        cpu: usize,
        /// The task.
        task: u32,
    },
}

/// A call of `move_pages` under way.
pub(crate) struct Call {
    pub by: Caller,
    /// Time at which it began, ns.
    pub began_ns: u64,
    /// What it has taken since, ns.
    pub ns: u64,
}

impl Call {
    fn slowdown(&self, sim: &Simulation<'_>, (from, to): (usize, usize)) -> f64 {
        match self.by {
            Caller::Daemon => 1.0,
            Caller::Task { cpu, .. } => copy_slowdown(sim, cpu, from, to),
        }
    }
    fn flush(&self, sim: &mut Simulation<'_>, process: usize, pages: u64) -> u64 {
        match self.by {
            Caller::Daemon => flush_from_daemon(sim, process, pages),
            Caller::Task { cpu, task } => shoot_down(sim, cpu, task, pages),
        }
    }
    fn copied(&mut self, sim: &mut Simulation<'_>, (from, to): (usize, usize), pages: u64, ns: f64) {
        let bytes = sim.cfg.base_page().bytes_of(pages);
        let when = When { now_ns: sim.now_ns, from_ns: self.began_ns + self.ns };
        self.ns += sim.hw.contention.copied(from, to, bytes, when, ns) as u64;
    }
}

/// Carries out the step of a task up to `end`, chunk by chunk. Its time is system time of the task.
pub(crate) fn move_pages(
    sim: &mut Simulation<'_>,
    (cpu, task): (usize, u32),
    m: &MovePages,
    clock: &mut u64,
    end: u64,
) -> Step {
    let process = sim.tasks[task as usize].process as usize;
    let id = sim.processes[process].region_vma[m.span.region as usize] as usize;
    let v = sim.processes[process].space.vma(id);
    let start = v.grain.floor(v.start + m.span.offset_bytes);
    let stop = v.grain.ceil(v.start + m.span.offset_bytes + m.span.len_bytes).min(v.end);
    let (first, last) = (v.chunk_of(start), v.chunk_of(stop - 1));
    loop {
        let block = sim.tasks[task as usize].done;
        let chunk = first + block as usize;
        if chunk > last {
            sim.tasks[task as usize].advance();
            return Step::Go;
        }
        let mut call = Call { by: Caller::Task { cpu, task }, began_ns: *clock, ns: 0 };
        if block == 0 {
            // `lru_add_drain_all`: what waits in the batches of all CPUs can be isolated afterwards.
            for other in 0..sim.cpus.len() {
                sim.mm.lru_batches.drain(other, &mut sim.mm.shared);
            }
            call.ns += sim.machine.costs.exception_ns as u64;
        }
        let v = sim.processes[process].space.vma(id);
        let pages = v.page_up_in_chunk(chunk, start)..v.page_up_in_chunk(chunk, stop);
        move_chunk(sim, &mut call, (process, id, chunk), pages, m.node(block) as usize);
        *clock += call.ns;
        charge_system(sim, task, call.ns);
        sim.tasks[task as usize].done += 1;
        if *clock >= end {
            return Step::Go;
        }
    }
}

/// Moves what a process alone maps of some pages of a chunk to a node. A huge page moves whole.
fn move_chunk(sim: &mut Simulation<'_>, call: &mut Call, at: (usize, usize, usize), pages: Range<usize>, to: usize) {
    let (process, id, chunk) = at;
    call.ns += (pages.len() as f64 * sim.machine.costs.pte_skip_ns) as u64;
    let v = sim.processes[process].space.vma(id);
    let c = v.chunk(chunk);
    let (kind, own, node) = (c.kind, c.shared == 0, usize::from(c.node));
    let (mut asked, mut moved) = (0, 0);
    match kind {
        ChunkKind::Huge if own && node != to => {
            asked = CHUNK_PAGES;
            moved = move_huge_page(sim, call, at, (node, to));
        }
        ChunkKind::Small => {
            for from in (0..sim.machine.nodes.len()).filter(|n| *n != to) {
                let v = sim.processes[process].space.vma(id);
                let there = pages.clone().filter(|page| v.exclusive_node(chunk, *page) == Some(from)).count() as u64;
                if there > 0 {
                    asked += there;
                    moved += move_base_pages(sim, call, at, (from, to), pages.clone(), there);
                }
            }
        }
        ChunkKind::Huge | ChunkKind::Empty => {}
    }
    sim.kernel.numa.counters.pgmigrate_success += moved;
    sim.kernel.numa.counters.pgmigrate_fail += asked - moved;
}

/// Moves a huge page that one process maps; returns how many base pages moved.
pub(crate) fn move_huge_page(
    sim: &mut Simulation<'_>,
    call: &mut Call,
    (process, id, chunk): (usize, usize, usize),
    (from, to): (usize, usize),
) -> u64 {
    let copying = sim.kernel.numa_2012.inflight_thp_copies.of_chunk(process, id, chunk).is_some();
    if copying || is_pinned(sim, (process, id), (chunk, 0), CHUNK_PAGES, call.began_ns) {
        return 0;
    }
    let Some(frame) = sim.mm.physical.alloc_on(to, to, CHUNK_PAGES) else { return 0 };
    call.ns += split_deferred_thp(sim, process, id, chunk);
    let v = sim.processes[process].space.vma_mut(id);
    v.unmark(chunk, 0);
    let last = v.last_cpupid(chunk, 0);
    move_page(&mut sim.mm.physical, v, (chunk, 0), from, AllocatedPage { node: to, frame }, CHUNK_PAGES, last);
    let time = sim.hw.costs.migrate_2m_ns(from, to, call.slowdown(sim, (from, to)));
    call.copied(sim, (from, to), CHUNK_PAGES, time);
    call.ns += call.flush(sim, process, CHUNK_PAGES);
    sim.kernel.numa.counters.thp_migration_success += 1;
    CHUNK_PAGES
}

/// Moves at most `most` base pages of a chunk that one process maps, among `pages`; returns how many moved.
pub(crate) fn move_base_pages(
    sim: &mut Simulation<'_>,
    call: &mut Call,
    (process, id, chunk): (usize, usize, usize),
    (from, to): (usize, usize),
    pages: Range<usize>,
    most: u64,
) -> u64 {
    let mut moved = 0;
    for page in pages {
        let v = sim.processes[process].space.vma(id);
        if moved == most || v.exclusive_node(chunk, page) != Some(from) {
            continue;
        }
        let last = v.last_cpupid(chunk, page);
        if is_pinned(sim, (process, id), (chunk, page), 1, call.began_ns) {
            continue;
        }
        if !move_base_page(sim, process, (id, chunk, page), from, to, last) {
            break;
        }
        moved += 1;
    }
    let time = sim.hw.costs.migrate_4k_ns(from, to, call.slowdown(sim, (from, to))) * moved as f64;
    call.copied(sim, (from, to), moved, time);
    // Pages of one system call are unmapped one by one.
    let flushes = shootdowns(FlushOp::MigrateBase { pages: moved }, &sim.cfg.flush, false);
    call.ns += (0..flushes).map(|_| call.flush(sim, process, 1)).sum::<u64>();
    moved
}
