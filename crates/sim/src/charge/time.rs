//! User, system and blocked time of tasks and processes.

use crate::state::simulation::Simulation;

/// Charges user time to a task and its process, ns.
#[inline]
pub(crate) fn charge_user(sim: &mut Simulation<'_>, task: u32, ns: u64) {
    let t = &mut sim.tasks[task as usize];
    t.user_ns += ns;
    sim.processes[t.process as usize].user_ns += ns;
}

/// Charges a part of an access: `ns` in all, of which `kernel_ns` in the kernel.
#[inline]
pub(crate) fn charge_part(sim: &mut Simulation<'_>, task: u32, ns: u64, kernel_ns: u64) {
    charge_user(sim, task, ns - kernel_ns);
    charge_kernel(sim, task, kernel_ns);
}

/// Charges kernel time to a task and its process, ns.
#[inline]
pub(crate) fn charge_system(sim: &mut Simulation<'_>, task: u32, ns: u64) {
    let t = &mut sim.tasks[task as usize];
    t.system_ns += ns;
    sim.processes[t.process as usize].system_ns += ns;
}

/// Charges kernel time of which a part was waiting for devices; that part counts as blocked, ns.
fn charge_kernel(sim: &mut Simulation<'_>, task: u32, ns: u64) {
    let io = std::mem::take(&mut sim.mm.io_wait_ns).min(ns);
    charge_system(sim, task, ns - io);
    sim.processes[sim.tasks[task as usize].process as usize].blocked_ns += io;
}
