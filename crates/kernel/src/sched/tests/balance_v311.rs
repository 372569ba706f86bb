//! The balancers of 3.11 to 5.4: load averages per capacity on nodes of six cores with two threads each.
//!
//! Numbers in the tests of [`decide`] and [`Idlest`] are computed by hand in the kernel's integer arithmetic: a thread
//! has 1178/2 = 589, a node 12·589 = 7068, and `n` tasks of nice 0 are an average load of n·1024·1024/7068.

use super::super::balance::lb_env::LbEnv;
use super::super::balance::v311::{decide, GroupType, SdLbStats, SgLbStats};
use super::super::capacity::cores_of;
use super::super::config::SchedConfig;
use super::super::event::Why;
use super::super::rq::sched_entity::COLD;
use super::super::rules::Balancer;
use super::super::select_cpu::{load_rule, weight_rule, weight_rule_v414, GroupLoads, Idlest};
use super::super::shapes::Shape;
use super::super::state::CpuIdleType;
use super::four_nodes::{self, dom, pass, tasks_on};
use super::{Lab, MS};
use Balancer::{V311, V318, V41, V413, V417, V420, V50};

/// One release of each balancer.
const RELEASES: [(u32, u32); 7] = [(3, 13), (4, 0), (4, 7), (4, 15), (4, 19), (4, 20), (5, 4)];

fn sched(release: (u32, u32)) -> SchedConfig {
    super::release(release.0, release.1)
}

fn lab(release: (u32, u32)) -> Lab {
    Lab::new(&Shape::flat(4, 12, 2, 21), &sched(release))
}

/// Starts tasks as [`four_nodes::hogs`] does, and makes them cache-cold.
fn hogs(lab: &mut Lab, node: u32, nr: u32) {
    for t in four_nodes::hogs(lab, node, nr) {
        lab.s.tasks[t as usize].exec_start = COLD;
    }
}

/// A group of `weight` threads with `nr` tasks that run as much as they can.
fn group(rules: Balancer, weight: u32, nr: u32) -> SgLbStats {
    let thread = if rules < V50 { 589 } else { 1024 };
    let capacity = u64::from(weight) * thread;
    let load = u64::from(nr) * 1024;
    let mut s = SgLbStats {
        load,
        queued: load,
        util: u64::from(nr.min(weight)) * thread,
        nr,
        idle_cpus: weight.saturating_sub(nr),
        weight,
        capacity,
        cores: cores_of(weight, capacity, weight == 2),
        ..SgLbStats::default()
    };
    s.classify(rules, 125);
    s
}

fn node(rules: Balancer, nr: u32) -> SgLbStats {
    group(rules, 12, nr)
}

/// The local group and the busiest of `groups`; the other groups equal the local one, and siblings are preferred.
fn scan(rules: Balancer, local: SgLbStats, mut busiest: SgLbStats, groups: u64) -> SdLbStats {
    busiest.prefer_sibling(rules, &local);
    let total = local.load * (groups - 1) + busiest.load;
    SdLbStats { local, busiest, average: total * 1024 / (local.capacity * groups) }
}

fn nodes(rules: Balancer, this: u32, busiest: u32, count: u64) -> SdLbStats {
    scan(rules, node(rules, this), node(rules, busiest), count)
}

#[test]
fn how_full_a_group_is() {
    // Up to 4.0 cores count: two threads are one, twelve are six (1.74 threads per capacity of 1024, rounded up), not
    // seven.
    assert_eq!([(2, 1178), (12, 7068), (8, 8192)].map(|(w, c)| cores_of(w, c, false)), [1, 6, 8]);
    assert_eq!([true, false].map(|core| cores_of(1, 294, core)), [1, 0], "one of four threads");
    let of = |rules, nr| (node(rules, nr).has_capacity, node(rules, nr).kind);
    assert_eq!(
        [5, 6, 7].map(|n| of(V318, n)),
        [(true, GroupType::Other), (false, GroupType::Other), (false, GroupType::Overloaded)]
    );
    // From 4.1 on use counts: 7068·100 against util·125.
    assert_eq!(
        [11, 12, 13].map(|n| of(V41, n)),
        [(true, GroupType::Other), (false, GroupType::Other), (false, GroupType::Overloaded)]
    );
    let used = |util| {
        let mut s = SgLbStats { util, ..node(V413, 13) };
        s.classify(V413, 125);
        (s.has_capacity, s.kind)
    };
    assert_eq!([5654, 5655].map(used), [(true, GroupType::Other), (false, GroupType::Overloaded)]);
    let mut pinned = SgLbStats { imbalanced: true, ..node(V413, 12) };
    pinned.classify(V413, 125);
    assert_eq!(pinned.kind, GroupType::Imbalanced);
}

