//! Carrying out the task migrations that NUMA balancing has decided (kernel: `migrate_task_to`, `migrate_swap`).

use crate::record::log::log_placed;
use crate::state::cpu::CpuState;
use crate::state::simulation::Simulation;
use crate::state::task::{Activity, Task};
use crate::state::task_migration::TaskMigration;
use numalab_kernel::numa::counters::Placement;

/// Applies what NUMA balancing has just decided at the end of a slice of `cpu`.
pub(crate) fn apply_new_migrations(sim: &mut Simulation<'_>, cpu: usize) {
    sim.task_migrations.due.append(&mut sim.task_migrations.decided);
    apply_due_migrations(sim, cpu);
}

/// Applies what is due for the task running on `cpu`.
pub(crate) fn apply_due_migrations(sim: &mut Simulation<'_>, cpu: usize) {
    let Some(task) = sim.cpus[cpu].task else { return };
    let mut i = 0;
    while i < sim.task_migrations.due.len() {
        if sim.task_migrations.due[i].task != task {
            i += 1;
            continue;
        }
        let m = sim.task_migrations.due.remove(i);
        let what = match carry_out(sim, m) {
            false => Placement::Stick,
            true if m.other.is_some() => Placement::Swap,
            true => Placement::Move,
        };
        sim.kernel.numa.count_placement(what);
        log_placed(sim, task, cpu, what);
    }
}

/// Does the work of the CPUs' stoppers. Returns whether a task has moved.
fn carry_out(sim: &mut Simulation<'_>, m: TaskMigration) -> bool {
    let TaskMigration { task, other, dst, .. } = m;
    if !m.holds(&sim.kernel.sched) {
        return false;
    }
    let Some(other) = other else {
        return movable(&sim.tasks, &sim.cpus, task) && sim.kernel.sched.migrate(task, dst, sim.now_ns);
    };
    match (movable(&sim.tasks, &sim.cpus, task), movable(&sim.tasks, &sim.cpus, other)) {
        (true, true) => sim.kernel.sched.swap(task, other, sim.now_ns),
        (true, false) => sim.kernel.sched.half_swap(task, other, sim.now_ns),
        (false, true) => sim.kernel.sched.half_swap(other, task, sim.now_ns),
        (false, false) => false,
    }
}

/// Whether a task can be moved now: alive, and not about to leave its CPU by itself.
fn movable(tasks: &[Task<'_>], cpus: &[CpuState], task: u32) -> bool {
    let t = &tasks[task as usize];
    let leaving = cpus.iter().any(|c| c.task == Some(task) && c.pending.leaves());
    t.activity != Activity::Dead && t.unrun.end.is_none() && !leaving
}
