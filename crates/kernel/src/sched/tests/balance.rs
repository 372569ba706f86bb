//! Balance passes: which CPU balances, failures, intervals, pinned tasks, tickless CPUs.

use super::super::balance::calculate_imbalance::{decide, ImbalanceEnv};
use super::super::balance::lb_env::LbEnv;
use super::super::balance::migration_type::MigrationType;
use super::super::config::SchedConfig;
use super::super::domains::DomId;
use super::super::event::{Event, Why};
use super::super::imbalance::Rule;
use super::super::numa_view::{NoNuma, NumaView};
use super::super::rules::{Balancer, Form};
use super::super::shapes::Shape;
use super::super::state::sg_lb_stats::SgLbStats;
use super::super::state::CpuIdleType;
use super::{config, word, Lab, FORMS, MS};

/// The domain of `cpu` with `weight` CPUs.
pub fn dom<V: NumaView>(lab: &Lab<V>, cpu: u32, weight: u32) -> DomId {
    lab.s.topo.ids(cpu).find(|d| lab.s.topo.domain(*d).weight == weight).unwrap()
}

/// Makes one pass; returns the tasks moved and whether larger domains may follow.
pub fn pass<V: NumaView>(lab: &mut Lab<V>, cpu: u32, weight: u32, idle: CpuIdleType) -> (u32, bool) {
    let d = dom(lab, cpu, weight);
    let why = if idle == CpuIdleType::NewlyIdle { Why::Newidle } else { Why::Nohz };
    let Lab { s, view, .. } = lab;
    let r = s.sched_balance_rq(cpu, d, idle, why, view);
    lab.settle();
    (r.moved, r.go_on)
}

pub fn failed<V: NumaView>(lab: &Lab<V>, cpu: u32, weight: u32) -> u32 {
    lab.s.dom[dom(lab, cpu, weight) as usize].nr_balance_failed
}

pub fn interval<V: NumaView>(lab: &Lab<V>, cpu: u32, weight: u32) -> u64 {
    lab.s.dom[dom(lab, cpu, weight) as usize].interval_ms
}

/// Four cores of every cache of node 0 of T1 are busy with a task per CPU: only the NUMA level is out of balance.
pub fn spread_node(form: &'static str) -> Lab {
    let mut lab = Lab::new(&Shape::t1(), &config(form));
    for cpu in (0..128).filter(|c| c % 2 == 0 && c % 16 < 8) {
        lab.start(cpu, None);
    }
    lab
}

#[test]
fn the_first_idle_cpu_of_the_local_group_balances() {
    // In cache 1 of T1 (CPUs 16 to 31) core 0 is half busy.
    for form in FORMS {
        let mut lab = Lab::new(&Shape::t1(), &config(form));
        lab.start(16, None);
        let who: Vec<u32> = (16..32).filter(|c| pass(&mut lab, *c, 128, CpuIdleType::Idle).1).collect();
        // 6.1 takes CPU 17, the first idle one; 6.12 the first CPU of a wholly idle core.
        assert_eq!(who, if form == "v61" { [17] } else { [18] });
    }
    // Without an idle core, 6.12 takes the first idle thread; without an idle CPU, the group's first CPU.
    let mut lab = Lab::new(&Shape::t1(), &config("v612"));
    (16..32).step_by(2).for_each(|c| lab.fill(c, None, 1));
    assert!(pass(&mut lab, 17, 128, CpuIdleType::Idle).1 && !pass(&mut lab, 19, 128, CpuIdleType::Idle).1);
    (17..32).step_by(2).for_each(|c| lab.fill(c, None, 1));
    assert!(pass(&mut lab, 16, 128, CpuIdleType::NotIdle).1 && !pass(&mut lab, 17, 128, CpuIdleType::NotIdle).1);
}

