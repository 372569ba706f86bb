//! The machine as NUMA balancing sees it: nodes, CPUs, distances, topology class, tiers.
//!
//! It is built once per run from the machine model. Class and weights follow kernel-numa-balancing.md §11.3: levels and
//! the largest distance are taken between nodes with CPUs.

use numalab_base::node_mask::{NodeMask, MAX_NODES};
use numalab_base::words;
use numalab_nouns::machine::Machine;

/// Distance of a node to itself.
pub const LOCAL_DISTANCE: u8 = 10;

words! {
    /// How the nodes are connected (`sched_numa_topology_type`).
    pub enum TopologyKind {
        /// There is at most one remote distance.
        Direct = "direct",
        /// Some node lies between the two farthest nodes.
        GluelessMesh = "glueless_mesh",
        /// No node lies between the two farthest nodes.
        Backplane = "backplane",
    }
}

/// A machine that NUMA balancing is not modelled for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{machine}: {what}; expected {expected}")]
pub struct TopologyError {
    /// Name of the machine.
    pub machine: String,
    /// What is wrong.
    pub what: String,
    /// What was expected.
    pub expected: String,
}

/// Nodes, CPUs and distances of a machine, precomputed for NUMA balancing.
#[derive(Clone, Debug, PartialEq)]
pub struct NumaTopology {
    nodes: usize,
    cpu_node: Vec<u16>,
    node_cpus: Vec<Vec<usize>>,
    distance: Vec<u8>,
    has_memory: NodeMask,
    top_tier: NodeMask,
    cpu_nodes: NodeMask,
    kind: TopologyKind,
    max_distance: u8,
    levels: Vec<u8>,
    nearest_cpu_node: Vec<Option<usize>>,
}

/// A node, for [`NumaTopology::from_parts`].
#[derive(Clone, Debug, PartialEq)]
pub struct NodeParts {
    /// Number of CPUs. CPU numbers follow the order of nodes.
    pub cpus: usize,
    /// Whether the node has memory.
    pub memory: bool,
    /// Memory tier; 0 is the fastest.
    pub tier: u8,
}

impl NumaTopology {
    /// The topology of a machine.
    ///
    /// # Errors
    /// More than [`MAX_NODES`] nodes.
    pub fn new(machine: &Machine) -> Result<Self, TopologyError> {
        let n = machine.nodes.len();
        if n > MAX_NODES {
            let what = format!("{n} nodes are more than NUMA balancing is modelled for");
            let expected = format!("at most {MAX_NODES}: a machine file with fewer `[[node]]`");
            return Err(TopologyError { machine: machine.name.clone(), what, expected });
        }
        let distance = machine.distance.iter().flatten().copied().collect();
        let node_cpus: Vec<Vec<usize>> = machine.nodes.iter().map(|node| node.cpus.clone()).collect();
        let memory = NodeMask::of((0..n).filter(|&i| machine.nodes[i].memory_bytes > 0));
        let fastest = machine.nodes.iter().map(|node| node.tier).min().unwrap_or(0);
        let top = NodeMask::of((0..n).filter(|&i| machine.nodes[i].tier == fastest));
        let mut cpu_node = vec![0; machine.cpus.len()];
        for (c, cpu) in machine.cpus.iter().enumerate() {
            cpu_node[c] = cpu.node as u16;
        }
        Ok(Self::build(cpu_node, node_cpus, distance, memory, top))
    }

    /// A topology from its parts; `distance` is row after row. Runs take theirs from a machine. The vectors of the
    /// reference have topologies that are no machines.
    ///
    /// # Errors
    /// A distance table that is not square, or more than [`MAX_NODES`] nodes.
    pub fn from_parts(nodes: &[NodeParts], distance: &[u8]) -> Result<Self, TopologyError> {
        let n = nodes.len();
        if distance.len() != n * n || n == 0 || n > MAX_NODES {
            let what = format!("{} distances for {n} nodes", distance.len());
            let expected = format!("a square table of 1 to {MAX_NODES} nodes");
            return Err(TopologyError { machine: "topology".into(), what, expected });
        }
        let mut cpu_node = Vec::new();
        let mut node_cpus = vec![Vec::new(); n];
        for (i, node) in nodes.iter().enumerate() {
            for _ in 0..node.cpus {
                node_cpus[i].push(cpu_node.len());
                cpu_node.push(i as u16);
            }
        }
        let memory = NodeMask::of((0..n).filter(|&i| nodes[i].memory));
        let fastest = nodes.iter().map(|node| node.tier).min().unwrap_or(0);
        let top = NodeMask::of((0..n).filter(|&i| nodes[i].tier == fastest));
        Ok(Self::build(cpu_node, node_cpus, distance.to_vec(), memory, top))
    }

