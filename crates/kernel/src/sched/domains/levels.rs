//! The level list of a machine: which CPUs each level joins, and its flags (kernel-scheduler.md §1.2, §1.4).

use super::super::config::{Form, Params};
use super::super::cpuset::CpuSet;
use super::super::error::SchedError;
use super::flags::Flags;
use numalab_model::machine::Machine;

/// Kind of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Threads of a core.
    Smt,
    /// CPUs sharing an L2 or cluster (the core, on the machines modelled).
    Cls,
    /// CPUs sharing the last-level cache.
    Mc,
    /// CPUs of a node, on machines with one node per package.
    Pkg,
    /// CPUs at the smallest distance (normally a node).
    Node,
    /// CPUs of all nodes within the i-th larger distance, i from 1.
    Numa(u8),
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Level::Numa(i) => write!(f, "NUMA level {i}"),
            other => write!(f, "level {}", other.name(Form::V612)),
        }
    }
}

impl Level {
    /// Name as debugfs prints it; `PKG` was `DIE` in 6.1.
    pub fn name(self, form: Form) -> &'static str {
        match self {
            Level::Smt => "SMT",
            Level::Cls => "CLS",
            Level::Mc => "MC",
            Level::Pkg if form == Form::V61 => "DIE",
            Level::Pkg => "PKG",
            Level::Node => "NODE",
            Level::Numa(_) => "NUMA",
        }
    }
}

/// How distances relate nodes (used by NUMA balancing only).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumaTopology {
    /// At most one remote distance.
    Direct,
    /// The most distant nodes have a common nearer node.
    GluelessMesh,
    /// They have none.
    Backplane,
}

/// One level: `masks[mask_of[cpu]]` are the CPUs joined with `cpu`.
pub(super) struct LevelDef {
    pub level: Level,
    pub flags: Flags,
    pub masks: Vec<CpuSet>,
    pub mask_of: Vec<u32>,
}

impl LevelDef {
    /// CPUs of the level that `cpu` belongs with.
    pub fn mask(&self, cpu: u32) -> &CpuSet {
        &self.masks[self.mask_of[cpu as usize] as usize]
    }
}

/// What the levels are made of.
pub(super) struct Layout {
    pub cpus: usize,
    pub cores: Vec<CpuSet>,
    pub core_of: Vec<u32>,
    pub caches: Vec<CpuSet>,
    pub cache_of: Vec<u32>,
    pub nodes: Vec<CpuSet>,
    pub node_of: Vec<u32>,
}

impl Layout {
    /// Reads the CPU lists of `machine`.
    pub fn new(machine: &Machine) -> Result<Self, SchedError> {
        let cpus = machine.cpu_count();
        let nodes = machine.node_count();
        let bad = |what: String, expected: &str| SchedError::Machine { what, expected: expected.to_string() };
        if cpus == 0 || nodes == 0 {
            return Err(bad(
                format!("machine `{}` has {cpus} CPUs and {nodes} nodes", machine.name),
                "at least one of each",
            ));
        }
        let llcs = machine.llcs.len();
        for (i, c) in machine.cpus.iter().enumerate() {
            if c.node >= nodes || c.core >= machine.cores || c.llc >= llcs {
                let what = format!("CPU {i} is on node {}, cache {}, core {}", c.node, c.llc, c.core);
                return Err(bad(what, &format!("below {nodes}, {llcs} and {}", machine.cores)));
            }
        }
        let group = |count: usize, key: &dyn Fn(usize) -> usize| {
            let mut sets = vec![CpuSet::empty(cpus); count];
            (0..cpus).for_each(|c| sets[key(c)].insert(c as u32));
            (sets, (0..cpus).map(|c| key(c) as u32).collect::<Vec<_>>())
        };
        let (cores, core_of) = group(machine.cores, &|c| machine.cpus[c].core);
        let (node_sets, node_of) = group(nodes, &|c| machine.cpus[c].node);
        let (caches, _) = group(llcs, &|c| machine.cpus[c].llc);
        // x86 clips the cache mask to one node; a cache reported across nodes would break the tower.
        let mut clipped = Vec::new();
        let mut clipped_of = vec![0; cpus];
        for set in caches {
            for node in &node_sets {
                let part = CpuSet::from_iter(cpus, set.iter_and(node));
                if !part.is_empty() {
                    part.iter().for_each(|c| clipped_of[c as usize] = clipped.len() as u32);
                    clipped.push(part);
                }
            }
        }
        Ok(Self { cpus, cores, core_of, caches: clipped, cache_of: clipped_of, nodes: node_sets, node_of })
    }
}

/// Distances between nodes that have CPUs, checked.
pub(super) struct Distances {
    /// Distinct values, ascending.
    pub values: Vec<u32>,
    /// Nodes with CPUs.
    pub nodes: Vec<usize>,
    /// Class for NUMA balancing.
    pub class: NumaTopology,
}

