//! Samples of processes, threads and nodes.

use crate::procfs::limits::DutyCycle;
use crate::procfs::numa_maps::{pages_on, Reading};
use crate::procfs::resctrl::{self, Traffic};
use crate::procfs::scope::Scope;
use crate::procfs::{self, node, numa_balancing, process, Roots};
use numalab_model::record::stalls::Durations;
use numalab_worker::sample::sched::{self, TaskSched};
use numalab_worker::sample::trace::Trace;
use numalab_worker::sample::vmstat::Vmstat;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// How much a sampler may read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Share of one CPU for reading mappings.
    pub maps_share: f64,
    /// Share of one CPU for reading threads.
    pub tasks_share: f64,
    /// Longest time for mappings in one sample.
    pub maps_at_once: Duration,
    /// Largest number of threads whose figures in the scheduler are read in one sample.
    pub sched_tasks: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { maps_share: 0.004, tasks_share: 0.004, maps_at_once: Duration::from_millis(20), sched_tasks: 256 }
    }
}

impl Limits {
    /// Limits of a single look: everything is read at once.
    pub fn once() -> Self {
        Self { maps_share: 1.0, tasks_share: 1.0, maps_at_once: Duration::from_secs(30), sched_tasks: 1 << 16 }
    }
}

/// A thread at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSample {
    /// Thread id.
    pub tid: u32,
    /// Name.
    pub name: String,
    /// State letter.
    pub state: char,
    /// CPU on which it last ran.
    pub cpu: u32,
    /// CPU time so far, ticks.
    pub ticks: u64,
    /// Its figures in the scheduler, if they were read.
    pub sched: Option<TaskSched>,
}

/// A process at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessSample {
    /// Process id.
    pub pid: u32,
    /// Its start after boot, ticks; tells it from another process with the same id.
    pub start: u64,
    /// Name.
    pub name: String,
    /// Command line.
    pub command: String,
    /// CPU time so far, ticks.
    pub ticks: u64,
    /// Part of it that was spent in the kernel, ticks.
    pub system_ticks: u64,
    /// Its threads, or the part of them that was read.
    pub tasks: Vec<TaskSample>,
    /// Number of its threads.
    pub threads: usize,
    /// Pages of 4 KiB on each node, in the order of [`Sample::nodes`]; `None` if they cannot be read.
    pub pages: Option<Vec<u64>>,
    /// Time since the pages were read.
    pub pages_age: Duration,
}

/// Everything at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When, on a monotonic clock that starts with the sampler.
    pub at: Duration,
    /// Nodes.
    pub nodes: Vec<node::Node>,
    /// Mode of the kernel's own balancing; `None` if it has none.
    pub balancing: Option<u32>,
    /// The machine's event counters.
    pub vmstat: Vmstat,
    /// Processes of the scope.
    pub processes: Vec<ProcessSample>,
    /// Durations of the calls of `task_numa_work` that ended since the sample before, by thread id; `None` if they are
    /// not timed.
    pub numa_work: Option<BTreeMap<u32, Durations>>,
    /// Memory traffic of the caches of each node so far, in the order of [`Sample::nodes`]; `None` if nobody counts it.
    pub traffic: Option<Vec<Traffic>>,
    /// What could not be read, in sentences.
    pub missing: Vec<String>,
    /// Wall time that this sample took.
    pub cost: Duration,
}

/// What is kept of a process between samples.
#[derive(Debug, Default)]
struct Kept {
    start: u64,
    command: String,
    reading: Option<Reading>,
    /// Pages on each node, and the ids of these nodes.
    pages: Option<(Vec<u64>, Vec<u32>)>,
    read_at: Duration,
    denied: bool,
    /// Threads as last read; those of other samples stay as they were.
    tasks: BTreeMap<u32, TaskSample>,
}

