//! A workload from a record: sizes, places, threads, rates and phases of what was recorded.
//!
//! Problem: the model of a program is a guess until it is held against the program itself.
//! Approach: the series of a record, whatever made it, are read into a [`Fit`]. [`processes`] finds how many processes
//! of a name there are, how large they get, on which nodes their memory starts, and how many threads share the work.
//! [`phases`] cuts the run where its use of CPU time changes. [`names`] gives processes and threads of a record the
//! names of the workload. [`sharing`] tells from hinting faults how much of memory threads share. [`text`] writes the
//! workload, with everything that was assumed as a parameter. Units: bytes, seconds, shares from 0 to 1.
//! Invariants: what a record does not show is named in [`Fit::assumed`], and never taken from elsewhere in silence.

mod names;
mod phases;
mod processes;
mod series;
mod sharing;
mod text;

pub use names::aligned;
pub use phases::Phase;
pub use processes::Process;

use numalab_model::record::{Outcome, Series};
use series::{find, MEMORY};

/// What a record shows of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Name of the recorded workload.
    pub name: String,
    /// Processes by name, in the order of the record.
    pub processes: Vec<Process>,
    /// Phases in the order of time; at least one.
    pub phases: Vec<Phase>,
    /// Share of accesses that go anywhere in a process's memory and not to the thread's own part.
    pub shared: f64,
    /// Bytes from memory for each second of CPU time of a thread.
    pub bytes_per_cpu_s: f64,
    /// What the record does not show, and what was taken instead, as sentences.
    pub assumed: Vec<String>,
}

/// Why a record cannot be fitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// A series that is needed is not in the record.
    #[error(
        "the record has no series `process_pages` or `node_pages`; expected a record with memory by node, \
         as `numalab run` and `numalab record` write them"
    )]
    NoSeries,
    /// The record is too short to show anything.
    #[error("the record has {0} samples; expected at least 3")]
    TooShort(usize),
    /// No process has memory.
    #[error("no process of the record has memory")]
    NoMemory,
}

/// Traffic of a thread where the record has none, bytes a CPU second.
const ASSUMED_TRAFFIC: f64 = 1e9;

/// Fits a workload to a record.
///
/// # Errors
/// The record lacks what is needed.
pub fn fit(name: &str, outcome: &Outcome) -> Result<Fit, FitError> {
    let pages = MEMORY.iter().find_map(|name| find(outcome, name)).ok_or(FitError::NoSeries)?;
    if pages.time_ns.len() < 3 {
        return Err(FitError::TooShort(pages.time_ns.len()));
    }
    let mut assumed = Vec::new();
    let processes = processes::read(pages, find(outcome, "task_node"), &mut assumed);
    if processes.is_empty() {
        return Err(FitError::NoMemory);
    }
    let threads: f64 = processes.iter().map(|p| p.threads as f64 * p.count as f64).sum();
    let phases = phases::read(find(outcome, "cpu_time"), pages, threads, &mut assumed);
    let shared =
        sharing::read(find(outcome, "numa_activity").or(find(outcome, "vmstat")), pages, &processes, &mut assumed);
    let cpu_s: f64 = phases.iter().map(|p| p.busy * p.seconds * threads).sum();
    let traffic = find(outcome, "dram_bandwidth").map(integral_gb).filter(|gb| *gb > 0.0 && cpu_s > 0.0);
    let bytes_per_cpu_s = traffic.map_or_else(
        || {
            assumed.push("traffic to memory is 1 GB a CPU second: the record has none".into());
            ASSUMED_TRAFFIC
        },
        |gb| gb * 1e9 / cpu_s,
    );
    Ok(Fit { name: name.into(), processes, phases, shared, bytes_per_cpu_s, assumed })
}

/// Integral over time of all columns of a series in GB/s, GB. A value holds since the sample before.
fn integral_gb(series: &Series) -> f64 {
    let mut sum = 0.0;
    for i in 1..series.time_ns.len() {
        let seconds = (series.time_ns[i] - series.time_ns[i - 1]) as f64 / 1e9;
        sum += seconds * series.values.iter().filter_map(|v| v.get(i)).sum::<f64>();
    }
    sum
}

#[cfg(test)]
mod tests;
