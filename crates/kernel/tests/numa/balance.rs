//! I1 to I3 and the allowances of §14.5 and §16.

use numalab_kernel::numa::imbalance::{adjust, BalanceLoad, DomainSpans, ForkLoad, ImbalanceModel, PlacementLoad};
use ImbalanceModel::{Fixed2, ImbNumaNr4, ImbNumaNr8, None as NoModel, Quarter, QuarterDst, V3};

#[test]
fn i1_adjust() {
    assert_eq!((adjust(2, 4, 4), adjust(2, 5, 4), adjust(3, 3, 4), adjust(1, 1, 0)), (0, 2, 3, 1), "I1");
}

fn spans(llc: u32, node: u32, first_numa: u32, domain: u32, nodes: u32) -> DomainSpans {
    DomainSpans { llc, node, first_numa, domain, nodes }
}

#[test]
fn i2_single_cache_nodes_of_64() {
    let nr = |domain| ImbNumaNr8.imb_numa_nr(&spans(64, 64, 128, domain, 4));
    assert_eq!((nr(128), nr(256)), (8, 16), "I2");
}

#[test]
fn i3_node_of_eight_caches() {
    assert_eq!(ImbNumaNr8.imb_numa_nr(&spans(16, 128, 256, 256, 2)), 8, "I3");
}

#[test]
fn thresholds_through_history() {
    // 40 CPUs and one cache per node, two nodes; 16 caches of 8; a node of 8 CPUs and one cache.
    let (wide, rome, tiny) = (spans(40, 40, 80, 80, 2), spans(8, 128, 256, 256, 2), spans(4, 4, 8, 8, 2));
    let nr = |m: ImbalanceModel| (m.imb_numa_nr(&wide), m.imb_numa_nr(&rome), m.imb_numa_nr(&tiny));
    assert_eq!(nr(V3), (10, 1, 1));
    assert_eq!(nr(ImbNumaNr4), (10, 16, 1));
    assert_eq!(nr(ImbNumaNr8), (5, 16, 1));
    assert_eq!(ImbNumaNr4.imb_numa_nr(&spans(2, 2, 4, 4, 2)), 0, "5.18 has no minimum of 1");
    assert_eq!(ImbNumaNr8.imb_numa_nr(&spans(2, 2, 4, 4, 2)), 1);
    assert_eq!(nr(Quarter), (0, 0, 0), "no value per domain");
}

#[test]
fn task_placement_by_model() {
    // An imbalance of 2; the destination will run 4, the source 3; 20 CPUs per node, threshold 4.
    let load = PlacementLoad { imbalance: 2, dst_running: 4, src_running: 3, dst_weight: 20, imb_numa_nr: 4 };
    let rows = [
        (NoModel, None),
        (Fixed2, Some(2)),
        (Quarter, Some(0)),
        (QuarterDst, Some(0)),
        (V3, Some(2)),
        (ImbNumaNr4, Some(0)),
        (ImbNumaNr8, Some(0)),
    ];
    for (model, expected) in rows {
        assert_eq!(model.placement(&load), expected, "{}", model.word());
    }
    assert_eq!(Fixed2.placement(&PlacementLoad { imbalance: 9, src_running: 2, ..load }), Some(0), "any imbalance");
    assert_eq!(Quarter.placement(&PlacementLoad { dst_running: 5, ..load }), Some(2), "5 < 20/4 is false");
    assert_eq!(ImbNumaNr4.placement(&PlacementLoad { imbalance: 3, ..load }), Some(3));
}

#[test]
fn balancing_by_model() {
    // Raw difference 5: halved 2 before the test until 5.18, after it since 6.0.
    let l = BalanceLoad {
        difference: 5,
        busiest_running: 4,
        busiest_weight: 20,
        local_running: 1,
        local_weight: 12,
        imb_numa_nr: 4,
    };
    let rows = [(NoModel, 2), (Fixed2, 2), (Quarter, 0), (QuarterDst, 0), (V3, 2), (ImbNumaNr4, 0), (ImbNumaNr8, 2)];
    for (model, expected) in rows {
        assert_eq!(model.balance(&l), expected, "{}", model.word());
    }
    assert_eq!(Fixed2.balance(&BalanceLoad { busiest_running: 2, ..l }), 0);
    assert_eq!(Quarter.balance(&BalanceLoad { busiest_running: 5, ..l }), 2);
    assert_eq!(QuarterDst.balance(&BalanceLoad { local_running: 2, ..l }), 2, "3 < 12/4 is false");
    assert_eq!(V3.balance(&BalanceLoad { busiest_running: 3, ..l }), 0);
    assert_eq!(ImbNumaNr4.balance(&BalanceLoad { local_running: 3, ..l }), 0, "3 + 1 ≤ 4");
    assert_eq!(ImbNumaNr4.balance(&BalanceLoad { local_running: 4, ..l }), 2);
    assert_eq!(ImbNumaNr8.balance(&BalanceLoad { difference: 2, ..l }), 0);
}

#[test]
fn fork_by_model() {
    let l = ForkLoad {
        local_running: 3,
        local_weight: 16,
        local_idle: 13,
        idlest_idle: 16,
        domain_weight: 32,
        imb_numa_nr: 4,
        allowed_local: None,
    };
    let rows = [
        (NoModel, true),
        (Fixed2, true),
        (Quarter, true),
        (QuarterDst, false),
        (V3, true),
        (ImbNumaNr4, true),
        (ImbNumaNr8, false),
    ];
    for (model, expected) in rows {
        assert_eq!(model.fork_stays(&l), expected, "{}", model.word());
    }
    let even = ForkLoad { idlest_idle: 15, ..l };
    assert!(ImbNumaNr8.fork_stays(&even), "two idle CPUs of difference");
    assert!(!ImbNumaNr8.fork_stays(&ForkLoad { allowed_local: Some(3), ..even }), "4 > 3 allowed CPUs");
    assert!(!ImbNumaNr4.fork_stays(&ForkLoad { local_running: 4, ..l }));
    assert!(!V3.fork_stays(&ForkLoad { local_running: 4, ..l }));
    assert!(!NoModel.fork_stays(&ForkLoad { local_idle: 0, ..l }));
    assert!(!Quarter.fork_stays(&ForkLoad { local_running: 8, ..l }), "8 < 32/4 is false");
}
