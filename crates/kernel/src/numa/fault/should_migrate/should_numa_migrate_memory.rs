//! Whether a page migrates to the faulting node (kernel: `should_numa_migrate_memory`).

use super::deferred;
use super::facts::MigrationFacts;
use crate::numa::balancing::NumaBalancing;
use crate::numa::caller::{PageMove, PageMovePolicy};
use crate::numa::counters::Denial;
use crate::numa::fault_result::FaultSite;
use crate::numa::migrate::ZoneInfo;
use crate::numa::page::PageFacts;
use crate::numa::state::{LastCpupid, TaskId};
use numalab_base::hook::Hook;

impl NumaBalancing {
    /// Whether the page may migrate to `dst`, the faulting node. Replaces the page's last cpupid.
    ///
    /// # Errors
    /// The reason why the page stays; `None` if the caller's policy keeps a page that the rule would move.
    pub(in crate::numa::fault) fn should_numa_migrate_memory<M: ZoneInfo>(
        &mut self,
        at: FaultSite,
        page: &mut PageFacts,
        dst: usize,
        memory: &M,
    ) -> Result<(), Option<Denial>> {
        if self.cfg.switches.refuse_memoryless_target && !self.topo.has_memory(dst) {
            return Err(Some(Denial::Memoryless));
        }
        if self.page_uses_access_time(page.nid) {
            return self.should_promote(page, dst, at.now, memory).map_err(Some);
        }
        let task = &self.tasks[at.task as usize];
        let last = std::mem::replace(&mut page.last, LastCpupid::new(at.cpu, task.pid));
        let slow = !self.topo.is_top_tier(page.nid);
        if slow && !self.cfg.tiering() && last.cpu() >= self.topo.cpu_count() {
            return Err(Some(Denial::StaleTime));
        }
        let group = task.numa_group.map(|g| self.groups.get(g));
        let facts = MigrationFacts { task, group, topo: &self.topo, last, src: page.nid, dst };
        let mut verdict = self.cfg.migrate_rule.decide(&facts);
        if self.cfg.switches.migrate_deferred != 0 {
            let skips = self.cfg.switches.migrate_deferred;
            verdict = deferred::apply(skips, &mut self.tasks[at.task as usize], last, verdict);
        }
        match self.cfg.page_move_policy {
            None => verdict.map_err(Some),
            Some(Hook(policy)) => self.ask_page_move_policy(policy, at.task, page, last, dst, verdict),
        }
    }

    /// The verdict of the caller's policy, or that of the kernel if it has no answer.
    fn ask_page_move_policy(
        &self,
        policy: &dyn PageMovePolicy,
        task: TaskId,
        page: &PageFacts,
        last: LastCpupid,
        to_node: usize,
        verdict: Result<(), Denial>,
    ) -> Result<(), Option<Denial>> {
        let (nodes, t) = (self.topo.nodes(), &self.tasks[task as usize]);
        let faults: Vec<u64> = match t.faults.is_empty() {
            true => Vec::new(),
            false => (0..nodes).map(|nid| t.task_faults(nodes, nid)).collect(),
        };
        let last = (!last.is_unset() && last.cpu() < self.topo.cpu_count()).then_some(last);
        let moving = PageMove {
            task,
            node: page.nid,
            to_node,
            pages: page.pages,
            huge: page.huge,
            mapcount: page.mapcount,
            shared_mapping: page.shared_mapping,
            last_node: last.map(|l| self.topo.node_of(l.cpu())),
            last_was_own: last.is_some_and(|l| l.matches(t.pid)),
            faults: &faults,
        };
        match policy.migrate_page(&moving, verdict.is_ok()) {
            None => verdict.map_err(Some),
            Some(true) => Ok(()),
            Some(false) => Err(verdict.err()),
        }
    }
}
