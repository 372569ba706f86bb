//! Recording a hint fault in the task's statistics (kernel: `task_numa_fault`, kernel-numa-balancing.md §11).
//!
//! Faults accumulate in the buffers MEMBUF (by node of the memory) and CPUBUF (by node of the CPU). Once per pass of
//! the mm, `task_numa_placement` folds them into decayed averages, chooses the preferred node and adapts the scan
//! period. MEM is in pages. CPU is normalised so that it sums to about 65536 times the task's share of CPU time.

use crate::numa::balancing::NumaBalancing;
use crate::numa::fault_result::{FaultFlags, FaultSite};
use crate::numa::host::TaskHost;
use crate::numa::jiffies::{after, Jiffies};
use crate::numa::rules::FaultStats;
use crate::numa::state::{fault_index, LastCpupid, TaskId, CPUBUF, MEMBUF, SHARED};

impl NumaBalancing {
    /// Records a fault (§11.1); `mem_node` is the page's node after any migration. Returns whether the fault was
    /// recorded.
    pub(super) fn task_numa_fault<H: TaskHost>(
        &mut self,
        at: FaultSite,
        last: LastCpupid,
        mem_node: usize,
        pages: u32,
        flags: FaultFlags,
        host: &mut H,
    ) -> bool {
        let task = at.task;
        if !self.cfg.enabled() || self.tasks[task as usize].mm.is_none() {
            return false;
        }
        let invalid = last.cpu() >= self.topo.cpu_count();
        if !self.topo.is_top_tier(mem_node) && (self.cfg.tiering() || invalid) {
            return false;
        }
        if self.cfg.fault_stats == FaultStats::None {
            self.note_pass(task);
            return false;
        }
        let nodes = self.topo.nodes();
        let t = &mut self.tasks[task as usize];
        if t.faults.is_empty() {
            t.faults.resize(8 * nodes, 0);
            t.total_numa_faults = 0;
            t.numa_faults_locality = [0; 3];
        }
        let mut private = usize::from(last.is_unset() || last.matches(t.pid));
        if private == SHARED && !flags.has(FaultFlags::NO_GROUP) {
            let alone = t.numa_group.is_none();
            private = self.task_numa_group(task, last, flags, host);
            if let Some(g) = self.tasks[task as usize].numa_group.filter(|_| alone) {
                self.groups.get_mut(g).start_active_mask(self.topo.node_of(at.cpu), nodes);
            }
        }
        let cpu_node = self.topo.node_of(at.cpu);
        let local = flags.has(FaultFlags::LOCAL) || (private == SHARED && self.shared_local(task, cpu_node, mem_node));
        self.place_if_due(task, at.now, host);

        let pages = u64::from(pages);
        let t = &mut self.tasks[task as usize];
        if flags.has(FaultFlags::MIGRATED) {
            t.numa_pages_migrated = t.numa_pages_migrated.wrapping_add(pages);
        }
        if flags.has(FaultFlags::MIGRATE_FAIL) {
            t.numa_faults_locality[2] = t.numa_faults_locality[2].wrapping_add(pages);
        }
        t.faults[fault_index(MEMBUF, nodes, mem_node, private)] += pages;
        t.faults[fault_index(CPUBUF, nodes, cpu_node, private)] += pages;
        t.numa_faults_locality[usize::from(local)] += pages;
        true
    }

    /// 3.8 only: notes the pass of the mm.
    fn note_pass(&mut self, task: TaskId) {
        let t = &mut self.tasks[task as usize];
        if let Some(mm) = t.mm {
            t.numa_scan_seq = self.mms[mm as usize].numa_scan_seq;
        }
    }

    /// Whether a shared fault counts as local because it is between active nodes of one group.
    fn shared_local(&self, task: TaskId, cpu_node: usize, mem_node: usize) -> bool {
        self.tasks[task as usize].numa_group.is_some_and(|g| {
            self.groups.get(g).active_nodes > 1 && self.is_active(g, cpu_node) && self.is_active(g, mem_node)
        })
    }

    /// Places the task if that is due (§11.1 step 5).
    #[inline]
    fn place_if_due<H: TaskHost>(&mut self, task: TaskId, now: Jiffies, host: &mut H) {
        let due = |numa: &Self| after(now, numa.tasks[task as usize].numa_migrate_retry);
        let paced = self.cfg.switches.placement_paced;
        if paced && !due(self) {
            return;
        }
        self.task_numa_placement(task, now, host);
        // Before 4.19 the placement may just have tried, and so have set the time of the next try.
        if paced || due(self) {
            self.numa_migrate_preferred(task, now, host);
        }
    }
}
