//! Rates and shares from two samples.

use super::sampler::{ProcessSample, Sample, TaskSample};
use crate::procfs::process::TICKS_PER_S;
use numalab_model::record::stalls::Durations;
use serde::Serialize;

/// A memory node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeFrame {
    /// Id.
    pub id: u32,
    /// Number of online CPUs.
    pub cpus: usize,
    /// Memory, bytes.
    pub total_bytes: u64,
    /// Free memory, bytes.
    pub free_bytes: u64,
    /// Anonymous memory, bytes.
    pub anon_bytes: u64,
    /// Memory of files, bytes.
    pub file_bytes: u64,
    /// Allocations on this node per second, in pages.
    pub allocations_per_s: f64,
    /// Share of these by tasks that ran on it, from 0 to 1; absent without any.
    pub local_share: Option<f64>,
    /// CPU time of the scope's threads on this node, in CPUs.
    pub busy_cpus: f64,
    /// Memory of the scope's processes on this node, bytes.
    pub scope_bytes: u64,
    /// What the caches of its CPUs exchange with memory, of all programs, GB/s; absent if nobody counts it.
    pub traffic_gbps: Option<f64>,
    /// Share of that with memory of this node, from 0 to 1; absent if it is not counted, or without any.
    pub local_traffic_share: Option<f64>,
}

/// What the kernel's balancing does, per second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelRates {
    /// `kernel.numa_balancing`; absent if the kernel has none.
    pub balancing: Option<u32>,
    /// Entries that scans changed (`numa_pte_updates`).
    pub pte_updates_per_s: f64,
    /// Hint faults (`numa_hint_faults`).
    pub hint_faults_per_s: f64,
    /// Share of hint faults on local memory, from 0 to 1; absent without faults.
    pub local_faults_share: Option<f64>,
    /// Pages that balancing moved (`numa_pages_migrated`).
    pub pages_migrated_per_s: f64,
    /// Pages that anything moved (`pgmigrate_success`).
    pub all_migrated_per_s: f64,
}

/// Calls of `task_numa_work`, the scan that a thread carries out before it goes on with its program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct NumaWork {
    /// Calls that ended, per second.
    pub calls_per_s: f64,
    /// Time in these calls, in CPUs.
    pub cpus: f64,
    /// The longest of them, ms.
    pub longest_ms: f64,
}

