//! The balancer of 3.7: loads per power on four nodes of six cores with two threads each.

use super::super::balance::lb_env::LbEnv;
use super::super::balance::v37::{decide, load_index, SdLbStats, SgLbStats, Verdict};
use super::super::capacity::{capacity, cpu_power};
use super::super::config::SchedConfig;
use super::super::domains::Level;
use super::super::event::Why;
use super::super::select_cpu::fork_leaves;
use super::super::shapes::Shape;
use super::super::state::CpuIdleType;
use super::four_nodes::{dom, hogs, pass, tasks_on};
use super::{config, word, Lab, MS};

fn sched(balancer: &'static str) -> SchedConfig {
    SchedConfig {
        balancer: word(balancer),
        imbalance: word("none"),
        domain_constants: word("v37"),
        newidle: word("v37"),
        nohz_kick: word("v37"),
        ..config("v61")
    }
}

fn lab() -> Lab {
    Lab::new(&Shape::flat(4, 12, 2, 21), &sched("v37"))
}

/// A node with `nr` tasks. With `spread`, siblings are preferred, and other nodes may pull all its tasks but one.
fn node(nr: u32, spread: bool) -> SgLbStats {
    let power = 12 * cpu_power(2);
    let capacity = if spread { 1 } else { capacity(power, false) };
    let idle_cpus = 12u32.saturating_sub(nr);
    let load = u64::from(nr) * 1024;
    SgLbStats { load, queued: load, nr, idle_cpus, weight: 12, power, capacity, group_imb: false }
}

/// The local node with `this` tasks and the busiest of `nodes`; the other nodes equal the local one.
fn scan(this: u32, busiest: u32, nodes: u32) -> SdLbStats {
    let local = node(this, false);
    let total = u64::from(this * (nodes - 1) + busiest) * 1024;
    let average = total * 1024 / (local.power * u64::from(nodes));
    SdLbStats { local, busiest: node(busiest, this < 7), busiest_has_capacity: busiest < 7, average }
}

#[test]
fn six_cores_with_two_threads_count_as_seven_cpus() {
    assert_eq!((cpu_power(1), cpu_power(2), cpu_power(4)), (1024, 589, 294));
    assert_eq!((capacity(12 * 589, false), capacity(2 * 589, false), capacity(589, true)), (7, 1, 1));
    assert_eq!((capacity(294, true), capacity(294, false)), (1, 0));
}

#[test]
fn an_idle_node_takes_its_share() {
    // 12 tasks on one of four nodes: (1780 − 445)·power is more than the 445·power that fill this node to the average.
    assert_eq!(decide(&scan(0, 12, 4), CpuIdleType::Idle, 125), Verdict::Pull(445 * 7068 / 1024));
    // Three tasks on one node: 766 is too little for a task, so one task moves.
    assert_eq!(decide(&scan(0, 3, 4), CpuIdleType::Idle, 125), Verdict::Pull(1024));
}

#[test]
fn idle_cpus_leave_nodes_alone_that_have_as_many() {
    assert_eq!(decide(&scan(5, 6, 2), CpuIdleType::Idle, 125), Verdict::Near);
    assert!(matches!(decide(&scan(4, 6, 2), CpuIdleType::Idle, 125), Verdict::Pull(_)));
    // With more tasks than CPUs, idle CPUs of both sides do not matter.
    let crowded = SdLbStats {
        busiest: SgLbStats { nr: 13, load: 13 * 1024, queued: 13 * 1024, ..node(12, true) },
        ..scan(12, 12, 2)
    };
    let average = 25 * 1024 * 1024 / (2 * 7068);
    assert!(matches!(decide(&SdLbStats { average, ..crowded }, CpuIdleType::Idle, 125), Verdict::Pull(_)));
}

#[test]
fn busy_cpus_wait_for_a_quarter_more() {
    assert_eq!(decide(&scan(8, 9, 2), CpuIdleType::NotIdle, 125), Verdict::Near);
    // To the average it is 1631 − 1409, in which one task of 1024 fits and a second does not.
    assert_eq!(decide(&scan(8, 11, 2), CpuIdleType::NotIdle, 125), Verdict::Pull(222 * 7068 / 1024));
    assert_eq!(decide(&scan(8, 8, 2), CpuIdleType::NotIdle, 125), Verdict::Stay);
    assert_eq!(decide(&scan(9, 8, 2), CpuIdleType::Idle, 125), Verdict::Stay);
}

