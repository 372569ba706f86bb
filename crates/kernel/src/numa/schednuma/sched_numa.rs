//! The state of schednuma.

use super::mm_scan::MmScan;
use super::stale_nids::StaleNids;
use super::task_home::TaskHome;
use super::tunables::SchedNumaTunables;
use crate::numa::autonuma::MigrateWindow;

/// All state of schednuma in a run, by dense task, address space and node.
#[derive(Clone, Debug)]
pub struct SchedNuma {
    /// Tunables.
    pub knobs: SchedNumaTunables,
    /// State of threads.
    pub tasks: Vec<TaskHome>,
    /// State of processes.
    pub mms: Vec<MmScan>,
    /// What unset page fields read as.
    pub stale: StaleNids,
    /// Migration windows by destination node, used if there is a limit.
    pub windows: Vec<MigrateWindow>,
    nodes: usize,
}

impl SchedNuma {
    /// A state without data, for `nodes` nodes and `mms` address spaces.
    pub fn new(knobs: SchedNumaTunables, nodes: usize, mms: usize) -> Self {
        Self {
            knobs,
            tasks: Vec::new(),
            mms: vec![MmScan::default(); mms],
            stale: StaleNids::new(nodes),
            windows: vec![MigrateWindow::default(); nodes],
            nodes,
        }
    }
    /// Creates a task of `mm`, which inherits nothing. Tasks are created in the order of their numbers.
    pub fn fork(&mut self, mm: u32) {
        let seq = self.mms[mm as usize].seq;
        self.tasks.push(TaskHome::new(&self.knobs, self.nodes, seq));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_2_2_a_fork_starts_without_home() {
        let mut s = SchedNuma::new(SchedNumaTunables::default(), 4, 2);
        s.mms[1].seq = 7;
        s.fork(1);
        assert_eq!((s.tasks[0].home, s.tasks[0].migrate_seq), (None, 6));
    }
}