#[test]
fn failures_count_up_and_are_reset_by_every_other_outcome() {
    for form in FORMS {
        let mut lab = spread_node(form);
        for n in 1..=3 {
            assert_eq!(pass(&mut lab, 128, 256, CpuIdleType::Idle), (0, true));
            assert_eq!((failed(&lab, 128, 256), interval(&lab, 128, 256)), (n, 256));
        }
        // A newly-idle pass that finds tasks to move and moves none neither counts as a failure nor resets failures.
        lab.s.sched_balance_rq(128, dom(&lab, 128, 256), CpuIdleType::NewlyIdle, Why::Newidle, &lab.view);
        assert_eq!(failed(&lab, 128, 256), 3);
        // Another CPU has its own count. If it does not balance for the group, its count is reset and its interval
        // doubled.
        let other = dom(&lab, 130, 256);
        lab.s.dom[other as usize].nr_balance_failed = 4;
        assert_eq!(pass(&mut lab, 130, 256, CpuIdleType::Idle), (0, false));
        assert_eq!((failed(&lab, 130, 256), interval(&lab, 130, 256)), (0, 512));
        // A balanced pass resets the count and doubles the interval once.
        for _ in 0..2 {
            let d = dom(&lab, 128, 128);
            lab.s.dom[d as usize].nr_balance_failed = 2;
            assert_eq!(pass(&mut lab, 128, 128, CpuIdleType::Idle), (0, true));
            assert_eq!((failed(&lab, 128, 128), interval(&lab, 128, 128)), (0, 256));
        }
        // A balanced newly-idle pass resets the count too, but leaves the interval.
        let d = dom(&lab, 128, 16);
        lab.s.dom[d as usize].nr_balance_failed = 2;
        assert_eq!(pass(&mut lab, 128, 16, CpuIdleType::NewlyIdle), (0, true));
        assert_eq!((failed(&lab, 128, 16), interval(&lab, 128, 16)), (0, 16));
    }
}

#[test]
fn tasks_go_to_a_sibling_cpu_when_affinity_forbids_the_balancing_one() {
    // Node 1 of a flat machine is overloaded with tasks that may use CPU 1 of node 0, but not CPU 0, which balances.
    for form in FORMS {
        let mut lab = Lab::new(&Shape::flat(2, 4, 1, 20), &config(form));
        for cpu in 4..8 {
            for _ in 0..3 {
                lab.start(cpu, Some(&[1, 4, 5, 6, 7]));
            }
        }
        lab.pass_time(100 * MS);
        let (moved, _) = pass(&mut lab, 0, 8, CpuIdleType::Idle);
        assert!(moved > 0, "{form}");
        assert!(lab.s.is_idle(0) && lab.s.nr_running(1) == moved);
    }
}

#[test]
fn pinned_tasks_mark_the_parent_and_a_balanced_pass_unmarks_it() {
    // Nodes have two caches; in cache 1 every CPU has three tasks that may not leave it.
    let shape = Shape { sockets: 2, llcs_per_node: 2, cpus_per_llc: 2, ..Shape::flat(2, 2, 1, 20) };
    for form in FORMS {
        let mut lab = Lab::new(&shape, &config(form));
        for cpu in [2, 3] {
            for _ in 0..3 {
                lab.start(cpu, Some(&[2, 3]));
            }
        }
        lab.pass_time(100 * MS);
        let node = dom(&lab, 0, 4);
        let parent = lab.s.topo.parent(node).unwrap();
        let record = lab.s.topo.group(lab.s.topo.domain(parent).groups[0]).record as usize;
        assert_eq!(pass(&mut lab, 0, 4, CpuIdleType::Idle), (0, true));
        assert!(lab.s.imbalanced[record], "{form}");
        // All tasks are pinned: the interval grows beyond 2w, up to 512 ms, and failures do not count.
        for _ in 0..12 {
            pass(&mut lab, 0, 4, CpuIdleType::Idle);
        }
        assert_eq!((interval(&lab, 0, 4), failed(&lab, 0, 4)), (512, 0), "{form}");
        assert_eq!(pass(&mut lab, 0, 2, CpuIdleType::Idle), (0, true));
        assert!(lab.s.imbalanced[record], "a smaller domain's pass clears its own parent only");
        for t in 0..6 {
            lab.s.set_affinity(t, None, lab.now).unwrap();
        }
        while pass(&mut lab, 0, 4, CpuIdleType::Idle).0 > 0 {}
        pass(&mut lab, 1, 4, CpuIdleType::Idle);
        assert!(!lab.s.imbalanced[record], "{form}");
    }
}

#[test]
fn the_last_task_of_a_queue_stays_for_idle_pullers() {
    for form in FORMS {
        let mut lab = Lab::new(&Shape::flat(1, 2, 1, 10), &config(form));
        lab.fill(0, None, 2);
        lab.pass_time(10 * MS);
        assert_eq!(pass(&mut lab, 1, 2, CpuIdleType::Idle), (1, true));
        assert_eq!((lab.s.nr_running(0), lab.s.nr_running(1)), (1, 1));
        assert_eq!(pass(&mut lab, 1, 2, CpuIdleType::Idle).0, 0);
    }
}