#[test]
fn newly_idle_cpus_of_a_node_with_room_do_not_wait() {
    let s = scan(6, 7, 2);
    assert_eq!([CpuIdleType::Idle, CpuIdleType::NotIdle].map(|i| decide(&s, i, 125)), [Verdict::Near; 2]);
    assert_eq!(decide(&s, CpuIdleType::NewlyIdle, 125), Verdict::Pull(1024));
    assert_eq!(decide(&scan(7, 8, 2), CpuIdleType::NewlyIdle, 125), Verdict::Near, "this node has no room");
    assert_eq!(decide(&scan(5, 6, 2), CpuIdleType::NewlyIdle, 125), Verdict::Near, "that one has room too");
}

#[test]
fn a_lopsided_group_is_pulled_from_by_any_cpu() {
    let s = scan(8, 9, 2);
    assert_eq!(decide(&s, CpuIdleType::NotIdle, 125), Verdict::Near);
    let s = SdLbStats { busiest: SgLbStats { group_imb: true, ..s.busiest }, ..s };
    assert_eq!(decide(&s, CpuIdleType::NotIdle, 125), Verdict::Pull(1024));
    // With as many tasks on the local node nothing is gained, and the pass fails.
    let s = SdLbStats { busiest: SgLbStats { group_imb: true, ..scan(6, 6, 2).busiest }, ..scan(6, 6, 2) };
    assert_eq!(decide(&s, CpuIdleType::NotIdle, 125), Verdict::Pull(0));
}

#[test]
fn forks_leave_only_for_an_eighth_less() {
    assert!(fork_leaves(148, 0, 125) && !fork_leaves(148, 148, 125));
    // Nine tasks against eight, and eight against seven and a half.
    assert!(fork_leaves(9 * 1024, 8 * 1024, 125) && !fork_leaves(16 * 1024, 15 * 1024, 125));
    // Children of one process: each other node gets a task, then the own node. In a node an idle core is taken.
    let mut lab = lab();
    lab.start(0, None);
    let mut at = Vec::new();
    for _ in 0..4 {
        let t = lab.s.add_task(None, 0).unwrap();
        at.push(lab.s.fork(0, t, lab.now));
        lab.settle();
    }
    assert_eq!(at, [15, 27, 39, 3]);
}

#[test]
fn a_waiting_task_is_pulled_to_another_node() {
    let mut lab = lab();
    hogs(&mut lab, 0, 14);
    lab.pass_time(20 * MS);
    // Node 1 is idle, and the average is three and a half tasks. Every queue has one or two, so one task moves.
    assert_eq!(pass(&mut lab, 12, 48, CpuIdleType::Idle), 1);
    assert_eq!((tasks_on(&lab, 0), tasks_on(&lab, 1)), (13, 1));
}

#[test]
fn tasks_with_a_cpu_each_are_pushed_and_then_more_slowly() {
    let mut lab = lab();
    hogs(&mut lab, 0, 6);
    let d = dom(&lab, 12, 48) as usize;
    let state = |lab: &Lab| (tasks_on(lab, 1), lab.s.dom[d].nr_balance_failed, lab.s.dom[d].interval_ms);
    for failed in 1..5 {
        lab.pass_time(50 * MS);
        assert_eq!(pass(&mut lab, 12, 48, CpuIdleType::Idle), 0);
        assert_eq!(state(&lab), (0, failed, 48));
    }
    lab.pass_time(50 * MS);
    pass(&mut lab, 12, 48, CpuIdleType::Idle);
    assert_eq!(state(&lab), (1, 3, 96));
}

#[test]
fn a_balanced_machine_stays() {
    let mut lab = lab();
    for n in 0..4 {
        hogs(&mut lab, n, 12);
    }
    lab.pass_time(50 * MS);
    for cpu in 0..48 {
        for d in lab.s.topo.ids(cpu) {
            let weight = lab.s.topo.domain(d).weight;
            assert_eq!(pass(&mut lab, cpu, weight, CpuIdleType::NotIdle), 0);
        }
    }
    assert_eq!(lab.s.counters().active, 0);
}

