//! What NUMA balancing reads of the scheduler, and its moves (kernel-scheduler.md §4.6, §5.4; kernel-numa-balancing.md
//! §14; kernel: `migrate_task_to`, `migrate_swap`).

use crate::sched::event::Why;
use crate::sched::pelt::Pelt;
use crate::sched::rq::sched_entity::TaskId;
use crate::sched::state::Scheduler;

/// Load figures of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuLoad {
    /// Load average of the fair queue.
    pub load: u64,
    /// Runnable average.
    pub runnable: u64,
    /// Utilisation, at most 1024.
    pub util: u64,
    /// Number of queued tasks.
    pub nr_running: u32,
}

impl Scheduler {
    /// Load figures of `cpu`. Averages are brought to the time of the last call.
    pub fn cpu_load(&self, cpu: u32) -> CpuLoad {
        let rq = &self.rqs[cpu as usize];
        let pelt = rq.averages_at(self.now);
        let util = pelt.util.max(rq.util_est).min(1024);
        CpuLoad { load: pelt.load, runnable: pelt.runnable, util, nr_running: rq.nr() }
    }
    /// Time of the task's last accounting, ns; 0 if it has not run since it was moved (`exec_start`).
    pub fn exec_start_ns(&self, task: TaskId) -> u64 {
        self.tasks[task as usize].exec_start.max(0) as u64
    }
    /// Load average of a task. Ticks keep a running task's average up to date (`entity_tick`), so it is brought to the
    /// time of the last call. The average of another task is as of its last update.
    pub fn task_load_now(&self, task: TaskId) -> u64 {
        self.running_average(task).load
    }
    /// Decayed load sum of a task, at most 47742 (`se.avg.load_sum`). It is as recent as [`Scheduler::task_load_now`].
    pub fn load_sum(&self, task: TaskId) -> u64 {
        self.running_average(task).load_sum()
    }
    fn running_average(&self, task: TaskId) -> Pelt {
        let t = &self.tasks[task as usize];
        if self.rqs[t.cpu as usize].cur == task {
            t.average_at(self.now, true)
        } else {
            t.pelt
        }
    }
    /// Whether every hardware thread of the core of `cpu` is idle.
    pub fn is_core_idle(&self, cpu: u32) -> bool {
        self.topo.siblings(cpu).is_subset(&self.idle)
    }
    /// Moves a queued or running task to `dst`, as the stopper does for NUMA balancing. Returns whether it moved: a
    /// task stays if it sleeps, is on `dst` already or may not run there.
    pub fn migrate(&mut self, task: TaskId, dst: u32, now_ns: u64) -> bool {
        self.clock(now_ns);
        let t = &self.tasks[task as usize];
        if !t.on_rq() || t.cpu == dst || !self.allowed(task, dst) {
            return false;
        }
        self.move_task(task, dst, Why::Numa);
        true
    }
    /// Where a NUMA move of a running task to `target` ends: there, or on an idle CPU that shares its cache
    /// (`select_idle_sibling`).
    pub fn numa_idle_sibling(&mut self, task: TaskId, target: u32) -> u32 {
        let here = self.tasks[task as usize].cpu;
        self.select_idle_sibling(task, here, target, here)
    }
    /// Exchanges two tasks on different CPUs and returns whether it did. Each must be allowed on the other's CPU. A
    /// sleeping task does not move, but wakes up as if it had slept on the other's CPU (`__migrate_swap_task`).
    pub fn swap(&mut self, a: TaskId, b: TaskId, now_ns: u64) -> bool {
        self.clock(now_ns);
        let (ta, tb) = (&self.tasks[a as usize], &self.tasks[b as usize]);
        let (ca, cb) = (ta.cpu, tb.cpu);
        let (queued_a, queued_b) = (ta.on_rq(), tb.on_rq());
        if ca == cb || !self.allowed(a, cb) || !self.allowed(b, ca) {
            return false;
        }
        if !queued_a || !queued_b {
            return match (queued_a, queued_b) {
                (true, false) => self.half_swap(a, b, now_ns),
                (false, true) => self.half_swap(b, a, now_ns),
                _ => false,
            };
        }
        // The stoppers of both CPUs do it, and `add_nr_running` counts them.
        self.overload = true;
        for cpu in [ca, cb] {
            if self.rqs[cpu as usize].cur == a || self.rqs[cpu as usize].cur == b {
                self.resched(cpu);
            }
        }
        self.detach_task(a);
        self.detach_task(b);
        self.attach_task(a, ca, cb, Why::Numa);
        self.attach_task(b, cb, ca, Why::Numa);
        true
    }
    /// The exchange of `task` with `other`, which sleeps or is about to: `task` moves to the CPU of `other`, and
    /// `other` is to wake up on the CPU of `task`.
    pub fn half_swap(&mut self, task: TaskId, other: TaskId, now_ns: u64) -> bool {
        let (from, to) = (self.tasks[task as usize].cpu, self.tasks[other as usize].cpu);
        if !self.allowed(other, from) || !self.migrate(task, to, now_ns) {
            return false;
        }
        self.tasks[other as usize].wake_cpu = Some(from);
        true
    }
}