#[test]
fn an_aborted_walk_leaves_the_next_balance_to_be_collected() {
    // CPU 2, of a wholly idle core, balances for node 0. It sends the only movable task to CPU 1, which walks for all
    // CPUs.
    let mut lab = Lab::new(&Shape::flat(2, 4, 2, 20), &config("v612"));
    lab.start(0, Some(&[0]));
    lab.fill(4, Some(&[4]), 3);
    let t = lab.start(4, Some(&[1, 4]));
    lab.pass_time(400 * MS);
    lab.s.nohz.needs_update = true;
    lab.tick(4);
    assert_eq!(lab.s.cpu_of(t), 1);
    assert!(lab.s.nohz.needs_update);
}

#[test]
fn the_lowest_idle_cpu_balances_for_all() {
    for form in FORMS {
        let mut lab = Lab::new(&Shape::t2(), &config(form));
        lab.start(0, None);
        lab.fill(4, Some(&[4]), 3);
        lab.pass_time(400 * MS);
        lab.tick(4);
        let balancer = lab.log.iter().find_map(|e| match e {
            Event::Balanced { cpu, why: Why::Nohz, .. } => Some(*cpu),
            _ => None,
        });
        assert_eq!(balancer, Some(1), "{form}");
        // A second request in the same jiffy is too early.
        let runs = lab.s.counters().nohz_runs;
        lab.tick(4);
        assert_eq!(lab.s.counters().nohz_runs, runs);
    }
}

#[test]
fn short_idle_periods_keep_the_tick() {
    for form in FORMS {
        for keeps in [true, false] {
            let mut lab = Lab::new(&Shape::t2(), &SchedConfig { idle_tick: keeps, ..config(form) });
            lab.pass_time(100 * MS);
            let t = lab.start(3, Some(&[3]));
            lab.pass_time(4 * MS);
            lab.tick(3);
            let cache = lab.s.domains().cache_of(3) as usize;
            for period in 0..6 {
                assert!(!lab.s.rqs[3].tickless);
                lab.sleep(3);
                assert!(lab.s.rqs[3].tickless, "{form}: period {period} is not expected to be short");
                lab.pass_time(10_000);
                lab.wake(t, None);
                lab.tick(3);
            }
            // Six of eight periods were short: the seventh keeps the tick, and the CPU counts as busy.
            lab.sleep(3);
            assert_eq!(lab.s.idles_ticking(3), keeps, "{form}");
            assert_eq!(lab.s.caches[cache].nr_busy, u32::from(keeps));
            lab.pass_time(10_000);
            lab.wake(t, None);
            lab.tick(3);
            // No work comes: the third tick that finds the CPU idle leaves five short periods of eight, and stops.
            lab.sleep(3);
            for want in [keeps, keeps, false] {
                lab.pass_time(4 * MS);
                lab.s.idle_tick(3, lab.now, &NoNuma);
                assert_eq!(lab.s.idles_ticking(3), want, "{form}");
            }
            assert_eq!(lab.s.caches[cache].nr_busy, 0);
        }
    }
}

#[test]
fn a_cpu_that_idles_ticking_balances_for_itself() {
    for form in FORMS {
        let mut lab = Lab::new(&Shape::flat(1, 4, 1, 10), &config(form));
        let t = lab.start(3, Some(&[3]));
        lab.pass_time(4 * MS);
        lab.tick(3);
        for _ in 0..8 {
            lab.sleep(3);
            lab.pass_time(10_000);
            lab.wake(t, None);
            lab.tick(3);
        }
        // CPU 3 has nothing to do, and CPU 0 has two tasks.
        let tasks = [lab.start(0, Some(&[0])), lab.start(0, Some(&[0]))];
        lab.sleep(3);
        assert!(lab.s.idles_ticking(3));
        tasks.iter().for_each(|t| lab.s.set_affinity(*t, None, lab.now).unwrap());
        assert_eq!(lab.s.nr_running(0), 2, "{form}");
        lab.pass_time(64 * MS);
        lab.s.idle_tick(3, lab.now, &NoNuma);
        lab.settle();
        assert_eq!((lab.s.nr_running(0), lab.s.nr_running(3)), (1, 1), "{form}");
    }
}

#[test]
fn sibling_difference_of_unequal_cores_is_scaled() {
    let group = |nr, cores| SgLbStats {
        nr,
        cores,
        weight: 2 * cores,
        capacity: 2048 * u64::from(cores),
        idle_cpus: 2 * cores - nr,
        ..SgLbStats::default()
    };
    let env = ImbalanceEnv {
        form: Form::V612,
        balancer: Balancer::Types,
        rule: Rule::Imb60.into(),
        idle: true,
        below_average: true,
        imbalance_pct: 117,
        numa: false,
        share_llc: false,
        prefer_sibling: true,
        imb_numa_nr: 0,
        span_weight: 16,
        total_load: 0,
        total_capacity: 1,
    };
    let amount = |b, l| decide(&env, &l, &b).map(|p| (p.kind, p.amount));
    // 8 tasks on 8 cores against 1 on 4: (4·8 − 8·1) = 24, (48 + 12)/12 = 5, of which half is 2.
    assert_eq!(amount(group(8, 8), group(1, 4)), Some((MigrationType::Task, 2)));
    // In proportion: x = (0 + 12)/12 = 1, not more than one; idle CPUs are even too.
    assert_eq!(amount(group(8, 8), group(4, 4)), None);
    // Two tasks against none: x = (2·8 + 12)/12 = 2, so one task moves.
    assert_eq!(amount(group(2, 8), group(0, 4)), Some((MigrationType::Task, 1)));
}

