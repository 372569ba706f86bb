//! What the daemon sees: threads and mappings, as procfs shows them.

use crate::mm::daemon_time::occupy_node_cpu;
use crate::state::process::ProcessState;
use crate::state::simulation::Simulation;
use crate::state::task::{Activity, Task};
use crate::state::userspace_balance::UserspaceBalance;
use numalab_base::node_mask::NodeMask;
use numalab_kernel::mm::policy::PolicyMode;
use numalab_kernel::mm::{Vma, PAGE_BYTES};
use numalab_kernel::userspace_balance::{Hold, Look, MappingLook, NodeLook, TaskLook};

/// CPU time of the daemon for each thread that it looks at, ns (estimate: a few files of procfs).
const TASK_NS: u64 = 20_000;
/// CPU time of a read of `numa_maps` for each resident page, ns (estimate: a walk of page tables).
const PAGE_NS: u64 = 10;

/// Looks at the machine.
pub(crate) fn look(sim: &mut Simulation<'_>, daemon: &mut UserspaceBalance) -> Look {
    let interval_ns = u64::from(daemon.cfg.interval_ms) * 1_000_000;
    let physical = &sim.mm.physical;
    let node = |n: usize| NodeLook {
        free_pages: physical.free(n),
        total_pages: physical.free(n) + physical.used(n),
        busy_elsewhere: 0,
    };
    let nodes = (0..physical.nodes()).map(node).collect();
    let bytes = u64::from(daemon.cfg.rate_limit_mb_s) * 1_000_000 * u64::from(daemon.cfg.interval_ms) / 1000;
    let look = Look {
        nodes,
        tasks: tasks(sim, daemon, interval_ns),
        mappings: mappings(&sim.tasks, &sim.processes),
        budget_pages: bytes / PAGE_BYTES,
    };
    let pages: u64 = look.mappings.iter().flat_map(|m| &m.pages).sum();
    occupy_node_cpu(sim, 0, look.tasks.len() as u64 * TASK_NS + pages * PAGE_NS);
    look
}

fn tasks(sim: &Simulation<'_>, daemon: &mut UserspaceBalance, interval_ns: u64) -> Vec<TaskLook> {
    daemon.runtime_ns.resize(sim.tasks.len(), 0);
    daemon.placed.resize(sim.tasks.len(), false);
    let mut out = Vec::new();
    for (id, task) in sim.tasks.iter().enumerate() {
        let now = sim.kernel.sched.runtime_ns(id as u32);
        let ran = now.saturating_sub(std::mem::replace(&mut daemon.runtime_ns[id], now));
        if task.activity == Activity::Dead {
            continue;
        }
        let may = |cpu: usize| sim.kernel.sched.allowed(id as u32, cpu as u32);
        let pinned = !daemon.placed[id] && !(0..sim.cpus.len()).all(may);
        let on = |n: &usize| daemon.placed[id] || sim.machine.nodes[*n].cpus.iter().any(|c| may(*c));
        out.push(TaskLook {
            task: id as u64,
            group: u64::from(task.process),
            node: sim.cpus[sim.kernel.sched.cpu_of(id as u32) as usize].node,
            busy_permille: (ran * 1000 / interval_ns).min(1000) as u32,
            hold: pinned.then_some(Hold::Pinned),
            allowed: NodeMask::of((0..sim.machine.node_count()).filter(on)),
        });
    }
    out
}

fn mappings(tasks: &[Task<'_>], processes: &[ProcessState]) -> Vec<MappingLook> {
    let mut out = Vec::new();
    for (id, p) in processes.iter().enumerate().filter(|(_, p)| p.started && !p.ended) {
        let of_process = |t: &&Task<'_>| t.process as usize == id && t.thread == 0;
        let own_policy = tasks.iter().find(of_process).is_some_and(|t| t.policy.mode() != PolicyMode::Default);
        for place in 0..p.space.len() {
            let vma_id = p.space.id_at(place);
            let v = p.space.vma(vma_id);
            if v.rss_pages() == 0 {
                continue;
            }
            let has_policy = own_policy || p.vma_policy.get(vma_id).is_some_and(Option::is_some);
            out.push(MappingLook {
                group: id as u64,
                start: v.start,
                pages: v.pages_on_node().to_vec(),
                used: None,
                huge: v.huge_share() > 0.0,
                hold: hold(v, has_policy),
                allowed: p.mems,
            });
        }
    }
    out
}

/// Why the daemon leaves a mapping alone.
fn hold(v: &Vma, has_policy: bool) -> Option<Hold> {
    let exclusive = || {
        let mut pages = vec![0; v.pages_on_node().len()];
        v.add_exclusive_on_node(&mut pages);
        pages.iter().sum::<u64>()
    };
    match () {
        () if has_policy => Some(Hold::OwnPolicy),
        () if v.kind.is_shared() => Some(Hold::Shared),
        () if exclusive() < v.rss_pages() => Some(Hold::SharedCow),
        () => None,
    }
}
