//! What the daemon asks the kernel for.

use crate::charge::tlb_flush::flush_from_daemon;
use crate::hardware::access_rates::When;
use crate::mm::daemon_time::occupy_node_cpu;
use crate::mm::move_page::{move_base_page, move_page};
use crate::mm::pins::is_pinned;
use crate::mm::split_partial::split_deferred_thp;
use crate::state::simulation::Simulation;
use crate::state::task::Activity;
use crate::state::userspace_balance::UserspaceBalance;
use numalab_kernel::hw::cost::{shootdowns, FlushOp};
use numalab_kernel::mm::{AllocatedPage, ChunkKind, CHUNK_BYTES, CHUNK_PAGES, PAGE_BYTES};
use numalab_kernel::userspace_balance::Action;

/// Carries out an action.
pub(crate) fn act(sim: &mut Simulation<'_>, daemon: &mut UserspaceBalance, action: Action) {
    match action {
        Action::MoveTask { task, to, .. } => move_task(sim, daemon, task as u32, to),
        Action::KeepTask { task, node, .. } => move_task(sim, daemon, task as u32, node),
        Action::MovePages { group, start, from, to, pages } => {
            move_pages(sim, (group as usize, start), from, to, pages)
        }
    }
}

/// Lets a task run on the CPUs of a node alone (`sched_setaffinity`). A task that is about to leave its CPU is left for
/// the next look.
fn move_task(sim: &mut Simulation<'_>, daemon: &mut UserspaceBalance, task: u32, to: usize) {
    let t = &sim.tasks[task as usize];
    let leaving = sim.cpus.iter().any(|c| c.task == Some(task) && c.pending.leaves());
    if t.activity == Activity::Dead || t.unrun.end.is_some() || leaving {
        return;
    }
    let cpus: Vec<u32> = sim.machine.nodes[to].cpus.iter().map(|c| *c as u32).collect();
    if sim.kernel.sched.set_affinity(task, Some(&cpus), sim.now_ns).is_ok() {
        daemon.placed[task as usize] = true;
    }
}

/// Moves pages of a mapping (`move_pages`). Huge pages move whole.
fn move_pages(sim: &mut Simulation<'_>, (process, start): (usize, u64), from: usize, to: usize, pages: u64) {
    let p = &sim.processes[process];
    let Some(place) = (0..p.space.len()).find(|i| p.space.vma(p.space.id_at(*i)).start == start) else { return };
    let id = p.space.id_at(place);
    let (mut left, mut ns) = (pages, 0);
    for chunk in 0..sim.processes[process].space.vma(id).chunk_count() {
        let v = sim.processes[process].space.vma(id);
        if left == 0 || v.node_counts(chunk)[from] == 0 {
            continue;
        }
        let moved = match v.chunk(chunk).kind {
            ChunkKind::Empty => 0,
            ChunkKind::Huge if v.chunk(chunk).shared == 0 && left >= CHUNK_PAGES => {
                move_huge_page(sim, (process, id, chunk), from, to, &mut ns)
            }
            ChunkKind::Huge => 0,
            ChunkKind::Small => move_base_pages(sim, (process, id, chunk), (from, to), left, &mut ns),
        };
        left -= moved;
    }
    sim.kernel.numa.counters.pgmigrate_success += pages - left;
    sim.kernel.numa.counters.pgmigrate_fail += left;
    occupy_node_cpu(sim, to, ns);
}

/// Moves a huge page; returns how many base pages moved.
fn move_huge_page(
    sim: &mut Simulation<'_>,
    (process, id, chunk): (usize, usize, usize),
    from: usize,
    to: usize,
    ns: &mut u64,
) -> u64 {
    if is_pinned(sim, (process, id), (chunk, 0), CHUNK_PAGES, sim.now_ns) {
        return 0;
    }
    let Some(frame) = sim.mm.physical.alloc_on(to, to, CHUNK_PAGES) else { return 0 };
    *ns += split_deferred_thp(sim, process, id, chunk);
    let v = sim.processes[process].space.vma_mut(id);
    v.unmark(chunk, 0);
    let last = v.last_cpupid(chunk, 0);
    move_page(&mut sim.mm.physical, v, (chunk, 0), from, AllocatedPage { node: to, frame }, CHUNK_PAGES, last);
    let time = sim.hw.costs.migrate_2m_ns(from, to, 1.0);
    let when = When { now_ns: sim.now_ns, from_ns: sim.now_ns + *ns };
    let time = sim.hw.contention.copied(from, to, CHUNK_BYTES, when, time);
    *ns += time as u64 + flush_from_daemon(sim, process, CHUNK_PAGES);
    sim.kernel.numa.counters.thp_migration_success += 1;
    CHUNK_PAGES
}

/// Moves at most `most` base pages of a chunk; returns how many moved.
fn move_base_pages(
    sim: &mut Simulation<'_>,
    (process, id, chunk): (usize, usize, usize),
    (from, to): (usize, usize),
    most: u64,
    ns: &mut u64,
) -> u64 {
    let mut moved = 0;
    for page in 0..CHUNK_PAGES as usize {
        let v = sim.processes[process].space.vma(id);
        if moved == most || v.exclusive_node(chunk, page) != Some(from) {
            continue;
        }
        let last = v.last_cpupid(chunk, page);
        if is_pinned(sim, (process, id), (chunk, page), 1, sim.now_ns) {
            continue;
        }
        if !move_base_page(sim, process, (id, chunk, page), from, to, last) {
            break;
        }
        moved += 1;
    }
    let time = sim.hw.costs.migrate_4k_ns(from, to, 1.0) * moved as f64;
    let when = When { now_ns: sim.now_ns, from_ns: sim.now_ns + *ns };
    let time = sim.hw.contention.copied(from, to, moved * PAGE_BYTES, when, time);
    // Pages of one system call are unmapped one by one.
    let flushes = shootdowns(FlushOp::MigrateBase { pages: moved }, &sim.cfg.flush, false);
    let flush: u64 = (0..flushes).map(|_| flush_from_daemon(sim, process, 1)).sum();
    *ns += time as u64 + flush;
    moved
}