#[test]
fn busy_cpus_wait_sixteen_times_longer() {
    let mut lab = Lab::new(&Shape::flat(1, 16, 1, 10), &SchedConfig { hz: 1000, ..config("v612") });
    (0..16).for_each(|c| lab.fill(c, None, 1));
    let mut at = Vec::new();
    for ms in 1..1500 {
        lab.pass_time(MS);
        let before = lab.s.counters().passes;
        lab.tick(0);
        if lab.s.counters().passes > before {
            at.push(ms);
        }
    }
    // w = 16: the first pass is due after 255 ms. It is balanced, so the next ones follow every 511 ms.
    assert_eq!(at, [255, 766, 1277]);
}

#[test]
fn busy_intervals_of_older_releases() {
    // The levels are the cores, the node of twelve threads, and the machine of four nodes.
    let due = |domain_constants: &'static str| {
        let lab = Lab::new(
            &Shape::flat(4, 12, 2, 21),
            &SchedConfig { domain_constants: word(domain_constants), hz: 1000, ..config("v61") },
        );
        let both = |d| [false, true].map(|busy| lab.s.get_sd_balance_interval(d, busy));
        lab.s.topo.ids(0).map(both).collect::<Vec<_>>()
    };
    assert_eq!(due("v510"), [[2, 31], [12, 191], [48, 767]]);
    assert_eq!(due("v316"), [[2, 64], [12, 384], [48, 1536]]);
    assert_eq!(due("v37"), [[1, 64], [1, 64], [48, 1536]]);
    // Balanced domains wait longer, inside a node up to four times as long.
    let mut lab = Lab::new(&Shape::flat(4, 12, 2, 21), &SchedConfig { domain_constants: word("v37"), ..config("v61") });
    (0..5).for_each(|_| assert_eq!(pass(&mut lab, 0, 12, CpuIdleType::Idle), (0, true)));
    assert_eq!(interval(&lab, 0, 12), 4);
    (0..5).for_each(|_| assert_eq!(pass(&mut lab, 0, 48, CpuIdleType::Idle), (0, true)));
    assert_eq!(interval(&lab, 0, 48), 96);
}

#[test]
fn large_tasks_move_once_passes_have_failed() {
    // Three tasks against two on CPUs of one cache: half of a task's load should move.
    for form in FORMS {
        let mut lab = Lab::new(&Shape::flat(1, 2, 1, 10), &config(form));
        lab.fill(0, Some(&[0]), 2);
        lab.fill(1, Some(&[1]), 3);
        (0..5).for_each(|t| lab.s.set_affinity(t, None, 0).unwrap());
        lab.pass_time(200 * MS);
        assert_eq!(pass(&mut lab, 0, 2, CpuIdleType::NotIdle), (0, true), "{form}: 1024 is more than 512");
        assert_eq!(failed(&lab, 0, 2), 1);
        assert_eq!(pass(&mut lab, 0, 2, CpuIdleType::NotIdle), (1, true), "{form}: half of 1024 is not");
        assert_eq!((lab.s.nr_running(0), failed(&lab, 0, 2)), (3, 0));
    }
}

#[test]
fn failed_passes_let_large_utilisation_move_from_6_8_on() {
    // Node 0 has used its CPUs fully until now, and one of them is idle: hardly any utilisation is missing.
    for (relax_util, want) in [(true, 1), (false, 0)] {
        let mut lab = Lab::new(&Shape::flat(2, 2, 1, 20), &SchedConfig { relax_util, ..config("v61") });
        (0..2).for_each(|cpu| lab.fill(cpu, Some(&[cpu]), 1));
        (2..4).for_each(|cpu| lab.fill(cpu, Some(&[cpu]), 3));
        for _ in 0..100 {
            lab.pass_time(4 * MS);
            (0..4).for_each(|cpu| lab.tick(cpu));
        }
        lab.sleep(0);
        (2..8).for_each(|t| lab.s.set_affinity(t, None, lab.now).unwrap());
        assert_eq!(pass(&mut lab, 0, 4, CpuIdleType::Idle), (0, true), "a third of a CPU is too much");
        let d = dom(&lab, 0, 4);
        lab.s.dom[d as usize].nr_balance_failed = 8;
        assert_eq!(pass(&mut lab, 0, 4, CpuIdleType::Idle), (want, true), "relax_util = {relax_util}");
    }
}