    fn build(
        cpu_node: Vec<u16>,
        node_cpus: Vec<Vec<usize>>,
        distance: Vec<u8>,
        has_memory: NodeMask,
        top_tier: NodeMask,
    ) -> Self {
        let nodes = node_cpus.len();
        let cpu_nodes = NodeMask::of((0..nodes).filter(|&n| !node_cpus[n].is_empty()));
        let at = |a: usize, b: usize| distance[a * nodes + b];
        let mut levels: Vec<u8> = cpu_nodes.iter().flat_map(|a| cpu_nodes.iter().map(move |b| at(a, b))).collect();
        levels.sort_unstable_by(|a, b| b.cmp(a));
        levels.dedup();
        let max_distance = levels.first().copied().unwrap_or(LOCAL_DISTANCE);
        let kind = classify(cpu_nodes, levels.len(), max_distance, at);
        let nearest = |n: usize| {
            // Only a strictly smaller distance replaces the best, so the lowest number wins a tie.
            cpu_nodes.iter().fold(None, |best: Option<usize>, c| match best {
                Some(b) if at(n, b) <= at(n, c) => Some(b),
                _ => Some(c),
            })
        };
        let nearest_cpu_node = (0..nodes).map(|n| if cpu_nodes.contains(n) { Some(n) } else { nearest(n) }).collect();
        Self {
            nodes,
            cpu_node,
            node_cpus,
            distance,
            has_memory,
            top_tier,
            cpu_nodes,
            kind,
            max_distance,
            levels,
            nearest_cpu_node,
        }
    }

    /// Number of nodes.
    #[inline]
    pub fn nodes(&self) -> usize {
        self.nodes
    }
    /// Number of CPUs.
    #[inline]
    pub fn cpu_count(&self) -> usize {
        self.cpu_node.len()
    }
    /// Node of a CPU.
    #[inline]
    pub fn node_of(&self, cpu: usize) -> usize {
        usize::from(self.cpu_node[cpu])
    }
    /// CPUs of a node, ascending.
    #[inline]
    pub fn cpus(&self, node: usize) -> &[usize] {
        &self.node_cpus[node]
    }
    /// Firmware distance between two nodes.
    #[inline]
    pub fn distance(&self, a: usize, b: usize) -> u8 {
        self.distance[a * self.nodes + b]
    }
    /// Whether a node has memory.
    #[inline]
    pub fn has_memory(&self, node: usize) -> bool {
        self.has_memory.contains(node)
    }
    /// Whether a node is in the fastest memory tier.
    #[inline]
    pub fn is_top_tier(&self, node: usize) -> bool {
        self.top_tier.contains(node)
    }
    /// Nodes of the fastest memory tier.
    #[inline]
    pub fn top_tier(&self) -> NodeMask {
        self.top_tier
    }
    /// Nodes that have CPUs.
    #[inline]
    pub fn cpu_nodes(&self) -> NodeMask {
        self.cpu_nodes
    }
    /// How the nodes are connected.
    #[inline]
    pub fn kind(&self) -> TopologyKind {
        self.kind
    }
    /// Largest distance between nodes with CPUs (`sched_max_numa_distance`).
    #[inline]
    pub fn max_distance(&self) -> u8 {
        self.max_distance
    }
    /// Distinct distances between nodes with CPUs, largest first, including the local one.
    #[inline]
    pub fn levels(&self) -> &[u8] {
        &self.levels
    }
    /// The node itself if it has CPUs, else the nearest node that does. The lowest number wins a tie.
    #[inline]
    pub fn nearest_cpu_node(&self, node: usize) -> Option<usize> {
        self.nearest_cpu_node[node]
    }
}

/// Class of the topology (`init_numa_topology_type`). Only the first pair at the largest distance counts.
fn classify(cpu_nodes: NodeMask, levels: usize, max: u8, at: impl Fn(usize, usize) -> u8) -> TopologyKind {
    if levels <= 2 {
        return TopologyKind::Direct;
    }
    for a in cpu_nodes.iter() {
        for b in cpu_nodes.iter() {
            if at(a, b) < max {
                continue;
            }
            let between = cpu_nodes.iter().any(|c| at(a, c) < max && at(b, c) < max);
            return if between { TopologyKind::GluelessMesh } else { TopologyKind::Backplane };
        }
    }
    TopologyKind::Direct
}