#[test]
fn short_waits_are_not_seen_across_nodes() {
    // Every CPU has a task. One of node 1 goes to sleep, and a CPU of node 0 has two.
    let mut lab = lab();
    hogs(&mut lab, 0, 13);
    for n in 1..4 {
        hogs(&mut lab, n, 12);
    }
    lab.pass_time(20 * MS);
    lab.s.rqs[0].past_load = [1024; 3];
    lab.s.block_current(23, lab.now);
    lab.s.enter_idle(23);
    let d = dom(&lab, 23, 48);
    let find = |lab: &mut Lab| {
        let mut env = LbEnv::new(23, d, CpuIdleType::Idle, Why::Periodic);
        lab.s.sched_balance_find_src_group(&mut env).is_some()
    };
    lab.s.rqs[23].past_jiffy = lab.s.jiffy;
    assert!(!find(&mut lab), "at the last ticks both had twelve");
    // Sixteen ticks later they had not.
    lab.s.rqs[0].past_load = [2048; 3];
    lab.pass_time(64 * MS);
    assert!(find(&mut lab));
}

#[test]
fn which_past_load_is_compared() {
    let of = |l| [CpuIdleType::Idle, CpuIdleType::NotIdle, CpuIdleType::NewlyIdle].map(|i| load_index(l, i));
    let levels = [Level::Smt, Level::Mc, Level::Pkg, Level::Numa(1)];
    assert_eq!(levels.map(of), [[0, 0, 0], [0, 2, 0], [1, 2, 0], [2, 3, 0]]);
}

#[test]
fn hot_tasks_stay_even_in_their_core() {
    for (balancer, want) in [("v37", 0), ("types", 1)] {
        let mut lab = Lab::new(&Shape::flat(1, 4, 2, 10), &sched(balancer));
        lab.fill(0, Some(&[0]), 2);
        lab.start(2, Some(&[2]));
        (0..2).for_each(|t| lab.s.set_affinity(t, None, lab.now).unwrap());
        lab.pass_time(MS);
        // Both tasks ran just now.
        (0..2).for_each(|t| lab.s.tasks[t].exec_start = lab.now as i64 - 100_000);
        assert_eq!(pass(&mut lab, 1, 2, CpuIdleType::Idle), want, "{balancer}");
    }
}

#[test]
fn before_3_13_a_lone_task_asks_for_balance_only_if_its_core_is_busy() {
    let asks = |nohz_kick: &'static str, other: u32| {
        let mut lab = Lab::new(&Shape::flat(4, 12, 2, 21), &SchedConfig { nohz_kick: word(nohz_kick), ..sched("v37") });
        lab.start(0, None);
        lab.start(other, None);
        lab.pass_time(400 * MS);
        lab.tick(other);
        lab.tick(0);
        lab.s.counters().nohz_runs > 0
    };
    assert!(asks("v37", 1), "both threads of a core are busy");
    assert!(!asks("v37", 2), "two cores with a busy thread each");
    assert!(asks("v313", 2), "two busy CPUs of a cache");
    assert!(!asks("v313", 12), "one in each of two caches");
}

#[test]
fn wake_ups_compare_weights_before_3_11() {
    // CPU 0's task mostly sleeps: by its average another task fits beside it, by its weight it does not.
    let pulls = |balancer: &'static str, light: u64| {
        let mut lab =
            Lab::new(&Shape::flat(1, 8, 1, 10), &SchedConfig { wake_affine: word("v311"), ..sched(balancer) });
        let waker = lab.start(0, None);
        lab.start(2, None);
        let t = lab.s.add_task(Some(&[2]), 0).unwrap();
        lab.s.tasks[waker as usize].pelt.load = light;
        lab.s.wake_affine(125, t, 0, 2, false) == 0
    };
    // 100 * (1024 + 1024) against 112 * 1024.
    assert!(!pulls("v37", 1) && !pulls("v37", 1024));
    // 100 * (1 + 1024) against 112 * 1024.
    assert!(pulls("v311", 1) && !pulls("v311", 1024));
}

#[test]
fn a_newly_idle_cpu_that_finds_balance_waits_longer_too() {
    let interval = |balancer| {
        let mut lab = Lab::new(&Shape::flat(4, 12, 2, 21), &sched(balancer));
        lab.pass_time(20 * MS);
        let d = dom(&lab, 0, 48);
        let before = lab.s.dom[d as usize].interval_ms;
        lab.s.sched_balance_rq(0, d, CpuIdleType::NewlyIdle, Why::Newidle, &lab.view);
        lab.s.dom[d as usize].interval_ms / before
    };
    assert_eq!(["v37", "v417", "v420"].map(interval), [2, 2, 1]);
}
