//! The topology built from a machine of the catalog's form.

use numalab_kernel::numa::topology::TopologyKind;
use numalab_kernel::numa::NumaTopology;
use numalab_model::machine::{Cpu, Machine, MemoryKind, Node};

/// Two sockets of two CPUs (numbered alternately, as some firmware does) and a memory-only CXL node.
fn machine() -> Machine {
    let cpus = (0..4).map(|c| Cpu { id: c as u32, node: c % 2, llc: c % 2, core: c, socket: c % 2 }).collect();
    let mut m = Machine::bare("small", cpus, 3, 1 << 30);
    m.nodes[1].memory_bytes = 0;
    m.nodes[2] = Node { id: 4, kind: MemoryKind::Cxl, tier: 1, ..m.nodes[2].clone() };
    m.distance = vec![vec![10, 21, 14], vec![21, 10, 24], vec![14, 24, 10]];
    m
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
    m.nodes.resize(1025, node);
    let error = NumaTopology::new(&m).unwrap_err();
    assert!(error.to_string().contains("1025 nodes"), "{error}");
}
