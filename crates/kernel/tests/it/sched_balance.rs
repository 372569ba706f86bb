//! Group types, what a pass moves, and intervals: vectors 37–65 of kernel-scheduler.md §9.4, §9.5.
#![allow(clippy::unwrap_used)]

use numalab_kernel::sched::balance::calculate_imbalance::{decide, Imbalance, ImbalanceEnv};
use numalab_kernel::sched::balance::migration_type::MigrationType;
use numalab_kernel::sched::imbalance::Rule;
use numalab_kernel::sched::rules::Balancer;
use numalab_kernel::sched::shapes::Shape;
use numalab_kernel::sched::state::sg_lb_stats::{GroupType, SgLbStats};
use numalab_kernel::sched::{Domains, Form, SchedConfig};

const RULES: [&str; 5] = ["quarter_5_11", "quarter_5_17s", "imb_v3", "imb_5_18", "imb_6_0"];

/// Outcome in the notation of the vectors. `None` is "–": balanced before any calculation.
type Outcome = Option<i64>;

/// A group of `weight` CPUs with `nr` tasks, one per CPU, at `util` each.
fn group(weight: u32, nr: u32, util: u64) -> SgLbStats {
    let mut s = SgLbStats {
        nr,
        weight,
        cores: weight.div_ceil(2),
        capacity: 1024 * u64::from(weight),
        idle_cpus: weight.saturating_sub(nr),
        util: util * u64::from(nr),
        runnable: util * u64::from(nr),
        load: 1024 * u64::from(nr),
        ..SgLbStats::default()
    };
    s.kind = s.group_classify(117);
    s
}

fn env(rule: &'static str, imb_numa_nr: u32, prefer_sibling: bool) -> ImbalanceEnv {
    ImbalanceEnv {
        form: if rule == "imb_6_0" { Form::V612 } else { Form::V61 },
        balancer: Balancer::Types,
        rule: Rule::parse(rule).unwrap().into(),
        idle: true,
        below_average: true,
        imbalance_pct: 117,
        numa: true,
        share_llc: false,
        prefer_sibling,
        imb_numa_nr,
        span_weight: 256,
        total_load: 0,
        total_capacity: 1,
    }
}

/// Whether the group tests before calculate_imbalance pass. The rule that tolerates nothing shows it.
fn reaches_calculation(e: &ImbalanceEnv, l: &SgLbStats, b: &SgLbStats) -> bool {
    decide(&ImbalanceEnv { rule: Rule::None.into(), ..*e }, l, b).is_some()
}

fn outcome(e: &ImbalanceEnv, l: &SgLbStats, b: &SgLbStats) -> Outcome {
    match decide(e, l, b) {
        Some(Imbalance { kind, amount }) => {
            assert_eq!(kind, MigrationType::Task);
            Some(amount)
        }
        None if reaches_calculation(e, l, b) => Some(0),
        None => None,
    }
}

/// Weight of the two groups and threshold of the first NUMA level.
fn numa_level(shape: &Shape, rule: &'static str, level: usize) -> (u32, u32) {
    let config = SchedConfig { imbalance: Rule::parse(rule).unwrap(), ..SchedConfig::default() };
    let d = Domains::build(&shape.machine("m"), &config).unwrap();
    let first = d.sd_numa(0).unwrap() as usize;
    let domain = d.domain((first + level) as u32);
    (d.group(domain.groups[0]).weight, domain.imb_numa_nr)
}

fn check(shape: &Shape, (b, l): (u32, u32), want: [Outcome; 5]) {
    for (rule, want) in RULES.into_iter().zip(want) {
        let (weight, imb) = numa_level(shape, rule, 0);
        let e = env(rule, imb, true);
        let (busiest, local) = (group(weight, b, 300), group(weight, l, 300));
        assert_eq!(outcome(&e, &local, &busiest), want, "{rule} ({b},{l})");
    }
}

fn all(want: [i64; 5]) -> [Outcome; 5] {
    want.map(Some)
}

