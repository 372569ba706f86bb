//! Whether a page migrates to the faulting node (kernel: `should_numa_migrate_memory`).

use super::deferred;
use super::facts::MigrationFacts;
use crate::numa::balancing::NumaBalancing;
use crate::numa::counters::Denial;
use crate::numa::fault_result::FaultSite;
use crate::numa::migrate::ZoneInfo;
use crate::numa::page::PageFacts;
use crate::numa::state::LastCpupid;

impl NumaBalancing {
    /// Whether the page may migrate to `dst`, the faulting node. Replaces the page's last cpupid.
    ///
    /// # Errors
    /// The reason why the page stays.
    pub(in crate::numa::fault) fn should_numa_migrate_memory<M: ZoneInfo>(
        &mut self,
        at: FaultSite,
        page: &mut PageFacts,
        dst: usize,
        memory: &M,
    ) -> Result<(), Denial> {
        if self.cfg.switches.refuse_memoryless_target && !self.topo.has_memory(dst) {
            return Err(Denial::Memoryless);
        }
        if self.page_uses_access_time(page.nid) {
            return self.should_promote(page, dst, at.now, memory);
        }
        let task = &self.tasks[at.task as usize];
        let last = std::mem::replace(&mut page.last, LastCpupid::new(at.cpu, task.pid));
        let slow = !self.topo.is_top_tier(page.nid);
        if slow && !self.cfg.tiering() && last.cpu() >= self.topo.cpu_count() {
            return Err(Denial::StaleTime);
        }
        let group = task.numa_group.map(|g| self.groups.get(g));
        let facts = MigrationFacts { task, group, topo: &self.topo, last, src: page.nid, dst };
        let verdict = self.cfg.migrate_rule.decide(&facts);
        match self.cfg.switches.migrate_deferred {
            0 => verdict,
            skips => deferred::apply(skips, &mut self.tasks[at.task as usize], last, verdict),
        }
    }
}
