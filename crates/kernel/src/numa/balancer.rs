//! What the load balancer and NUMA balancing tell each other (kernel-numa-balancing.md §14.6).
//!
//! The balancer asks through [`NumaView`]; what it does with the answers is in `sched`:
//! [`migrate_degrades_locality`](crate::sched::balance::migrate_degrades_locality::migrate_degrades_locality) for a task and
//! [`fbq_classify`](crate::sched::state::sg_lb_stats::fbq_classify) for queues and groups.

use super::state::TaskId;
use super::NumaBalancing;
use crate::sched::NumaView;

impl NumaView for NumaBalancing {
    fn enabled(&self) -> bool {
        self.cfg.enabled()
    }
    fn has_faults(&self, task: TaskId) -> bool {
        self.tasks.get(task as usize).is_some_and(|t| !t.faults.is_empty())
    }
    fn node_weight(&self, task: TaskId, node: u32, distance: u32) -> i64 {
        self.locality_weight(task, node as usize, distance as u8) as i64
    }
}

impl NumaBalancing {
    /// A task is being moved to another CPU (`update_scan_period`): a move between nodes may restart its scan period.
    /// To be called for every move except those a [`TaskHost`](super::TaskHost) made as soon as it was told to.
    /// Before 4.19 only task placement restarted periods (`task_numa_migrate`), so there this does nothing.
    #[inline]
    pub fn migration_happened(&mut self, task: TaskId, from_cpu: usize, to_cpu: usize, rss_pages: u64) {
        let (src, dst) = (self.topo.node_of(from_cpu), self.topo.node_of(to_cpu));
        let t = &self.tasks[task as usize];
        if src == dst || !self.cfg.switches.conditional_period_reset || !self.cfg.enabled() {
            return;
        }
        if t.mm.is_none() || t.faults.is_empty() || t.exiting {
            return;
        }
        if t.numa_scan_seq != 0 {
            let preferred = t.numa_preferred_nid;
            if preferred == Some(dst) || (preferred.is_some() && preferred != Some(src)) {
                return;
            }
        }
        self.tasks[task as usize].numa_scan_period = self.scan_start(task, rss_pages);
    }
}
