//! What the page is made of.

use numalab_model::machine::Machine;
use numalab_model::record::Outcome;
use numalab_stats::star::StarRule;

use crate::data::Comparison;

/// What the page is about.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// Name of the experiment.
    pub title: String,
    /// The comparison, with derived figures applied.
    pub comparison: &'a Comparison,
    /// When a cell of the tables is starred.
    pub rule: StarRule,
    /// What was run: backend, seeds, version, …, in order.
    pub facts: Vec<(String, String)>,
    /// Machines, if they are known.
    pub machines: Vec<&'a Machine>,
    /// Runs with their series, kernel by kernel in seed order.
    pub runs: Vec<Run<'a>>,
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
            settings: Vec::new(),
        }
    }
}

/// A run and where it belongs.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Index of its workload in the comparison.
    pub workload: usize,
    /// Index of its kernel in the comparison.
    pub kernel: usize,
    /// Seed.
    pub seed: u64,
    /// What it produced.
    pub outcome: &'a Outcome,
}

/// A policy or a tunable as a kernel had it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// Role or `group.key`.
    pub name: String,
    /// Value.
    pub value: String,
    /// Unit, empty if none.
    pub unit: String,
    /// Kernel name (sysctl, debugfs), empty if none.
    pub kernel_name: String,
    /// Where the value comes from, empty if unknown.
    pub origin: String,
    /// One line, empty if unknown.
    pub doc: String,
}
