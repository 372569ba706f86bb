//! §11.3, §13.4: topology classes, weights, preferred node of groups; D4, D5.

use super::mock::{config, direct};
use numalab_kernel::numa::state::{fault_index, MEM, PRIVATE};
use numalab_kernel::numa::topology::{NodeParts, TopologyKind};
use numalab_kernel::numa::weights::Whose;
use numalab_kernel::numa::{NumaBalancing, NumaTopology};

/// One CPU per node; distances are given row by row.
pub fn topo(distance: &[&[u8]]) -> NumaTopology {
    let parts = vec![NodeParts { cpus: 1, memory: true, tier: 0 }; distance.len()];
    NumaTopology::from_parts(&parts, &distance.concat()).unwrap()
}

/// Four nodes in a ring: neighbours 21, opposite 31.
pub fn ring() -> NumaTopology {
    topo(&[&[10, 21, 31, 21], &[21, 10, 21, 31], &[31, 21, 10, 21], &[21, 31, 21, 10]])
}

/// Two boxes of two nodes: 20 inside, 40 between.
pub fn boxes() -> NumaTopology {
    topo(&[&[10, 20, 40, 40], &[20, 10, 40, 40], &[40, 40, 10, 20], &[40, 40, 20, 10]])
}

/// Sets the memory faults of a task by node.
pub fn set_faults(n: &mut NumaBalancing, task: u32, faults: &[u64]) {
    let nodes = n.topo.nodes();
    let t = &mut n.tasks[task as usize];
    t.faults.resize(8 * nodes, 0);
    faults.iter().enumerate().for_each(|(nid, f)| t.faults[fault_index(MEM, nodes, nid, PRIVATE)] = *f);
    t.total_numa_faults = faults.iter().sum();
}

fn with_faults(topo: NumaTopology, faults: &[u64]) -> NumaBalancing {
    let mut n = NumaBalancing::new(config("6.12", 1000), topo);
    n.start(0, Some(0), 1000);
    set_faults(&mut n, 0, faults);
    n
}

#[test]
fn classes() {
    assert_eq!(direct(2, 2).kind(), TopologyKind::Direct);
    assert_eq!(direct(8, 2).kind(), TopologyKind::Direct);
    assert_eq!(ring().kind(), TopologyKind::GluelessMesh);
    assert_eq!(boxes().kind(), TopologyKind::Backplane);
    assert_eq!((ring().max_distance(), ring().levels()), (31, &[31u8, 21, 10][..]));
}

#[test]
fn memory_only_nodes_do_not_make_levels() {
    let cpu = NodeParts { cpus: 2, memory: true, tier: 0 };
    let cxl = NodeParts { cpus: 0, memory: true, tier: 1 };
    let t = NumaTopology::from_parts(&[cpu.clone(), cpu, cxl], &[10, 21, 24, 21, 10, 14, 24, 14, 10]).unwrap();
    assert_eq!((t.kind(), t.max_distance()), (TopologyKind::Direct, 21));
    assert_eq!(t.nearest_cpu_node(2), Some(1), "the nearest node with CPUs");
    assert_eq!(t.nearest_cpu_node(0), Some(0));
    assert!(t.is_top_tier(0) && !t.is_top_tier(2));
}

#[test]
fn bad_tables_are_errors() {
    let part = NodeParts { cpus: 1, memory: true, tier: 0 };
    assert!(NumaTopology::from_parts(&[part.clone(), part], &[10, 20, 20]).is_err());
    assert!(NumaTopology::from_parts(&[], &[]).is_err());
}

#[test]
fn d4_weights_in_thousandths() {
    let n = with_faults(direct(2, 1), &[700, 300]);
    let w = |nid| n.weight(Whose::Task, 0, nid, 20) as i64;
    assert_eq!((w(0), w(1)), (700, 300), "D4");
    assert_eq!((w(1) - w(0), w(0) - w(1)), (-400, 400), "D4");
    assert_eq!(n.weight(Whose::Group, 0, 0, 20), 0, "no group");
}

