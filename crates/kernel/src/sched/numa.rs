//! What the scheduler and NUMA balancing ask of each other (kernel-scheduler.md §4.6, §5.4;
//! kernel-numa-balancing.md §14).

use super::balance::Idle;
use super::event::Why;
use super::pelt::Pelt;
use super::rq::task::{TaskId, NO_NODE};
use super::scheduler::Scheduler;

/// What the balancer needs to know of NUMA balancing. Preferred nodes are the scheduler's own state
/// ([`Scheduler::set_preferred_nid`]), because queues count them.
pub trait NumaView {
    /// NUMA balancing is switched on.
    fn enabled(&self) -> bool;
    /// The task has fault statistics.
    fn has_faults(&self, task: TaskId) -> bool;
    /// Weight of `node` for the task at `distance`: the group's if it is in one, else its own.
    fn node_weight(&self, task: TaskId, node: u32, distance: u32) -> i64;
}

/// NUMA balancing switched off.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNuma;

impl NumaView for NoNuma {
    fn enabled(&self) -> bool {
        false
    }
    fn has_faults(&self, _task: TaskId) -> bool {
        false
    }
    fn node_weight(&self, _task: TaskId, _node: u32, _distance: u32) -> i64 {
        0
    }
}

/// A pull that the load balancer considers, in a domain that spans nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePull {
    /// Node of the source queue.
    pub src: u32,
    /// Node of the CPU that pulls.
    pub dst: u32,
    /// Distance between the two (10 is local).
    pub distance: u32,
    /// Queued tasks of the source queue.
    pub nr: u32,
    /// Of these, on their preferred node.
    pub nr_preferred: u32,
    /// How busy the CPU is that pulls.
    pub idle: Idle,
}

/// Whether a pull degrades the locality of `task` (1: only after more failures than `cache_nice_tries`), keeps or
/// improves it (0), or NUMA balancing has no opinion (−1: the cache decides). `preferred` is the task's preferred node
/// (`migrate_degrades_locality`, kernel-numa-balancing.md §14.6).
pub fn locality_verdict<V: NumaView>(task: TaskId, preferred: Option<u32>, pull: &NodePull, view: &V) -> i32 {
    let NodePull { src, dst, distance, .. } = *pull;
    if src == dst || !view.enabled() || !view.has_faults(task) {
        return -1;
    }
    if preferred == Some(src) {
        return if pull.nr > pull.nr_preferred { 1 } else { -1 };
    }
    if preferred == Some(dst) {
        return 0;
    }
    if pull.idle == Idle::Idle {
        return -1;
    }
    i32::from(view.node_weight(task, dst, distance) < view.node_weight(task, src, distance))
}

/// Load figures of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuLoad {
    /// Load average of the fair queue.
    pub load: u64,
    /// Runnable average.
    pub runnable: u64,
    /// Utilisation, at most 1024.
    pub util: u64,
    /// Queued tasks.
    pub nr_running: u32,
}

impl Scheduler {
    /// Load figures of `cpu`, its averages as they would be at the time of the last call.
    pub fn cpu_load(&self, cpu: u32) -> CpuLoad {
        let rq = &self.rqs[cpu as usize];
        let pelt = rq.averages_at(self.now);
        let util = pelt.util.max(rq.util_est).min(1024);
        CpuLoad { load: pelt.load, runnable: pelt.runnable, util, nr_running: rq.nr() }
    }
    /// Instant of the task's last accounting, ns; 0 if it has not run since it was moved (`exec_start`).
    pub fn exec_start_ns(&self, task: TaskId) -> u64 {
        self.tasks[task as usize].exec_start.max(0) as u64
    }
    /// Load average of a task. That of one that runs is kept up by every tick (`entity_tick`), so it is as it would be at
    /// the time of the last call; any other's is as of its last update.
    pub fn task_load_now(&self, task: TaskId) -> u64 {
        self.running_average(task).load
    }
    /// Decayed load sum of a task, at most 47742 (`se.avg.load_sum`), of the same age.
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
    /// Whether every hardware thread of the CPU's core is idle.
    pub fn is_core_idle(&self, cpu: u32) -> bool {
        self.topo.siblings(cpu).is_subset(&self.idle)
    }
    /// Preferred node of a task.
    pub fn preferred_nid(&self, task: TaskId) -> Option<u32> {
        let nid = self.tasks[task as usize].preferred_nid;
        (nid != NO_NODE).then_some(nid)
    }
    /// Sets or clears the preferred node and keeps the queue's counts true.
    pub fn set_preferred_nid(&mut self, task: TaskId, node: Option<u32>) {
        let t = &mut self.tasks[task as usize];
        let on_node = self.topo.node_of(t.cpu);
        let rq = &mut self.rqs[t.cpu as usize];
        if t.on_rq() {
            rq.count_numa(t, on_node, false);
        }
        t.preferred_nid = node.unwrap_or(NO_NODE);
        if t.on_rq() {
            rq.count_numa(t, on_node, true);
        }
    }
    /// Moves a queued or running task to `dst`, as the stopper does for NUMA balancing; returns whether it moved (not
    /// if it sleeps, is there already or may not run there).
    pub fn migrate(&mut self, task: TaskId, dst: u32, now_ns: u64) -> bool {
        self.clock(now_ns);
        let t = &self.tasks[task as usize];
        if !t.on_rq() || t.cpu == dst || !self.allowed(task, dst) {
            return false;
        }
        self.move_task(task, dst, Why::Numa);
        true
    }
    /// Where a NUMA move of a running task to `target` goes: there, or to an idle CPU sharing its cache.
    pub fn numa_idle_sibling(&mut self, task: TaskId, target: u32) -> u32 {
        let here = self.tasks[task as usize].cpu;
        self.idle_sibling(task, here, target, here)
    }
    /// Exchanges two tasks on different CPUs; returns whether it happened (each must be allowed on the other's CPU). One
    /// that sleeps does not move, but wakes up as if it had slept on the other's CPU (`__migrate_swap_task`).
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
        // By the stoppers of both CPUs, which add_nr_running counts.
        self.overload = true;
        for cpu in [ca, cb] {
            if self.rqs[cpu as usize].cur == a || self.rqs[cpu as usize].cur == b {
                self.resched(cpu);
            }
        }
        self.take(a);
        self.take(b);
        self.give(a, ca, cb, Why::Numa);
        self.give(b, cb, ca, Why::Numa);
        true
    }
    /// The half of a swap that is left when `other` sleeps or is about to: `task` moves to its CPU, and it is to wake up on
    /// that of `task`.
    pub fn half_swap(&mut self, task: TaskId, other: TaskId, now_ns: u64) -> bool {
        let (from, to) = (self.tasks[task as usize].cpu, self.tasks[other as usize].cpu);
        if !self.allowed(other, from) || !self.migrate(task, to, now_ns) {
            return false;
        }
        self.tasks[other as usize].wake_cpu = Some(from);
        true
    }
}