#[test]
fn an_idle_node_takes_its_share() {
    // 12 tasks on one of four nodes: averages 1780, 0 and 445. 445·7068/1024 fills this node to the average. The excess
    // over one core, 11·1024·1024/7068 = 1631, is more.
    for rules in [V311, V318, V41, V413, V417, V420] {
        assert_eq!(decide(rules, &nodes(rules, 0, 12, 4), CpuIdleType::Idle, 125), Some(3071), "{rules:?}");
    }
    // With whole CPUs the averages are 1024, 0 and 256: 256·12.
    assert_eq!(decide(V50, &nodes(V50, 0, 12, 4), CpuIdleType::Idle, 125), Some(3072));
    // Three tasks: 111·7068/1024 = 766 is less than a task, but 444 + 148 ≥ 2·148, so one task moves.
    assert_eq!(decide(V413, &nodes(V413, 0, 3, 4), CpuIdleType::Idle, 125), Some(1024));
}

#[test]
fn only_from_4_13_on_five_threads_on_four_cores_are_left_alone() {
    // The case of 05b40e057734: averages 890 and 1780, of the domain 1112. 222·1178/1024 = 255 is less than a task, but
    // 1780 + 890 ≥ 890 + 2·890.
    let cores = |rules| scan(rules, group(rules, 2, 1), group(rules, 2, 2), 4);
    assert_eq!(decide(V41, &cores(V41), CpuIdleType::Idle, 117), Some(1024));
    for rules in [V413, V417, V420, V50] {
        assert_eq!(decide(rules, &cores(rules), CpuIdleType::Idle, 117), None, "{rules:?}");
    }
    // Two tasks beside an idle core: every release moves one.
    let cores = |rules| scan(rules, group(rules, 2, 0), group(rules, 2, 2), 4);
    for rules in [V41, V413, V417, V420, V50] {
        assert_eq!(decide(rules, &cores(rules), CpuIdleType::Idle, 117), Some(1024), "{rules:?}");
    }
}

#[test]
fn busy_cpus_wait_for_a_quarter_more() {
    // Averages are 1186 and 1335, then 1186 and 1631. In the second case the average of both nodes is 1409, and
    // 222·7068/1024 may move.
    assert_eq!(decide(V413, &nodes(V413, 8, 9, 2), CpuIdleType::NotIdle, 125), None);
    assert_eq!(decide(V413, &nodes(V413, 8, 11, 2), CpuIdleType::NotIdle, 125), Some(1532));
    assert_eq!(decide(V413, &nodes(V413, 8, 8, 2), CpuIdleType::NotIdle, 125), None);
    // Both are overloaded and two of fourteen tasks have no CPU; 13·1024 against a capacity of 7068 sets no limit.
    assert_eq!(decide(V413, &nodes(V413, 13, 14, 2), CpuIdleType::NotIdle, 125), None);
}

#[test]
fn equal_or_heavier_groups_stay() {
    for rules in [V311, V318, V41, V413, V417, V420, V50] {
        for nr in 0..16 {
            for idle in [CpuIdleType::NotIdle, CpuIdleType::Idle] {
                let s = nodes(rules, nr, nr, 4);
                assert_eq!(decide(rules, &s, idle, 125), None, "{rules:?} {nr}");
            }
        }
        assert_eq!(decide(rules, &nodes(rules, 9, 8, 2), CpuIdleType::Idle, 125), None, "{rules:?}");
    }
}

#[test]
fn free_capacity_is_filled_whatever_the_loads() {
    // Two tasks of 3121 on the local node, thirteen of 335 on the other: averages 904, 630 and 767. Moving one task
    // uses 8883 of capacity instead of 8551.
    let s = |rules| {
        let local = SgLbStats { load: 6242, queued: 6242, ..node(rules, 2) };
        scan(rules, local, SgLbStats { load: 4355, queued: 4355, ..node(rules, 13) }, 2)
    };
    let of = |rules| {
        [CpuIdleType::NotIdle, CpuIdleType::Idle, CpuIdleType::NewlyIdle]
            .map(|idle| decide(rules, &s(rules), idle, 125))
    };
    assert_eq!(of(V41), [None, None, Some(335)]);
    assert_eq!(of(V413), [None, Some(335), Some(335)]);
}