#[test]
fn v37_to_v49_t1() {
    let t1 = Shape::t1();
    check(&t1, (1, 0), [None; 5]); // 37
    check(&t1, (2, 0), all([0, 0, 1, 0, 0])); // 38
    check(&t1, (3, 0), all([0, 0, 1, 0, 1])); // 39
    check(&t1, (5, 0), all([0, 0, 2, 0, 2])); // 40
    check(&t1, (6, 0), all([3, 3, 3, 3, 3])); // 41
    check(&t1, (5, 3), all([0, 0, 1, 0, 0])); // 42
    check(&t1, (9, 8), [None; 5]); // 43
    check(&t1, (10, 8), all([0, 0, 1, 1, 1])); // 44
    check(&t1, (12, 7), all([0, 0, 2, 0, 2])); // 45
    check(&t1, (12, 8), all([0, 0, 2, 2, 2])); // 46
    check(&t1, (31, 26), all([0, 0, 2, 2, 2])); // 47
    check(&t1, (32, 27), all([2, 0, 2, 2, 2])); // 48
    check(&t1, (16, 0), all([8, 8, 8, 8, 8])); // 49
}

#[test]
fn v50_to_v53_t2() {
    let t2 = Shape::t2();
    check(&t2, (5, 0), all([0, 0, 0, 0, 2])); // 50
    check(&t2, (8, 4), all([0, 0, 0, 0, 2])); // 51
    check(&t2, (10, 8), all([1, 0, 1, 0, 1])); // 52
    check(&t2, (12, 8), all([2, 0, 2, 0, 2])); // 53
}

#[test]
fn v54_t3() {
    check(&Shape::t3(), (3, 0), all([0, 0, 1, 0, 1]));
}

#[test]
fn v55_v56_t5() {
    check(&Shape::t5(), (4, 0), all([2, 0, 2, 0, 2])); // 55
    check(&Shape::t5(), (5, 3), all([1, 1, 1, 1, 1])); // 56
}

#[test]
fn v57_second_numa_level_counts_idle_cpus() {
    let second = |rule: &'static str, k: u32| {
        let (weight, imb) = numa_level(&Shape::t4(), rule, 1);
        assert_eq!((weight, imb), (128, 4));
        outcome(&env(rule, imb, false), &group(weight, 0, 300), &group(weight, k, 300))
    };
    assert_eq!([1, 2, 3, 6].map(|k| second("imb_6_0", k)), [None, Some(0), Some(1), Some(3)]);
    assert_eq!([3, 5, 6].map(|k| second("imb_5_18", k)), [Some(0), Some(0), Some(3)]);
}

#[test]
fn v58_pkg_level_has_no_allowance() {
    for rule in ["imb_5_18", "imb_6_0"] {
        let e = ImbalanceEnv { numa: false, ..env(rule, 8, true) };
        let pull = |b: u32, util| decide(&e, &group(16, 0, 300), &group(16, b, util)).map(|p| p.amount);
        assert_eq!([pull(1, 300), pull(2, 300), pull(3, 300)], [None, Some(1), Some(1)]);
        assert_eq!(group(16, 16, 1024).kind, GroupType::FullyBusy);
        assert_eq!(pull(16, 1024), Some(8));
        // A busy CPU balances for a group without an idle CPU.
        let busy = ImbalanceEnv { idle: false, ..e };
        let (local, source) = (group(16, 16, 100), SgLbStats { nr: 20, ..group(16, 16, 125) });
        assert_eq!((local.kind, source.group_classify(117)), (GroupType::HasSpare, GroupType::HasSpare));
        let want = if e.form == Form::V61 { Some(2) } else { None };
        assert_eq!(decide(&busy, &local, &source).map(|p| p.amount), want);
    }
}

#[test]
fn v59_overloaded_source_fills_spare_capacity() {
    let mut source = group(128, 160, 1024);
    source.util = 131_072;
    source.kind = source.group_classify(117);
    assert_eq!(source.kind, GroupType::Overloaded);
    let local = SgLbStats { util: 60_000, ..group(128, 70, 857) };
    assert_eq!(local.kind, GroupType::HasSpare);
    for rule in RULES {
        let pull = decide(&env(rule, 8, true), &local, &source);
        assert_eq!(pull, Some(Imbalance { kind: MigrationType::Util, amount: 71_072 }), "{rule}");
    }
}

