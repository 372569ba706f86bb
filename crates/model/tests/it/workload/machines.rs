//! Small machines for tests, built by hand.

use numalab_model::machine::{Cache, Clock, Cpu, Machine, MemoryKind};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// Shape of a machine: equal nodes with CPUs, then memory-only nodes.
pub struct Shape {
    pub name: &'static str,
    pub nodes: usize,
    pub cores_per_node: usize,
    pub smt: usize,
    pub llcs_per_node: usize,
    pub llc_mib: u64,
    pub node_gib: u64,
    pub memory_only_nodes: usize,
}

/// The shapes of machines.md section 2.0, and the smallest ones.
pub const SHAPES: [Shape; 10] = [
    shape("milan-2s-nps1", 2, 64, 2, 8, 32, 256),
    shape("e7-4807-4s", 4, 6, 2, 1, 18, 16),
    shape("x5-8", 8, 18, 2, 1, 45, 256),
    shape("naples-2s", 8, 8, 2, 2, 8, 16),
    shape("zen3-2s-128", 2, 32, 2, 8, 32, 256),
    Shape { memory_only_nodes: 2, ..shape("cxl-2s", 2, 32, 2, 1, 60, 128) },
    shape("tr-1950x", 2, 8, 2, 2, 8, 16),
    shape("spr-8s-snc4", 32, 15, 2, 1, 28, 128),
    shape("guest-2n", 2, 2, 1, 1, 16, 8),
    shape("laptop", 1, 4, 2, 1, 8, 16),
];

const fn shape(
    name: &'static str,
    nodes: usize,
    cores_per_node: usize,
    smt: usize,
    llcs_per_node: usize,
    llc_mib: u64,
    node_gib: u64,
) -> Shape {
    Shape { name, nodes, cores_per_node, smt, llcs_per_node, llc_mib, node_gib, memory_only_nodes: 0 }
}

/// The machine named `name` of [`SHAPES`].
pub fn machine(name: &str) -> Machine {
    build(SHAPES.iter().find(|s| s.name == name).expect("a shape of the list"))
}

/// Builds a machine; the first threads of all cores are numbered before the second threads.
pub fn build(s: &Shape) -> Machine {
    let cores = s.nodes * s.cores_per_node;
    let cores_per_llc = s.cores_per_node.div_ceil(s.llcs_per_node);
    let cpus: Vec<Cpu> = (0..cores * s.smt)
        .map(|c| {
            let core = c % cores;
            let node = core / s.cores_per_node;
            let llc = node * s.llcs_per_node + core % s.cores_per_node / cores_per_llc;
            Cpu { id: c as u32, node, llc, core, socket: node }
        })
        .collect();
    let total = s.nodes + s.memory_only_nodes;
    let mut bare = Machine::bare(s.name, cpus, total, s.node_gib * GIB);
    for (n, node) in bare.nodes.iter_mut().enumerate().skip(s.nodes) {
        (node.socket, node.kind, node.tier) = (n % s.nodes, MemoryKind::Cxl, 1);
    }
    bare.llcs.iter_mut().for_each(|llc| llc.size_bytes = s.llc_mib * MIB);
    Machine {
        distance: matrix(total, 10, 32),
        latency_ns: matrix(total, 110.0, 200.0),
        clock: Clock { base_ghz: 2.4, sustained_ghz: 2.9, single_ghz: 3.5 },
        cache: Cache { l2_bytes: 512 << 10, ..bare.cache },
        node_reclaim_distance: 32,
        ..bare
    }
}

/// A table with `near` on the diagonal and `far` elsewhere.
fn matrix<T: Copy>(nodes: usize, near: T, far: T) -> Vec<Vec<T>> {
    (0..nodes).map(|i| (0..nodes).map(|j| if i == j { near } else { far }).collect()).collect()
}
