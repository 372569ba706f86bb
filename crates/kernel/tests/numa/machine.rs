//! The topology built from a machine of the catalog's form.

use numalab_kernel::numa::topology::TopologyKind;
use numalab_kernel::numa::NumaTopology;
use numalab_model::machine::{Cache, Clock, Cpu, KernelCosts, Llc, Machine, MemoryKind, Node, Stream, Tlb};

/// Two sockets of two CPUs (numbered alternately, as some firmware does) and a memory-only CXL node.
fn machine() -> Machine {
    let node = |id, cpus: Vec<usize>, memory_bytes, tier| Node {
        id,
        socket: 0,
        memory_bytes,
        cpus,
        kind: if tier == 0 { MemoryKind::Dram } else { MemoryKind::Cxl },
        dram_peak_gbps: 0.0,
        dram_sustained_gbps: 0.0,
        tier,
    };
    let cpus = (0..4).map(|c| Cpu { id: c as u32, node: c % 2, llc: c % 2, core: c, socket: c % 2 }).collect();
    Machine {
        name: "small".into(),
        title: String::new(),
        sockets: 2,
        nodes: vec![node(0, vec![0, 2], 1 << 30, 0), node(1, vec![1, 3], 0, 0), node(4, vec![], 1 << 30, 1)],
        llcs: (0..2).map(|n| Llc { node: n, size_bytes: 0, cpus: vec![n, n + 2] }).collect(),
        cores: 4,
        cpus,
        distance: vec![vec![10, 21, 14], vec![21, 10, 24], vec![14, 24, 10]],
        hop: vec![vec![0, 1, 1], vec![1, 0, 1], vec![1, 1, 0]],
        latency_ns: vec![vec![0.0; 3]; 3],
        links: Vec::new(),
        routes: vec![vec![Vec::new(); 3]; 3],
        clock: Clock { base_ghz: 1.0, sustained_ghz: 1.0, single_ghz: 1.0 },
        cache: Cache {
            l2_bytes: 0,
            l2_cycles: 0.0,
            llc_latency_ns: 0.0,
            llc_stream_gbps: 0.0,
            llc_port_gbps: None,
            source_snoop: false,
            transfer_ns: None,
            writes_back: true,
            fill: None,
        },
        stream: Stream { lines_sequential: 1.0, lines_random: 1.0, cap_gbps: 1.0 },
        tlb: Tlb {
            entries_4k: 1,
            entries_2m: 1,
            base_ns: 0.0,
            walk_4k_ns: 0.0,
            walk_4k_guest_ns: 0.0,
            leaf_miss: 0.0,
            leaf_miss_guest: 0.0,
            nested: false,
        },
        costs: KernelCosts::default(),
        node_reclaim_distance: 30,
        warnings: Vec::new(),
    }
}

#[test]
fn a_machine_becomes_a_topology() {
    let t = NumaTopology::new(&machine()).unwrap();
    assert_eq!((t.nodes(), t.cpu_count()), (3, 4));
    assert_eq!((t.cpus(0), t.cpus(1), t.cpus(2)), (&[0, 2][..], &[1, 3][..], &[][..]));
    assert_eq!((t.node_of(2), t.node_of(3)), (0, 1));
    assert_eq!((t.distance(0, 2), t.distance(1, 2), t.max_distance()), (14, 24, 21));
    assert_eq!(t.kind(), TopologyKind::Direct, "the memory-only node makes no level");
    assert!(t.has_memory(0) && !t.has_memory(1) && t.has_memory(2));
    assert!(t.is_top_tier(0) && t.is_top_tier(1) && !t.is_top_tier(2));
    assert_eq!(t.nearest_cpu_node(2), Some(0));
}

#[test]
fn too_many_nodes_are_refused() {
    let mut m = machine();
    let node = m.nodes[2].clone();
    m.nodes.resize(129, node);
    let error = NumaTopology::new(&m).unwrap_err();
    assert!(error.to_string().contains("129 nodes"), "{error}");
}
