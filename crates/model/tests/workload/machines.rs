//! Small machines for tests, built by hand.

use numalab_model::machine::{Cache, Clock, Cpu, KernelCosts, Llc, Machine, MemoryKind, Node, Stream, Tlb};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// Shape of a machine: every CPU node alike, then memory-only nodes.
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

/// Builds a machine; the first threads of all cores come before the second ones.
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
    let on = |pick: &dyn Fn(&Cpu) -> bool| -> Vec<usize> { (0..cpus.len()).filter(|c| pick(&cpus[*c])).collect() };
    let total = s.nodes + s.memory_only_nodes;
    let nodes = (0..total)
        .map(|n| Node {
            id: n as u32,
            socket: n % s.nodes,
            memory_bytes: s.node_gib * GIB,
            cpus: on(&|c| c.node == n),
            kind: if n < s.nodes { MemoryKind::Dram } else { MemoryKind::Cxl },
            dram_peak_gbps: 200.0,
            dram_sustained_gbps: 170.0,
            tier: u8::from(n >= s.nodes),
        })
        .collect();
    let llcs = (0..s.nodes * s.llcs_per_node)
        .map(|l| Llc { node: l / s.llcs_per_node, size_bytes: s.llc_mib * MIB, cpus: on(&|c| c.llc == l) })
        .collect();
    Machine {
        name: s.name.into(),
        title: s.name.into(),
        sockets: s.nodes,
        nodes,
        llcs,
        cores,
        distance: matrix(total, 10, 32),
        hop: matrix(total, 0, 1),
        latency_ns: matrix(total, 110, 200).iter().map(|r| r.iter().map(|x| f64::from(*x)).collect()).collect(),
        links: Vec::new(),
        routes: vec![vec![Vec::new(); total]; total],
        clock: Clock { base_ghz: 2.4, sustained_ghz: 2.9, single_ghz: 3.5 },
        cache: Cache {
            l2_bytes: 512 << 10,
            l2_cycles: 12.0,
            llc_latency_ns: 13.5,
            llc_stream_gbps: 38.0,
            llc_port_gbps: None,
            source_snoop: false,
            transfer_ns: None,
            writes_back: true,
            fill: None,
        },
        stream: Stream { lines_sequential: 64.0, lines_random: 16.0, cap_gbps: 31.0 },
        tlb: Tlb {
            entries_4k: 2048,
            entries_2m: 2048,
            base_ns: 9.0,
            walk_4k_ns: 3.8,
            walk_4k_guest_ns: 9.2,
            leaf_miss: 0.42,
            leaf_miss_guest: 1.02,
            nested: false,
        },
        costs: costs(),
        node_reclaim_distance: 32,
        warnings: Vec::new(),
        cpus,
    }
}

/// `near` in the diagonal and `far` beside it.
fn matrix(nodes: usize, near: u8, far: u8) -> Vec<Vec<u8>> {
    (0..nodes).map(|i| (0..nodes).map(|j| if i == j { near } else { far }).collect()).collect()
}

/// No workload depends on these.
fn costs() -> KernelCosts {
    KernelCosts {
        pte_skip_ns: 1.0,
        pte_mark_ns: 1.0,
        pmd_mark_ns: 1.0,
        scan_ns: 1.0,
        scan_vma_ns: 1.0,
        exception_ns: 1.0,
        hint_fault_ns: 1.0,
        hint_page_ns: 1.0,
        minor_fault_ns: 1.0,
        huge_fault_ns: 1.0,
        zero_local_gbps: 1.0,
        zero_remote_gbps: 1.0,
        cow_fault_ns: 1.0,
        copy_4k_local_ns: 1.0,
        copy_4k_remote_ns: 1.0,
        migrate_4k_ns: 1.0,
        migrate_4k_batched_ns: 1.0,
        migrate_2m_ns: 1.0,
        split_ns: 1.0,
        collapse_ns: 1.0,
        khugepaged_slot_ns: 1.0,
        compact_scan_ns: 1.0,
        compact_migrate_ns: 1.0,
        reclaim_page_ns: 1.0,
        swap_out_ns: 1.0,
        swap_in_ns: 1.0,
        switch_same_ns: 1.0,
        switch_other_ns: 1.0,
        wake_ns: 1.0,
        tick_ns: 1.0,
        balance_cpu_ns: 1.0,
        fork_pte_ns: 1.0,
        fork_pmd_ns: 1.0,
        flush_base_ns: 1.0,
        flush_socket_ns: 1.0,
        flush_hop1_ns: 1.0,
        flush_hop2_ns: 1.0,
        flush_target_ns: 1.0,
        flush_refill_ns: 1.0,
    }
}