#[test]
fn idle_cpus_are_compared_unless_the_other_group_is_overloaded() {
    // No siblings are preferred, as between caches of a package before 4.20. The tasks are six and five, then six and
    // four.
    let s = |rules, this, busiest| {
        let (local, busiest) = (node(rules, this), node(rules, busiest));
        let average = (local.load + busiest.load) * 1024 / (2 * 7068);
        SdLbStats { local, busiest, average }
    };
    assert_eq!(decide(V413, &s(V413, 5, 6), CpuIdleType::Idle, 125), None);
    assert_eq!(decide(V413, &s(V413, 4, 6), CpuIdleType::Idle, 125), Some(1024));
    // 3.13 wants as many idle CPUs on the local side; a group within its cores is not looked at.
    assert_eq!(decide(V311, &s(V311, 6, 7), CpuIdleType::Idle, 125), Some(1024));
    assert!(!node(V311, 6).busier(&SgLbStats::default(), V311) && node(V318, 6).busier(&SgLbStats::default(), V318));
}

#[test]
fn passes_with_nothing_to_move_fail_before_4_17() {
    // The busiest group has pinned tasks, and both have as many: 890 less one task (capped at the average) gains
    // nothing.
    let s = |rules| SdLbStats {
        busiest: SgLbStats { kind: GroupType::Imbalanced, ..node(rules, 6) },
        ..nodes(rules, 6, 6, 2)
    };
    assert_eq!(decide(V413, &s(V413), CpuIdleType::Idle, 125), Some(0));
    assert_eq!(decide(V417, &s(V417), CpuIdleType::Idle, 125), None);
}

#[test]
fn forks_leave_for_anything_lighter_and_then_only_from_loaded_nodes() {
    // `own` and `other` are the loads of the two groups; 25 % of a task is 256 per capacity.
    let leaves = |own: u64, other: u64, prefers_node| {
        let mut search = Idlest::new(125);
        search.see_local(GroupLoads { queued: own, load: own });
        search.see(1, GroupLoads { queued: other, load: other });
        search.choose(prefers_node).is_some()
    };
    // One task is a load of 148, two are 296.
    assert_eq!([148, 296].map(|n| leaves(n, 0, false)), [true, true]);
    assert_eq!([148, 256, 296].map(|n| leaves(n, 0, true)), [false, false, true]);
    // Close loads are compared with sleeping tasks: 100·own against 112·other.
    assert_eq!([165, 166].map(|n| leaves(n, 148, false)), [false, true]);
    assert!(!leaves(148, 148, false));
    // Of close groups the one with less load of sleeping tasks is chosen.
    let mut search = Idlest::new(125);
    search.see_local(GroupLoads { queued: 900, load: 900 });
    search.see(1, GroupLoads { queued: 300, load: 400 });
    search.see(2, GroupLoads { queued: 310, load: 350 });
    search.see(3, GroupLoads { queued: 290, load: 340 });
    assert_eq!(search.choose(true), Some(2), "100·400 > 112·350, and 100·350 ≤ 112·340");
}

#[test]
fn wake_ups_choose_by_load() {
    // 100·(this + task) against 112·prev; a waker that is about to sleep does not count.
    assert!(!load_rule((1024, 1), 1024, 1024, None, 125, false));
    assert!(load_rule((1024, 1), 1829, 1024, None, 125, false) && !load_rule((1024, 1), 1828, 1024, None, 125, false));
    assert!(load_rule((1024, 1), 0, 1024, Some(1024), 125, false));
    // Up to 3.17 it is enough that both CPUs together have no more than a mean task: 100 + 200 against 1124/2.
    assert_eq!([true, false].map(|little| load_rule((1124, 2), 200, 1024, Some(1024), 125, little)), [true, false]);
    assert!(!load_rule((1124, 2), 463, 1024, Some(1024), 125, true));
    // Equal loads pull before 4.17: 100·(500 + 200) = 70 000 = 100·(900 − 200).
    let pulls = |waker| [weight_rule_v414, weight_rule].map(|rule| rule(500, 900, 200, waker, 100));
    assert_eq!([None, Some(0), Some(501)].map(pulls), [[true, false], [true; 2], [true; 2]]);
}

#[test]
fn an_idle_waker_pulls_across_caches_until_4_15() {
    for (release, want) in [((4, 7), 24), ((4, 15), 24), ((4, 19), 0), ((5, 4), 0)] {
        let mut lab = lab(release);
        let t = lab.start(0, None);
        lab.pass_time(5 * MS);
        lab.sleep(0);
        // A timer on node 2 wakes the task; both CPUs are idle.
        assert_eq!(lab.wake(t, Some(24)), want, "{release:?}");
    }
}

