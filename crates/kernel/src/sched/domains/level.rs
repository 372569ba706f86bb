//! The kinds of levels, with the names that debugfs prints.

use crate::sched::rules::Form;

/// Kind of a level (kernel: `struct sched_domain_topology_level`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Threads of a core.
    Smt,
    /// CPUs that share an L2 cache or a cluster. On the machines modelled that is the core.
    Cls,
    /// CPUs that share the last-level cache.
    Mc,
    /// CPUs of a node, on machines with one node per package.
    Pkg,
    /// CPUs at the smallest distance, normally a node.
    Node,
    /// CPUs of all nodes within the i-th larger distance; i counts from 1.
    Numa(u8),
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Level::Numa(i) => write!(f, "NUMA level {i}"),
            other => write!(f, "level {}", other.name(Form::V612)),
        }
    }
}

impl Level {
    /// Name as debugfs prints it. `PKG` is `DIE` in 6.1.
    pub fn name(self, form: Form) -> &'static str {
        match self {
            Level::Smt => "SMT",
            Level::Cls => "CLS",
            Level::Mc => "MC",
            Level::Pkg if form == Form::V61 => "DIE",
            Level::Pkg => "PKG",
            Level::Node => "NODE",
            Level::Numa(_) => "NUMA",
        }
    }
}
