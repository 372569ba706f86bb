//! What the scheduler and NUMA balancing ask of each other (kernel-scheduler.md §4.6, §5.4;
//! kernel-numa-balancing.md §14).

use super::balance::stats::GroupType;
use super::balance::Idle;
use super::domains::DomId;
use super::event::Why;
use super::imbalance::MoveSides;
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

/// Whether a pull from node `nodes.0` to `nodes.1` degrades locality (1), keeps or improves it (0), or NUMA balancing
/// has no opinion (−1). `others`: the source queue has tasks that are not on their preferred node.
pub(super) fn locality_verdict<V: NumaView>(
    task: TaskId,
    preferred: u32,
    nodes: (u32, u32),
    distance: u32,
    others: bool,
    idle: Idle,
    view: &V,
) -> i32 {
    let (src, dst) = nodes;
    if src == dst || !view.enabled() || !view.has_faults(task) {
        return -1;
    }
    if src == preferred {
        return if others { 1 } else { -1 };
    }
    if dst == preferred {
        return 0;
    }
    if idle == Idle::Idle {
        return -1;
    }
    i32::from(view.node_weight(task, dst, distance) < view.node_weight(task, src, distance))
}

/// Sums over a node for task_numa_migrate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeStats {
    /// Σ load averages.
    pub load: u64,
    /// Σ runnable averages.
    pub runnable: u64,
    /// Σ CPU utilisation.
    pub util: u64,
    /// Queued tasks.
    pub nr_running: u32,
    /// 1024 per CPU.
    pub capacity: u64,
    /// CPUs.
    pub weight: u32,
}

impl NodeStats {
    /// Type with the halved `imbalance_pct`; unlike a group's, spare capacity needs the runnable test strictly.
    pub fn classify(&self, imbalance_pct: u32) -> GroupType {
        let pct = u64::from(imbalance_pct);
        let (used, wait) = (self.util * pct, self.runnable * 100);
        let (free, room) = (self.capacity * 100, self.capacity * pct);
        if self.nr_running > self.weight && (free < used || room < wait) {
            GroupType::Overloaded
        } else if self.nr_running < self.weight || (free > used && room > wait) {
            GroupType::HasSpare
        } else {
            GroupType::FullyBusy
        }
    }
}

/// What the lowest NUMA domain of a CPU tells task_numa_migrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumaDomain {
    /// The domain.
    pub id: DomId,
    /// Its `imbalance_pct`, halved above 100 (117 → 108).
    pub imbalance_pct: u32,
    /// Its threshold.
    pub imb_numa_nr: u32,
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
    /// Sums over the CPUs of `node`, averages brought to now.
    pub fn node_stats(&mut self, node: u32, now_ns: u64) -> NodeStats {
        self.clock(now_ns);
        let Self { topo, rqs, now, .. } = self;
        let mut s = NodeStats::default();
        for c in topo.node(node).iter() {
            let rq = &mut rqs[c as usize];
            rq.refresh(*now);
            s.load += rq.pelt.load;
            s.runnable += rq.pelt.runnable;
            s.util += rq.util();
            s.nr_running += rq.nr();
            s.weight += 1;
        }
        s.capacity = 1024 * u64::from(s.weight);
        s
    }
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
    /// Load average of a task as of its last update.
    pub fn task_load_now(&self, task: TaskId) -> u64 {
        self.tasks[task as usize].pelt.load
    }
    /// Decayed load sum of a task as of its last update, at most 47742 (`se.avg.load_sum`).
    pub fn load_sum(&self, task: TaskId) -> u64 {
        self.tasks[task as usize].pelt.load_sum()
    }
    /// Whether every hardware thread of the CPU's core is idle.
    pub fn is_core_idle(&self, cpu: u32) -> bool {
        self.topo.siblings(cpu).is_subset(&self.idle)
    }
    /// First idle CPU of `node` the task may use and `claimed` does not name; with SMT a CPU of a wholly idle core is
    /// preferred.
    pub fn numa_idle_cpu(&self, node: u32, task: TaskId, claimed: impl Fn(u32) -> bool) -> Option<u32> {
        let mut first = None;
        for c in self.topo.node(node).iter_and(&self.idle) {
            if !self.allowed(task, c) || claimed(c) {
                continue;
            }
            if !self.topo.has_smt() || self.topo.siblings(c).is_subset(&self.idle) {
                return Some(c);
            }
            first = first.or(Some(c));
        }
        first
    }
    /// The lowest NUMA domain of `cpu`; `None`: its tasks are not moved between nodes.
    pub fn numa_domain(&self, cpu: u32) -> Option<NumaDomain> {
        self.topo.sd_numa(cpu).map(|id| {
            let d = self.topo.domain(id);
            NumaDomain { id, imbalance_pct: 100 + (d.imbalance_pct - 100) / 2, imb_numa_nr: d.imb_numa_nr }
        })
    }
    /// What is left, after the version's allowance, of the imbalance a move from `src` to `dst` would make; 0 permits
    /// the move to an idle CPU at once. The task is still counted on `src`.
    pub fn numa_move_imbalance(&self, domain: &NumaDomain, src: &NodeStats, dst: &NodeStats) -> i64 {
        self.p.rule.move_imbalance(&MoveSides {
            dst_running: dst.nr_running + 1,
            src_running: src.nr_running.saturating_sub(1),
            dst_weight: dst.weight,
            imb_numa_nr: domain.imb_numa_nr,
        })
    }
    /// Load average of a task, brought to now (`task_h_load`).
    pub fn task_load(&mut self, task: TaskId, now_ns: u64) -> u64 {
        self.clock(now_ns);
        self.refresh_task(task);
        self.tasks[task as usize].pelt.load
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
    /// Queued tasks of `cpu` with a preferred node, and those that are on it.
    pub fn numa_counts(&self, cpu: u32) -> (u32, u32) {
        let rq = &self.rqs[cpu as usize];
        (rq.nr_numa, rq.nr_preferred)
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
