//! Samples of the kernel's figures while a program of the user runs: counters, and pages of its processes by node.

use crate::descendants;
use crate::job::Job;
use crate::sample::numa_maps;
use crate::sample::vmstat::Vmstat;
use numalab_nouns::record::{Series, ALWAYS_RECORDED};
use std::collections::BTreeSet;

/// The series of a run.
pub struct ProgramSampler<'a> {
    node_ids: &'a [u32],
    start: Vmstat,
    vmstat: Series,
    node_pages: Series,
}

impl<'a> ProgramSampler<'a> {
    /// A sampler of a run that starts with these counters.
    pub fn new(job: &'a Job, start: Vmstat) -> Self {
        let counters = ALWAYS_RECORDED.iter().filter(|n| start.get(n).is_some()).map(|n| n.to_string()).collect();
        let name = &job.workload.name;
        let nodes = (0..job.node_ids.len()).map(|n| format!("{name}/node{n}")).collect();
        Self {
            node_ids: &job.node_ids,
            start,
            vmstat: series("vmstat", "events", counters),
            node_pages: series("node_pages", "pages", nodes),
        }
    }

    /// Takes one sample, `time_ns` after the start.
    pub fn take(&mut self, time_ns: u64) {
        if let Ok(now) = Vmstat::read() {
            let growth = |n: &String| now.get(n).unwrap_or(0).saturating_sub(self.start.get(n).unwrap_or(0)) as f64;
            let values: Vec<f64> = self.vmstat.columns.iter().map(growth).collect();
            push(&mut self.vmstat, time_ns, &values);
        }
        let pages = pages(self.node_ids);
        push(&mut self.node_pages, time_ns, &pages);
    }

    /// All series that have samples.
    pub fn finish(self) -> Vec<Series> {
        let all = [self.vmstat, self.node_pages];
        all.into_iter().filter(|s| !s.columns.is_empty() && !s.time_ns.is_empty()).collect()
    }
}

/// Pages of all processes below this one on each node. A file, or shared memory, that several processes map at the same
/// address counts once.
fn pages(node_ids: &[u32]) -> Vec<f64> {
    let mut seen = BTreeSet::new();
    let mut out = vec![0.0; node_ids.len()];
    for pid in descendants::of(std::process::id()) {
        let text = std::fs::read_to_string(format!("/proc/{pid}/numa_maps")).unwrap_or_default();
        for mapping in numa_maps::parse_all(&text, node_ids) {
            let counts = mapping.file.is_none_or(|file| seen.insert((file, mapping.start)));
            if counts {
                out.iter_mut().zip(&mapping.pages).for_each(|(sum, &pages)| *sum += pages as f64);
            }
        }
    }
    out
}

fn series(name: &str, unit: &str, columns: Vec<String>) -> Series {
    let values = vec![Vec::new(); columns.len()];
    Series { name: name.into(), unit: unit.into(), columns, time_ns: Vec::new(), values }
}

fn push(series: &mut Series, time_ns: u64, values: &[f64]) {
    series.time_ns.push(time_ns);
    for (column, &value) in series.values.iter_mut().zip(values) {
        column.push(value);
    }
}
