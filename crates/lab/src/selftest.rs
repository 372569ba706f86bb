//! Self-test of the timing mode `modelled`: it checks that the plugin charges memory latency on this QEMU.
//!
//! The mode depends on the place of QEMU's instruction decrementer. Before the mode is used, a small guest measures
//! itself: one thread chases pointers in near and in far memory, then two threads compute on one CPU and on two. A far
//! line must cost the configured difference more than a near one, and two CPUs must do nearly twice the work of one.
//! The result is cached for each QEMU, plugin and kernel.

use crate::cache::{self, Cache};
use crate::failure::at_path;
use crate::guest::{self, GuestRun};
use crate::plugin::{self, report::PluginReport, Model, Plugin};
use crate::qemu::Timing;
use crate::topology::{GuestNode, GuestTopology, Smp};
use numalab_model::files::input;
use numalab_model::record::Outcome;
use numalab_model::workload::*;
use numalab_worker::job::Job;
use serde::{Deserialize, Serialize};
use std::path::Path;

const NEAR_NS: f64 = 100.0;
const FAR_NS: f64 = 400.0;
/// Largest relative error of the measured difference between far and near.
const TOLERANCE: f64 = 0.15;
/// Least ratio of the work of two CPUs to the work of one.
const LEAST_SPREAD: f64 = 1.8;
/// Time of each measurement, ns: many scheduler slices.
const PHASE_NS: u64 = 400_000_000;
const REGION_BYTES: u64 = 4 << 20;

/// Result of the self-test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// Time of an access to near memory, ns.
    pub near_ns: f64,
    /// Time of an access to far memory, ns.
    pub far_ns: f64,
    /// Ratio of the work of two threads on two CPUs to their work on one CPU.
    pub spread_over_stacked: f64,
    /// State of the charging, in the words of the plugin.
    pub charge: String,
}

impl SelfTest {
    /// Why the mode cannot be used, if so.
    pub fn refusal(&self) -> Option<String> {
        if let Some(reason) = self.charge.strip_prefix("refused: ") {
            return Some(reason.to_string());
        }
        let difference = self.far_ns - self.near_ns;
        let wanted = FAR_NS - NEAR_NS;
        if (difference - wanted).abs() > TOLERANCE * wanted {
            return Some(format!("a far line costs {difference:.0} ns more than a near one instead of {wanted:.0} ns"));
        }
        if self.spread_over_stacked < LEAST_SPREAD {
            let ratio = self.spread_over_stacked;
            return Some(format!("two CPUs do only {ratio:.2} times the work of one instead of {LEAST_SPREAD}"));
        }
        None
    }
}

/// Largest file of a result that is read, bytes.
const KNOWN_BYTES_MAX: u64 = 1 << 20;

/// Runs the self-test, unless its result is cached. `vm` has QEMU, worker and kernel.
///
/// # Errors
/// The guest failed or measured nothing.
pub fn run(cache: &Cache, vm: &GuestRun<'_>) -> Result<SelfTest, String> {
    let library = plugin::library(cache)?;
    let key = key(vm, &library)?;
    let file = cache.directory("selftest").map_err(|e| e.to_string())?.join(format!("{key}.json"));
    if let Some(known) = input::bytes(&file, KNOWN_BYTES_MAX).ok().and_then(|b| serde_json::from_slice(&b).ok()) {
        return Ok(known);
    }
    let topology = topology();
    let config = model().config(Timing::Modelled, vm.shift)?;
    let guest = GuestRun {
        topology: &topology,
        timing: Timing::Modelled,
        kvm: false,
        plugin: Some(Plugin { library, config }),
        ..vm.clone()
    };
    let report = guest::run(cache, &guest, &job(&topology), &mut |_| {}).map_err(|e| format!("self-test: {e}"))?;
    let log = report.plugin_log.ok_or("self-test: the plugin wrote no log")?;
    let charge = PluginReport::parse(&log, topology.smp.cpus())?.charge;
    let result = measure(&report.outcome, charge)?;
    let bytes = serde_json::to_vec(&result).map_err(|e| e.to_string())?;
    cache.write_whole(&file, &bytes).map_err(|e| e.to_string())?;
    Ok(result)
}

