//! What a fit is made of.

use super::image::FittedProcess;
use super::pattern::Phase;
use super::shared::SharedMemory;
use numalab_model::access::{Histogram, MAX_HISTOGRAMS};

/// A workload, as it follows from a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Name of the recorded program.
    pub name: String,
    /// Kinds of processes, in the order of their begin.
    pub processes: Vec<FittedProcess>,
    /// Memory that several processes share.
    pub shared: Vec<SharedMemory>,
    /// What the record shows, as sentences.
    pub measured: Vec<String>,
    /// What it does not show, and what was taken instead.
    pub assumed: Vec<String>,
    /// File of the histograms beside the workload, if visits are written as `recorded`.
    pub histograms: Option<String>,
}

impl Fit {
    /// Writes what no pattern describes as `recorded`, with its histogram in `file`. Returns the histograms, at most
    /// as many as a workload may have; the rest stay as patterns.
    pub fn exact(&mut self, file: &str) -> Vec<Histogram> {
        let mut out: Vec<Histogram> = Vec::new();
        let of = |p: &mut FittedProcess| {
            let phases = p.prologue.iter_mut().chain(p.classes.iter_mut().flat_map(|c| &mut c.phases));
            for visit in phases.flat_map(|p| &mut p.visits).filter(|v| !v.heat.is_empty()) {
                let Ok(histogram) = Histogram::try_from(visit.heat.clone()) else { continue };
                let known = out.iter().position(|h| *h == histogram);
                if known.is_none() && out.len() == MAX_HISTOGRAMS {
                    continue;
                }
                visit.recorded = Some(known.unwrap_or(out.len()));
                if known.is_none() {
                    out.push(histogram);
                }
            }
        };
        self.processes.iter_mut().for_each(of);
        self.histograms = (!out.is_empty()).then(|| file.into());
        if let Some(file) = &self.histograms {
            let what = "how often parts of memory are visited that no pattern describes";
            self.measured.push(format!("{what}: {} histograms in {file}", out.len()));
        }
        out
    }

    /// Instructions for each line that threads visit, on average, with those of the kernel: what `instruction_time`
    /// stands for.
    pub fn insns_per_line(&self) -> f64 {
        let phases =
            || self.processes.iter().flat_map(|p| &p.classes).flat_map(|c| c.phases.iter().map(move |p| (p, c)));
        let sum = |of: &dyn Fn(&Phase) -> f64| phases().map(|(p, c)| of(p) * c.threads.len() as f64).sum::<f64>();
        sum(&Phase::all_insns) / sum(&Phase::lines).max(1.0)
    }
}
