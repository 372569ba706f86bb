//! AutoNUMA's exchange of tasks, at the end of the load-balance softirq (designs-2012.md section 1).

use crate::state::cpu::Pending;
use crate::state::simulation::Simulation;
use crate::state::task::{Activity, Task};
use numalab_kernel::numa::autonuma::{BalanceHost, Choice};
use numalab_kernel::sched::Scheduler;
use numalab_nouns::machine::Machine;

/// The run queues as AutoNUMA's balancing sees them.
struct Queues<'a> {
    sched: &'a Scheduler,
    machine: &'a Machine,
    mms: &'a [Task<'a>],
    busy: &'a dyn Fn(u32) -> bool,
}

impl BalanceHost for Queues<'_> {
    fn cpus(&self) -> usize {
        self.machine.cpu_count()
    }
    fn node_of(&self, cpu: usize) -> usize {
        self.machine.cpus[cpu].node
    }
    fn running(&self, cpu: usize) -> Option<u32> {
        self.sched.current(cpu as u32).filter(|t| (self.busy)(*t))
    }
    fn mm_of(&self, task: u32) -> u32 {
        self.mms[task as usize].process
    }
    fn allowed(&self, task: u32, cpu: usize) -> bool {
        self.sched.allowed(task, cpu as u32)
    }
}

/// Looks for a task to exchange with `task`, at the end of the load-balance softirq of `cpu`
/// (`sched_autonuma_balance`).
pub(crate) fn autonuma_balance(sim: &mut Simulation<'_>, cpu: usize, task: u32) {
    let leaving = |t: u32| sim.cpus.iter().any(|c| c.task == Some(t) && c.pending.leaves());
    let busy = |t: u32| {
        let s = &sim.tasks[t as usize];
        s.activity != Activity::Dead && s.unrun.end.is_none() && !leaving(t)
    };
    let host = Queues { sched: &sim.kernel.sched, machine: sim.machine, mms: &sim.tasks, busy: &busy };
    let (choice, examined) = sim.kernel.numa_2012.autonuma.balance(task, cpu, &host);
    sim.cpus[cpu].debt_ns += sim.hw.costs.balance_ns(examined) as u64;
    let selected = sim.kernel.numa_2012.autonuma.tasks[task as usize].selected;
    sim.kernel.sched.set_preferred_nid(task, selected);
    let Choice::Exchange { other, .. } = choice else { return };
    if sim.kernel.sched.current(cpu as u32) != Some(task) || sim.cpus[cpu].pending != Pending::None {
        return;
    }
    if sim.kernel.sched.swap(task, other, sim.now_ns) {
        sim.kernel.numa_2012.counters.exchanges += 1;
    }
}
