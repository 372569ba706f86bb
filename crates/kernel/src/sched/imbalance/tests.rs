//! Rules by role and by tunable.

use super::parts::Halve;
use super::{Allowance, Compare, ForkSides, ImbTunables, ImbalancePolicy, NodeShape, PlacementLoad, PullSides, Rule};
use numalab_base::hook::Hook;
use numalab_base::words::OrRole;

fn with(role: Rule, set: impl Fn(&mut ImbTunables)) -> Allowance {
    let mut tunables = ImbTunables::default();
    set(&mut tunables);
    Allowance::new(role, &tunables)
}

const PULL: PullSides = PullSides {
    local_nr: 1,
    local_weight: 16,
    busiest_nr: 2,
    busiest_weight: 16,
    span_weight: 32,
    imb_numa_nr: 2,
    imbalance_pct: 117,
};
const FORK: ForkSides = ForkSides {
    local_nr: 1,
    local_idle: 15,
    idlest_idle: 16,
    local_weight: 16,
    local_allowed: 16,
    span_weight: 32,
    imb_numa_nr: 2,
};
const LOAD: PlacementLoad =
    PlacementLoad { imbalance: 2, dst_running: 2, src_running: 0, dst_weight: 16, imb_numa_nr: 2 };

#[test]
fn a_rule_of_the_caller_answers_what_it_wants_to() {
    struct MovesAll;
    impl ImbalancePolicy for MovesAll {
        fn tasks_to_move(&self, raw: i64, _s: &PullSides) -> Option<i64> {
            Some(raw)
        }
    }
    let (role, own) = (Allowance::from(Rule::Imb60), Allowance::from(Rule::Imb60).with_policy(Some(Hook(&MovesAll))));
    assert_eq!((role.tasks_to_move(2, &PULL), own.tasks_to_move(2, &PULL)), (0, 2));
    assert_eq!((own.fork_stays(&FORK), own.placement(&LOAD)), (role.fork_stays(&FORK), role.placement(&LOAD)));
}

#[test]
fn the_allowances_of_5_6_and_5_7_come_apart() {
    let (old, new) = (Allowance::from(Rule::Pair56), Allowance::from(Rule::Fixed2));
    assert_eq!((old.tasks_to_move(2, &PULL), new.tasks_to_move(2, &PULL)), (0, 0), "both spare pairs");
    assert_eq!((old.placement(&LOAD), new.placement(&LOAD)), (None, Some(0)), "5.6 still places by load");
    let none = with(Rule::None, |t| t.placement = OrRole::Own(Rule::Fixed2));
    assert_eq!((none.tasks_to_move(2, &PULL), none.placement(&LOAD)), (1, Some(0)), "the placement half alone");
    let composed = with(Rule::None, |t| t.pull = OrRole::Own(Rule::Pair56));
    assert_eq!((composed.tasks_to_move(2, &PULL), composed.placement(&LOAD)), (0, None));
}

#[test]
fn a_floating_balancer_with_the_old_fork_rule() {
    let both = with(Rule::Quarter511, |t| t.fork = OrRole::Own(Rule::None));
    let full = ForkSides { local_nr: 12, local_idle: 4, ..FORK };
    assert_eq!((both.fork_stays(&full), Allowance::from(Rule::Quarter511).fork_stays(&full)), (true, false));
    assert_eq!(both.tasks_to_move(4, &PULL), 0, "the balancer floats");
}

#[test]
fn below_or_up_to_the_limit() {
    let at = PullSides { local_nr: 1, ..PULL };
    let v5 = with(Rule::Imb518, |t| t.compare = OrRole::Own(Compare::Below));
    assert_eq!((Allowance::from(Rule::Imb518).tasks_to_move(4, &at), v5.tasks_to_move(4, &at)), (0, 2));
    assert_eq!((Allowance::from(Rule::Imb518).placement(&LOAD), v5.placement(&LOAD)), (Some(0), Some(2)));
}

#[test]
fn two_or_up_to_the_threshold_are_forgiven() {
    let s = PullSides { imb_numa_nr: 8, ..PULL };
    let role = Allowance::from(Rule::Imb60);
    let wide = with(Rule::Imb60, |t| t.forgive_to_limit = true);
    assert_eq!((role.tasks_to_move(6, &s), wide.tasks_to_move(6, &s)), (3, 0));
    let four = with(Rule::Imb60, |t| t.forgive = 4);
    assert_eq!((four.tasks_to_move(4, &s), four.tasks_to_move(5, &s)), (0, 2));
    let none = with(Rule::Imb60, |t| t.forgive = 0);
    assert_eq!(none.tasks_to_move(2, &s), 1);
}

#[test]
fn halving_first_or_last() {
    let role = Allowance::from(Rule::Imb60);
    let first = with(Rule::Imb60, |t| t.halve = OrRole::Own(Halve::First));
    assert_eq!((role.tasks_to_move(4, &PULL), first.tasks_to_move(4, &PULL)), (2, 0));
    assert_eq!(with(Rule::Imb518, |t| t.halve = OrRole::Own(Halve::Last)).tasks_to_move(4, &PULL), 2);
}