fn key(vm: &GuestRun<'_>, library: &Path) -> Result<String, String> {
    let qemu = crate::probe::find_program(&vm.qemu).ok_or_else(|| format!("{} is not there", vm.qemu.display()))?;
    let mut text = format!("{} {}", library.display(), vm.shift);
    for path in [&qemu, &vm.kernel] {
        text += &cache::sha256_file(path).map_err(at_path(path))?;
    }
    text += &cache::sha256(vm.worker);
    Ok(cache::sha256(text.as_bytes())[..24].to_string())
}

fn measure(outcome: &Outcome, charge: String) -> Result<SelfTest, String> {
    let score = |name: &str| {
        let value = outcome.scalars.iter().find(|s| s.name == name).map_or(0.0, |s| s.value);
        if value > 0.0 {
            Ok(value)
        } else {
            Err(format!("self-test: no `{name}` was done ({:?})", outcome.status))
        }
    };
    Ok(SelfTest {
        near_ns: PHASE_NS as f64 / score("near")?,
        far_ns: PHASE_NS as f64 / score("far")?,
        spread_over_stacked: score("spread")? / score("stacked")?,
        charge,
    })
}

fn job(topology: &GuestTopology) -> Job {
    let mut job =
        Job::new(workload(), 1, topology.node_of_cpu().iter().map(|&n| n as u32).collect(), topology.nodes.len());
    job.trace = false;
    job.sample_tasks = false;
    job.maps_every = 0;
    let off = |name: &str| numalab_worker::job::Knob {
        name: name.into(),
        kernel_name: "kernel.numa_balancing".into(),
        value: "0".into(),
        unit: String::new(),
        required: true,
    };
    job.knobs = vec![off("numa_balancing")];
    job
}

/// Names of the scores, in the order of their ids.
const SCORES: [&str; 4] = ["near", "far", "stacked", "spread"];

fn workload() -> Workload {
    let region = |name: &str, node: u32| Region {
        name: name.into(),
        kind: RegionKind::PrivateAnon,
        size_bytes: REGION_BYTES,
        misalign_bytes: 0,
        advice: HugeAdvice::NoHuge,
        policy: Some(Policy { mode: PolicyMode::Bind, nodes: vec![node], weights: vec![], numa_balancing: false }),
        huge_policy: None,
        second_level_fault_ns: 0,
        pinned: false,
        pool_bytes: 0,
        write: true,
    };
    let whole = |region: u32| Span { region, offset_bytes: 0, len_bytes: REGION_BYTES };
    let touch = |region| {
        let (span, pattern) = (whole(region), Pattern::sequential());
        Op::Access(Access { span, pattern, write: 1.0, bypass: false, compute_ns: 0.0, accesses: 1, score: None })
    };
    let chase = |region, score| {
        let (span, pattern) = (whole(region), Pattern::chase());
        // Scores count bytes: 64 per access make one unit.
        let score = Some((score, 1.0 / 64.0));
        vec![Op::Access(Access { span, pattern, write: 0.0, bypass: false, compute_ns: 0.0, accesses: 256, score })]
    };
    let compute = |score| vec![Op::Compute { ns: 20_000 }, Op::Score { id: score, amount: 1.0 }];
    let phase = |body: Option<Vec<Op>>| {
        let timed = |body| [vec![Op::LoopStart(Bound::Time { ns: PHASE_NS })], body, vec![Op::LoopEnd]].concat();
        [vec![Op::Barrier { id: 0, spin: false }], body.map_or_else(Vec::new, timed)].concat()
    };
    let thread = |cpu: u32, phases: [Option<Vec<Op>>; 4]| {
        let ops: Vec<Op> = phases.into_iter().flat_map(phase).collect();
        Thread { affinity: Some(vec![cpu].into()), ops: ops.into() }
    };
    let main = thread(0, [Some(chase(0, 0)), Some(chase(1, 1)), Some(compute(2)), Some(compute(3))]);
    let same_cpu = thread(0, [None, None, Some(compute(2)), None]);
    let other_cpu = thread(1, [None, None, None, Some(compute(3))]);
    let process = Process {
        name: "selftest".into(),
        parent: None,
        fork: ForkPoint::BeforePrologue,
        regions: vec![region("near", 0), region("far", 1)],
        prologue: vec![touch(0), touch(1)].into(),
        threads: vec![main, same_cpu, other_cpu],
        mems: None,
        cpu_group: None,
    };
    let score = |name: &&str| Score {
        name: (*name).into(),
        unit: "1".into(),
        higher_is_better: true,
        per_second: false,
        best: false,
        latency: false,
    };
    Workload {
        name: "selftest".into(),
        title: "calibrated loops with near and far memory, stacked and spread".into(),
        processes: vec![process],
        barrier_widths: vec![3],
        channels: 0,
        futexes: Vec::new(),
        scores: SCORES.iter().map(score).collect(),
        limit_ns: 30_000_000_000,
        params: vec![],
        warnings: vec![],
        histograms: Default::default(),
    }
}

