//! TLB flushes: what they cost the CPU that sends them, and the CPUs that they interrupt.

use crate::charge::late_ticks::owe_flush;
use crate::state::simulation::Simulation;
use numalab_kernel::hw::cost::Shootdown;

/// Time lost to TLB flushes of other CPUs that the task's CPU has not paid for yet, ns. It counts as paid afterwards.
pub(crate) fn take_flush_debt(sim: &mut Simulation<'_>, task: u32) -> u64 {
    let t = &mut sim.tasks[task as usize];
    let p = &sim.processes[t.process as usize];
    let debt = p.flush_debt_ns - t.flushes.paid_ns;
    t.flushes.paid_ns = p.flush_debt_ns;
    let met = p.flushes - std::mem::replace(&mut t.flushes.seen, p.flushes);
    if met > 0 {
        sim.record.stalls.of(task).interrupts += met;
    }
    debt
}

/// What a flush by `cpu` for the process of `task` would take; nothing is flushed.
pub(crate) fn flush_of(sim: &mut Simulation<'_>, cpu: usize, task: u32, pages: u64) -> Shootdown {
    let process = sim.tasks[task as usize].process as usize;
    let node = sim.cpus[cpu].node;
    sim.hw.flush_targets.copy_from_slice(&sim.processes[process].running_on_node);
    sim.hw.flush_targets[node] -= 1;
    sim.hw.costs.shootdown(sim.hw.costs.targets_by_node(node, &sim.hw.flush_targets), pages)
}

/// Flushes `pages` base pages from the TLBs of every other CPU that runs the process of `task`. Returns the time of
/// `cpu`, which sends the interrupts, ns.
pub(crate) fn shoot_down(sim: &mut Simulation<'_>, cpu: usize, task: u32, pages: u64) -> u64 {
    let s = flush_of(sim, cpu, task, pages);
    let t = &mut sim.tasks[task as usize];
    if s.targets > 0 {
        let process = t.process as usize;
        (t.flushes.paid_ns, t.flushes.seen) = (t.flushes.paid_ns + s.target_ns as u64, t.flushes.seen + 1);
        sim.kernel.vm.nr_tlb_remote_flush += 1;
        sim.kernel.vm.nr_tlb_remote_flush_received += u64::from(s.targets);
        owe_flush(sim, process, s.target_ns as u64);
    }
    s.initiator_ns as u64
}

/// A kernel thread flushes `pages` base pages from the TLBs of all CPUs that run a process. Returns its time, ns.
pub(crate) fn flush_from_daemon(sim: &mut Simulation<'_>, process: usize, pages: u64) -> u64 {
    let p = &mut sim.processes[process];
    let s = sim.hw.costs.shootdown(sim.hw.costs.targets_by_node(0, &p.running_on_node), pages);
    if s.targets > 0 {
        owe_flush(sim, process, s.target_ns as u64);
        sim.kernel.vm.nr_tlb_remote_flush += 1;
        sim.kernel.vm.nr_tlb_remote_flush_received += u64::from(s.targets);
    }
    s.initiator_ns as u64
}
