//! Which working set runs on which LLC: kept up to date as tasks come to CPUs, leave them, and enter loops.

use crate::hardware::working_sets::NO_GROUP;
use crate::state::cpu::CpuState;
use crate::state::simulation::Simulation;

/// Whether a core becomes busy or idle with `cpu`: it does if no sibling is busy.
pub(crate) fn turns_core(cpus: &[CpuState], cpu: usize) -> bool {
    cpus[cpu].siblings.iter().all(|&s| cpus[s as usize].task.is_none())
}

pub(crate) fn leave_cpu(sim: &mut Simulation<'_>, cpu: usize, task: u32) {
    let (node, llc) = (sim.cpus[cpu].node, sim.cpus[cpu].llc);
    let t = &sim.tasks[task as usize];
    sim.processes[t.process as usize].running_on_node[node] -= 1;
    let group = std::mem::replace(&mut sim.cpus[cpu].group, NO_GROUP);
    sim.hw.working_sets.leave(llc, group, is_alone_in(&sim.cpus, cpu, group));
}

/// Whether no sibling of `cpu` runs a task inside the loop of `group`.
fn is_alone_in(cpus: &[CpuState], cpu: usize, group: u32) -> bool {
    cpus[cpu].siblings.iter().all(|&s| cpus[s as usize].group != group)
}

pub(crate) fn enter_cpu(sim: &mut Simulation<'_>, cpu: usize, task: u32) {
    let (node, llc) = (sim.cpus[cpu].node, sim.cpus[cpu].llc);
    let t = &mut sim.tasks[task as usize];
    let p = &mut sim.processes[t.process as usize];
    p.running_on_node[node] += 1;
    (t.flushes.paid_ns, t.flushes.seen) = (p.flush_debt_ns, p.flushes);
    if t.llc != llc as u32 {
        t.llc = llc as u32;
        t.unload();
    }
    let group = t.group;
    sim.cpus[cpu].group = group;
    sim.hw.working_sets.enter(llc, group, is_alone_in(&sim.cpus, cpu, group));
}

/// The task running on `cpu` goes on to the working set of `group`.
pub(crate) fn use_group(sim: &mut Simulation<'_>, cpu: usize, task: u32, group: u32) {
    let c = &mut sim.cpus[cpu];
    let (llc, old) = (c.llc, std::mem::replace(&mut c.group, group));
    sim.tasks[task as usize].group = group;
    sim.hw.working_sets.leave(llc, old, is_alone_in(&sim.cpus, cpu, old));
    sim.hw.working_sets.enter(llc, group, is_alone_in(&sim.cpus, cpu, group));
}
