//! The input of the page.

use numalab_model::machine::Machine;
use numalab_model::record::Outcome;
use numalab_stats::star::StarRule;

use crate::data::Comparison;

/// The input of the page.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// Name of the experiment.
    pub title: String,
    /// The comparison, with its derived figures.
    pub comparison: &'a Comparison,
    /// When a cell of the tables is starred.
    pub rule: StarRule,
    /// What was run, as pairs of a name and a value: backend, seeds, version, ….
    pub facts: Vec<(String, String)>,
    /// The machines; empty if none is known.
    pub machines: Vec<&'a Machine>,
    /// Runs with their series, kernel by kernel, in the order of seeds.
    pub runs: Vec<Run<'a>>,
    /// Number of further runs of each workload, whose series are not here.
    pub not_drawn: Vec<usize>,
    /// What each kernel is, in one line, in the order of the comparison's kernels; an empty line if nobody knows.
    pub about_kernels: Vec<String>,
    /// What each workload is, in one line, in the order of the comparison's workloads; an empty line if nobody knows.
    pub about_workloads: Vec<String>,
    /// Effective configuration per kernel, in the order of the comparison's kernels.
    pub settings: Vec<Vec<Setting>>,
}

impl<'a> Input<'a> {
    /// A page with nothing but a comparison.
    pub fn new(title: &str, comparison: &'a Comparison) -> Self {
        Self {
            title: title.into(),
            comparison,
            rule: StarRule::default(),
            facts: Vec::new(),
            machines: Vec::new(),
            runs: Vec::new(),
            not_drawn: Vec::new(),
            about_kernels: Vec::new(),
            about_workloads: Vec::new(),
            settings: Vec::new(),
        }
    }
}

/// A run, with its workload and kernel.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Index of its workload in the comparison.
    pub workload: usize,
    /// Index of its kernel in the comparison.
    pub kernel: usize,
    /// Seed.
    pub seed: u64,
    /// What the run produced.
    pub outcome: &'a Outcome,
}

/// A role or a tunable with its value on a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// Role or `group.key`.
    pub name: String,
    /// Value.
    pub value: String,
    /// Unit; empty if it has none.
    pub unit: String,
    /// Name in the kernel (sysctl, debugfs); empty if it has none.
    pub kernel_name: String,
    /// Where the value comes from; empty if unknown.
    pub origin: String,
    /// What it does, in one line; empty if unknown.
    pub doc: String,
    /// What the value means, in words; empty if the value says so itself.
    pub meaning: String,
    /// What the kernel lacks to read it at all, such as `system.numa_balancing` is 0; empty if it reads it.
    pub unread: String,
}
