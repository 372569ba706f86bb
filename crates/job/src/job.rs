//! The input of the worker: a resolved workload and settings, as JSON.
//!
//! `cpu_ids` and `node_ids` translate the dense CPU and node indices of the workload. So the same workload runs on a
//! guest, where QEMU numbers CPUs in its own way, and on a host with sparse ids.

use numalab_nouns::workload::{ForkPoint, Workload};
use serde::{Deserialize, Serialize};

/// Version of the formats of jobs and frames; a worker refuses other versions.
pub const FORMAT: u32 = 2;

/// Everything that one run needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// [`FORMAT`].
    pub format: u32,
    /// The workload, resolved for the machine.
    pub workload: Workload,
    /// Seed of the workload's random draws.
    pub seed: u64,
    /// CPU number of the running system for each dense CPU index.
    pub cpu_ids: Vec<u32>,
    /// Dense node of each dense CPU.
    pub cpu_nodes: Vec<u32>,
    /// Node number of the running system for each dense node index.
    pub node_ids: Vec<u32>,
    /// Time between samples, ns; at least 1 ms.
    pub sample_ns: u64,
    /// Number of samples between two readings of page placement (`numa_maps`); 0 = never read.
    pub maps_every: u32,
    /// Read every task's CPU and preferred node at each sample.
    pub sample_tasks: bool,
    /// Count the balancing tracepoints by reason.
    pub trace: bool,
    /// Kernel settings to make before the run (root only).
    pub knobs: Vec<Knob>,
    /// The user's own program, which runs in place of a workload's processes. The workload gives its name and limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation: Option<Invocation>,
    /// A plugin of QEMU records the program's accesses: it must be told where the kernel keeps its tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
    /// A failure to provoke instead of a regular run, for tests of failures.
    pub drill: Option<Drill>,
}

/// How a program is started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invocation {
    /// Path of the program, absolute.
    pub path: String,
    /// Its arguments, its own name first; at least that.
    pub argv: Vec<String>,
    /// Variables of its environment (name, value). On this machine they are added to those of the caller.
    pub environment: Vec<(String, String)>,
    /// Directory in which it begins, absolute.
    pub directory: String,
}

/// A kernel setting under the name the kernel uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knob {
    /// `group.key` of the tunable, for reports.
    pub name: String,
    /// `kernel.numa_balancing`, `debugfs sched/numa_balancing/scan_delay_ms`, `sys/…` (`numalab_worker::knob::path`).
    pub kernel_name: String,
    /// Value to write; empty = only report what the kernel has.
    pub value: String,
    /// Unit, for reports.
    pub unit: String,
    /// The run is refused if the kernel lacks it; otherwise a warning says so.
    pub required: bool,
}

/// A failure that a guest provokes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Drill {
    /// Process 1 ends: the kernel panics.
    Panic,
    /// Process 1 reports nothing more.
    Hang,
    /// The report channel carries bytes that are not a frame.
    Garbage,
}

/// Why a job cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JobError(pub String);

impl Job {
    /// A job with default settings: one sample per second, page placement at every second sample, tasks and tracepoints
    /// on, no knobs. It has `nodes` nodes and CPUs on the nodes `cpu_nodes`, whose ids are their indices.
    pub fn new(workload: Workload, seed: u64, cpu_nodes: Vec<u32>, nodes: usize) -> Self {
        Self {
            format: FORMAT,
            workload,
            seed,
            cpu_ids: (0..cpu_nodes.len() as u32).collect(),
            cpu_nodes,
            node_ids: (0..nodes as u32).collect(),
            sample_ns: 1_000_000_000,
            maps_every: 2,
            sample_tasks: true,
            trace: true,
            knobs: Vec::new(),
            invocation: None,
            recorded: false,
            drill: None,
        }
    }

    /// The job as JSON.
    ///
    /// # Errors
    /// A number that JSON cannot hold (NaN).
    pub fn to_bytes(&self) -> Result<Vec<u8>, JobError> {
        serde_json::to_vec(self).map_err(|e| JobError(format!("job: {e}")))
    }

