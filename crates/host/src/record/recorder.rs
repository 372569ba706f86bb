//! Samples as the outcome of a run.

use super::series::{plain, Growing};
use crate::procfs::process::TICKS_PER_S;
use crate::procfs::scope::Scope;
use crate::procfs::Roots;
use crate::watch::{Frame, Limits, Sample, Sampler};
use numalab_model::counters::ALWAYS_RECORDED;
use numalab_model::record::{Outcome, Scalar, Series, Status};
use numalab_worker::sample::trace::Trace;
use std::time::Duration;

/// Processes that have columns of their own.
const PROCESSES_MAX: usize = 64;
/// Threads that have columns of their own.
const THREADS_MAX: usize = 256;

/// Records a scope.
pub struct Recorder {
    sampler: Sampler,
    first: Sample,
    last: Sample,
    samples: u64,
    trace: Option<Trace>,
    lacks: Vec<String>,
    own_cpu: Duration,
    /// CPU time of processes, s: of those that live, and of those that have ended, as last seen.
    ticks: u64,
    system_ticks: u64,
    blocked_ns: u64,
    local: (f64, f64),
    vmstat: Growing,
    node_pages: Growing,
    node_free: Growing,
    task_node: Growing,
    task_preferred: Growing,
    local_share: Growing,
    cpu_time: Growing,
    cache_bandwidth: Growing,
}

/// CPU time of this process so far, user and system.
pub fn cpu_time() -> Duration {
    let (user, system) = numalab_worker::sys::process_times_ns();
    Duration::from_nanos(user + system)
}

impl Recorder {
    /// Takes the first sample. `trace` counts tracepoints where that is permitted.
    ///
    /// # Errors
    /// The scope's control group cannot be read.
    pub fn start(roots: Roots, scope: Scope, limits: Limits, trace: bool) -> Result<Self, String> {
        let own_cpu = cpu_time();
        let mut lacks = Vec::new();
        let trace = match trace.then(Trace::start) {
            Some(Ok(trace)) => Some(trace),
            Some(Err(e)) => {
                lacks.push(format!("stalls and skips by tracepoint: {e}"));
                None
            }
            None => None,
        };
        let mut sampler = Sampler::new(roots, scope, limits);
        let first = sampler.take()?;
        let mut recorder = Self {
            sampler,
            last: first.clone(),
            first,
            samples: 0,
            trace,
            lacks,
            own_cpu,
            ticks: 0,
            system_ticks: 0,
            blocked_ns: 0,
            local: (0.0, 0.0),
            vmstat: Growing::new("vmstat", "events", 0.0, 64),
            node_pages: Growing::new("node_pages", "pages", 0.0, PROCESSES_MAX * 64),
            node_free: Growing::new("node_free", "pages", 0.0, 1024),
            task_node: Growing::new("task_node", "node", -1.0, THREADS_MAX),
            task_preferred: Growing::new("task_preferred_node", "node", -1.0, THREADS_MAX),
            local_share: Growing::new("local_share", "%", 0.0, PROCESSES_MAX),
            cpu_time: Growing::new("cpu_time", "s", 0.0, 2),
            cache_bandwidth: Growing::new("cache_bandwidth", "GB/s", 0.0, 2 * 1024),
        };
        let first = recorder.first.clone();
        recorder.take_in(&first);
        Ok(recorder)
    }

    /// Takes a sample. Returns the number of processes in it.
    ///
    /// # Errors
    /// The scope's control group cannot be read.
    pub fn sample(&mut self) -> Result<usize, String> {
        let sample = self.sampler.take()?;
        self.take_in(&sample);
        if let Some(trace) = &mut self.trace {
            trace.drain();
        }
        let processes = sample.processes.len();
        self.last = sample;
        Ok(processes)
    }

    fn take_in(&mut self, now: &Sample) {
        self.samples += 1;
        let time_ns = now.at.saturating_sub(self.first.at).as_nanos() as u64;
        for series in [
            &mut self.vmstat,
            &mut self.node_pages,
            &mut self.node_free,
            &mut self.task_node,
            &mut self.task_preferred,
            &mut self.local_share,
            &mut self.cpu_time,
            &mut self.cache_bandwidth,
        ] {
            series.begin(time_ns);
        }
        for name in ALWAYS_RECORDED.iter().filter(|n| self.first.vmstat.get(n).is_some()) {
            let growth = |s: &Sample| s.vmstat.get(name).unwrap_or(0);
            self.vmstat.set(name, growth(now).saturating_sub(growth(&self.first)) as f64);
        }
        for (i, n) in now.nodes.iter().enumerate() {
            self.node_free.set(&format!("node{i}"), (n.free_bytes / 4096) as f64);
        }
        self.take_processes(now);
        if self.samples > 1 {
            self.take_rates(now);
        }
        let s = |ticks: u64| ticks as f64 / TICKS_PER_S as f64;
        self.cpu_time.set("user", s(self.ticks.saturating_sub(self.system_ticks)));
        self.cpu_time.set("system", s(self.system_ticks));
    }

