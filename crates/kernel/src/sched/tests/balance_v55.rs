//! The balancers of 5.5 to 5.11, where they differ from the one of 5.12 and later.

use super::super::balance::calculate_imbalance::{decide, Imbalance, ImbalanceEnv};
use super::super::balance::lb_env::LbEnv;
use super::super::balance::migration_type::MigrationType;
use super::super::config::SchedConfig;
use super::super::domains::DomId;
use super::super::event::Why;
use super::super::imbalance::Rule;
use super::super::rules::{Balancer, Form};
use super::super::shapes::Shape;
use super::super::state::sg_lb_stats::{GroupType, SgLbStats};
use super::super::state::CpuIdleType;
use super::{config, word, Lab, MS};

fn lab(shape: &Shape, balancer: &'static str) -> Lab {
    Lab::new(
        shape,
        &SchedConfig { balancer: word(balancer), imbalance: word("none"), relax_util: false, ..config("v61") },
    )
}

fn dom(lab: &Lab, cpu: u32, weight: u32) -> DomId {
    lab.s.topo.ids(cpu).find(|d| lab.s.topo.domain(*d).weight == weight).unwrap()
}

/// Makes a pass of idle CPU 0 over `weight` CPUs; returns the number of tasks moved.
fn pass(lab: &mut Lab, weight: u32) -> u32 {
    let d = dom(lab, 0, weight);
    let moved = lab.s.sched_balance_rq(0, d, CpuIdleType::Idle, Why::Nohz, &lab.view).moved;
    lab.settle();
    moved
}

/// Ticks long enough for averages to settle. No CPU balances meanwhile.
fn settle_averages(lab: &mut Lab, cpus: u32) {
    for _ in 0..100 {
        lab.pass_time(4 * MS);
        (0..cpus).for_each(|cpu| lab.tick(cpu));
    }
}

fn env(balancer: Balancer, share_llc: bool) -> ImbalanceEnv {
    ImbalanceEnv {
        form: Form::V61,
        balancer,
        rule: Rule::None.into(),
        idle: true,
        below_average: false,
        imbalance_pct: 117,
        numa: false,
        share_llc,
        prefer_sibling: true,
        imb_numa_nr: 0,
        span_weight: 16,
        total_load: 4096 + 3200,
        total_capacity: 4096,
    }
}

#[test]
fn inside_a_cache_idle_cpus_take_tasks_from_5_10_on() {
    let local = SgLbStats { weight: 2, capacity: 2048, util: 48, idle_cpus: 2, ..SgLbStats::default() };
    let busiest = SgLbStats { kind: GroupType::Overloaded, nr: 5, weight: 2, capacity: 2048, ..SgLbStats::default() };
    let what = |b, llc| decide(&env(b, llc), &local, &busiest).map(|p| (p.kind, p.amount));
    assert_eq!(what(Balancer::V59, true), Some((MigrationType::Util, 2000)));
    assert_eq!(what(Balancer::V510, true), Some((MigrationType::Task, 2)));
    assert_eq!(what(Balancer::V510, false), Some((MigrationType::Util, 2000)));
}

#[test]
fn before_5_7_a_full_group_pulls_from_a_less_loaded_one_too() {
    // Averages are 2048 on the local group, 1600 on the other, 1824 of the domain. Both differences are negative, and
    // unsigned.
    let full = SgLbStats { nr: 2, weight: 2, capacity: 2048, load: 4096, ..SgLbStats::default() };
    let local = SgLbStats { kind: GroupType::FullyBusy, ..full };
    let busiest = SgLbStats { kind: GroupType::Overloaded, nr: 3, load: 3200, avg_load: 1600, ..full };
    let what = |b| decide(&env(b, false), &local, &busiest);
    assert!(matches!(what(Balancer::V56), Some(Imbalance { kind: MigrationType::Load, amount: 0x1_0000_0000.. })));
    assert_eq!(what(Balancer::V57), None);
}

#[test]
fn from_5_6_on_tasks_decide_between_as_many_idle_cpus() {
    let group = |nr, idle_cpus| SgLbStats { nr, idle_cpus, weight: 4, ..SgLbStats::default() };
    let busier =
        |a: SgLbStats, b: SgLbStats| [false, true].map(|ties| a.update_sd_pick_busiest(Some(&b), Form::V61, ties));
    assert_eq!(busier(group(3, 2), group(2, 2)), [false, true]);
    assert_eq!(busier(group(2, 1), group(3, 2)), [true, true]);
}

