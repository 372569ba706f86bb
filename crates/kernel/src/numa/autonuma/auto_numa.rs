//! The state of AutoNUMA.

use super::limit::MigrateWindow;
use super::stats::{MmStats, TaskStats};
use super::tunables::AutoNumaTunables;

/// All state of AutoNUMA in a run, by dense task, address space and node.
#[derive(Clone, Debug)]
pub struct AutoNuma {
    /// Tunables.
    pub knobs: AutoNumaTunables,
    /// Statistics of threads.
    pub tasks: Vec<TaskStats>,
    /// Statistics of processes.
    pub mms: Vec<MmStats>,
    /// Migration windows by destination node.
    pub windows: Vec<MigrateWindow>,
    nodes: usize,
}

impl AutoNuma {
    /// A state without data, for `nodes` nodes and `mms` address spaces.
    pub fn new(knobs: AutoNumaTunables, nodes: usize, mms: usize) -> Self {
        Self {
            knobs,
            tasks: Vec::new(),
            mms: (0..mms).map(|_| MmStats::new(nodes)).collect(),
            windows: vec![MigrateWindow::default(); nodes],
            nodes,
        }
    }
    /// Creates a task. A thread or forked task has a `parent`, from which it inherits the selected node. Counters start
    /// at zero unless `child_inheritance` is set. Tasks are created in the order of their numbers.
    pub fn fork(&mut self, parent: Option<u32>) {
        let mut child = TaskStats::new(self.nodes);
        if let Some(parent) = parent.map(|p| &self.tasks[p as usize]) {
            child.selected = parent.selected;
            if self.knobs.child_inheritance {
                child = parent.clone();
            }
        }
        self.tasks.push(child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_1_8_children_inherit_the_node_but_not_the_counters() {
        let mut a = AutoNuma::new(AutoNumaTunables::default(), 2, 1);
        a.fork(None);
        a.tasks[0].record(1, 1, 100);
        a.tasks[0].selected = Some(1);
        a.fork(Some(0));
        assert_eq!((a.tasks[1].selected, a.tasks[1].total), (Some(1), 0));
        a.knobs.child_inheritance = true;
        a.fork(Some(0));
        assert_eq!(a.tasks[2].total, 100);
    }
}