#[test]
fn update_sd_pick_busiest_compares_two_groups() {
    use super::super::state::sg_lb_stats::GroupType;
    let group = |kind, nr, idle_cpus, smt| SgLbStats { kind, nr, idle_cpus, smt, weight: 2, ..SgLbStats::default() };
    let busier =
        |a: SgLbStats, b: SgLbStats| [Form::V61, Form::V612].map(|f| a.update_sd_pick_busiest(Some(&b), f, true));
    let full = |smt| group(GroupType::FullyBusy, 2, 0, smt);
    assert_eq!(busier(full(false), full(false)), [false, true], "6.12 lets a later one replace a non-SMT one");
    assert_eq!(busier(full(false), full(true)), [false, false]);
    let spare = |nr, idle, smt| group(GroupType::HasSpare, nr, idle, smt);
    assert_eq!(busier(spare(1, 1, false), spare(0, 2, false)), [true; 2], "fewer idle CPUs");
    assert_eq!(busier(spare(3, 1, false), spare(2, 1, false)), [true; 2], "more tasks");
    assert_eq!(busier(spare(2, 1, false), spare(2, 1, false)), [false; 2]);
    assert_eq!(busier(spare(1, 1, true), spare(2, 0, false)), [false; 2], "a core with one task");
    assert_eq!(busier(spare(2, 1, true), spare(3, 0, false)), [false, true], "a core with two needs help more");
    assert_eq!(busier(full(false), spare(9, 0, false)), [true; 2], "type before counts");
    let smt = |nr, idle| group(GroupType::SmtBalance, nr, idle, true);
    assert_eq!(busier(smt(3, 0), smt(2, 1)), [true; 2]);
    assert_eq!(busier(smt(3, 0), smt(2, 0)), [false; 2]);
    assert!(!spare(0, 2, false).update_sd_pick_busiest(None, Form::V612, true), "nothing to pull");
}

#[test]
fn averages_that_are_not_read_would_not_have_mattered() {
    let shape = Shape { sockets: 2, llcs_per_node: 2, cpus_per_llc: 4, ..Shape::flat(2, 4, 2, 20) };
    let mut seed = 12345u64;
    let mut draw = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    let (mut skipped, mut acted) = (0, 0);
    for round in 0..400 {
        let mut lab = Lab::new(&shape, &config(FORMS[round % 2]));
        for cpu in 0..16 {
            lab.fill(cpu, None, [0, 0, 1, 1, 1, 2, 3][draw(7) as usize]);
        }
        lab.pass_time(draw(300) * MS);
        for cpu in 0..16 {
            for d in lab.s.topo.ids(cpu) {
                let idle = if lab.s.is_idle(cpu) { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
                let mut quick = LbEnv::new(cpu, d, idle, Why::Nohz);
                let mut slow = LbEnv { thorough: true, ..quick };
                let loads = lab.s.rqs.iter().map(|r| r.pelt).collect::<Vec<_>>();
                let got = lab.s.sched_balance_find_src_group(&mut quick);
                skipped += u32::from(loads == lab.s.rqs.iter().map(|r| r.pelt).collect::<Vec<_>>());
                let want = lab.s.sched_balance_find_src_group(&mut slow);
                acted += u32::from(want.is_some());
                assert_eq!((got, quick.kind, quick.amount), (want, slow.kind, slow.amount), "round {round} CPU {cpu}");
            }
        }
    }
    assert!(skipped > 1000 && acted > 1000, "{skipped} {acted}");
}

#[test]
fn a_pass_at_the_top_tells_whether_any_cpu_has_two_tasks() {
    let mut lab = Lab::new(&Shape::flat(2, 4, 1, 20), &config("v612"));
    assert!(!lab.s.overload);
    lab.fill(4, Some(&[4]), 2);
    assert!(lab.s.overload);
    lab.s.exit_current(4, lab.now);
    lab.pick(4);
    assert!(lab.s.overload, "the machine has not been searched yet");
    pass(&mut lab, 0, 4, CpuIdleType::Idle);
    assert!(lab.s.overload, "a node is not the machine");
    pass(&mut lab, 0, 8, CpuIdleType::Idle);
    assert!(!lab.s.overload);
}
