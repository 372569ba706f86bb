//! §14.2: how busy a node is; I4 and I5.

use numalab_kernel::numa::placement::{node_stats::*, placement_imbalance_pct};

#[test]
fn i4_imbalance_percentage_of_placement() {
    assert_eq!(placement_imbalance_pct(117), 108, "I4");
    assert_eq!(placement_imbalance_pct(125), 112);
}

#[test]
fn i5_node_types() {
    let class = |nr_running, util, runnable| {
        NodeStats { nr_running, util, runnable, capacity: 4096, weight: 4, ..NodeStats::default() }.numa_classify(112)
    };
    assert_eq!(class(4, 4000, 4000), NodeType::FullyBusy, "I5");
    assert_eq!(class(3, 1_000_000, 1_000_000), NodeType::HasSpare, "I5: any load");
    assert_eq!(class(5, 3700, 3700), NodeType::Overloaded, "I5");
    assert_eq!(class(5, 3000, 3000), NodeType::HasSpare, "I5");
}

#[test]
fn node_types_are_strict() {
    let class = |nr_running, util, runnable| {
        NodeStats { nr_running, util, runnable, capacity: 112, weight: 4, ..NodeStats::default() }.numa_classify(112)
    };
    // 100·112 = 112·100 and 112·112 > 100·100: by utilisation neither overloaded nor with capacity to spare.
    assert_eq!(class(5, 100, 100), NodeType::FullyBusy);
    assert_eq!(class(5, 101, 100), NodeType::Overloaded);
    assert_eq!(class(5, 99, 100), NodeType::HasSpare);
    let by_runnable = |runnable| {
        NodeStats { nr_running: 5, runnable, capacity: 100, weight: 4, ..NodeStats::default() }.numa_classify(112)
    };
    assert_eq!((by_runnable(111), by_runnable(112)), (NodeType::HasSpare, NodeType::FullyBusy));
    assert_eq!(by_runnable(113), NodeType::Overloaded);
}
