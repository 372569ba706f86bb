//! Should this page migrate to the faulting node? (kernel-numa-balancing.md §10)
//!
//! Every rule first replaces the page's last cpupid by the present one, even if the answer is no. The rules since 3.13
//! build on each other: a two-stage filter, then group statistics (3.15), then an exception for the early life of a
//! task (4.19: 37355bdc5a12, with the removal of the rate limit; its word, v420, is older). 3.15 from memory.

pub mod deferred;
pub mod moron;
pub mod v313;
pub mod v315;
pub mod v38;
pub mod v420;

use super::FaultSite;
use crate::numa::counters::Denial;
use crate::numa::group::NumaGroup;
use crate::numa::migrate::ZoneInfo;
use crate::numa::page::PageFacts;
use crate::numa::state::{LastCpupid, TaskNuma};
use crate::numa::topology::NumaTopology;
use crate::numa::NumaBalancing;
use numalab_base::words;

words! {
    /// The migration rules.
    pub enum MigrateRule {
        /// balancenuma's first stage: always.
        Moron = "moron",
        /// 3.8: the last fault came from this node.
        V38 = "v38",
        /// 3.13: two-stage filter on the last cpupid.
        V313 = "v313",
        /// 3.15: the filter, then private faults, then the group's use of both nodes.
        V315 = "v315",
        /// 4.19: the same after an exception for young tasks.
        V420 = "v420",
    }
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug)]
pub struct MigrationFacts<'a> {
    /// Faulting task.
    pub task: &'a TaskNuma,
    /// Its group.
    pub group: Option<&'a NumaGroup>,
    /// Nodes and CPUs.
    pub topo: &'a NumaTopology,
    /// Who faulted before.
    pub last: LastCpupid,
    /// Node of the page.
    pub src: usize,
    /// Faulting node.
    pub dst: usize,
}

impl MigrationFacts<'_> {
    /// Node of the CPU that faulted before, `None` if it is not a CPU of the machine.
    pub fn last_node(&self) -> Option<usize> {
        let cpu = self.last.cpu();
        (cpu < self.topo.cpu_count()).then(|| self.topo.node_of(cpu))
    }
}

impl MigrateRule {
    /// Asks the rule.
    ///
    /// # Errors
    /// Why the page stays.
    #[inline]
    pub fn decide(self, f: &MigrationFacts<'_>) -> Result<(), Denial> {
        match self {
            Self::Moron => moron::decide(f),
            Self::V38 => v38::decide(f),
            Self::V313 => v313::decide(f),
            Self::V315 => v315::decide(f),
            Self::V420 => v420::decide(f),
        }
    }
}

impl NumaBalancing {
    /// `should_numa_migrate_memory`; `dst` is the faulting node.
    pub(super) fn should_numa_migrate_memory<M: ZoneInfo>(
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
