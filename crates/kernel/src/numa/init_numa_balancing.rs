//! Fork, exec and exit (kernel: `init_numa_balancing`, `task_numa_free`, kernel-numa-balancing.md §2.6).
//!
//! Fork initialises the child before the mm is copied, so "the mm" there is still the parent's. A single-threaded
//! parent has its own pass counter reset and its scan postponed by every fork.

use super::balancing::NumaBalancing;
use super::jiffies::{Jiffies, NSEC_PER_MSEC};
use super::rules::PeriodModel;
use super::state::{fault_index, FirstNid, MmId, MmNuma, TaskId, TaskNuma, CPUBUF, MEMBUF};
use crate::sched::cache_aware::size::footprint_after_exit;

/// What a new task shares with its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloneKind {
    /// A thread, which shares the parent's mm.
    Thread,
    /// A process, with a copy of the parent's mm under this index. Its VMAs start without scan state.
    Process(MmId),
}

impl NumaBalancing {
    /// Starts a task that shares nothing with a parent, in a new mm as after exec. Without `mm` it is a kernel thread.
    pub fn start(&mut self, task: TaskId, mm: Option<MmId>, pid: u32) {
        self.slot(task);
        if let Some(mm) = mm {
            self.new_mm(mm);
        }
        let period = self.cfg.scan.scan_delay_ms;
        self.reset_task(task, TaskNuma { pid, mm, numa_scan_period: period, ..TaskNuma::default() });
    }

    /// Initialises a forked or cloned task. `parent_rss_pages` is the resident set of the parent's mm.
    pub fn fork(
        &mut self,
        parent: TaskId,
        child: TaskId,
        clone: CloneKind,
        child_pid: u32,
        now: Jiffies,
        parent_rss_pages: u64,
    ) {
        self.slot(child);
        let hz = self.cfg.hz;
        let p = &self.tasks[parent as usize];
        let (parent_mm, preferred) = (p.mm, p.numa_preferred_nid);
        let retry = if self.cfg.switches.fork_resets_retry { 0 } else { p.numa_migrate_retry };
        let (period, period_max) = (p.numa_scan_period, p.numa_scan_period_max);
        let mut t = TaskNuma {
            pid: child_pid,
            numa_scan_period: self.cfg.scan.scan_delay_ms,
            numa_scan_period_max: period_max,
            numa_migrate_retry: retry,
            ..TaskNuma::default()
        };
        // In 3.8 a fork does not postpone scanning.
        let delay = if self.cfg.period_model == PeriodModel::V38 { 0 } else { hz.jiffies(self.cfg.scan.scan_delay_ms) };
        let mut users = 0;
        if let Some(m) = parent_mm.map(|mm| &mut self.mms[mm as usize]) {
            users = m.users;
            if users == 1 {
                m.numa_next_scan = now.wrapping_add(delay);
                m.numa_next_reset = now;
                m.numa_scan_seq = 0;
            }
            t.numa_scan_seq = m.numa_scan_seq;
        }
        match clone {
            CloneKind::Process(mm) => {
                if let Some(parent_mm) = parent_mm {
                    self.new_mm(mm);
                    self.mms[mm as usize] =
                        MmNuma { users: 1, first_nid: FirstNid::Unset, ..self.mms[parent_mm as usize] };
                    t.mm = Some(mm);
                }
            }
            CloneKind::Thread => {
                t.mm = parent_mm;
                t.numa_preferred_nid = preferred;
                if let Some(mm) = parent_mm {
                    self.mms[mm as usize].users += 1;
                }
                if parent_mm.is_some() && self.cfg.switches.stagger_threads {
                    // The kernel compares milliseconds with nanoseconds here; the first is nearly always less.
                    let spread = u64::from(period).wrapping_mul(u64::from(users)).wrapping_mul(NSEC_PER_MSEC) as u32;
                    let delay = self.task_scan_max(parent, parent_rss_pages).min(spread);
                    t.node_stamp = u64::from(delay.wrapping_add((2 * hz.tick_ns()) as u32));
                }
            }
        }
        self.reset_task(child, t);
    }

    /// Execs: the task gets a new, zero-filled mm (§2.6). It leaves its group and loses its averages. It keeps the
    /// faults since the last placement, its preferred node and its scan period. Workloads start their programs
    /// directly, so no run calls this.
    pub fn exec(&mut self, task: TaskId, new_mm: MmId) {
        self.drop_mm(task);
        self.leave_group(task);
        self.new_mm(new_mm);
        let averages = 4 * self.topo.nodes();
        let t = &mut self.tasks[task as usize];
        t.mm = Some(new_mm);
        t.total_numa_faults = 0;
        t.faults.iter_mut().take(averages).for_each(|f| *f = 0);
    }

    /// Exits: the task leaves its mm and its group and frees its array. The slot may be reused.
    pub fn exit(&mut self, task: TaskId) {
        let t = &self.tasks[task as usize];
        if let Some(mm) = t.mm {
            let pages = &mut self.mms[mm as usize].footprint_pages;
            *pages = footprint_after_exit(*pages, t.total_numa_faults);
        }
        self.drop_mm(task);
        self.leave_group(task);
        let t = &mut self.tasks[task as usize];
        t.exiting = true;
        t.work_queued = false;
        t.mm = None;
        t.faults.clear();
        t.total_numa_faults = 0;
    }

    fn drop_mm(&mut self, task: TaskId) {
        if let Some(mm) = self.tasks[task as usize].mm {
            let users = &mut self.mms[mm as usize].users;
            *users = users.saturating_sub(1);
        }
    }

    fn new_mm(&mut self, mm: MmId) {
        let needed = mm as usize + 1;
        if self.mms.len() < needed {
            self.mms.resize(needed, MmNuma::default());
        }
        self.mms[mm as usize] = MmNuma { users: 1, ..MmNuma::default() };
    }

    /// Makes room for a task. A task that still lives in the slot exits first.
    fn slot(&mut self, task: TaskId) {
        let needed = task as usize + 1;
        if self.tasks.len() < needed {
            self.tasks.resize_with(needed, TaskNuma::default);
        }
        if self.tasks[task as usize].mm.is_some() {
            self.exit(task);
        }
    }

    /// Overwrites a slot, and keeps the memory of its emptied array.
    fn reset_task(&mut self, task: TaskId, mut t: TaskNuma) {
        let old = &mut self.tasks[task as usize];
        t.faults = std::mem::take(&mut old.faults);
        t.faults.clear();
        *old = t;
    }

    /// Pages of a task's faults on a node since the last placement, by type: on the node's memory and from its CPUs.
    /// For tests: the vectors of faults (R6 to R8) and groups (D7) read them.
    pub fn buffered(&self, task: TaskId, nid: usize, private: usize) -> (u64, u64) {
        let t = &self.tasks[task as usize];
        let at = |stat| t.faults.get(fault_index(stat, self.topo.nodes(), nid, private)).copied().unwrap_or(0);
        (at(MEMBUF), at(CPUBUF))
    }
}
