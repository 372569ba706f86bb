//! Names of what a log counts: processes, tasks, mappings, nodes and CPUs.

use numalab_model::record::why::{TaskWhy, VmaWhy, Why, WhyFile};

/// Names of what a log counts.
pub(super) struct Names<'a> {
    pub(super) file: &'a WhyFile,
}

impl<'a> Names<'a> {
    pub(super) fn new(file: &'a WhyFile) -> Self {
        Self { file }
    }
    pub(super) fn why(&self) -> &'a Why {
        &self.file.why
    }
    pub(super) fn process(&self, process: u32) -> &'a str {
        self.file.header.processes.get(process as usize).map_or("the machine's own", |p| p.name.as_str())
    }
    /// Whether a task is one of the workload, and not a thread that the machine has beside it.
    pub(super) fn is_own(&self, t: &TaskWhy) -> bool {
        (t.process as usize) < self.file.header.processes.len()
    }
    pub(super) fn task(&self, task: u32) -> String {
        match self.file.why.tasks.get(task as usize) {
            Some(t) => format!("{}/t{}", self.process(t.process), t.thread),
            None => format!("task {task}"),
        }
    }
    pub(super) fn vma(&self, v: &VmaWhy) -> String {
        format!("{}/{}", self.process(v.process), v.name)
    }
    pub(super) fn node(&self, node: u32) -> String {
        format!("node {}", self.file.header.nodes.get(node as usize).copied().unwrap_or(node))
    }
    pub(super) fn preferred(&self, node: Option<u32>) -> String {
        node.map_or("none".into(), |n| self.node(n))
    }
    pub(super) fn cpu(&self, cpu: u32) -> String {
        match self.file.header.cpus.get(cpu as usize) {
            Some(c) => format!("CPU {} ({})", c.id, self.node(c.node)),
            None => format!("CPU {cpu}"),
        }
    }
    pub(super) fn node_of_cpu(&self, cpu: u32) -> Option<u32> {
        self.file.header.cpus.get(cpu as usize).map(|c| c.node)
    }
}