#[test]
fn v60_smt_groups_inside_a_cache_move_tasks() {
    let core = |nr, util, idle| {
        let mut s = SgLbStats {
            nr,
            weight: 2,
            cores: 1,
            capacity: 2048,
            util,
            runnable: 1024 * u64::from(nr),
            idle_cpus: idle,
            smt: true,
            smt_balance: nr > 1,
            ..SgLbStats::default()
        };
        s.kind = s.group_classify(117);
        s
    };
    let (source, local) = (core(3, 2048, 0), core(0, 0, 2));
    assert_eq!((source.kind, local.kind), (GroupType::Overloaded, GroupType::HasSpare));
    for rule in ["imb_5_18", "imb_6_0"] {
        let e = ImbalanceEnv { numa: false, share_llc: true, ..env(rule, 0, true) };
        assert_eq!(decide(&e, &local, &source), Some(Imbalance { kind: MigrationType::Task, amount: 1 }), "{rule}");
    }
}

fn overloaded_pair(local: u64, source: u64) -> Option<Imbalance> {
    let full = |load: u64| SgLbStats {
        load,
        kind: GroupType::Overloaded,
        avg_load: load * 1024 / 16_384,
        ..group(16, 20, 820)
    };
    let e = ImbalanceEnv { numa: false, total_load: local + source, total_capacity: 32_768, ..env("imb_6_0", 0, true) };
    decide(&e, &full(local), &full(source))
}

#[test]
fn v61_two_overloaded_groups_move_load() {
    assert_eq!(overloaded_pair(24_576, 40_960), Some(Imbalance { kind: MigrationType::Load, amount: 8192 }));
}

#[test]
fn v62_two_overloaded_groups_within_the_margin() {
    assert_eq!(overloaded_pair(24_576, 27_648), None);
}

/// A full group of 16 CPUs beside an overloaded one and a third, lighter one: loads of 1100, 1200 and 700 per CPU.
#[test]
fn a_full_group_above_the_average_pulls_nothing_from_6_3_on() {
    let full = |kind, per_cpu: u64| SgLbStats {
        load: 16 * per_cpu,
        kind,
        avg_load: if kind == GroupType::Overloaded { per_cpu } else { 0 },
        ..group(16, 16, 1024)
    };
    let (local, busiest) = (full(GroupType::FullyBusy, 1100), full(GroupType::Overloaded, 1200));
    let pull = |below_average, third: u64| {
        let (total_load, total_capacity) = (16 * (1100 + 1200 + third), 3 * 16_384);
        let e = ImbalanceEnv { numa: false, below_average, total_load, total_capacity, ..env("imb_5_18", 0, false) };
        decide(&e, &local, &busiest).map(|p| (p.kind, p.amount))
    };
    assert_eq!(pull(true, 700), None);
    // The pull goes down to the average of 1000. That the local group is above it sets no bound.
    assert_eq!(pull(false, 700), Some((MigrationType::Load, 200 * 16)));
    // With an average of 1150 both sides set a bound, in either version.
    assert_eq!([false, true].map(|b| pull(b, 1150)), [Some((MigrationType::Load, 50 * 16)); 2]);
}

fn typed(nr: u32, util: u64, runnable: u64) -> GroupType {
    SgLbStats { nr, weight: 16, capacity: 16_384, util, runnable, ..SgLbStats::default() }.group_classify(117)
}

#[test]
fn v63_fewer_tasks_than_cpus_is_spare() {
    assert_eq!(typed(15, 16_384, 60_000), GroupType::HasSpare);
}

#[test]
fn v64_as_many_tasks_as_cpus() {
    assert_eq!(typed(16, 14_003, 19_169), GroupType::HasSpare);
    assert_eq!(typed(16, 14_004, 19_169), GroupType::FullyBusy);
    assert_eq!(typed(16, 14_003, 19_170), GroupType::FullyBusy);
}

#[test]
fn v65_more_tasks_than_cpus() {
    assert_eq!(typed(17, 14_003, 19_169), GroupType::HasSpare);
    assert_eq!(typed(17, 14_004, 19_169), GroupType::Overloaded);
    assert_eq!(typed(17, 14_003, 19_170), GroupType::Overloaded);
}
