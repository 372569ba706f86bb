//! What the daemon asks the kernel for.

use crate::mm::daemon_time::occupy_node_cpu;
use crate::mm::move_pages::{move_base_pages, move_huge_page, Call, Caller};
use crate::state::simulation::Simulation;
use crate::state::task::Activity;
use crate::state::userspace_balance::UserspaceBalance;
use numalab_kernel::mm::{ChunkKind, CHUNK_PAGES};
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
    let mut left = pages;
    let mut call = Call { by: Caller::Daemon, began_ns: sim.now_ns, ns: 0 };
    for chunk in 0..sim.processes[process].space.vma(id).chunk_count() {
        let v = sim.processes[process].space.vma(id);
        if left == 0 || v.node_counts(chunk)[from] == 0 {
            continue;
        }
        let moved = match v.chunk(chunk).kind {
            ChunkKind::Empty => 0,
            ChunkKind::Huge if v.chunk(chunk).shared == 0 && left >= CHUNK_PAGES => {
                move_huge_page(sim, &mut call, (process, id, chunk), (from, to))
            }
            ChunkKind::Huge => 0,
            ChunkKind::Small => {
                let all = 0..CHUNK_PAGES as usize;
                move_base_pages(sim, &mut call, (process, id, chunk), (from, to), all, left)
            }
        };
        left -= moved;
    }
    sim.kernel.numa.counters.pgmigrate_success += pages - left;
    sim.kernel.numa.counters.pgmigrate_fail += left;
    occupy_node_cpu(sim, to, call.ns);
}