/// Takes samples.
#[derive(Debug)]
pub struct Sampler {
    roots: Roots,
    scope: Scope,
    limits: Limits,
    begun: Instant,
    kept: BTreeMap<u32, Kept>,
    maps: DutyCycle,
    tasks: DutyCycle,
    /// Process at which the next sample goes on with mappings.
    maps_next: u32,
    /// Number of threads whose figures in the scheduler may still be read in this sample.
    sched_left: usize,
    /// Times `task_numa_work`; `None` if that was not asked for, and an error says why it cannot.
    trace: Option<io::Result<Trace>>,
}

impl Sampler {
    /// A sampler of a scope.
    pub fn new(roots: Roots, scope: Scope, limits: Limits) -> Self {
        let (maps, tasks) = (DutyCycle::new(limits.maps_share), DutyCycle::new(limits.tasks_share));
        let begun = Instant::now();
        Self {
            roots,
            scope,
            limits,
            begun,
            kept: BTreeMap::new(),
            maps,
            tasks,
            maps_next: 0,
            sched_left: 0,
            trace: None,
        }
    }

    /// Times the kernel's scans (`task_numa_work`) too, by two probes of this process's own. They need root, and are
    /// removed when the sampler is dropped. Without them, samples say what is missing.
    #[must_use]
    pub fn with_numa_work(mut self) -> Self {
        self.trace = Some(Trace::start());
        self
    }

    /// Takes a sample.
    ///
    /// # Errors
    /// The scope's control group cannot be read.
    pub fn take(&mut self) -> Result<Sample, String> {
        let begun = Instant::now();
        let at = self.begun.elapsed();
        let mut missing = Vec::new();
        let nodes = node::all(&self.roots);
        let ids: Vec<u32> = nodes.iter().map(|n| n.id).collect();
        let vmstat = match procfs::read(&self.roots.proc.join("vmstat")) {
            Ok(text) => Vmstat::parse(&text),
            Err(e) => {
                missing.push(format!("counters of the machine: {}: {e}", self.roots.proc.join("vmstat").display()));
                Vmstat::default()
            }
        };
        let balancing = numa_balancing::mode(&self.roots.proc);
        let pids = self.scope.processes(&self.roots)?;
        self.kept.retain(|pid, _| pids.binary_search(pid).is_ok());
        self.sched_left = if balancing.unwrap_or(0) > 0 { self.limits.sched_tasks } else { 0 };
        let read_tasks = self.tasks.is_due(at);
        let tasks_begun = Instant::now();
        let mut processes: Vec<ProcessSample> = pids.iter().filter_map(|&pid| self.process(pid, read_tasks)).collect();
        if read_tasks {
            self.tasks.spent(at, tasks_begun.elapsed());
        }
        self.read_maps(&processes, &ids, at);
        for p in &mut processes {
            let kept = self.kept.get(&p.pid);
            p.pages = kept.and_then(|k| k.pages.clone()).filter(|(_, of)| *of == ids).map(|(pages, _)| pages);
            p.pages_age = kept.map_or(Duration::ZERO, |k| at.saturating_sub(k.read_at));
        }
        self.note_missing(&processes, balancing, &nodes, &mut missing);
        let numa_work = self.numa_work(balancing, &mut missing);
        let cpus: Vec<&[u32]> = nodes.iter().map(|n| &n.cpus[..]).collect();
        let traffic = match resctrl::traffic(&self.roots, &cpus) {
            Ok(traffic) => Some(traffic),
            Err(why) => {
                missing.push(format!("bandwidth: {why}"));
                None
            }
        };
        Ok(Sample { at, nodes, balancing, vmstat, processes, numa_work, traffic, missing, cost: begun.elapsed() })
    }