impl Distances {
    /// Reads and checks the distances of `machine`.
    pub fn new(machine: &Machine) -> Result<Self, SchedError> {
        let bad = |what: String, expected: &str| SchedError::Distances { what, expected: expected.to_string() };
        let n = machine.node_count();
        if machine.distance.len() != n || machine.distance.iter().any(|r| r.len() != n) {
            return Err(bad(
                "the distance table is not square".into(),
                &format!("{n} rows of {n} distances, one per node"),
            ));
        }
        let nodes: Vec<usize> = machine.cpu_nodes().collect();
        let dist = |a: usize, b: usize| u32::from(machine.distance[a][b]);
        let mut values = Vec::new();
        for &a in &nodes {
            for &b in &nodes {
                if dist(a, b) < 10 {
                    let what = format!("distance from node {} to node {} is {}", a, b, dist(a, b));
                    return Err(bad(what, "10 (local) to 254"));
                }
                if a != b && dist(a, b) < dist(a, a) {
                    let what = format!("node {b} is nearer to node {a} ({}) than node {a} itself", dist(a, b));
                    return Err(bad(what, "the local distance to be the smallest of its row"));
                }
                values.push(dist(a, b));
            }
        }
        values.sort_unstable();
        values.dedup();
        let class = classify(&nodes, &values, &dist);
        Ok(Self { values, nodes, class })
    }
}

fn classify(nodes: &[usize], values: &[u32], dist: &dyn Fn(usize, usize) -> u32) -> NumaTopology {
    let max = match values.last() {
        Some(m) if values.len() > 2 => *m,
        _ => return NumaTopology::Direct,
    };
    for &a in nodes {
        for &b in nodes {
            if dist(a, b) >= max {
                let between = nodes.iter().any(|&c| dist(a, c) < max && dist(b, c) < max);
                return if between { NumaTopology::GluelessMesh } else { NumaTopology::Backplane };
            }
        }
    }
    NumaTopology::Direct
}

const COMMON: Flags =
    Flags(Flags::NEWIDLE.0 | Flags::EXEC.0 | Flags::FORK.0 | Flags::WAKE_AFFINE.0 | Flags::PREFER_SIBLING.0);

/// The level list, bottom-up.
pub(super) fn levels(machine: &Machine, layout: &Layout, distances: &Distances, params: &Params) -> Vec<LevelDef> {
    let own = |level, flags: Flags, masks: &[CpuSet], mask_of: &[u32]| LevelDef {
        level,
        flags: COMMON.with(flags),
        masks: masks.to_vec(),
        mask_of: mask_of.to_vec(),
    };
    let smt = Flags::SHARE_CPUCAPACITY.with(Flags::SHARE_LLC);
    // The level came in 5.16, a flag of its own in 6.7.
    let cls = if params.form == Form::V61 { Flags::SHARE_LLC } else { Flags::CLUSTER.with(Flags::SHARE_LLC) };
    let mut out = vec![
        own(Level::Smt, smt, &layout.cores, &layout.core_of),
        own(Level::Cls, cls, &layout.cores, &layout.core_of),
        own(Level::Mc, Flags::SHARE_LLC, &layout.caches, &layout.cache_of),
    ];
    // "NUMA in package": the node-sized package level would cut a package, so x86 leaves it out.
    let in_package = (0..machine.sockets.max(1))
        .any(|s| distances.nodes.iter().filter(|&&n| machine.nodes[n].socket == s).count() > 1);
    if !in_package {
        out.push(own(Level::Pkg, Flags(0), &layout.nodes, &layout.node_of));
    }
    for (i, limit) in distances.values.iter().enumerate() {
        let masks: Vec<CpuSet> = (0..machine.node_count())
            .map(|j| {
                let mut m = CpuSet::empty(layout.cpus);
                let near = |k: usize| u32::from(machine.distance[j][k]) <= *limit;
                distances.nodes.iter().filter(|&&k| near(k)).for_each(|&k| m.union_with(&layout.nodes[k]));
                m
            })
            .collect();
        let flags = match i {
            0 => COMMON,
            _ => {
                let far = Flags::NUMA.with(Flags::OVERLAP).with(Flags::NEWIDLE).with(Flags::SERIALIZE);
                let near = far.with(Flags::EXEC).with(Flags::FORK).with(Flags::WAKE_AFFINE);
                if *limit > params.node_reclaim_distance {
                    far
                } else {
                    near
                }
            }
        };
        let level = if i == 0 { Level::Node } else { Level::Numa(i as u8) };
        out.push(LevelDef { level, flags, masks, mask_of: layout.node_of.clone() });
    }
    out
}
