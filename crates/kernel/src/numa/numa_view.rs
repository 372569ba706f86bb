//! The load balancer's questions to NUMA balancing, answered (kernel-numa-balancing.md §14.6).
//!
//! The balancer asks through [`NumaView`]. In `sched`,
//! [`migrate_degrades_locality`](crate::sched::balance::migrate_degrades_locality::migrate_degrades_locality) uses the
//! answers for a task, and [`fbq_classify`](crate::sched::state::sg_lb_stats::fbq_classify) classifies queues and
//! groups.

use super::balancing::NumaBalancing;
use super::state::TaskId;
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
    fn footprint_pages(&self, task: TaskId) -> u64 {
        let mm = self.tasks.get(task as usize).and_then(|t| t.mm);
        mm.map_or(0, |mm| self.cfg.scan.base_page.as_4k(self.mms[mm as usize].footprint_pages))
    }
}