#[test]
fn forks_of_one_process() {
    let places = |release| {
        let mut lab = lab(release);
        lab.start(0, None);
        let mut at = Vec::new();
        for _ in 0..6 {
            let t = lab.s.add_task(None, 0).unwrap();
            at.push(lab.s.fork(0, t, lab.now) / 12);
            lab.settle();
        }
        at
    };
    // Every node gets a child before any node has two.
    for release in [(3, 13), (4, 0), (4, 7), (4, 15)] {
        assert_eq!(places(release), [1, 2, 3, 0, 1, 2], "{release:?}");
    }
    // From 4.17 on a load of up to 256·7068/1024 = 1767, and one task more, stays: two tasks, then one at a time where
    // the load is lower by 256. From 5.0 on it is 3072.
    assert_eq!(places((4, 19))[..2], [0, 1]);
    assert_eq!(places((5, 4))[..4], [0, 0, 0, 1]);
}

#[test]
fn two_tasks_beside_idle_cpus_are_parted() {
    for release in RELEASES {
        let mut lab = lab(release);
        hogs(&mut lab, 0, 1);
        hogs(&mut lab, 0, 1);
        lab.pass_time(20 * MS);
        // CPU 2 is idle and balances for its core.
        assert_eq!(pass(&mut lab, 2, 12, CpuIdleType::Idle), 1, "{release:?}");
        assert_eq!([0, 2].map(|c| lab.s.nr_running(c)), [1, 1], "{release:?}");
    }
}

#[test]
fn a_waiting_task_is_pulled_to_another_node() {
    for release in RELEASES {
        let mut lab = lab(release);
        hogs(&mut lab, 0, 14);
        lab.pass_time(20 * MS);
        assert_eq!(pass(&mut lab, 12, 48, CpuIdleType::Idle), 1, "{release:?}");
        assert_eq!((tasks_on(&lab, 0), tasks_on(&lab, 1)), (13, 1), "{release:?}");
    }
}

#[test]
fn tasks_with_a_cpu_each_are_pushed() {
    for release in RELEASES {
        let mut lab = lab(release);
        hogs(&mut lab, 0, 6);
        let d = dom(&lab, 12, 48) as usize;
        let state = |lab: &Lab| (tasks_on(lab, 1), lab.s.dom[d].nr_balance_failed, lab.s.dom[d].interval_ms);
        for failed in 1..5 {
            lab.pass_time(50 * MS);
            assert_eq!(pass(&mut lab, 12, 48, CpuIdleType::Idle), 0);
            assert_eq!(state(&lab), (0, failed, 48), "{release:?}");
        }
        lab.pass_time(50 * MS);
        pass(&mut lab, 12, 48, CpuIdleType::Idle);
        // The pass counts three failures. From 4.10 on the push resets them afterwards.
        let failed = if release < (4, 13) { 3 } else { 0 };
        assert_eq!(state(&lab), (1, failed, 96), "{release:?}");
    }
}

#[test]
fn a_balanced_machine_stays() {
    for release in RELEASES {
        let mut lab = lab(release);
        (0..4).for_each(|n| hogs(&mut lab, n, 12));
        lab.pass_time(50 * MS);
        for cpu in 0..48 {
            for d in lab.s.topo.ids(cpu) {
                let weight = lab.s.topo.domain(d).weight;
                assert_eq!(pass(&mut lab, cpu, weight, CpuIdleType::NotIdle), 0, "{release:?}");
            }
        }
        assert_eq!(lab.s.counters().active, 0, "{release:?}");
    }
}

#[test]
fn short_waits_are_seen_across_nodes_from_4_20_on() {
    for release in RELEASES {
        // Every CPU has a task. One of node 1 goes to sleep, and a CPU of node 0 has just got two.
        let mut lab = lab(release);
        hogs(&mut lab, 0, 13);
        (1..4).for_each(|n| hogs(&mut lab, n, 12));
        lab.pass_time(20 * MS);
        lab.s.rqs[0].past_load = [1024; 3];
        lab.s.block_current(23, lab.now);
        lab.s.enter_idle(23);
        lab.s.rqs[23].past_jiffy = lab.s.jiffy;
        let d = dom(&lab, 23, 48);
        let mut env = LbEnv::new(23, d, CpuIdleType::Idle, Why::Periodic);
        let seen = lab.s.sched_balance_find_src_group(&mut env).is_some() && env.amount > 0;
        assert_eq!(seen, release >= (4, 20), "{release:?}: at the last ticks both had twelve");
    }
}

#[test]
fn sleepers_are_no_load() {
    let mut lab = lab((4, 15));
    let t = lab.start(0, None);
    lab.pass_time(100 * MS);
    assert_eq!(lab.s.queued_load(0), lab.s.task_load_now(t));
    assert!(lab.s.queued_load(0) > 1000);
    lab.sleep(0);
    lab.pass_time(10 * MS);
    lab.s.rqs[0].refresh(lab.now);
    assert!(lab.s.queued_load(0) == 0 && lab.s.rqs[0].pelt.load > 700);
}
