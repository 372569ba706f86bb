//! Samples of the kernel's figures, which the coordinator takes while the workload runs.

use crate::control::{Control, ProcessCell, State, ThreadCell};
use crate::job::Job;
use crate::mark::{Mark, Marks};
use crate::sample::trace::Trace;
use crate::sample::vmstat::Vmstat;
use crate::sample::{numa_maps, sched, smaps};
use numalab_nouns::record::Series;
use numalab_nouns::record::ALWAYS_RECORDED;
use std::sync::atomic::Ordering;

/// All series of a run.
pub struct Sampler<'a> {
    job: &'a Job,
    control: &'a Control,
    start: Vmstat,
    start_ns: u64,
    taken: u32,
    vmstat: Series,
    scores: Series,
    node_pages: Series,
    /// Pages of all processes by node, each counted once; no columns for a single process.
    workload_pages: Series,
    task_node: Series,
    task_preferred: Series,
}

fn series(name: &str, unit: &str, columns: Vec<String>) -> Series {
    let values = vec![Vec::new(); columns.len()];
    Series { name: name.into(), unit: unit.into(), columns, time_ns: Vec::new(), values }
}

fn push(series: &mut Series, time_ns: u64, values: impl Iterator<Item = f64>) {
    series.time_ns.push(time_ns);
    for (column, value) in series.values.iter_mut().zip(values) {
        column.push(value);
    }
}

/// Column names `process/node0` and so on, for every process.
pub fn node_columns(job: &Job) -> Vec<String> {
    let processes = job.workload.processes.iter();
    processes.flat_map(|p| (0..job.node_ids.len()).map(move |n| format!("{}/node{n}", p.name))).collect()
}

/// Column names `process/t0` and so on, for every thread.
pub fn thread_columns(job: &Job) -> Vec<String> {
    let processes = job.workload.processes.iter();
    processes.flat_map(|p| (0..p.threads.len()).map(move |t| format!("{}/t{t}", p.name))).collect()
}

impl<'a> Sampler<'a> {
    /// A sampler whose time starts at `start_ns`, when the counters were `start`.
    pub fn new(job: &'a Job, control: &'a Control, start: Vmstat, start_ns: u64) -> Self {
        let counters = ALWAYS_RECORDED.iter().filter(|n| start.get(n).is_some()).map(|n| n.to_string()).collect();
        let scores = job.workload.scores.iter().map(|s| s.name.clone()).collect();
        let several = job.workload.processes.len() > 1;
        let once = if several { (0..job.node_ids.len()).map(|n| format!("node{n}")).collect() } else { Vec::new() };
        Self {
            job,
            control,
            start,
            start_ns,
            taken: 0,
            vmstat: series("vmstat", "events", counters),
            scores: series("score", "units", scores),
            node_pages: series("node_pages", "pages", node_columns(job)),
            workload_pages: series("workload_pages", "pages", once),
            task_node: series("task_node", "node", thread_columns(job)),
            task_preferred: series("task_preferred_node", "node", thread_columns(job)),
        }
    }

    /// Takes one sample at `now_ns`.
    pub fn take(&mut self, now_ns: u64, marks: &Marks, trace: Option<&mut Trace>) {
        marks.set(Mark::Sample);
        let time = now_ns.saturating_sub(self.start_ns);
        if let Ok(now) = Vmstat::read() {
            let names = self.vmstat.columns.clone();
            let growth = |n: &String| now.get(n).unwrap_or(0).saturating_sub(self.start.get(n).unwrap_or(0)) as f64;
            push(&mut self.vmstat, time, names.iter().map(growth));
        }
        let sums = (0..self.job.workload.scores.len()).map(|s| self.control.score_sum(s));
        push(&mut self.scores, time, sums);
        if self.job.maps_every > 0 && self.taken.is_multiple_of(self.job.maps_every) {
            let (each, once) = self.pages();
            push(&mut self.node_pages, time, each.into_iter());
            if !self.workload_pages.columns.is_empty() {
                push(&mut self.workload_pages, time, once.into_iter());
            }
        }
        if self.job.sample_tasks {
            let (nodes, preferred) = self.tasks();
            push(&mut self.task_node, time, nodes.into_iter());
            push(&mut self.task_preferred, time, preferred.into_iter());
        }
        if let Some(trace) = trace {
            trace.drain();
        }
        self.taken += 1;
    }

    /// Pages of each process on each node, 0 for processes that do not run; and of all together, each counted once.
    fn pages(&self) -> (Vec<f64>, Vec<f64>) {
        let nodes = self.job.node_ids.len();
        let (mut each, mut once) = (Vec::new(), vec![0.0; nodes]);
        for p in 0..self.job.workload.processes.len() {
            let pid = self.control.process(p, ProcessCell::Pid).load(Ordering::Relaxed);
            let running = self.control.state(p) == State::Running;
            let mappings = if running { numa_maps::read(pid, &self.job.node_ids).ok() } else { None };
            let mappings = mappings.unwrap_or_default();
            each.extend(numa_maps::by_node(&mappings, nodes).into_iter().map(|n| n as f64));
            // Reading shares costs the kernel a walk over all page tables, so only where something is shared.
            let several = !self.workload_pages.columns.is_empty();
            let shared = several && mappings.iter().any(|m| m.shared);
            let shares = if shared { smaps::read(pid).unwrap_or_default() } else { Default::default() };
            for m in &mappings {
                let share = if m.shared { shares.get(&m.start).copied().unwrap_or(1.0) } else { 1.0 };
                once.iter_mut().zip(&m.pages).for_each(|(sum, &pages)| *sum += share * pages as f64);
            }
        }
        once.iter_mut().for_each(|pages| *pages = pages.round());
        (each, once)
    }

    /// Dense node on which each thread runs, and the one that it prefers; -1 for none.
    fn tasks(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut nodes, mut preferred) = (Vec::new(), Vec::new());
        for (p, process) in self.job.workload.processes.iter().enumerate() {
            let pid = self.control.process(p, ProcessCell::Pid).load(Ordering::Relaxed);
            for t in 0..process.threads.len() {
                let index = self.control.layout().thread(p, t);
                let tid = self.control.thread(index, ThreadCell::Tid).load(Ordering::Relaxed);
                let done = self.control.thread(index, ThreadCell::Done).load(Ordering::Relaxed) != 0;
                let (mut on, mut wants) = (-1.0, -1.0);
                if tid != 0 && !done {
                    let stat = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat"));
                    let cpu = stat.ok().and_then(|s| sched::cpu_of_stat(&s));
                    let dense = cpu.and_then(|c| self.job.cpu_ids.iter().position(|&id| id == c));
                    on = dense.map_or(-1.0, |c| f64::from(self.job.cpu_nodes[c]));
                    let fields = sched::read(&format!("/proc/{pid}/task/{tid}/sched")).unwrap_or_default();
                    let ids = self.job.node_ids.iter();
                    let dense = ids.clone().position(|&id| i64::from(id) == fields.preferred_nid);
                    wants = dense.map_or(-1.0, |n| n as f64);
                }
                nodes.push(on);
                preferred.push(wants);
            }
        }
        (nodes, preferred)
    }

    /// All series that have samples.
    pub fn finish(self) -> Vec<Series> {
        let all = [self.vmstat, self.scores, self.node_pages, self.workload_pages, self.task_node, self.task_preferred];
        all.into_iter().filter(|s| !s.columns.is_empty() && !s.time_ns.is_empty()).collect()
    }
}