#[test]
fn until_5_9_half_a_load_may_move_and_any_after_failures() {
    let build = |balancer, failed, amount| {
        let mut lab = lab(&Shape::flat(1, 2, 1, 10), balancer);
        lab.fill(1, Some(&[1]), 2);
        (0..2).for_each(|t| lab.s.set_affinity(t, None, 0).unwrap());
        lab.pass_time(10 * MS);
        let d = dom(&lab, 0, 2);
        lab.s.dom[d as usize].nr_balance_failed = failed;
        let mut env =
            LbEnv { src: 1, kind: MigrationType::Load, amount, ..LbEnv::new(0, d, CpuIdleType::Idle, Why::Nohz) };
        lab.s.detach_tasks(&mut env, &lab.view)
    };
    // The load is about 1024; the failures exceed the domain's tries by one.
    assert_eq!(["v59", "v510"].map(|b| build(b, 0, 600)), [1, 0]);
    assert_eq!(["v59", "v510"].map(|b| build(b, 0, 400)), [0, 0]);
    assert_eq!(["v59", "v510"].map(|b| build(b, 2, 1)), [1, 0]);
}

#[test]
fn a_waiting_task_has_the_size_it_came_with() {
    let mut lab = lab(&Shape::flat(1, 2, 1, 10), "types");
    let sleeper = lab.start(1, Some(&[1]));
    lab.pass_time(20 * MS);
    lab.sleep(1);
    lab.pass_time(64 * MS);
    let other = lab.start(1, Some(&[1]));
    lab.wake(sleeper, None);
    lab.s.put_prev_task(1);
    lab.s.set_next_task(1, other);
    let came = lab.s.tasks[sleeper as usize].pelt.load;
    assert!((200..400).contains(&came), "{came}");
    // The runnable task gains half of the missing load in 32 ms, but its average is not read meanwhile.
    lab.pass_time(32 * MS);
    let d = dom(&lab, 0, 2);
    let amount = |kind| {
        let env = LbEnv { src: 1, kind, amount: 5000, ..LbEnv::new(0, d, CpuIdleType::Idle, Why::Nohz) };
        lab.s.size_of(&env, sleeper)
    };
    assert_eq!(amount(MigrationType::Load), Some(came as i64));
    assert!((1600..1700).contains(&lab.s.queued_load(1)), "of a queue it is part");
    assert_eq!(lab.s.tasks[sleeper as usize].pelt.load, came, "and asking for that changes nothing");
}

#[test]
fn until_5_6_utilisation_may_be_wanted_from_a_cpu_with_one_task() {
    for (balancer, moved) in [("v56", false), ("v57", true)] {
        let mut lab = lab(&Shape::flat(2, 2, 1, 20), balancer);
        lab.fill(2, Some(&[2]), 1);
        lab.fill(3, Some(&[3]), 3);
        settle_averages(&mut lab, 4);
        (0..4).for_each(|t| lab.s.set_affinity(t, None, lab.now).unwrap());
        assert_eq!(pass(&mut lab, 4) > 0, moved, "{balancer}");
    }
}

#[test]
fn until_5_6_waiting_makes_no_group_overloaded() {
    // Two CPUs share three tasks that run a third of the time each: no utilisation exceeds the capacity.
    let kind = |balancer, runnable| {
        let mut lab = lab(&Shape::flat(2, 2, 1, 20), balancer);
        lab.fill(2, Some(&[2]), 3);
        lab.pass_time(MS);
        let rq = &mut lab.s.rqs[2];
        (rq.pelt.runnable, rq.pelt.util) = (runnable, 300);
        let d = dom(&lab, 0, 4);
        let env = LbEnv { thorough: true, ..LbEnv::new(0, d, CpuIdleType::Idle, Why::Nohz) };
        (0..2).for_each(|i| _ = lab.s.count_group_tasks(&env, i));
        lab.s.add_group_averages(&env, 1);
        lab.s.sg_lb_stats[1].group_classify(125)
    };
    assert_eq!(["v56", "v57"].map(|b| kind(b, 4000)), [GroupType::HasSpare, GroupType::Overloaded]);
}

#[test]
fn until_5_11_failures_push_a_running_task_whatever_is_counted() {
    for (balancer, pushed) in [("v55", 1), ("v510", 1), ("types", 0)] {
        // As in `failed_passes_let_large_utilisation_move_from_6_8_on`, hardly any utilisation is missing.
        let mut lab = lab(&Shape::flat(2, 2, 1, 20), balancer);
        (0..2).for_each(|cpu| lab.fill(cpu, Some(&[cpu]), 1));
        (2..4).for_each(|cpu| lab.fill(cpu, Some(&[cpu]), 3));
        settle_averages(&mut lab, 4);
        lab.sleep(0);
        (2..8).for_each(|t| lab.s.set_affinity(t, None, lab.now).unwrap());
        let d = dom(&lab, 0, 4);
        lab.s.dom[d as usize].nr_balance_failed = 8;
        assert_eq!(pass(&mut lab, 4), 0);
        assert_eq!(lab.s.counters.active, pushed, "{balancer}");
    }
}