#[test]
fn thresholds_as_numbers() {
    let one = NodeShape { llc: 40, node: 40, nodes: 2 };
    let base = |a: Allowance, shape| a.threshold(shape).unwrap().base;
    assert_eq!((base(Rule::Imb518.into(), one), base(Rule::Imb60.into(), one)), (10, 5));
    assert_eq!(base(with(Rule::Imb60, |t| t.node_part = 4), one), 10);
    let tiny = NodeShape { llc: 4, node: 4, nodes: 2 };
    assert_eq!((base(Rule::Imb60.into(), tiny), base(with(Rule::Imb60, |t| t.floor = 0), tiny)), (1, 0));
    // v4: a quarter of the square of the cache by the node, at least 2. Zen 3 NPS1, Zen 2, one cache per node.
    let v4 = |llc, node| base(Rule::ImbV4.into(), NodeShape { llc, node, nodes: 2 });
    assert_eq!([v4(16, 128), v4(8, 128), v4(40, 40)], [2, 2, 10]);
    let pulls_v3 = with(Rule::Imb518, |t| t.threshold = OrRole::Own(Rule::ImbV3));
    assert_eq!(base(pulls_v3, NodeShape { llc: 16, node: 128, nodes: 2 }), 1);
}

/// "sched, fair: Allow a small degree of load imbalance between SD_NUMA domains", December 2019: half of
/// imbalance_pct of the group, at least 2, while the group is below half of its CPUs less that.
#[test]
fn an_allowance_in_proportion_to_imbalance_pct() {
    let rule = Allowance::from(Rule::Pct2019);
    let s = |busiest_nr| PullSides { busiest_nr, busiest_weight: 80, imbalance_pct: 125, ..PULL };
    // imbalance_adj = (80 · 25 / 100) / 2 = 10, imbalance_max = 40 − 10.
    assert_eq!((rule.tasks_to_move(20, &s(29)), rule.tasks_to_move(22, &s(29))), (0, 11));
    assert_eq!(rule.tasks_to_move(20, &s(30)), 10);
    assert_eq!(Allowance::from(Rule::Pair56).tasks_to_move(20, &s(29)), 10, "5.6 as merged spares pairs only");
}

#[test]
fn no_rule_halves_and_fixed2_spares_pairs() {
    assert_eq!((Rule::None.tasks_to_move(2, &PULL), Rule::Fixed2.tasks_to_move(2, &PULL)), (1, 0));
    let three = PullSides { busiest_nr: 3, ..PULL };
    assert_eq!((Rule::None.tasks_to_move(3, &three), Rule::Fixed2.tasks_to_move(3, &three)), (1, 1));
    let fork = ForkSides {
        local_nr: 5,
        local_idle: 1,
        idlest_idle: 9,
        local_weight: 8,
        local_allowed: 8,
        span_weight: 16,
        imb_numa_nr: 0,
    };
    // find_idlest_group stays with an idle CPU since groups have types (57abff067a08, 5.5).
    for rule in [Rule::None, Rule::Fixed2] {
        assert!(rule.fork_stays(&fork), "{rule:?}: until 5.10 any idle CPU keeps a fork on its node");
        assert!(!rule.fork_stays(&ForkSides { local_idle: 0, ..fork }), "{rule:?}");
    }
}

/// 20211210093307.31701-3-mgorman on a Zen 3 of two sockets: 256 CPUs, threshold 2·⌊256/128⌋ = 4 between its nodes.
#[test]
fn v4_keeps_the_quarter_and_forgives_the_threshold() {
    let v4 = Rule::ImbV4;
    // find_idlest_group: local_nr <= imb_numa_nr, without the new task.
    let fork = |local_nr| ForkSides { local_nr, span_weight: 256, imb_numa_nr: 4, ..FORK };
    assert_eq!((v4.fork_stays(&fork(4)), v4.fork_stays(&fork(5))), (true, false));
    // calculate_imbalance: half of the difference, up to 4, while the source is below a quarter of the domain.
    let pull = |busiest_nr| PullSides { busiest_nr, busiest_weight: 128, span_weight: 256, imb_numa_nr: 4, ..PULL };
    assert_eq!((v4.tasks_to_move(9, &pull(63)), v4.tasks_to_move(10, &pull(63))), (0, 5), "4 is forgiven, 5 is not");
    assert_eq!(v4.tasks_to_move(2, &pull(64)), 1, "64 < 256/4 is false: nothing is forgiven");
    // task_numa_find_cpu: the same with a quarter of the destination.
    let load =
        |imbalance, dst_running| PlacementLoad { imbalance, dst_running, dst_weight: 128, imb_numa_nr: 4, ..LOAD };
    let left = [(4, 31), (5, 31), (4, 32)].map(|(imbalance, running)| v4.placement(&load(imbalance, running)));
    assert_eq!(left, [Some(0), Some(5), Some(4)]);
}

#[test]
fn v4_tells_itself_from_v3_and_5_18() {
    let fork = ForkSides { local_nr: 2, imb_numa_nr: 2, ..FORK };
    assert_eq!([Rule::ImbV3, Rule::ImbV4, Rule::Imb518].map(|r| r.fork_stays(&fork)), [false, true, false]);
    let pull = PullSides { busiest_nr: 7, local_nr: 2, imb_numa_nr: 2, ..PULL };
    assert_eq!([Rule::ImbV3, Rule::ImbV4, Rule::Imb518].map(|r| r.tasks_to_move(5, &pull)), [2, 0, 2]);
}

/// RFC and v2 of the series of 2021: nr_groups / nodes. Two nodes of eight caches allow four tasks, one cache each one.
#[test]
fn v2_shares_the_caches_of_a_node_out_over_the_nodes() {
    let of = |llc, node, nodes| Allowance::from(Rule::ImbV2).threshold(NodeShape { llc, node, nodes }).map(|t| t.base);
    assert_eq!([of(16, 128, 2), of(16, 128, 8), of(32, 32, 2)], [Some(4), Some(1), Some(1)]);
}
