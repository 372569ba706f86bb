//! I1 to I3, and the tolerated imbalances of §14.5 and §16.

use numalab_kernel::sched::domains::{Domains, Flags};
use numalab_kernel::sched::imbalance::{ForkSides, NodeShape, PlacementLoad, PullSides, Rule};
use numalab_kernel::sched::shapes::{table, Shape};
use numalab_kernel::sched::SchedConfig;
use Rule::{Fixed2, Imb518, Imb60, ImbV3, None as NoRule, Quarter511, Quarter517s};

#[test]
fn i1_adjust() {
    let adjust = |imbalance, dst_running, imb_numa_nr| {
        let load = PlacementLoad { imbalance, dst_running, src_running: 0, dst_weight: 16, imb_numa_nr };
        Rule::Imb60.placement(&load).unwrap()
    };
    assert_eq!((adjust(2, 4, 4), adjust(2, 5, 4), adjust(3, 3, 4), adjust(1, 1, 0)), (0, 2, 3, 1), "I1");
}

/// `imb_numa_nr` of the NUMA domains of CPU 0 since 6.0, the innermost first.
pub fn imb_numa_nr(shape: &Shape) -> Vec<u32> {
    let config = SchedConfig { imbalance: Rule::Imb60, ..SchedConfig::default() };
    let domains = Domains::build(&shape.machine("m"), &config).unwrap();
    domains.tower(0).iter().filter(|d| d.flags.has(Flags::NUMA)).map(|d| d.imb_numa_nr).collect()
}

#[test]
fn i2_single_cache_nodes_of_64() {
    assert_eq!(imb_numa_nr(&Shape::flat(2, 64, 1, 20)), [8], "I2");
    let pairs = |a: usize, b: usize| if a / 2 == b / 2 { 20 } else { 30 };
    let four = Shape { distance: table(4, pairs), ..Shape::flat(4, 64, 1, 20) };
    assert_eq!(imb_numa_nr(&four), [8, 16], "I2");
}

#[test]
fn i3_node_of_eight_caches() {
    assert_eq!(imb_numa_nr(&Shape { llcs_per_node: 8, ..Shape::flat(2, 16, 1, 20) }), [8], "I3");
}

#[test]
fn thresholds_through_history() {
    // 40 CPUs and one cache per node, two nodes; 16 caches of 8; a node of 4 CPUs and one cache.
    let base = |rule: Rule, llc, node| rule.threshold(NodeShape { llc, node, nodes: 2 }).map(|t| t.base);
    let nr = |rule| [(40, 40), (8, 128), (4, 4)].map(|(llc, node)| base(rule, llc, node).unwrap());
    assert_eq!(nr(Rule::ImbV3), [10, 1, 1]);
    assert_eq!(nr(Rule::Imb518), [10, 16, 1]);
    assert_eq!(nr(Rule::Imb60), [5, 16, 1]);
    assert_eq!(base(Rule::Imb518, 2, 2), Some(0), "5.18 has no minimum of 1");
    assert_eq!(base(Rule::Imb60, 2, 2), Some(1));
    assert_eq!(base(Rule::Quarter511, 40, 40), None, "no value per domain");
}

#[test]
fn task_placement_by_model() {
    // An imbalance of 2. The destination will run 4, the source 3; a node has 20 CPUs, and the threshold is 4.
    let load = PlacementLoad { imbalance: 2, dst_running: 4, src_running: 3, dst_weight: 20, imb_numa_nr: 4 };
    let rows = [
        (NoRule, None),
        (Fixed2, Some(2)),
        (Quarter511, Some(0)),
        (Quarter517s, Some(0)),
        (ImbV3, Some(2)),
        (Imb518, Some(0)),
        (Imb60, Some(0)),
    ];
    for (model, expected) in rows {
        assert_eq!(model.placement(&load), expected, "{}", model.word());
    }
    assert_eq!(Fixed2.placement(&PlacementLoad { imbalance: 9, src_running: 2, ..load }), Some(0), "any imbalance");
    assert_eq!(Quarter511.placement(&PlacementLoad { dst_running: 5, ..load }), Some(2), "5 < 20/4 is false");
    assert_eq!(Imb518.placement(&PlacementLoad { imbalance: 3, ..load }), Some(3));
}

