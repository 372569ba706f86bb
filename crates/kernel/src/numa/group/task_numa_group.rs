//! Creating, joining and leaving a group (kernel: `task_numa_group`, kernel-numa-balancing.md §13.1).

use crate::numa::balancing::NumaBalancing;
use crate::numa::fault_result::FaultFlags;
use crate::numa::host::TaskHost;
use crate::numa::period::GroupScale;
use crate::numa::state::{LastCpupid, TaskId, PRIVATE, SHARED};

impl NumaBalancing {
    /// The group's share in a task's scan period, if the task has a group.
    pub(in crate::numa) fn group_scale(&self, task: TaskId) -> Option<GroupScale> {
        self.tasks[task as usize].numa_group.map(|g| self.groups.get(g).scale(self.topo.nodes()))
    }

    /// Removes the task from its group, if it has one.
    pub(in crate::numa) fn leave_group(&mut self, task: TaskId) {
        let t = &mut self.tasks[task as usize];
        if let Some(g) = t.numa_group.take() {
            self.groups.remove(g, &t.faults[..4 * self.topo.nodes()], t.total_numa_faults);
        }
    }

    /// Creates or joins a group at a shared fault. Returns the type of the fault: it counts as private if the last
    /// fault was that of a task of another process and the page is not mapped shared.
    pub(in crate::numa) fn task_numa_group<H: TaskHost>(
        &mut self,
        task: TaskId,
        last: LastCpupid,
        flags: FaultFlags,
        host: &H,
    ) -> usize {
        let averages = 4 * self.topo.nodes();
        let t = &mut self.tasks[task as usize];
        let mine = match t.numa_group {
            Some(g) => g,
            None => {
                let g = self.groups.create(t.pid, &t.faults[..averages], t.total_numa_faults);
                t.numa_group = Some(g);
                self.reasons.groups_created += 1;
                g
            }
        };
        let mm = t.mm;
        if last.cpu() >= self.topo.cpu_count() {
            return SHARED;
        }
        let Some(other) = host.running_on(last.cpu()).map(|id| &self.tasks[id as usize]) else { return SHARED };
        let Some(theirs) = other.numa_group.filter(|&g| last.matches(other.pid) && g != mine) else { return SHARED };
        let (my, their) = (self.groups.get(mine), self.groups.get(theirs));
        if my.nr_tasks > their.nr_tasks || (my.nr_tasks == their.nr_tasks && my.order > their.order) {
            return SHARED;
        }
        if other.mm != mm && !flags.has(FaultFlags::SHARED) {
            return PRIVATE;
        }
        let t = &mut self.tasks[task as usize];
        t.numa_group = Some(theirs);
        self.groups.remove(mine, &t.faults[..averages], t.total_numa_faults);
        self.groups.add(theirs, &t.faults[..averages], t.total_numa_faults);
        self.reasons.groups_joined += 1;
        SHARED
    }
}
