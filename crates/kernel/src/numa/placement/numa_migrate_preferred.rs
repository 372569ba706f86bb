//! Pacing of task placement (kernel: `numa_migrate_preferred`, kernel-numa-balancing.md §14.1).

use crate::numa::balancing::NumaBalancing;
use crate::numa::host::TaskHost;
use crate::numa::jiffies::Jiffies;
use crate::numa::state::TaskId;

/// Divisor of the scan period that gives the time between tries.
const RETRY_FRACTION: u64 = 16;

impl NumaBalancing {
    /// Tries to move a task to its preferred node, and sets the time of the next try.
    pub(in crate::numa) fn numa_migrate_preferred<H: TaskHost>(&mut self, task: TaskId, now: Jiffies, host: &mut H) {
        let hz = self.cfg.hz;
        let t = &mut self.tasks[task as usize];
        let Some(preferred) = t.numa_preferred_nid.filter(|_| !t.faults.is_empty()) else { return };
        let second = hz.per_second();
        let interval = if self.cfg.switches.retry_by_period {
            second.min(hz.jiffies(t.numa_scan_period) / RETRY_FRACTION)
        } else {
            second
        };
        t.numa_migrate_retry = now.wrapping_add(interval);
        if self.cfg.moves_tasks && self.topo.node_of(host.cpu_of(task)) != preferred {
            self.task_numa_migrate(task, preferred, now, host);
        }
    }
}