    fn take_processes(&mut self, now: &Sample) {
        for (place, p) in now.processes.iter().enumerate() {
            let name = format!("{}.{}", plain(&p.name), p.pid);
            for (node, &pages) in p.pages.iter().flatten().enumerate() {
                let own = place < PROCESSES_MAX && self.node_pages.set(&format!("{name}/node{node}"), pages as f64);
                if !own {
                    self.node_pages.add(&format!("others/node{node}"), pages as f64);
                }
            }
            let before = self.last.processes.iter().find(|o| (o.pid, o.start) == (p.pid, p.start));
            for t in &p.tasks {
                let column = format!("{name}/t{}", t.tid);
                let old = before.and_then(|o| o.tasks.iter().find(|o| o.tid == t.tid)).map_or(0, |o| o.ticks);
                let ran = t.state == 'R' || t.ticks > old;
                let node = now.nodes.iter().position(|n| ran && n.cpus.contains(&t.cpu));
                if !self.task_node.set(&column, node.map_or(-1.0, |n| n as f64)) {
                    break;
                }
                if let Some(s) = &t.sched {
                    let dense = now.nodes.iter().position(|n| i64::from(n.id) == s.preferred_nid);
                    self.task_preferred.set(&column, dense.map_or(-1.0, |n| n as f64));
                }
            }
        }
    }

    /// What is only known of an interval: CPU time, blocked time, and the share of local memory.
    fn take_rates(&mut self, now: &Sample) {
        let frame = Frame::between(&self.last, now);
        for (i, n) in frame.nodes.iter().enumerate() {
            let Some(gbps) = n.traffic_gbps else { continue };
            self.cache_bandwidth.set(&format!("node{i}"), gbps);
            if let Some(share) = n.local_traffic_share {
                self.cache_bandwidth.set(&format!("node{i} near"), gbps * share);
            }
        }
        for p in &frame.processes {
            let Some(share) = p.local_share else { continue };
            self.local_share.set(&format!("{}.{}", plain(&p.name), p.pid), share * 100.0);
            self.local.0 += share * p.busy_cpus * frame.interval_s;
            self.local.1 += p.busy_cpus * frame.interval_s;
        }
        for p in &now.processes {
            let old = self.last.processes.iter().find(|o| (o.pid, o.start) == (p.pid, p.start));
            self.ticks += p.ticks.saturating_sub(old.map_or(0, |o| o.ticks));
            self.system_ticks += p.system_ticks.saturating_sub(old.map_or(0, |o| o.system_ticks));
            for t in &p.tasks {
                let before = old.and_then(|o| o.tasks.iter().find(|o| o.tid == t.tid));
                let block = |t: Option<&crate::watch::TaskSample>| t.and_then(|t| t.sched.as_ref()).map(|s| s.block_ns);
                if let (Some(new), Some(old)) = (block(Some(t)), block(before)) {
                    self.blocked_ns += new.saturating_sub(old);
                }
            }
        }
    }

    /// Ends the recording. `elapsed` is the time of the program, and `times` its user and system time if the caller has
    /// waited for it.
    pub fn finish(mut self, elapsed: Duration, times: Option<(Duration, Duration)>, status: Status) -> Recording {
        let mut scalars = vec![scalar("elapsed_s", elapsed.as_secs_f64(), "s", false)];
        match times {
            Some((user, system)) => {
                scalars.push(scalar("user_s", user.as_secs_f64(), "s", false));
                scalars.push(scalar("system_s", system.as_secs_f64(), "s", false));
            }
            None => scalars.push(scalar("cpu_s", self.ticks as f64 / TICKS_PER_S as f64, "s", false)),
        }
        if self.blocked_ns > 0 {
            scalars.push(scalar("blocked_s", self.blocked_ns as f64 / 1e9, "s", false));
        }
        if self.local.1 > 0.0 {
            scalars.push(scalar("local_share", self.local.0 / self.local.1 * 100.0, "%", true));
        }
        let reasons = self.trace.take().map(|t| t.stop().reasons()).unwrap_or_default();
        let own_cpu = cpu_time().saturating_sub(self.own_cpu);
        let counters = self.last.vmstat.since(&self.first.vmstat);
        let series = [
            self.vmstat,
            self.node_pages,
            self.node_free,
            self.task_node,
            self.task_preferred,
            self.local_share,
            self.cpu_time,
            self.cache_bandwidth,
        ];
        let series: Vec<Series> = series.into_iter().filter_map(Growing::finish).collect();
        let mut warnings: Vec<String> = self.lacks.into_iter().chain(self.last.missing).collect();
        warnings.retain(|w| !w.starts_with("bandwidth") && !w.starts_with("sampled accesses"));
        let outcome = Outcome { status, scalars, counters, reasons, series, warnings, ..Outcome::default() };
        Recording { outcome, own_cpu, samples: self.samples }
    }
}