impl NumaWork {
    fn of(calls: &Durations, interval_s: f64) -> Self {
        Self {
            calls_per_s: calls.calls() as f64 / interval_s,
            cpus: calls.total_ns() as f64 / 1e9 / interval_s,
            longest_ms: calls.max_ns() as f64 / 1e6,
        }
    }
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadFrame {
    /// Thread id.
    pub tid: u32,
    /// Name.
    pub name: String,
    /// CPU on which it last ran.
    pub cpu: u32,
    /// Node of that CPU; absent if the CPU belongs to none.
    pub node: Option<u32>,
    /// CPU time, in CPUs.
    pub busy_cpus: f64,
    /// Share of its process's memory on its node, from 0 to 1; absent if unknown.
    pub local_share: Option<f64>,
    /// Node that the kernel prefers for it; absent if none or unknown.
    pub preferred_node: Option<u32>,
    /// Pages that it took hint faults on, per second; absent if unknown.
    pub faults_per_s: Option<f64>,
    /// Pages that moved at its faults, per second; absent if unknown.
    pub migrated_per_s: Option<f64>,
    /// Share of the time for which it was blocked, from 0 to 1; absent if the kernel keeps no such statistics.
    pub blocked_share: Option<f64>,
    /// Its scans; absent if they are not timed.
    pub numa_work: Option<NumaWork>,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessFrame {
    /// Process id.
    pub pid: u32,
    /// Name.
    pub name: String,
    /// Command line.
    pub command: String,
    /// CPU time, in CPUs.
    pub busy_cpus: f64,
    /// Number of threads.
    pub threads: usize,
    /// Memory on each node, bytes; absent if it may not be read.
    pub bytes_by_node: Option<Vec<u64>>,
    /// Time since the memory was read, s.
    pub memory_age_s: f64,
    /// CPU time on each node, in CPUs.
    pub cpus_by_node: Vec<f64>,
    /// Share of memory that is local to its CPU time, from 0 to 1; absent if it is unknown or the process did not run.
    pub local_share: Option<f64>,
    /// Scans of all its threads; absent if they are not timed.
    pub numa_work: Option<NumaWork>,
    /// Its threads, busiest first.
    pub tasks: Vec<ThreadFrame>,
}

/// What two samples show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Frame {
    /// Time between the samples, s.
    pub interval_s: f64,
    /// Wall time that the second sample took, s.
    pub cost_s: f64,
    /// Nodes.
    pub nodes: Vec<NodeFrame>,
    /// The kernel's balancing.
    pub kernel: KernelRates,
    /// Processes, busiest first, then by memory.
    pub processes: Vec<ProcessFrame>,
    /// What could not be read, in sentences.
    pub missing: Vec<String>,
}

const PAGE_BYTES: u64 = 4096;

impl Frame {
    /// The frame of two samples, the earlier one first.
    pub fn between(old: &Sample, new: &Sample) -> Self {
        let interval_s = new.at.saturating_sub(old.at).as_secs_f64().max(1e-3);
        let node_of = |cpu: u32| new.nodes.iter().position(|n| n.cpus.contains(&cpu));
        let mut processes: Vec<ProcessFrame> = new
            .processes
            .iter()
            .map(|p| {
                let before = old.processes.iter().find(|o| (o.pid, o.start) == (p.pid, p.start));
                process(p, before, new, interval_s, &node_of)
            })
            .collect();
        processes.sort_by(|a, b| {
            let memory = |p: &ProcessFrame| p.bytes_by_node.as_ref().map_or(0, |b| b.iter().sum::<u64>());
            b.busy_cpus.total_cmp(&a.busy_cpus).then(memory(b).cmp(&memory(a))).then(a.pid.cmp(&b.pid))
        });
        let nodes = (0..new.nodes.len()).map(|n| node(n, old, new, interval_s, &processes)).collect();
        Self {
            interval_s,
            cost_s: new.cost.as_secs_f64(),
            nodes,
            kernel: rates(old, new, interval_s),
            processes,
            missing: new.missing.clone(),
        }
    }
}

/// `part` of `all`, if there is any.
fn share(part: f64, all: f64) -> Option<f64> {
    (all > 0.0).then(|| (part / all).clamp(0.0, 1.0))
}

fn node(i: usize, old: &Sample, new: &Sample, interval_s: f64, processes: &[ProcessFrame]) -> NodeFrame {
    let n = &new.nodes[i];
    let before = old.nodes.iter().find(|o| o.id == n.id);
    let growth = |name: &str| {
        let at = |n: &crate::procfs::node::Node| n.numastat.get(name).copied();
        // Without an earlier count, as of a node that came online, nothing is known of the interval.
        at(n).zip(before.and_then(at)).map_or(0, |(now, old)| now.saturating_sub(old)) as f64
    };
    let (local, other) = (growth("local_node"), growth("other_node"));
    let traffic = traffic(i, old, new);
    let of = |p: &ProcessFrame| p.bytes_by_node.as_ref().and_then(|b| b.get(i).copied()).unwrap_or(0);
    NodeFrame {
        id: n.id,
        cpus: n.cpus.len(),
        total_bytes: n.total_bytes,
        free_bytes: n.free_bytes,
        anon_bytes: n.anon_bytes,
        file_bytes: n.file_bytes,
        allocations_per_s: (local + other) / interval_s,
        local_share: share(local, local + other),
        busy_cpus: processes.iter().map(|p| p.cpus_by_node.get(i).copied().unwrap_or(0.0)).sum(),
        scope_bytes: processes.iter().map(of).fold(0, u64::saturating_add),
        traffic_gbps: traffic.map(|(total, _)| total / 1e9 / interval_s),
        local_traffic_share: traffic.and_then(|(total, local)| share(local?, total)),
    }
}

/// Bytes that the caches of a node have exchanged with memory between two samples, and those with memory of the node.
/// `None` if a count is missing or went back, as it does when a group is removed.
fn traffic(i: usize, old: &Sample, new: &Sample) -> Option<(f64, Option<f64>)> {
    let same = old.nodes.get(i).map(|n| n.id) == new.nodes.get(i).map(|n| n.id);
    let (before, now) = (old.traffic.as_ref()?.get(i)?, new.traffic.as_ref()?.get(i)?);
    let total = now.total_bytes.checked_sub(before.total_bytes).filter(|_| same)? as f64;
    let local = now.local_bytes.zip(before.local_bytes).and_then(|(now, before)| now.checked_sub(before));
    Some((total, local.map(|bytes| bytes as f64)))
}

fn rates(old: &Sample, new: &Sample, interval_s: f64) -> KernelRates {
    let growth = |name: &str| {
        let (now, before) = (new.vmstat.get(name).unwrap_or(0), old.vmstat.get(name).unwrap_or(0));
        // Counters that could not be read have not grown from 0.
        let unknown = old.vmstat == Default::default();
        if unknown {
            0.0
        } else {
            now.saturating_sub(before) as f64
        }
    };
    let faults = growth("numa_hint_faults");
    KernelRates {
        balancing: new.balancing,
        pte_updates_per_s: growth("numa_pte_updates") / interval_s,
        hint_faults_per_s: faults / interval_s,
        local_faults_share: share(growth("numa_hint_faults_local"), faults),
        pages_migrated_per_s: growth("numa_pages_migrated") / interval_s,
        all_migrated_per_s: growth("pgmigrate_success") / interval_s,
    }
}

/// CPU time of ticks, in CPUs.
fn cpus(now: u64, before: Option<u64>, interval_s: f64) -> f64 {
    // Without an earlier sample nothing is known of the interval.
    before.map_or(0.0, |b| now.saturating_sub(b) as f64 / TICKS_PER_S as f64 / interval_s)
}

fn process(
    p: &ProcessSample,
    before: Option<&ProcessSample>,
    new: &Sample,
    interval_s: f64,
    node_of: &dyn Fn(u32) -> Option<usize>,
) -> ProcessFrame {
    let bytes: Option<Vec<u64>> =
        p.pages.as_ref().map(|pages| pages.iter().map(|n| n.saturating_mul(PAGE_BYTES)).collect());
    let total = bytes.as_ref().map_or(0.0, |b| b.iter().map(|&n| n as f64).sum::<f64>());
    let on = |node: usize| bytes.as_ref().and_then(|b| b.get(node)).and_then(|&n| share(n as f64, total));
    let mut cpus_by_node = vec![0.0; new.nodes.len()];
    let mut tasks: Vec<ThreadFrame> = Vec::new();
    for t in &p.tasks {
        let old = before.and_then(|b| b.tasks.iter().find(|o| o.tid == t.tid));
        let node = node_of(t.cpu);
        let busy_cpus = cpus(t.ticks, old.map(|o| o.ticks), interval_s);
        if let Some(node) = node {
            cpus_by_node[node] += busy_cpus;
        }
        tasks.push(thread(t, old, busy_cpus, node.map(|n| (new.nodes[n].id, on(n))), interval_s));
    }
    let numa_work = new.numa_work.as_ref().map(|all| {
        let mut joined = Durations::default();
        p.tasks.iter().filter_map(|t| all.get(&t.tid)).for_each(|d| joined.join(d));
        tasks.iter_mut().for_each(|t| {
            t.numa_work = Some(all.get(&t.tid).map(|d| NumaWork::of(d, interval_s)).unwrap_or_default());
        });
        NumaWork::of(&joined, interval_s)
    });
    tasks.sort_by(|a, b| b.busy_cpus.total_cmp(&a.busy_cpus).then(a.tid.cmp(&b.tid)));
    let busy: f64 = cpus_by_node.iter().sum();
    let local: Option<f64> = (busy > 0.0)
        .then(|| cpus_by_node.iter().enumerate().map(|(n, c)| Some(c / busy * on(n)?)).sum::<Option<f64>>())
        .flatten();
    ProcessFrame {
        pid: p.pid,
        name: p.name.clone(),
        command: p.command.clone(),
        busy_cpus: cpus(p.ticks, before.map(|b| b.ticks), interval_s),
        threads: p.threads,
        bytes_by_node: bytes,
        memory_age_s: p.pages_age.as_secs_f64(),
        cpus_by_node,
        local_share: local,
        numa_work,
        tasks,
    }
}

fn thread(
    t: &TaskSample,
    old: Option<&TaskSample>,
    busy_cpus: f64,
    node: Option<(u32, Option<f64>)>,
    interval_s: f64,
) -> ThreadFrame {
    let both = t.sched.as_ref().zip(old.and_then(|o| o.sched.as_ref()));
    let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / interval_s;
    ThreadFrame {
        tid: t.tid,
        name: t.name.clone(),
        cpu: t.cpu,
        node: node.map(|n| n.0),
        busy_cpus,
        local_share: node.and_then(|n| n.1),
        preferred_node: t.sched.as_ref().and_then(|s| u32::try_from(s.preferred_nid).ok()),
        faults_per_s: both.map(|(n, o)| rate(n.total_numa_faults, o.total_numa_faults)),
        migrated_per_s: both.map(|(n, o)| rate(n.pages_migrated, o.pages_migrated)),
        blocked_share: both
            .filter(|(n, _)| n.block_ns > 0)
            .map(|(n, o)| (rate(n.block_ns, o.block_ns) / 1e9).clamp(0.0, 1.0)),
        numa_work: None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::sampler::tests::{ample, Tree};
    use super::super::Sampler;
    use super::*;
    use crate::procfs::resctrl::Traffic;
    use crate::procfs::scope::Scope;
    use std::time::Duration;

    /// A frame of one second: a database whose memory is on node 0 and whose busier thread runs on node 1.
    pub(crate) fn frame() -> Frame {
        let tree = Tree::new();
        tree.process(7, "db", &[(7, 100, 0), (8, 50, 1)], "N0=768 N1=256");
        tree.process(9, "idle", &[(9, 5, 0)], "N1=16");
        let mut sampler = Sampler::new(tree.roots.clone(), Scope::All, ample());
        let mut old = sampler.take().unwrap();
        tree.process(7, "db", &[(7, 125, 0), (8, 125, 1)], "N0=768 N1=256");
        tree.proc("vmstat", "numa_hint_faults 40\nnuma_hint_faults_local 10\nnuma_pages_migrated 30\n");
        tree.numastat(1, 400, 100);
        let mut new = sampler.take().unwrap();
        (old.at, new.at) = (Duration::from_secs(10), Duration::from_secs(11));
        for s in [&mut old, &mut new] {
            s.cost = Duration::from_millis(3);
            s.processes.iter_mut().for_each(|p| p.pages_age = Duration::ZERO);
        }
        let mut scans = Durations::default();
        [2_400_000, 600_000].into_iter().for_each(|ns| scans.add(ns));
        new.numa_work = Some([(8, scans)].into());
        let traffic = |total_bytes, local_bytes| Traffic { total_bytes, local_bytes };
        old.traffic = Some(vec![traffic(7, Some(7)), traffic(0, None)]);
        new.traffic = Some(vec![traffic(2_000_000_007, Some(500_000_007)), traffic(1_500_000_000, None)]);
        Frame::between(&old, &new)
    }

    #[test]
    fn rates_and_shares_of_an_interval() {
        let f = frame();
        assert_eq!((f.kernel.hint_faults_per_s, f.kernel.local_faults_share), (40.0, Some(0.25)));
        assert_eq!((f.nodes[1].allocations_per_s, f.nodes[1].local_share), (400.0, Some(0.75)));
        assert_eq!(f.nodes[0].local_share, None, "no allocation, no share");
        assert_eq!((f.nodes[0].traffic_gbps, f.nodes[0].local_traffic_share), (Some(2.0), Some(0.25)));
        assert_eq!((f.nodes[1].traffic_gbps, f.nodes[1].local_traffic_share), (Some(1.5), None));
        let db = &f.processes[0];
        assert_eq!((db.name.as_str(), db.busy_cpus, db.tasks[0].tid), ("db", 1.0, 8));
        assert_eq!(db.cpus_by_node, [0.25, 0.75]);
        // A quarter of the time on the node with three quarters of the memory, and the other way round.
        assert_eq!(db.local_share, Some(0.25 * 0.75 + 0.75 * 0.25));
        assert_eq!((db.tasks[0].faults_per_s, db.tasks[0].preferred_node), (Some(75.0), Some(1)));
        let scans = NumaWork { calls_per_s: 2.0, cpus: 0.003, longest_ms: 2.4 };
        assert_eq!((db.numa_work, db.tasks[0].numa_work), (Some(scans), Some(scans)));
        assert_eq!(db.tasks[1].numa_work, Some(NumaWork::default()), "it has not scanned");
        assert_eq!((f.processes[1].busy_cpus, f.processes[1].local_share), (0.0, None));
        assert_eq!(f.nodes[0].scope_bytes, 768 * 4096);
    }

    #[test]
    fn names_of_other_programs_cannot_hide_in_a_frame() {
        let tree = Tree::new();
        tree.process(7, "d\u{202e}b\u{2060}", &[(7, 100, 0)], "N0=1");
        let mut sampler = Sampler::new(tree.roots.clone(), Scope::All, ample());
        let f = Frame::between(&sampler.take().unwrap(), &sampler.take().unwrap());
        let (json, text) = (serde_json::to_string(&f).unwrap(), super::super::text::write(&f, 9, true));
        for shown in [json, text] {
            assert!(!shown.contains(['\u{202e}', '\u{2060}']) && shown.contains("u{202e}b"), "{shown}");
        }
        assert_eq!(f.processes[0].name, "d\\u{202e}b\\u{2060}");
    }

    #[test]
    fn a_counter_that_went_back_is_no_rate() {
        let f = frame();
        let json = serde_json::to_value(&f).unwrap();
        assert!(json["processes"][0]["tasks"][0]["blocked_share"].is_null());
        let (mut old, new) = (Sample { ..sample() }, sample());
        old.processes[0].ticks = 1 << 40;
        assert_eq!(Frame::between(&old, &new).processes[0].busy_cpus, 0.0);
        let mut back = sample();
        old.traffic = Some(vec![Traffic { total_bytes: 9, local_bytes: Some(9) }; old.nodes.len()]);
        back.traffic = Some(vec![Traffic { total_bytes: 3, local_bytes: Some(3) }; back.nodes.len()]);
        assert_eq!(Frame::between(&old, &back).nodes[0].traffic_gbps, None);
    }

    /// A look that could not read the counters must not turn their value since boot into a rate.
    #[test]
    fn counters_that_could_not_be_read_are_no_rate() {
        let tree = Tree::new();
        let mut s = Sampler::new(tree.roots.clone(), Scope::All, ample());
        let nodes = tree.roots.sys.join("devices/system/node");
        tree.proc("vmstat", "");
        std::fs::remove_file(nodes.join("node1/numastat")).unwrap();
        let old = s.take().unwrap();
        tree.proc("vmstat", "numa_hint_faults 900\n");
        tree.numastat(1, 900, 0);
        let f = Frame::between(&old, &s.take().unwrap());
        assert_eq!((f.kernel.hint_faults_per_s, f.nodes[1].allocations_per_s), (0.0, 0.0));
    }

    fn sample() -> Sample {
        let tree = Tree::new();
        tree.process(7, "db", &[(7, 100, 0)], "N0=1");
        Sampler::new(tree.roots.clone(), Scope::All, ample()).take().unwrap()
    }
}
