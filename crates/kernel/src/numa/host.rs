//! The scheduler as task placement sees it. The simulator implements it.

use super::jiffies::Jiffies;
use super::state::{MmId, TaskId};

/// Load figures of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStats {
    /// Run-queue load (`load_avg`).
    pub load: u64,
    /// Runnable average.
    pub runnable: u64,
    /// CFS utilisation: the larger of average and estimate, at most the CPU's original capacity.
    pub util: u64,
    /// Number of queued fair tasks.
    pub nr_running: u32,
    /// Capacity left to fair tasks.
    pub capacity: u64,
}

/// The lowest NUMA scheduling domain of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumaDomain {
    /// Imbalance that the balancer tolerates, percent (117).
    pub imbalance_pct: u32,
    /// NUMA imbalance that the domain tolerates; 0 where the rule has none.
    pub imb_numa_nr: u32,
}

/// Answer of a host that was told to move or swap tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The move has happened.
    Done,
    /// The move is impossible.
    Refused,
    /// The move is put off. The host makes it later or finds it impossible, and then calls
    /// [`NumaBalancing::count_placement`](super::NumaBalancing::count_placement).
    Later,
}

/// The scheduler as NUMA balancing sees it.
///
/// Moves take effect at once, or the host puts them off and reports the CPUs that they claim until then.
/// [`NumaBalancing`](super::NumaBalancing) applies the effect of [done](Told::Done) moves on the scan period itself.
/// For moves that a host put off and then made, the host calls `update_scan_period`, as for all other moves.
pub trait TaskHost {
    /// Accounted runtime of a task, ns (`sum_exec_runtime`).
    fn runtime_ns(&self, task: TaskId) -> u64;
    /// Task clock at the task's last accounting, ns (`exec_start`).
    fn exec_start_ns(&self, task: TaskId) -> u64;
    /// Decayed load sum of a task (`se.avg.load_sum`), at most 47742.
    fn load_sum(&self, task: TaskId) -> u64;
    /// Hierarchical load of a task (`task_h_load`).
    fn task_load(&self, task: TaskId) -> u64;
    /// Resident pages of an address space.
    fn rss_pages(&self, mm: MmId) -> u64;
    /// The CPU that a task is on.
    fn cpu_of(&self, task: TaskId) -> usize;
    /// The task that runs on a CPU, of any class; `None` if the CPU is idle.
    fn running_on(&self, cpu: usize) -> Option<TaskId>;
    /// Whether a task may run on a CPU.
    fn allowed(&self, task: TaskId, cpu: usize) -> bool;
    /// Load figures of a CPU.
    fn cpu_stats(&self, cpu: usize) -> CpuStats;
    /// Whether no task is queued or running on the CPU.
    fn idle(&self, cpu: usize) -> bool;
    /// Whether all other hardware threads of the CPU's core are idle too; true without SMT.
    fn core_idle(&self, cpu: usize) -> bool;
    /// Whether an earlier search has chosen the CPU and its task has not arrived yet (`numa_migrate_on`). Always false
    /// where moves take effect at once.
    fn claimed(&self, _cpu: usize) -> bool {
        false
    }
    /// `target`, or an idle CPU sharing its cache, for a task now on `src_cpu` (`select_idle_sibling`).
    fn idle_sibling(&mut self, _task: TaskId, _src_cpu: usize, target: usize) -> usize {
        target
    }
    /// Lowest NUMA domain of a CPU; `None` if it has none.
    fn numa_domain(&self, cpu: usize) -> Option<NumaDomain>;
    /// The preferred node of a task has changed, so the host updates its queue's NUMA counts.
    fn preferred_changed(&mut self, task: TaskId, old: Option<usize>, new: Option<usize>);
    /// Moves a task to a CPU.
    fn move_task(&mut self, task: TaskId, cpu: usize, now: Jiffies) -> Told;
    /// Swaps the CPUs of two running tasks, after checking their affinities.
    fn swap_tasks(&mut self, a: TaskId, b: TaskId, now: Jiffies) -> Told;
}