#[test]
fn d5_near_faults_on_a_glueless_mesh() {
    // Faults 300 on node 1, at distance 21 of node 0: ⌊300·(31−21)/(31−10)⌋ = 142 of total 300.
    let n = with_faults(ring(), &[0, 300, 0, 0]);
    assert_eq!(n.weight(Whose::Task, 0, 0, 31), 142 * 1000 / 300, "D5");
    assert_eq!(n.weight(Whose::Task, 0, 3, 31), 0, "the farthest node does not count");
    assert_eq!(n.weight(Whose::Task, 0, 1, 31), 1000);
}

#[test]
fn near_faults_on_a_backplane_depend_on_the_distance_compared() {
    let n = with_faults(boxes(), &[100, 300, 0, 0]);
    assert_eq!(n.weight(Whose::Task, 0, 0, 40), 1000, "the whole box at distance 40");
    assert_eq!(n.weight(Whose::Task, 0, 0, 20), 250, "the node alone at distance 20");
}

/// The preferred node that a placement gives a grouped task with these faults, on a topology of 4 nodes.
fn preferred(topo: NumaTopology, faults: [u64; 4]) -> Option<usize> {
    use super::faults::fault;
    use super::mock::MockHost;
    use numalab_kernel::numa::{FaultSite, LastCpupid, MigrateResult, PageFacts};
    let mut n = with_faults(topo, &[0; 4]);
    let mut host = MockHost::new(4, 1);
    host.domain = None;
    let mut page = PageFacts { last: LastCpupid::new(1, 77), ..PageFacts::private_anon(0) };
    fault(&mut n, &mut host, FaultSite { task: 0, cpu: 0, now: 1000 }, &mut page, MigrateResult::NotTried);
    let g = n.tasks[0].numa_group.unwrap();
    let group = n.groups.get_mut(g);
    faults.iter().enumerate().for_each(|(nid, f)| group.faults[fault_index(MEM, 4, nid, PRIVATE)] = *f);
    group.total_faults = faults.iter().sum();
    n.tasks[0].faults.fill(0);
    n.mms[0].numa_scan_seq += 1;
    let site = FaultSite { task: 0, cpu: 0, now: 9000 };
    fault(&mut n, &mut host, site, &mut PageFacts::private_anon(0), MigrateResult::NotTried);
    host.log.first().map(|line| line.trim_end_matches(')').chars().last().unwrap().to_digit(10).unwrap() as usize)
}

#[test]
fn preferred_node_of_groups_by_class() {
    assert_eq!(preferred(direct(4, 1), [10, 40, 30, 30]), Some(1));
    // Ring: node 2 has fewest faults itself, but both neighbours count: 20 + (50+50)·10/21 > 50 + 20·10/21.
    assert_eq!(preferred(ring(), [0, 50, 20, 50]), Some(2));
    // Boxes: the second box has the larger sum although node 0 has most; in that box node 3 wins.
    assert_eq!(preferred(boxes(), [60, 0, 50, 55]), Some(3));
}

#[test]
fn memory_only_nodes_beyond_the_largest_distance_do_not_count_as_near() {
    let cpu = NodeParts { cpus: 1, memory: true, tier: 0 };
    let mut parts = vec![cpu; 4];
    parts.push(NodeParts { cpus: 0, memory: true, tier: 0 });
    // The ring, with a memory-only node at 40 from all others.
    let rows: [[u8; 5]; 5] =
        [[10, 21, 31, 21, 40], [21, 10, 21, 31, 40], [31, 21, 10, 21, 40], [21, 31, 21, 10, 40], [40, 40, 40, 40, 10]];
    let topo = NumaTopology::from_parts(&parts, &rows.concat()).unwrap();
    assert_eq!((topo.kind(), topo.max_distance()), (TopologyKind::GluelessMesh, 31));
    let n = with_faults(topo, &[100, 0, 0, 0, 300]);
    assert_eq!(n.weight(Whose::Task, 0, 0, 31), 250, "its own faults only");
}
