//! Bare machine shapes: the topology of the reference machines, without hardware figures.
//!
//! The scheduler reads CPUs, caches, nodes, distances and two costs of a [`Machine`]. Tests, benches and listings of
//! domains need nothing else. Latencies and bandwidths of these machines are zero, so they are not for simulation runs.
//! CPUs are numbered node by node and cache by cache, the threads of a core together.

use numalab_nouns::machine::{Cpu, KernelCosts, Machine};

/// A symmetric topology.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Number of packages.
    pub sockets: usize,
    /// Nodes with CPUs, per package.
    pub nodes_per_socket: usize,
    /// Last-level caches per node.
    pub llcs_per_node: usize,
    /// CPUs (threads) per cache.
    pub cpus_per_llc: usize,
    /// Threads per core.
    pub smt: usize,
    /// Distances between all nodes, memory-only ones last.
    pub distance: Vec<Vec<u8>>,
    /// Nodes without CPUs; they follow the other nodes.
    pub memory_only_nodes: usize,
    /// Distance above which fork and wake-affine do not cross nodes (30 generic, 32 Zen).
    pub node_reclaim_distance: u8,
}

impl Shape {
    /// `nodes` nodes in as many sockets, with one cache of `cpus` CPUs each, at distance `remote` from each other.
    pub fn flat(nodes: usize, cpus: usize, smt: usize, remote: u8) -> Self {
        Self {
            sockets: nodes,
            nodes_per_socket: 1,
            llcs_per_node: 1,
            cpus_per_llc: cpus,
            smt,
            distance: table(nodes, |_, _| remote),
            memory_only_nodes: 0,
            node_reclaim_distance: 30,
        }
    }
    /// T1: two sockets of Zen 3, one node each, eight caches of 16 CPUs per node.
    pub fn t1() -> Self {
        Self { llcs_per_node: 8, node_reclaim_distance: 32, ..Self::flat(2, 16, 2, 32) }
    }
    /// T2: two sockets, one cache of 40 CPUs per node.
    pub fn t2() -> Self {
        Self::flat(2, 40, 2, 21)
    }
    /// T3: eight sockets, one cache of 56 CPUs per node, one remote distance.
    pub fn t3() -> Self {
        Self::flat(8, 56, 2, 21)
    }
    /// T3b: T3 as a cube, with neighbours at distance 21 and others at 31.
    pub fn t3b() -> Self {
        let near = |a: usize, b: usize| if (a ^ b).is_power_of_two() { 21 } else { 31 };
        Self { distance: table(8, near), ..Self::t3() }
    }
    /// T4: two sockets of Zen 3, four nodes each, two caches of 16 CPUs per node.
    pub fn t4() -> Self {
        let near = |a: usize, b: usize| if a / 4 == b / 4 { 12 } else { 32 };
        Self { sockets: 2, nodes_per_socket: 4, llcs_per_node: 2, distance: table(8, near), ..Self::t1() }
    }
    /// T5: Threadripper 1950X in NUMA mode, two caches of 8 CPUs per node.
    pub fn t5() -> Self {
        Self { sockets: 1, nodes_per_socket: 2, llcs_per_node: 2, node_reclaim_distance: 32, ..Self::flat(2, 8, 2, 16) }
    }
    /// T5u: T5 interleaved, as one node.
    pub fn t5u() -> Self {
        Self { sockets: 1, nodes_per_socket: 1, llcs_per_node: 4, distance: vec![vec![10]], ..Self::t5() }
    }
    /// The machine of this shape; `name` is for messages.
    pub fn machine(&self, name: &str) -> Machine {
        let cpu_nodes = self.sockets * self.nodes_per_socket;
        let per_node = self.llcs_per_node * self.cpus_per_llc;
        let cpu = |c: usize| Cpu {
            id: c as u32,
            node: c / per_node,
            llc: c / self.cpus_per_llc,
            core: c / self.smt.max(1),
            socket: c / (per_node * self.nodes_per_socket),
        };
        let cpus: Vec<Cpu> = (0..cpu_nodes * per_node).map(cpu).collect();
        let mut bare = Machine::bare(name, cpus, cpu_nodes + self.memory_only_nodes, 1 << 34);
        bare.nodes[cpu_nodes..].iter_mut().for_each(|n| n.socket = self.sockets.saturating_sub(1));
        Machine {
            title: format!("bare shape of {} CPUs", bare.cpus.len()),
            distance: self.distance.clone(),
            costs: KernelCosts { balance_cpu_ns: 100.0, ..KernelCosts::default() },
            node_reclaim_distance: self.node_reclaim_distance,
            ..bare
        }
    }
}

/// A distance table with 10 on the diagonal and `far(a, b)` elsewhere.
pub fn table(nodes: usize, far: impl Fn(usize, usize) -> u8) -> Vec<Vec<u8>> {
    (0..nodes).map(|a| (0..nodes).map(|b| if a == b { 10 } else { far(a, b) }).collect()).collect()
}