    /// What scans took since the last sample. Without balancing there are none, and nothing is missing.
    fn numa_work(&mut self, balancing: Option<u32>, missing: &mut Vec<String>) -> Option<BTreeMap<u32, Durations>> {
        let lacks = |why: String| format!("stalls of task_numa_work: {why}");
        match self.trace.as_mut()? {
            _ if balancing.unwrap_or(0) == 0 => None,
            Ok(trace) => {
                let taken = trace.take_numa_work();
                if taken.is_none() {
                    missing.push(lacks("this kernel has no probes for it (CONFIG_KPROBE_EVENTS)".into()));
                }
                taken
            }
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                missing.push(lacks("tracefs needs root".into()));
                None
            }
            Err(e) => {
                missing.push(lacks(e.to_string()));
                None
            }
        }
    }

    /// A process; `None` for one that has ended and for threads of the kernel.
    fn process(&mut self, pid: u32, read_tasks: bool) -> Option<ProcessSample> {
        let stat = process::stat(&self.roots, pid)?;
        if stat.is_kernel() || stat.state == 'Z' {
            return None;
        }
        let kept = self.kept.entry(pid).or_default();
        if kept.start != stat.start {
            *kept = Kept { start: stat.start, ..Kept::default() };
        }
        if kept.command.is_empty() || !kept.tasks.values().any(|t| t.tid == pid && t.name == stat.name) {
            // After exec a process has another name.
            kept.command = process::command(&self.roots, pid, &stat.name);
        }
        if read_tasks || kept.tasks.is_empty() {
            let tids = process::tasks(&self.roots, pid);
            let mut tasks = BTreeMap::new();
            for tid in tids {
                let Some(s) = process::task_stat(&self.roots, pid, tid) else { continue };
                let sched = (self.sched_left > 0).then(|| read_sched(&self.roots, pid, tid)).flatten();
                self.sched_left -= usize::from(sched.is_some());
                tasks.insert(tid, TaskSample { tid, name: s.name, state: s.state, cpu: s.cpu, ticks: s.ticks, sched });
            }
            kept.tasks = tasks;
        }
        let tasks: Vec<TaskSample> = kept.tasks.values().cloned().collect();
        Some(ProcessSample {
            pid,
            start: stat.start,
            name: stat.name,
            command: kept.command.clone(),
            ticks: stat.ticks,
            system_ticks: stat.system_ticks,
            threads: tasks.len(),
            tasks,
            pages: None,
            pages_age: Duration::ZERO,
        })
    }

    /// Reads mappings in turn, for as long as the limits allow. Every process is read once at the start.
    fn read_maps(&mut self, processes: &[ProcessSample], ids: &[u32], at: Duration) {
        if !self.maps.is_due(at) {
            return;
        }
        let begun = Instant::now();
        let (before, after): (Vec<u32>, Vec<u32>) =
            processes.iter().map(|p| p.pid).partition(|&pid| pid < self.maps_next);
        self.maps_next = 0;
        for pid in after.into_iter().chain(before) {
            let left = self.limits.maps_at_once.saturating_sub(begun.elapsed());
            if left.is_zero() {
                self.maps_next = pid;
                break;
            }
            let path = self.roots.process(pid).join("numa_maps");
            let Some(kept) = self.kept.get_mut(&pid) else { continue };
            match advance(kept, &path, ids, left) {
                Ok(true) => kept.read_at = at,
                Ok(false) => {
                    self.maps_next = pid;
                    break;
                }
                Err(e) => {
                    kept.denied = e.kind() == io::ErrorKind::PermissionDenied;
                    kept.reading = None;
                }
            }
        }
        self.maps.spent(at, begun.elapsed());
    }

    /// Says what this sample lacks, each in one sentence.
    fn note_missing(
        &self,
        processes: &[ProcessSample],
        balancing: Option<u32>,
        nodes: &[node::Node],
        missing: &mut Vec<String>,
    ) {
        let denied = self.kept.values().filter(|k| k.denied).count();
        if denied > 0 {
            missing.push(format!(
                "memory of {denied} process{}: reading numa_maps was refused; those of other users need root (or CAP_SYS_PTRACE)",
                if denied == 1 { "" } else { "es" }
            ));
        }
        if nodes.iter().all(|n| n.numastat.is_empty()) {
            missing.push("local and remote allocations: this kernel has no numastat".into());
        }
        if !processes.is_empty() && denied == 0 && processes.iter().all(|p| p.pages.is_none()) {
            let is_there = |p: &ProcessSample| self.roots.process(p.pid).join("numa_maps").exists();
            let why = match processes.iter().any(is_there) {
                true => "not yet read, as a sample may take only so much time",
                false => "this kernel has no numa_maps",
            };
            missing.push(format!("memory of processes by node: {why}"));
        }
        match balancing {
            None => missing.push("faults and scans: this kernel has no NUMA balancing".into()),
            Some(0) => missing.push("faults and scans: kernel.numa_balancing is 0, so there are none".into()),
            Some(_) if processes.iter().flat_map(|p| &p.tasks).all(|t| t.sched.is_none()) && !processes.is_empty() => {
                missing.push("faults of threads: /proc/PID/sched is absent (CONFIG_SCHED_DEBUG)".into());
            }
            Some(_) => {}
        }
        missing.push("sampled accesses: not measured".into());
    }
}

