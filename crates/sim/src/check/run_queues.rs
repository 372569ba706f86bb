//! Run queues: what the scheduler keeps of its tasks, and what the CPUs say they run.

use crate::check::view::View;
use crate::state::simulation::Simulation;
use crate::state::task::Activity;
use numalab_kernel::sched::State;

/// A CPU has the task that the scheduler runs there, unless it has still to look for work. An ended task is on no
/// queue.
fn check_current(sim: &Simulation<'_>) -> Result<(), String> {
    for (cpu, c) in sim.cpus.iter().enumerate() {
        let current = sim.kernel.sched.current(cpu as u32);
        if c.task != current && !sim.kernel.sched.need_resched(cpu as u32) {
            return Err(format!("CPU {cpu} runs task {:?}, the scheduler has {current:?} there", c.task));
        }
    }
    for (number, t) in sim.tasks.iter().enumerate().filter(|(_, t)| t.activity == Activity::Dead) {
        if sim.kernel.sched.state(number as u32) == State::Queued {
            return Err(format!("task {number} has ended and is on a run queue of process {}", t.process));
        }
    }
    Ok(())
}

/// A process knows how many of its threads live, and how many CPUs of each node run one.
fn check_processes(sim: &Simulation<'_>) -> Result<(), String> {
    let nodes = sim.machine.node_count();
    let mut running = vec![0; sim.processes.len() * nodes];
    let mut live = vec![0; sim.processes.len()];
    for c in &sim.cpus {
        if let Some(task) = c.task {
            running[sim.tasks[task as usize].process as usize * nodes + c.node] += 1;
        }
    }
    for t in sim.tasks.iter().filter(|t| t.activity != Activity::Dead) {
        live[t.process as usize] += 1;
    }
    for (number, p) in sim.processes.iter().enumerate() {
        let on_node = &running[number * nodes..][..nodes];
        if p.running_on_node != on_node {
            return Err(format!("process {number} runs on {:?} CPUs by node, not {on_node:?}", p.running_on_node));
        }
        if p.live_threads < live[number] {
            return Err(format!("process {number} keeps {} live threads, {} live", p.live_threads, live[number]));
        }
    }
    Ok(())
}

/// Every runnable task is on one queue, and queues hold the sums of their tasks.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    v.sim.kernel.sched.check()?;
    check_current(v.sim)?;
    check_processes(v.sim)
}
