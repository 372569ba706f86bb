//! The facts that a migration rule reads.

use crate::numa::group::NumaGroup;
use crate::numa::state::{LastCpupid, TaskNuma};
use crate::numa::topology::NumaTopology;

/// The facts that a migration rule reads.
#[derive(Clone, Copy, Debug)]
pub struct MigrationFacts<'a> {
    /// The faulting task.
    pub task: &'a TaskNuma,
    /// The task's group.
    pub group: Option<&'a NumaGroup>,
    /// Nodes and CPUs of the machine.
    pub topo: &'a NumaTopology,
    /// The page's last cpupid before this fault.
    pub last: LastCpupid,
    /// Node of the page.
    pub src: usize,
    /// The faulting node.
    pub dst: usize,
}

impl MigrationFacts<'_> {
    /// Node of the CPU of the last fault; `None` if that is not a CPU of the machine.
    pub fn last_node(&self) -> Option<usize> {
        let cpu = self.last.cpu();
        (cpu < self.topo.cpu_count()).then(|| self.topo.node_of(cpu))
    }
}