/// Goes on reading the mappings of a process; returns whether they are complete.
fn advance(kept: &mut Kept, path: &std::path::Path, ids: &[u32], limit: Duration) -> io::Result<bool> {
    let reading = match &mut kept.reading {
        Some(reading) => reading,
        None => kept.reading.insert(Reading::open(path)?),
    };
    let Some(mappings) = reading.advance(limit)? else { return Ok(false) };
    kept.reading = None;
    kept.denied = false;
    kept.pages = Some((pages_on(&mappings, ids), ids.to_vec()));
    Ok(true)
}

/// Figures of a thread in the scheduler.
fn read_sched(roots: &Roots, pid: u32, tid: u32) -> Option<TaskSched> {
    Some(sched::parse(&procfs::read(&roots.task(pid, tid).join("sched")).ok()?))
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::path::Path;

    /// A tree of files of a machine with two nodes and two CPUs.
    pub(crate) struct Tree {
        _dir: tempfile::TempDir,
        pub(crate) roots: Roots,
    }

    impl Tree {
        pub(crate) fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let roots = Roots { proc: dir.path().join("proc"), sys: dir.path().join("sys") };
            let tree = Self { _dir: dir, roots };
            tree.sys("devices/system/node/online", "0-1\n");
            for node in 0..2 {
                let at = format!("devices/system/node/node{node}");
                tree.sys(&format!("{at}/cpulist"), &format!("{node}\n"));
                tree.sys(
                    &format!("{at}/meminfo"),
                    &format!("Node {node} MemTotal: 1048576 kB\nNode {node} MemFree: 524288 kB\n"),
                );
                tree.sys(&format!("{at}/distance"), if node == 0 { "10 20\n" } else { "20 10\n" });
                tree.numastat(node, 100, 0);
            }
            tree.proc("vmstat", "numa_hint_faults 0\nnuma_pages_migrated 0\nnuma_pte_updates 0\n");
            tree.proc("sys/kernel/numa_balancing", "1\n");
            tree
        }
        fn write(path: &Path, text: &str) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        pub(crate) fn proc(&self, file: &str, text: &str) {
            Self::write(&self.roots.proc.join(file), text);
        }
        pub(crate) fn sys(&self, file: &str, text: &str) {
            Self::write(&self.roots.sys.join(file), text);
        }
        pub(crate) fn numastat(&self, node: u32, local: u64, other: u64) {
            let text = format!("numa_hit {local}\nlocal_node {local}\nother_node {other}\n");
            self.sys(&format!("devices/system/node/node{node}/numastat"), &text);
        }
        /// A process with threads, each a thread id, CPU time in ticks, and CPU.
        pub(crate) fn process(&self, pid: u32, name: &str, threads: &[(u32, u64, u32)], pages: &str) {
            let ticks = threads.iter().map(|t| t.1).sum();
            self.proc(&format!("{pid}/stat"), &procfs::stat::tests::line(pid, name, 'S', ticks, threads[0].2));
            self.proc(&format!("{pid}/cmdline"), &format!("/bin/{name}\0-x\0"));
            self.proc(&format!("{pid}/numa_maps"), &format!("7f00 default anon=9 {pages} kernelpagesize_kB=4\n"));
            for &(tid, ticks, cpu) in threads {
                let line = procfs::stat::tests::line(tid, name, 'R', ticks, cpu);
                self.proc(&format!("{pid}/task/{tid}/stat"), &line);
                let sched = format!("numa_preferred_nid : 1\ntotal_numa_faults : {ticks}\nnuma_pages_migrated : 0\n");
                self.proc(&format!("{pid}/task/{tid}/sched"), &sched);
            }
        }
    }

    /// Limits that nothing reaches.
    pub(crate) fn ample() -> Limits {
        Limits { maps_share: 1.0, tasks_share: 1.0, maps_at_once: Duration::from_secs(60), sched_tasks: 1 << 20 }
    }

    #[test]
    fn scans_that_cannot_be_timed_are_missing_only_where_there_are_scans() {
        let tree = Tree::new();
        let mut s = Sampler::new(tree.roots.clone(), Scope::All, ample());
        let says = |s: &mut Sampler| {
            let sample = s.take().unwrap();
            assert_eq!(sample.numa_work, None);
            sample.missing.into_iter().find(|m| m.starts_with("stalls of task_numa_work"))
        };
        assert_eq!(says(&mut s), None, "nobody has asked for it");
        s.trace = Some(Err(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(says(&mut s).unwrap(), "stalls of task_numa_work: tracefs needs root");
        tree.proc("sys/kernel/numa_balancing", "0\n");
        assert_eq!(says(&mut s), None, "without balancing nothing scans");
    }

    #[test]
    fn a_sample_of_two_nodes() {
        let tree = Tree::new();
        tree.process(7, "db", &[(7, 100, 0), (8, 50, 1)], "N0=30 N1=10");
        let mut s = Sampler::new(tree.roots.clone(), Scope::All, ample());
        let sample = s.take().unwrap();
        let p = &sample.processes[0];
        assert_eq!((p.pid, p.name.as_str(), p.command.as_str(), p.ticks), (7, "db", "/bin/db -x", 150));
        assert_eq!(p.pages, Some(vec![30, 10]));
        assert_eq!(p.tasks[1].sched.as_ref().unwrap().preferred_nid, 1);
        assert_eq!((sample.nodes.len(), sample.balancing), (2, Some(1)));
        // Another process with the same id is not the same process.
        fs::remove_dir_all(tree.roots.task(7, 8)).unwrap();
        tree.process(7, "db", &[(7, 1, 0)], "N0=1");
        let stat = procfs::stat::tests::line(7, "db", 'S', 1, 0).replace("1007", "2007");
        tree.proc("7/stat", &stat);
        assert_eq!(s.take().unwrap().processes[0].threads, 1);
    }

    #[test]
    fn what_is_missing_is_said_and_hostile_files_do_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().join("proc"), sys: dir.path().join("sys") };
        let mut s = Sampler::new(roots, Scope::All, ample());
        let sample = s.take().unwrap();
        let all = sample.missing.join("\n");
        for what in ["counters of the machine", "no numastat", "no NUMA balancing", "not measured"] {
            assert!(all.contains(what), "{what} in {all}");
        }
        let tree = Tree::new();
        for (i, text) in ["", "(", "7 (x) R", ")", "\0\0"].iter().enumerate() {
            tree.proc(&format!("{}/stat", i + 10), text);
            tree.proc(&format!("{}/task/{}/stat", i + 10, i + 10), text);
        }
        tree.process(7, "x)\u{1b}[2J(", &[(7, u64::MAX / 2, 4_000_000)], "N0=99999999999999999999 N9=1 N1=4");
        tree.proc("7/task/7/sched", "numa_preferred_nid : 99\ntotal_numa_faults:x\n");
        tree.sys("devices/system/node/online", "0-4294967295\n");
        let sample = Sampler::new(tree.roots.clone(), Scope::All, ample()).take().unwrap();
        assert_eq!(sample.processes.len(), 1);
        assert!(sample.nodes.is_empty(), "a list that is no list names no node");
    }

    /// Pages that were read for other nodes are not shown under those that are there now.
    #[test]
    fn pages_of_nodes_that_have_changed_are_unknown_until_they_are_read_again() {
        let tree = Tree::new();
        tree.process(7, "a", &[(7, 1, 0)], "N0=1 N1=2");
        let mut s = Sampler::new(tree.roots.clone(), Scope::All, Limits { maps_share: 1e-6, ..ample() });
        assert_eq!(s.take().unwrap().processes[0].pages, Some(vec![1, 2]));
        let nodes = tree.roots.sys.join("devices/system/node");
        fs::rename(nodes.join("node1"), nodes.join("node2")).unwrap();
        tree.sys("devices/system/node/online", "0,2\n");
        let sample = s.take().unwrap();
        assert_eq!((sample.nodes[1].id, sample.processes[0].pages.clone()), (2, None));
    }

    /// A process that ends at any moment of a look leaves no state behind.
    #[test]
    fn a_process_that_vanishes_file_by_file_is_forgotten() {
        for file in ["stat", "task", "numa_maps", "cmdline", ""] {
            let tree = Tree::new();
            tree.process(7, "a", &[(7, 1, 0)], "N0=1");
            let mut s = Sampler::new(tree.roots.clone(), Scope::All, ample());
            s.take().unwrap();
            let gone = tree.roots.process(7).join(file);
            if gone.is_dir() { fs::remove_dir_all(gone) } else { fs::remove_file(gone) }.unwrap();
            s.take().unwrap();
            let _ = fs::remove_dir_all(tree.roots.process(7));
            assert!(s.take().unwrap().processes.is_empty(), "{file}");
            assert!(s.kept.is_empty(), "{file}");
        }
    }

    #[test]
    fn mappings_wait_for_their_share_and_say_how_old_they_are() {
        let tree = Tree::new();
        tree.process(7, "a", &[(7, 1, 0)], "N0=1");
        tree.process(8, "b", &[(8, 1, 0)], "N0=2");
        let tiny = Limits { maps_share: 1e-6, ..ample() };
        let mut s = Sampler::new(tree.roots.clone(), Scope::All, tiny);
        assert!(s.take().unwrap().processes.iter().all(|p| p.pages.is_some()), "each is read once");
        tree.process(7, "a", &[(7, 1, 0)], "N0=5");
        let later = s.take().unwrap();
        assert_eq!(later.processes[0].pages, Some(vec![1, 0]), "not due yet");
        assert!(later.processes[0].pages_age > Duration::ZERO);
        let none = Limits { maps_at_once: Duration::ZERO, ..ample() };
        let mut s = Sampler::new(tree.roots.clone(), Scope::All, none);
        let unread = s.take().unwrap();
        assert!(unread.processes.iter().all(|p| p.pages.is_none()));
        let says = |missing: &[String], what: &str| missing.iter().any(|m| m.contains(what));
        assert!(says(&unread.missing, "memory of processes by node: not yet read"), "{:?}", unread.missing);
        for pid in [7, 8] {
            fs::remove_file(tree.roots.process(pid).join("numa_maps")).unwrap();
        }
        assert!(says(&s.take().unwrap().missing, "this kernel has no numa_maps"));
    }
}
