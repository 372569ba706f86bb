//! CPU time is charged once, to the task that had the CPU.

use crate::check::view::View;
use crate::state::simulation::Simulation;
use crate::state::task::Activity;

/// Every nanosecond that an ended task had a CPU was charged to it once, as user or kernel time. Only time that its
/// process slept inside the kernel may be missing, during which the model keeps the CPU.
fn check_ended(sim: &Simulation<'_>) -> Result<(), String> {
    for (number, t) in sim.tasks.iter().enumerate().filter(|(_, t)| t.activity == Activity::Dead) {
        let (charged, had) = (t.user_ns + t.system_ns, sim.kernel.sched.runtime_ns(number as u32));
        let slept = sim.processes[t.process as usize].blocked_ns;
        if charged > had || had - charged > slept {
            return Err(format!("task {number} was charged {charged} ns, had a CPU for {had} ns, slept {slept} ns"));
        }
    }
    Ok(())
}

/// A task has used no more time than has passed up to the end of the slice that is planned for it, and that it has
/// still to run.
fn check_running(sim: &Simulation<'_>) -> Result<(), String> {
    for (number, t) in sim.tasks.iter().enumerate() {
        let (charged, most) = (t.user_ns + t.system_ns, sim.now_ns.max(t.planned_until_ns) + t.unrun.ns);
        if charged > most {
            return Err(format!("task {number} was charged {charged} ns in {most} ns"));
        }
    }
    Ok(())
}

/// The time of a process is that of its threads.
fn check_processes(sim: &Simulation<'_>) -> Result<(), String> {
    let mut sums = vec![(0, 0); sim.processes.len()];
    for t in &sim.tasks {
        let sum = &mut sums[t.process as usize];
        *sum = (sum.0 + t.user_ns, sum.1 + t.system_ns);
    }
    for (number, (p, sum)) in sim.processes.iter().zip(sums).enumerate() {
        if (p.user_ns, p.system_ns) != sum {
            let kept = (p.user_ns, p.system_ns);
            return Err(format!(
                "process {number} keeps {kept:?} ns in user and kernel mode, its threads used {sum:?}"
            ));
        }
    }
    Ok(())
}

/// All CPUs together gave no more time than they have.
fn check_cpus(sim: &Simulation<'_>) -> Result<(), String> {
    let given: u64 = (0..sim.tasks.len()).map(|t| sim.kernel.sched.runtime_ns(t as u32)).sum();
    let all = sim.now_ns * sim.cpus.len() as u64;
    if given > all {
        return Err(format!("tasks had CPUs for {given} ns, all CPUs have {all} ns"));
    }
    Ok(())
}

/// Checks tasks, processes and CPUs.
pub(crate) fn check(v: &View<'_, '_>) -> Result<(), String> {
    check_ended(v.sim)?;
    check_running(v.sim)?;
    check_processes(v.sim)?;
    check_cpus(v.sim)
}
