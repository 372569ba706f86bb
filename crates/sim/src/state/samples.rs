//! Time series of a run.

use numalab_nouns::machine::Machine;
use numalab_nouns::record::Series;
use numalab_nouns::workload::{Process, Score};

/// Samples taken so far.
#[derive(Debug)]
pub struct Samples {
    pub(crate) next_ns: u64,
    /// Pages of 4 KiB of each process on each node, whatever the kernel's base pages. What several processes map counts
    /// for each of them.
    pub pages: Series,
    /// Pages of 4 KiB of all processes on each node, each counted once. Without columns for a workload of one process,
    /// which [`Self::pages`] tells all of.
    pub workload_pages: Series,
    /// Hint faults, local ones, migrated pages, PTE updates since the start.
    pub activity: Series,
    /// DRAM bandwidth of each node.
    pub bandwidth: Series,
    /// Traffic of each link, each way.
    pub links: Series,
    /// Thread time by kind since the start.
    pub cpu: Series,
    /// Scores since the start.
    pub scores: Series,
    /// Mean scan period of the tasks at each sample, ms; no part of the record.
    pub(crate) scan_period_ms: Vec<f64>,
    pub(crate) scratch: Vec<u64>,
}

/// Most links that have columns.
const MAX_LINKS: usize = 256;

impl Samples {
    /// Empty series for the processes and scores of a workload.
    pub fn new(processes: &[Process], scores: &[Score], machine: &Machine) -> Self {
        let nodes = machine.node_count();
        let per_node = |name: &str| (0..nodes).map(|n| format!("{name}/node{n}")).collect::<Vec<_>>();
        let series = |name: &str, unit: &str, columns: Vec<String>| Series {
            name: name.into(),
            unit: unit.into(),
            values: vec![Vec::new(); columns.len()],
            columns,
            time_ns: Vec::new(),
        };
        let pages = processes.iter().flat_map(|p| per_node(&p.name)).collect();
        let several = processes.len() > 1;
        let once = if several { (0..nodes).map(|n| format!("node{n}")).collect() } else { Vec::new() };
        let names =
            ["numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated", "numa_pte_updates", "pgfault"];
        let links = machine.links.iter().take(MAX_LINKS);
        let links = links.flat_map(|l| [format!("{} there", l.name), format!("{} back", l.name)]).collect();
        Self {
            next_ns: 0,
            pages: series("process_pages", "pages", pages),
            workload_pages: series("workload_pages", "pages", once),
            activity: series("numa_activity", "count since start", names.iter().map(|n| (*n).into()).collect()),
            bandwidth: series("dram_bandwidth", "GB/s", per_node("dram")),
            links: series("link_bandwidth", "GB/s", links),
            cpu: series("cpu_time", "s since start", ["user", "system", "blocked"].map(String::from).to_vec()),
            scores: series("score", "since start", scores.iter().map(|s| s.name.clone()).collect()),
            scan_period_ms: Vec::new(),
            scratch: vec![0; nodes],
        }
    }
}

impl Samples {
    /// Node and pages of every process on it, at the last sample.
    pub fn last_pages(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let nodes = self.scratch.len();
        let last = |v: &Vec<f64>| v.last().map_or(0, |p| *p as u64);
        self.pages.values.iter().enumerate().map(move |(column, v)| (column % nodes, last(v)))
    }
    /// The series as a record keeps them, those without columns left out.
    pub fn into_series(self) -> impl Iterator<Item = Series> {
        let all = [self.pages, self.activity, self.bandwidth, self.links, self.cpu, self.scores, self.workload_pages];
        all.into_iter().filter(|s| !s.columns.is_empty())
    }
}
