//! The memory policy of a fault: the mapping's, or else the task's (kernel: `get_vma_policy`).

use crate::state::numa_2012::Numa2012;
use crate::state::page_site::PageSite;
use crate::state::policies::page_index;
use crate::state::simulation::Simulation;
use crate::state::task::Task;
use numalab_kernel::mm::policy::MemPolicy;
use numalab_kernel::numa::design::Faults;
use numalab_kernel::numa::fault::policy::EffectivePolicy;

/// The home node that schednuma makes allocations of a task prefer, if the task has one and no policy of its own.
pub(crate) fn home_node(design: &Numa2012, tasks: &[Task<'_>], task: u32) -> Option<usize> {
    if design.cfg.faults != Faults::SchedNuma || !tasks[task as usize].policy.migrates_on_fault() {
        return None;
    }
    design.schednuma.tasks[task as usize].home.map(|n| n as usize)
}

/// The policy of a page as a hint fault sees it.
pub(crate) fn effective_policy(sim: &Simulation<'_>, s: &PageSite) -> EffectivePolicy {
    let index = page_index(sim.processes[s.process].space.vma(s.vma), s.chunk, s.page, 0);
    policy(sim, s).at_hint_fault(index)
}

/// The policy of a mapping, or else of the task.
pub(crate) fn policy<'s>(sim: &'s Simulation<'_>, s: &PageSite) -> &'s MemPolicy {
    let p = &sim.processes[s.process];
    p.vma_policy[s.vma].as_ref().unwrap_or(&sim.tasks[s.task as usize].policy)
}