    /// Reads a job from JSON, and checks the format and everything that the worker does not check when it compiles the
    /// ops.
    ///
    /// # Errors
    /// [`JobError`] with the part that is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, JobError> {
        let job: Job = serde_json::from_slice(bytes).map_err(|e| JobError(format!("job: {e}")))?;
        job.check()?;
        Ok(job)
    }

    fn check(&self) -> Result<(), JobError> {
        let fail = |text: String| Err(JobError(text));
        if let Some(p) = self.workload.processes.iter().find(|p| p.mems.is_some()) {
            return fail(format!("process {}: the memory nodes of a cpuset are for the simulator only", p.name));
        }
        if let Some(p) = self.workload.processes.iter().find(|p| p.cpu_group.is_some()) {
            return fail(format!("process {}: `cpu_weight` is for the simulator only", p.name));
        }
        if self.format != FORMAT {
            return fail(format!("job format {} but this worker speaks {FORMAT}", self.format));
        }
        if self.sample_ns < 1_000_000 {
            return fail(format!("sample interval {} ns, at least 1 ms expected", self.sample_ns));
        }
        let nothing = match &self.invocation {
            Some(program) => program.argv.is_empty(),
            None => self.workload.processes.is_empty(),
        };
        if nothing || self.node_ids.is_empty() || self.cpu_ids.is_empty() {
            return fail("job without processes, nodes or CPUs".into());
        }
        if self.cpu_nodes.len() != self.cpu_ids.len()
            || self.cpu_nodes.iter().any(|&n| n as usize >= self.node_ids.len())
        {
            return fail("job with a CPU on no node".into());
        }
        for (p, process) in self.workload.processes.iter().enumerate() {
            if process.parent.is_some_and(|q| q >= p) {
                return fail(format!("process {} is forked from a later one", process.name));
            }
            if process.threads.is_empty() {
                return fail(format!("process {} has no thread", process.name));
            }
            for region in &process.regions {
                if region.size_bytes == 0 || region.size_bytes % 4096 != 0 || region.misalign_bytes % 4096 != 0 {
                    return fail(format!("region {}.{} is not a multiple of 4 KiB", process.name, region.name));
                }
            }
        }
        Ok(())
    }

    /// Checks that the running system has the job's CPUs on the job's nodes; `sysfs` is usually `/sys`. A kernel
    /// without NUMA passes if the job has one node.
    ///
    /// # Errors
    /// The first node that is missing, or the first CPU that is missing or on another node.
    pub fn check_topology(&self, sysfs: &std::path::Path) -> Result<(), JobError> {
        let nodes = sysfs.join("devices/system/node");
        if self.node_ids.len() == 1 && !nodes.is_dir() {
            return Ok(());
        }
        for id in &self.node_ids {
            if !nodes.join(format!("node{id}")).is_dir() {
                return Err(JobError(format!("this system has no node {id}")));
            }
        }
        for (cpu, &node) in self.cpu_ids.iter().zip(&self.cpu_nodes) {
            let id = self.node_ids[node as usize];
            if !nodes.join(format!("node{id}/cpu{cpu}")).exists() {
                return Err(JobError(format!("CPU {cpu} of this system is not on node {id}")));
            }
        }
        Ok(())
    }

    /// Regions that process `p` sees, inherited ones first, each as its owning process and its index in that process.
    pub fn visible_regions(&self, p: usize) -> Vec<(usize, usize)> {
        let mut out = self.inherited_regions(p);
        out.extend((0..self.workload.processes[p].regions.len()).map(|r| (p, r)));
        out
    }

    /// Regions that process `p` inherits at its fork, in the form of [`Job::visible_regions`].
    pub fn inherited_regions(&self, p: usize) -> Vec<(usize, usize)> {
        let process = &self.workload.processes[p];
        match (process.parent, process.fork) {
            (None, _) => Vec::new(),
            (Some(q), ForkPoint::BeforePrologue) => self.inherited_regions(q),
            (Some(q), ForkPoint::AfterPrologue) => self.visible_regions(q),
        }
    }

    /// Processes that are forked from `p` at `point`, in order of their start.
    pub fn children(&self, p: usize, point: ForkPoint) -> Vec<usize> {
        let all = self.workload.processes.iter().enumerate();
        all.filter(|(_, c)| c.parent == Some(p) && c.fork == point).map(|(i, _)| i).collect()
    }

    /// Number of threads of all processes.
    pub fn thread_count(&self) -> usize {
        self.workload.processes.iter().map(|p| p.threads.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{access, job, process, region};
    use numalab_nouns::workload::{CpuGroup, Op, Score};

    #[test]
    fn a_job_is_read_back_from_its_bytes() {
        let mut a = process("a", vec![region("x", 8192)], vec![Op::Access(access(0, 0, 8192, 0.3)), Op::Join]);
        a.threads[0].affinity = Some(vec![0, 2].into());
        let mut j = job(vec![a]);
        let score = Score {
            name: "s".into(),
            unit: "MB/s".into(),
            higher_is_better: true,
            per_second: true,
            best: false,
            latency: false,
        };
        j.workload.scores = vec![score];
        j.knobs = vec![Knob {
            name: "n".into(),
            kernel_name: "kernel.b".into(),
            value: "1".into(),
            unit: String::new(),
            required: true,
        }];
        j.drill = Some(Drill::Hang);
        let argv = vec!["sh".into(), "-c".into(), "exit 3".into()];
        j.invocation = Some(Invocation { path: "/bin/sh".into(), argv, ..Invocation::default() });
        assert_eq!(Job::from_bytes(&j.to_bytes().unwrap()).unwrap(), j);
    }

    #[test]
    fn another_topology_is_refused() {
        let root = std::env::temp_dir().join(format!("numalab-topology-{}", std::process::id()));
        let cpu = |node: u32, cpu: u32| root.join(format!("devices/system/node/node{node}/cpu{cpu}"));
        let mut j = job(vec![process("a", vec![], vec![Op::Join])]);
        assert_eq!(j.check_topology(&root), Ok(()));
        (j.cpu_ids, j.cpu_nodes, j.node_ids) = (vec![0, 2], vec![0, 1], vec![0, 4]);
        std::fs::create_dir_all(cpu(0, 0)).unwrap();
        assert!(j.check_topology(&root).unwrap_err().to_string().contains("no node 4"));
        std::fs::create_dir_all(cpu(4, 1)).unwrap();
        assert!(j.check_topology(&root).unwrap_err().to_string().contains("CPU 2 of this system is not on node 4"));
        std::fs::create_dir_all(cpu(4, 2)).unwrap();
        assert_eq!(j.check_topology(&root), Ok(()));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn damaged_jobs_are_refused() {
        let good = job(vec![process("a", vec![region("x", 8192)], vec![Op::Join])]);
        let text = |change: &dyn Fn(&mut Job)| {
            let mut j = good.clone();
            change(&mut j);
            Job::from_bytes(&j.to_bytes().unwrap()).unwrap_err().to_string()
        };
        assert!(text(&|j| j.format = 99).contains("format 99"));
        let group = CpuGroup { id: 0, cpu_weight: 50 };
        assert!(
            text(&|j| j.workload.processes[0].cpu_group = Some(group)).contains("`cpu_weight` is for the simulator")
        );
        assert!(text(&|j| j.workload.processes[0].parent = Some(0)).contains("later"));
        assert!(text(&|j| j.workload.processes[0].regions[0].size_bytes = 100).contains("4 KiB"));
        assert!(text(&|j| j.workload.processes.clear()).contains("without processes"));
        assert!(text(&|j| j.invocation = Some(Invocation::default())).contains("without processes"));
        assert!(text(&|j| j.sample_ns = 5).contains("sample interval"));
        let bytes = good.to_bytes().unwrap();
        assert!(Job::from_bytes(&bytes[..bytes.len() - 3]).is_err());
    }
}
