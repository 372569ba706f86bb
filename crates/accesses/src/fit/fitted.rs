//! What a fit is made of.

use super::image::FittedProcess;
use super::pattern::Phase;

/// A workload, as it follows from a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Name of the recorded program.
    pub name: String,
    /// Kinds of processes, in the order of their begin.
    pub processes: Vec<FittedProcess>,
    /// What the record shows, as sentences.
    pub measured: Vec<String>,
    /// What it does not show, and what was taken instead.
    pub assumed: Vec<String>,
}

impl Fit {
    /// Instructions for each line that threads visit, on average: what `instruction_time` stands for.
    pub fn insns_per_line(&self) -> f64 {
        let phases =
            || self.processes.iter().flat_map(|p| &p.classes).flat_map(|c| c.phases.iter().map(move |p| (p, c)));
        let sum = |of: &dyn Fn(&Phase) -> f64| phases().map(|(p, c)| of(p) * c.threads.len() as f64).sum::<f64>();
        sum(&|p| p.insns) / sum(&Phase::lines).max(1.0)
    }
}
