//! Memory samples of a command and its descendants, where the processor takes them: `record --accesses --sampler perf`.
//!
//! The event is that of `balance` ([`perf`](crate::balance::sampler::perf)): PEBS on Intel, IBS on AMD. What it cannot
//! tell is the order of lines, so a record says that it was sampled.

use crate::balance::sampler::perf::{self, Access, Ring, Source};
use crate::procfs::{maps, process, read, Roots};
use numalab_model::machine::cpulist;

/// Samples of a CPU a second at most: 4 µs each are 1.2 % of a CPU.
const PER_SECOND: u64 = 3000;

/// A sampled access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySample {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// What was accessed.
    pub address: u64,
    /// Whether it was a store.
    pub writes: bool,
    /// Whether the private caches did not have it. What is not said counts as such: quick accesses are not sampled.
    pub is_near_miss: bool,
    /// Whether the last-level cache did not have it either.
    pub is_far_miss: bool,
    /// Events that it stands for.
    pub period: u64,
}

impl From<Access> for MemorySample {
    fn from(a: Access) -> Self {
        let (near, far) = match a.source {
            Source::Near => (false, false),
            Source::Far => (true, false),
            Source::Beyond | Source::Unknown => (true, true),
        };
        let Access { pid, tid, address, writes, period, .. } = a;
        Self { pid, tid, address, writes, is_near_miss: near, is_far_miss: far, period }
    }
}

/// Samples of all CPUs.
pub struct MemorySamples {
    name: String,
    rings: Vec<Ring>,
}

impl MemorySamples {
    /// Begins to sample.
    ///
    /// # Errors
    /// The processor has no memory samples, or they are not allowed, in words.
    pub fn open(roots: &Roots) -> Result<Self, String> {
        let pmu = perf::find(roots).ok_or("the processor has no memory samples here (no ibs_op, no mem-loads)")?;
        let online = read(&roots.sys.join("devices/system/cpu/online")).unwrap_or_default();
        let cpus = cpulist::parse(online.trim()).map_err(|e| format!("CPUs that are online: {e}"))?;
        let rings = cpus.into_iter().map(|cpu| perf::ring(&pmu, cpu, 0, PER_SECOND)).collect::<std::io::Result<_>>();
        let paranoid = roots.proc.join("sys/kernel/perf_event_paranoid");
        let rings = rings.map_err(|e| perf::denied(&pmu.name, &e, &paranoid))?;
        Ok(Self { name: pmu.name, rings })
    }
    /// The event.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// What was sampled since the last call, of all processes.
    pub fn take(&mut self) -> Vec<MemorySample> {
        self.rings.iter_mut().flat_map(|r| perf::drain(&mut r.sampler)).map(MemorySample::from).collect()
    }
}

/// A process as its record needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Its parent.
    pub parent: u32,
    /// Its program.
    pub path: String,
    /// Its mappings: address, bytes, file.
    pub mappings: Vec<(u64, u64, String)>,
    /// CPU time of its threads so far, ns.
    pub cpu_ns: Vec<(u32, u64)>,
}

/// Looks at a process; `None` if it has ended.
pub fn watched(roots: &Roots, pid: u32) -> Option<Watched> {
    let dir = roots.process(pid);
    let named = |r: &maps::Range| if r.name == "[heap]" { "heap".to_string() } else { r.name.clone() };
    let ranges = maps::parse(&read(&dir.join("maps")).ok()?);
    let mappings = ranges.iter().filter(|r| r.writable).map(|r| (r.start, r.end - r.start, named(r))).collect();
    let cpu = |tid: u32| {
        let text = read(&roots.task(pid, tid).join("schedstat")).ok()?;
        Some((tid, text.split(' ').next()?.parse().ok()?))
    };
    let path = std::fs::read_link(dir.join("exe")).unwrap_or_default().display().to_string();
    let parent = process::stat(roots, pid)?.parent;
    Some(Watched { parent, path, mappings, cpu_ns: process::tasks(roots, pid).into_iter().filter_map(cpu).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::tests_support::Tree;

    #[test]
    fn a_machine_without_samples_says_so() {
        let tree = Tree::new();
        let why = MemorySamples::open(&tree.roots).err().unwrap_or_default();
        assert!(why.contains("no memory samples here"), "{why}");
    }

    #[test]
    fn this_process_is_seen_as_it_is() {
        let roots = Roots::default();
        let seen = watched(&roots, std::process::id()).expect("it runs");
        assert!(seen.mappings.iter().any(|m| m.2 == "heap") || !seen.mappings.is_empty(), "{seen:?}");
        assert!(seen.cpu_ns.iter().any(|(_, ns)| *ns > 0) && !seen.path.is_empty(), "{seen:?}");
        assert_eq!(watched(&roots, u32::MAX), None);
    }
}