/// Topology of the test's guest: two nodes with two CPUs each.
pub fn topology() -> GuestTopology {
    let node = |n: u32| GuestNode { cpus: vec![2 * n, 2 * n + 1], memory_bytes: 512 << 20, initiator: n as usize };
    GuestTopology {
        smp: Smp { sockets: 2, dies: 1, cores: 2, threads: 1 },
        nodes: vec![node(0), node(1)],
        distance: vec![vec![10, 20], vec![20, 10]],
        hmat: None,
        cpu_ids: (0..4).collect(),
    }
}

/// Model of the test's guest: known latencies, caches so small that every access misses, no limit of bandwidth.
fn model() -> Model {
    Model {
        cpus: (0..4).map(|c| (c / 2, c, c / 2)).collect(),
        node_bytes: vec![512 << 20; 2],
        latency_ns: vec![vec![NEAR_NS, FAR_NS], vec![FAR_NS, NEAR_NS]],
        llc_ns: 20.0,
        l2_bytes: 16 << 10,
        llc_bytes: 64 << 10,
        saturation: vec![0.0; 2],
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A job for tests that never run it.
    pub(crate) fn tiny_job() -> Job {
        job(&topology())
    }

    #[test]
    fn a_refusal_names_what_is_wrong() {
        let good = SelfTest {
            near_ns: 300.0,
            far_ns: 610.0,
            spread_over_stacked: 1.97,
            charge: "decrementer at -16 (4000 of 4000 blocks)".into(),
        };
        assert_eq!(good.refusal(), None);
        let refusal = |change: &dyn Fn(&mut SelfTest)| {
            let mut t = good.clone();
            change(&mut t);
            t.refusal().unwrap()
        };
        assert!(refusal(&|t| t.far_ns = 300.0).contains("0 ns more"));
        assert!(refusal(&|t| t.far_ns = 1300.0).contains("1000 ns more"));
        assert!(refusal(&|t| t.spread_over_stacked = 1.0).contains("1.00 times"));
        assert_eq!(refusal(&|t| t.charge = "refused: no x".into()), "no x");
    }

    #[test]
    fn the_job_is_valid() {
        let bytes = tiny_job().to_bytes().unwrap();
        let job = Job::from_bytes(&bytes).unwrap();
        let plan = numalab_worker::memory::plan(&job).unwrap();
        let costs = numalab_worker::program::Costs {
            spin_per_second: 1_000_000,
            access_ps: [1000; numalab_worker::access::LOOPS.len()],
        };
        let mut compiler = numalab_worker::program::Compiler::new(&job, &plan, costs);
        for thread in &job.workload.processes[0].threads {
            compiler.compile(0, &thread.ops).unwrap();
        }
    }
}
