//! Decisions of NUMA balancing that a caller can make in place of the kernel's roles.
//!
//! Each trait is one question, with what the kernel knows when it decides, and with what its own role would do. They
//! are asked where the kernel decides, and everything around the decision stays as it is. `None` leaves it to the role.

use super::state::TaskId;

/// Task placement of the caller.
pub trait PlacementPolicy: Sync {
    /// The preferred node of a task at the end of a pass (`task_numa_placement`). `faults` are its averages by the node
    /// of the memory, `node` is where it runs, and `role` is the kernel's choice. A node without CPUs is not taken.
    fn preferred_node(&self, task: u32, faults: &[u64], node: usize, role: Option<usize>) -> Option<usize>;
}

/// What a task has learned since its last placement (`update_task_scan_period`, kernel-numa-balancing.md §12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The task.
    pub task: TaskId,
    /// Its scan period until now, ms of its run time.
    pub period_ms: u32,
    /// Shortest period, ms.
    pub min_ms: u32,
    /// Longest period, ms.
    pub max_ms: u32,
    /// Pages of remote faults.
    pub remote: u64,
    /// Pages of local faults.
    pub local: u64,
    /// Pages whose migration failed.
    pub failed: u64,
    /// Pages that other tasks faulted on before.
    pub shared: u64,
    /// Pages that the task itself faulted on before.
    pub private: u64,
}

/// Scan periods of the caller.
pub trait PeriodPolicy: Sync {
    /// The next scan period of a task, ms; it is brought between the shortest and the longest one. `role_ms` is the
    /// kernel's choice.
    fn scan_period(&self, pass: &Pass, role_ms: u32) -> Option<u32>;
}

/// A page on which a task of another node has faulted (`should_numa_migrate_memory`, §10).
#[derive(Clone, Copy, Debug)]
pub struct PageMove<'a> {
    /// The faulting task.
    pub task: TaskId,
    /// Node of the page.
    pub node: usize,
    /// The faulting node.
    pub to_node: usize,
    /// Base pages of it.
    pub pages: u32,
    /// Whether a huge entry maps it.
    pub huge: bool,
    /// Mappings by all processes.
    pub mapcount: u32,
    /// Whether the mapping is shared.
    pub shared_mapping: bool,
    /// Node of its last hint fault; `None` before the first one.
    pub last_node: Option<usize>,
    /// Whether its last hint fault was one of this task.
    pub last_was_own: bool,
    /// Averages of the task's memory faults, by node; empty before its first pass.
    pub faults: &'a [u64],
}

/// Page migration of the caller.
pub trait PageMovePolicy: Sync {
    /// Whether a page moves to the faulting node. `role` is the kernel's choice.
    fn migrate_page(&self, page: &PageMove<'_>, role: bool) -> Option<bool>;
}

/// The move of a task to its preferred node, or near it, that a search has found (`task_numa_migrate`, §14.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskMove {
    /// The task.
    pub task: TaskId,
    /// CPU on which it runs.
    pub cpu: usize,
    /// Node of that CPU.
    pub node: usize,
    /// CPU that was found.
    pub to_cpu: usize,
    /// Node of that CPU.
    pub to_node: usize,
    /// Task that would come in return.
    pub swap_with: Option<TaskId>,
    /// What the search expects of it, thousandths of all faults of the task or its group; of both tasks in a swap.
    pub gain: i64,
}

/// Task migration of the caller.
pub trait TaskMovePolicy: Sync {
    /// Whether the task moves. The kernel's role always does what its search has found.
    fn move_task(&self, found: &TaskMove) -> Option<bool>;
}