/// The imbalance left after a move to a node (kernel-scheduler.md §5.4); 0 permits the move at once.
#[test]
fn moves_to_idle_nodes() {
    let left = |model: Rule, dst_running: u32, src_running: u32, dst_weight, imb_numa_nr| {
        let imbalance = dst_running.saturating_sub(src_running);
        model.placement(&PlacementLoad { imbalance, dst_running, src_running, dst_weight, imb_numa_nr }).unwrap()
    };
    // The destination has 3 tasks after the move, the source 1; nodes have 16 CPUs.
    let three = |model, imb| left(model, 3, 1, 16, imb);
    assert_eq!((three(Quarter511, 0), three(Quarter517s, 0)), (0, 0), "3 is below a quarter of 16");
    assert_eq!((three(ImbV3, 4), three(ImbV3, 3)), (0, 2), "below the threshold, strictly");
    assert_eq!((three(Imb518, 3), three(Imb60, 3)), (0, 0), "up to the threshold");
    assert_eq!((three(Imb60, 2), left(Imb60, 4, 1, 16, 9)), (2, 3), "never more than 2");
    assert_eq!((left(Quarter511, 4, 2, 16, 0), left(Fixed2, 4, 2, 16, 0)), (2, 0));
    // Two nodes of 64 CPUs, one cache each: threshold 8.
    let wide = |model, dst, src| left(model, dst, src, 64, 8);
    assert_eq!(wide(Imb60, 3, 1), 0, "3 against 1: 2 are forgiven");
    assert_eq!(wide(Imb60, 3, 0), 3, "3 against 0");
    assert_eq!(wide(Imb60, 9, 8), 1, "9 against 8: above the threshold nothing is forgiven");
    assert_eq!(wide(Imb60, 8, 8), 0);
    assert_eq!([Quarter511, Imb518, ImbV3].map(|model| wide(model, 3, 1)), [0, 0, 0]);
}

#[test]
fn balancing_by_model() {
    // A raw difference of 5: halved to 2 before the test up to 5.18, after it from 6.0 on.
    let s = PullSides {
        busiest_nr: 4,
        busiest_weight: 20,
        span_weight: 32,
        local_nr: 1,
        local_weight: 12,
        imb_numa_nr: 4,
        imbalance_pct: 117,
    };
    let rows = [
        (Rule::None, 2),
        (Rule::Fixed2, 2),
        (Rule::Quarter511, 0),
        (Rule::Quarter517s, 0),
        (Rule::ImbV3, 2),
        (Rule::ImbV4, 0),
        (Rule::Imb518, 0),
        (Rule::Imb60, 2),
    ];
    for (rule, expected) in rows {
        assert_eq!(rule.tasks_to_move(5, &s), expected, "{rule:?}");
    }
    assert_eq!(Rule::Fixed2.tasks_to_move(5, &PullSides { busiest_nr: 2, ..s }), 0);
    assert_eq!(Rule::Quarter511.tasks_to_move(5, &PullSides { busiest_nr: 5, ..s }), 2);
    assert_eq!(Rule::Quarter517s.tasks_to_move(5, &PullSides { local_nr: 2, ..s }), 2, "3 < 12/4 is false");
    assert_eq!(Rule::ImbV3.tasks_to_move(5, &PullSides { busiest_nr: 3, ..s }), 0);
    assert_eq!(Rule::Imb518.tasks_to_move(5, &PullSides { local_nr: 3, ..s }), 0, "3 + 1 ≤ 4");
    assert_eq!(Rule::Imb518.tasks_to_move(5, &PullSides { local_nr: 4, ..s }), 2);
    assert_eq!(Rule::Imb60.tasks_to_move(2, &s), 0);
}

#[test]
fn fork_by_model() {
    let s = ForkSides {
        local_nr: 3,
        local_weight: 16,
        local_idle: 13,
        idlest_idle: 16,
        span_weight: 32,
        imb_numa_nr: 4,
        local_allowed: 16,
    };
    let rows = [
        (Rule::None, true),
        (Rule::Fixed2, true),
        (Rule::Quarter511, true),
        (Rule::Quarter517s, false),
        (Rule::ImbV3, true),
        (Rule::Imb518, true),
        (Rule::Imb60, false),
    ];
    for (rule, expected) in rows {
        assert_eq!(rule.fork_stays(&s), expected, "{rule:?}");
    }
    let even = ForkSides { idlest_idle: 15, ..s };
    assert!(Rule::Imb60.fork_stays(&even), "two idle CPUs of difference");
    assert!(!Rule::Imb60.fork_stays(&ForkSides { local_allowed: 3, ..even }), "4 > 3 allowed CPUs");
    assert!(!Rule::Imb518.fork_stays(&ForkSides { local_nr: 4, ..s }));
    assert!(!Rule::ImbV3.fork_stays(&ForkSides { local_nr: 4, ..s }));
    assert!(!Rule::None.fork_stays(&ForkSides { local_idle: 0, ..s }));
    assert!(!Rule::Quarter511.fork_stays(&ForkSides { local_nr: 8, ..s }), "8 < 32/4 is false");
}