/// What was recorded.
pub struct Recording {
    /// The outcome.
    pub outcome: Outcome,
    /// CPU time that recording took.
    pub own_cpu: Duration,
    /// Number of samples.
    pub samples: u64,
}

fn scalar(name: &str, value: f64, unit: &str, higher_is_better: bool) -> Scalar {
    Scalar { name: name.into(), value, unit: unit.into(), higher_is_better }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::watch::tests_support::{ample, Tree};

    #[test]
    fn a_recording_has_the_series_of_a_run() {
        let tree = Tree::new();
        tree.process(7, "d b", &[(7, 100, 0), (8, 50, 1)], "N0=768 N1=256");
        tree.sys("fs/resctrl/schemata", "L3:0=fff\n");
        tree.sys("devices/system/cpu/cpu0/cache/index3/id", "0\n");
        tree.sys("devices/system/cpu/cpu1/cache/index3/id", "3\n");
        tree.sys("fs/resctrl/mon_data/mon_L3_03/mbm_total_bytes", "1000\n");
        let mut r = Recorder::start(tree.roots.clone(), Scope::All, ample(), false).unwrap();
        tree.process(7, "d b", &[(7, 200, 1), (8, 50, 1)], "N0=512 N1=512");
        let asleep = crate::procfs::stat::tests::line(8, "d b", 'S', 50, 1);
        tree.proc("7/task/8/stat", &asleep);
        tree.process(9, "late", &[(9, 5, 0)], "N1=16");
        tree.sys("fs/resctrl/mon_data/mon_L3_03/mbm_total_bytes", "5000\n");
        tree.proc("vmstat", "numa_hint_faults 40\nnuma_pages_migrated 30\nnuma_pte_updates 0\n");
        assert_eq!(r.sample().unwrap(), 2);
        let done = r.finish(Duration::from_secs(3), None, Status::Completed);
        let o = done.outcome;
        let series = |name: &str| o.series.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no {name}"));
        let pages = series("node_pages");
        assert_eq!(pages.columns, ["d_b.7/node0", "d_b.7/node1", "late.9/node0", "late.9/node1"]);
        assert_eq!(pages.values, [vec![768.0, 512.0], vec![256.0, 512.0], vec![0.0, 0.0], vec![0.0, 16.0]]);
        assert_eq!(series("task_node").values[0], [0.0, 1.0]);
        assert_eq!(series("task_node").values[1], [1.0, -1.0], "a thread that does not run");
        let cpu = series("cpu_time");
        assert_eq!(
            (cpu.columns.as_slice(), cpu.values[0][1] + cpu.values[1][1]),
            (&["user", "system"].map(String::from)[..], 1.05)
        );
        let traffic = series("cache_bandwidth");
        assert_eq!(traffic.columns, ["node0", "node1"]);
        assert!(traffic.values[1][1] > 0.0 && traffic.values[0][1] == 0.0, "{traffic:?}");
        assert_eq!(series("task_node").values[2], [-1.0, 0.0], "a thread that came later");
        assert_eq!(series("task_preferred_node").values[0], [1.0, 1.0]);
        let scalar = |name: &str| o.scalars.iter().find(|s| s.name == name).unwrap().value;
        assert_eq!((scalar("elapsed_s"), scalar("cpu_s")), (3.0, 1.05));
        assert_eq!(scalar("local_share"), 50.0);
        assert!(o.counters.contains(&("numa_hint_faults".into(), 40)), "{:?}", o.counters);
        assert_eq!(done.samples, 2);
    }

    #[test]
    fn many_processes_share_a_column() {
        let tree = Tree::new();
        for pid in 10..10 + PROCESSES_MAX as u32 + 3 {
            tree.process(pid, "p", &[(pid, 1, 0)], "N0=2");
        }
        let r = Recorder::start(tree.roots.clone(), Scope::All, ample(), false).unwrap();
        let o = r.finish(Duration::from_secs(1), None, Status::Completed).outcome;
        let pages = o.series.iter().find(|s| s.name == "node_pages").unwrap();
        let others = pages.columns.iter().position(|c| c == "others/node0").unwrap();
        assert_eq!((pages.columns.len(), pages.values[others][0]), (2 * PROCESSES_MAX + 2, 6.0));
    }
}
