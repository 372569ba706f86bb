//! Samples as the outcome of a run.

use super::series::{plain, Growing};
use crate::procfs::process::TICKS_PER_S;
use crate::procfs::scope::Scope;
use crate::procfs::Roots;
use crate::watch::{Frame, Limits, Sample, Sampler};
use numalab_model::counters::ALWAYS_RECORDED;
use numalab_model::record::{Outcome, Scalar, Series, Status};
use numalab_worker::sample::trace::Trace;
use numalab_worker::sample::vmstat::Vmstat;
use std::collections::BTreeMap;
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
    /// Start, CPU time and system time of each process as last seen, also of one that a sample could not read.
    seen: BTreeMap<u32, (u64, u64, u64)>,
    /// Ids of nodes, in the order in which they were first seen: columns keep their node if one goes offline.
    nodes: Vec<u32>,
    /// What the last sample with processes lacked.
    missing: Vec<String>,
    roots: Roots,
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
        let mut sampler = Sampler::new(roots.clone(), scope, limits);
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
            seen: BTreeMap::new(),
            nodes: Vec::new(),
            missing: Vec::new(),
            roots,
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
        let mut sample = self.sampler.take()?;
        if sample.vmstat == Vmstat::default() {
            // What was counted until now stays counted.
            sample.vmstat = self.last.vmstat.clone();
            self.lack("counters of the machine: a sample could not read them".into());
        } else if self.first.vmstat == Vmstat::default() {
            self.first.vmstat = sample.vmstat.clone();
        }
        self.take_in(&sample);
        if let Some(trace) = &mut self.trace {
            trace.drain();
        }
        let processes = sample.processes.len();
        self.last = sample;
        Ok(processes)
    }

    /// Notes what the recording lacks; once, however often it is said.
    pub fn lack(&mut self, what: String) {
        if !self.lacks.contains(&what) {
            self.lacks.push(what);
        }
    }

    /// The place of a node among all that were seen.
    fn place(&self, id: u32) -> Option<usize> {
        self.nodes.iter().position(|known| *known == id)
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
        for n in &now.nodes {
            let i = self.place(n.id).unwrap_or_else(|| {
                self.nodes.push(n.id);
                self.nodes.len() - 1
            });
            self.node_free.set(&format!("node{i}"), (n.free_bytes / 4096) as f64);
        }
        if !now.processes.is_empty() || self.missing.is_empty() {
            self.missing.clone_from(&now.missing);
        }
        self.take_processes(now);
        if self.samples > 1 {
            self.take_rates(now);
        }
        self.take_cpu_time(now);
        let s = |ticks: u64| ticks as f64 / TICKS_PER_S as f64;
        self.cpu_time.set("user", s(self.ticks.saturating_sub(self.system_ticks)));
        self.cpu_time.set("system", s(self.system_ticks));
    }

    fn take_processes(&mut self, now: &Sample) {
        for (place, p) in now.processes.iter().enumerate() {
            let name = format!("{}.{}", plain(&p.name), p.pid);
            for (n, &pages) in now.nodes.iter().zip(p.pages.iter().flatten()) {
                let Some(node) = self.place(n.id) else { continue };
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
                let node = now.nodes.iter().find(|n| ran && n.cpus.contains(&t.cpu)).and_then(|n| self.place(n.id));
                if !self.task_node.set(&column, node.map_or(-1.0, |n| n as f64)) {
                    break;
                }
                if let Some(s) = &t.sched {
                    let dense = u32::try_from(s.preferred_nid).ok().and_then(|id| self.place(id));
                    self.task_preferred.set(&column, dense.map_or(-1.0, |n| n as f64));
                }
            }
        }
    }

    /// What is only known of an interval: CPU time, blocked time, and the share of local memory.
    fn take_rates(&mut self, now: &Sample) {
        let frame = Frame::between(&self.last, now);
        for n in &frame.nodes {
            let (Some(gbps), Some(i)) = (n.traffic_gbps, self.place(n.id)) else { continue };
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
            for t in &p.tasks {
                let before = old.and_then(|o| o.tasks.iter().find(|o| o.tid == t.tid));
                let block = |t: Option<&crate::watch::TaskSample>| t.and_then(|t| t.sched.as_ref()).map(|s| s.block_ns);
                if let (Some(new), Some(old)) = (block(Some(t)), block(before)) {
                    self.blocked_ns += new.saturating_sub(old);
                }
            }
        }
    }

    /// CPU time since the last sample that had a process. What was used before the first sample does not count, nor
    /// does anything twice of a process that a sample could not read or that left the scope for a while.
    fn take_cpu_time(&mut self, now: &Sample) {
        for p in &now.processes {
            let before = self.seen.insert(p.pid, (p.start, p.ticks, p.system_ticks));
            if self.samples > 1 {
                let (_, ticks, system) = before.filter(|b| b.0 == p.start).unwrap_or_default();
                self.ticks += p.ticks.saturating_sub(ticks);
                self.system_ticks += p.system_ticks.saturating_sub(system);
            }
        }
        let is_here = |pid: &u32| now.processes.binary_search_by_key(pid, |p| p.pid).is_ok();
        self.seen.retain(|pid, _| is_here(pid) || self.roots.process(*pid).exists());
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
        let mut warnings: Vec<String> = self.lacks.into_iter().chain(self.missing).collect();
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

    /// Counters that a sample cannot read keep what was counted, at the end and at the start.
    #[test]
    fn counters_that_cannot_be_read_lose_nothing() {
        let counted = |texts: [&str; 3]| {
            let tree = Tree::new();
            tree.process(7, "a", &[(7, 1, 0)], "N0=1");
            tree.proc("vmstat", texts[0]);
            let mut r = Recorder::start(tree.roots.clone(), Scope::All, ample(), false).unwrap();
            for text in &texts[1..] {
                tree.proc("vmstat", text);
                r.sample().unwrap();
            }
            let o = r.finish(Duration::from_secs(3), None, Status::Completed).outcome;
            assert!(o.counters.contains(&("numa_hint_faults".into(), 40)), "{texts:?}: {:?}", o.counters);
            o
        };
        let o = counted(["numa_hint_faults 100\n", "numa_hint_faults 140\n", ""]);
        assert!(o.warnings.iter().any(|w| w.starts_with("counters of the machine")), "{:?}", o.warnings);
        counted(["", "numa_hint_faults 100\n", "numa_hint_faults 140\n"]);
    }

    /// A process of which a sample reads nothing is not counted twice, and one that has ended is forgotten.
    #[test]
    fn a_process_that_cannot_be_read_for_a_while_counts_once() {
        let tree = Tree::new();
        tree.process(7, "a", &[(7, 100, 0)], "N0=1");
        let mut r = Recorder::start(tree.roots.clone(), Scope::All, ample(), false).unwrap();
        tree.proc("7/stat", "7 (a");
        assert_eq!(r.sample().unwrap(), 0);
        tree.process(7, "a", &[(7, 150, 0)], "N0=1");
        assert_eq!(r.sample().unwrap(), 1);
        assert_eq!(r.ticks, 50);
        std::fs::remove_dir_all(tree.roots.process(7)).unwrap();
        assert_eq!((r.sample().unwrap(), r.seen.len()), (0, 0));
        let o = r.finish(Duration::from_secs(3), None, Status::Completed).outcome;
        assert_eq!(o.scalars[1].value, 0.5);
    }

    /// What the program's files refused is said although the program has ended at the last sample.
    #[test]
    fn what_was_missing_is_said_after_the_last_process_has_ended() {
        let tree = Tree::new();
        tree.process(7, "a", &[(7, 100, 0)], "N0=1");
        std::fs::remove_file(tree.roots.process(7).join("numa_maps")).unwrap();
        let mut r = Recorder::start(tree.roots.clone(), Scope::All, ample(), false).unwrap();
        std::fs::remove_dir_all(tree.roots.process(7)).unwrap();
        r.sample().unwrap();
        let o = r.finish(Duration::from_secs(1), None, Status::Completed).outcome;
        assert!(o.warnings.iter().any(|w| w.contains("no numa_maps")), "{:?}", o.warnings);
    }

    /// A node that goes offline ends its own column, and others keep theirs.
    #[test]
    fn columns_keep_their_node_when_another_goes_offline() {
        let tree = Tree::new();
        tree.process(7, "a", &[(7, 100, 1)], "N0=1 N1=5");
        let mut r = Recorder::start(tree.roots.clone(), Scope::All, ample(), false).unwrap();
        std::fs::remove_dir_all(tree.roots.sys.join("devices/system/node/node0")).unwrap();
        tree.sys("devices/system/node/online", "1\n");
        tree.process(7, "a", &[(7, 150, 1)], "N1=6");
        r.sample().unwrap();
        let o = r.finish(Duration::from_secs(1), None, Status::Completed).outcome;
        let values = |name: &str| o.series.iter().find(|s| s.name == name).unwrap().values.clone();
        assert_eq!(values("node_pages"), [vec![1.0, 0.0], vec![5.0, 6.0]]);
        assert_eq!(values("node_free"), [vec![131072.0, 0.0], vec![131072.0, 131072.0]]);
        assert_eq!((values("task_node"), values("task_preferred_node")), (vec![vec![1.0, 1.0]], vec![vec![1.0, 1.0]]));
    }

    /// The group of a recording goes: the sample is an error, and what was recorded is there.
    #[test]
    fn a_group_that_goes_ends_a_recording_and_loses_nothing() {
        let tree = Tree::new();
        tree.process(7, "a", &[(7, 100, 0)], "N0=1");
        tree.sys("fs/cgroup/g/cgroup.procs", "7\n");
        let scope = Scope::Cgroup("g".into());
        let mut r = Recorder::start(tree.roots.clone(), scope, ample(), false).unwrap();
        tree.process(7, "a", &[(7, 130, 0)], "N0=1");
        r.sample().unwrap();
        std::fs::remove_dir_all(tree.roots.sys.join("fs/cgroup/g")).unwrap();
        assert!(r.sample().unwrap_err().contains("fs/cgroup/g/cgroup.procs"));
        let done = r.finish(Duration::from_secs(2), None, Status::Completed);
        assert_eq!((done.samples, done.outcome.scalars[1].value), (2, 0.3));
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
