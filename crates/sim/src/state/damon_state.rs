//! State of DAMON: its regions, its schemes, and what it has cost.

use numalab_base::rng::Rng;
use numalab_kernel::damon::scheme::Counting;
use numalab_kernel::damon::{DamonConfig, Regions, Scheme};
use numalab_kernel::mm::{AccessSample, PhysicalMemory};
use numalab_nouns::machine::Machine;

/// Label of its random stream.
const RNG_PURPOSE: u64 = 0x0064_616d_6f6e;

/// A page that is being sampled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampled {
    /// Region in the list.
    pub region: usize,
    /// Process, mapping, chunk and page.
    pub at: (usize, usize, usize, usize),
    /// What was noted of its chunk before.
    pub before: AccessSample,
}

/// DAMON as it runs (kernel: a kdamond with one context).
#[derive(Debug)]
pub struct Damon {
    /// Its settings.
    pub(crate) cfg: DamonConfig,
    /// The regions.
    pub(crate) regions: Regions,
    /// The schemes.
    pub(crate) schemes: Vec<Scheme>,
    /// Pages whose accesses are awaited.
    pub(crate) sampled: Vec<Sampled>,
    /// Most pages of a region.
    pub(crate) largest: u64,
    /// Samplings so far.
    pub(crate) samplings: u64,
    /// Pages that were sampled.
    pub(crate) sampled_pages: u64,
    /// CPU time so far, ns.
    pub(crate) cpu_ns: u64,
    /// CPU time that no task has been delayed for yet, ns.
    pub(crate) owed_ns: u64,
    /// Pages that went to another node than their scheme named.
    pub(crate) fallback_pages: u64,
    pub(crate) rng: Rng,
}

impl Damon {
    /// DAMON of a machine; `None` if no scheme is set up.
    ///
    /// # Errors
    /// A scheme names a node that the machine does not have, or that has no memory.
    pub fn new(
        cfg: DamonConfig,
        machine: &Machine,
        memory: &PhysicalMemory,
        seed: u64,
    ) -> Result<Option<Box<Self>>, String> {
        let schemes = cfg.schemes();
        for (group, scheme) in &schemes {
            let key = if scheme.to.dests.is_none() { "target_nid" } else { "dests" };
            let goal =
                (scheme.goal.0 != numalab_kernel::damon::GoalMetric::None).then_some(("goal_nid", scheme.goal.1));
            let named = scheme.to.nodes().into_iter().map(|n| (key, n as u16));
            let from = scheme.from.map(|n| ("source_nid", n));
            for (key, node) in named.chain(from).chain(goal) {
                if !memory.memory_nodes().contains(usize::from(node)) {
                    let with: Vec<String> = memory.memory_nodes().iter().map(|n| n.to_string()).collect();
                    let with = with.join(", ");
                    return Err(format!(
                        "`{group}.{key}` names node {node}; expected a node of {} with memory: {with}",
                        machine.name
                    ));
                }
            }
        }
        Ok((!schemes.is_empty()).then(|| {
            Box::new(Self {
                cfg,
                regions: Regions::default(),
                schemes: schemes.into_iter().map(|(_, s)| Scheme::new(s)).collect(),
                sampled: Vec::new(),
                largest: 1,
                samplings: 0,
                sampled_pages: 0,
                cpu_ns: 0,
                owed_ns: 0,
                fallback_pages: 0,
                rng: Rng::stream(seed, 0, RNG_PURPOSE),
            })
        }))
    }
    /// Samplings in an aggregation, at least 1.
    pub(crate) fn samplings_per_aggregation(&self) -> u64 {
        u64::from(self.cfg.damon.aggr_us / self.cfg.damon.sample_us).max(1)
    }
    /// How it counts accesses.
    pub(crate) fn counting(&self) -> Counting {
        Counting {
            max_nr_accesses: self.samplings_per_aggregation() as u32,
            aggr_us: u64::from(self.cfg.damon.aggr_us),
        }
    }
    /// Its counters, by name.
    pub(crate) fn counters(&self) -> Vec<(String, u64)> {
        let mut out = vec![
            ("damon_sampled".to_string(), self.sampled_pages),
            ("damon_cpu_ns".to_string(), self.cpu_ns),
            ("damos_fallback".to_string(), self.fallback_pages),
        ];
        for ((group, _), s) in self.cfg.schemes().iter().zip(&self.schemes) {
            let scheme = group.trim_start_matches("migrate_");
            let all = [
                ("nr_tried", s.stats.nr_tried),
                ("pages_tried", s.stats.pages_tried),
                ("nr_applied", s.stats.nr_applied),
                ("pages_applied", s.stats.pages_applied),
                ("qt_exceeds", s.stats.qt_exceeds),
            ];
            out.extend(all.map(|(name, n)| (format!("damos_{scheme}_{name}"), n)));
        }
        out
    }
}
