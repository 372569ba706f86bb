//! The scheduler as NUMA balancing sees it.

use crate::state::process::ProcessState;
use crate::state::task_migration::TaskMigration;
use numalab_kernel::numa::host::{CpuStats, NumaDomain, Told};
use numalab_kernel::numa::jiffies::Jiffies;
use numalab_kernel::numa::state::{MmId, TaskId};
use numalab_kernel::numa::TaskHost;
use numalab_kernel::sched::Scheduler;

/// NUMA balancing's view of the run. Task migrations are noted and take effect at the end of the slice.
pub struct SchedView<'a> {
    /// The scheduler.
    pub sched: &'a mut Scheduler,
    /// Processes, for their resident pages.
    pub processes: &'a [ProcessState],
    /// Task migrations decided in this slice.
    pub decided: &'a mut Vec<TaskMigration>,
    /// Task migrations that wait for the end of their task's slice.
    pub due: &'a [TaskMigration],
}

impl SchedView<'_> {
    fn note(&mut self, task: TaskId, other: Option<TaskId>, dst: u32) -> Told {
        let src = self.sched.cpu_of(task);
        self.decided.push(TaskMigration { task, other, src, dst });
        Told::Later
    }
}

impl TaskHost for SchedView<'_> {
    fn runtime_ns(&self, task: TaskId) -> u64 {
        self.sched.runtime_ns(task)
    }
    fn exec_start_ns(&self, task: TaskId) -> u64 {
        self.sched.exec_start_ns(task)
    }
    fn load_sum(&self, task: TaskId) -> u64 {
        self.sched.load_sum(task)
    }
    fn task_load(&self, task: TaskId) -> u64 {
        self.sched.task_load_now(task)
    }
    fn rss_pages(&self, mm: MmId) -> u64 {
        self.processes[mm as usize].space.rss_pages()
    }
    fn cpu_of(&self, task: TaskId) -> usize {
        self.sched.cpu_of(task) as usize
    }
    fn running_on(&self, cpu: usize) -> Option<TaskId> {
        self.sched.current(cpu as u32)
    }
    fn allowed(&self, task: TaskId, cpu: usize) -> bool {
        self.sched.allowed(task, cpu as u32)
    }
    fn cpu_stats(&self, cpu: usize) -> CpuStats {
        let l = self.sched.cpu_load(cpu as u32);
        let capacity = self.sched.capacity_of(cpu as u32);
        CpuStats { load: l.load, runnable: l.runnable, util: l.util, nr_running: l.nr_running, capacity }
    }
    fn idle(&self, cpu: usize) -> bool {
        self.sched.is_idle(cpu as u32)
    }
    fn core_idle(&self, cpu: usize) -> bool {
        self.sched.is_core_idle(cpu as u32)
    }
    fn claimed(&self, cpu: usize) -> bool {
        self.decided.iter().chain(self.due).any(|m| m.dst == cpu as u32)
    }
    fn idle_sibling(&mut self, task: TaskId, _src_cpu: usize, target: usize) -> usize {
        self.sched.numa_idle_sibling(task, target as u32) as usize
    }
    fn numa_domain(&self, cpu: usize) -> Option<NumaDomain> {
        let d = self.sched.domains().sd_numa(cpu as u32).map(|id| self.sched.domains().domain(id))?;
        Some(NumaDomain { imbalance_pct: d.imbalance_pct, imb_numa_nr: d.imb_numa_nr })
    }
    fn preferred_changed(&mut self, task: TaskId, _old: Option<usize>, new: Option<usize>) {
        self.sched.set_preferred_nid(task, new.map(|n| n as u32));
    }
    fn move_task(&mut self, task: TaskId, cpu: usize, _now: Jiffies) -> Told {
        self.note(task, None, cpu as u32)
    }
    fn swap_tasks(&mut self, a: TaskId, b: TaskId, _now: Jiffies) -> Told {
        self.note(a, Some(b), self.sched.cpu_of(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_kernel::sched::shapes::Shape;
    use numalab_kernel::sched::SchedConfig;

    #[test]
    fn moves_under_way_claim_where_they_go() {
        let machine = Shape::flat(2, 2, 1, 20).machine("four CPUs");
        let mut sched = Scheduler::new(&machine, &SchedConfig::default()).unwrap();
        for cpu in 0..3 {
            let task = sched.add_task(Some(&[cpu]), 0).unwrap();
            sched.fork(cpu, task, 0);
        }
        let mut moves = Vec::new();
        let due = [TaskMigration { task: 1, other: Some(2), src: 1, dst: 2 }];
        let mut host = SchedView { sched: &mut sched, processes: &[], decided: &mut moves, due: &due };
        host.move_task(0, 3, 0);
        let claimed: Vec<usize> = (0..4).filter(|&cpu| host.claimed(cpu)).collect();
        assert_eq!(claimed, [2, 3], "the other task's CPU of a swap, and the idle one; not those they leave");
        host.swap_tasks(1, 2, 0);
        assert_eq!(moves, [TaskMigration { task: 0, other: None, src: 0, dst: 3 }, due[0]]);
    }
}
