//! What a migration rule looks at.

use crate::numa::group::NumaGroup;
use crate::numa::state::{LastCpupid, TaskNuma};
use crate::numa::topology::NumaTopology;

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
