//! Newly-idle searches: when there is one, what it takes and when, and what is remembered of it.

use super::super::config::SchedConfig;
use super::super::event::{Event, Why};
use super::super::numa_view::NoNuma;
use super::super::rq::sched_entity::TaskId;
use super::super::shapes::Shape;
use super::balance::dom;
use super::{config, word, Lab, FORMS, MS};

/// Two tasks on CPU 1. The task of CPU 0 has just gone to sleep and is returned.
fn becomes_newly_idle(form: &'static str) -> (Lab<NoNuma>, TaskId) {
    let mut lab = Lab::new(&Shape::flat(1, 8, 1, 10), &config(form));
    lab.fill(1, Some(&[1]), 2);
    let slept = lab.start(0, Some(&[0]));
    (0..2).for_each(|t| lab.s.set_affinity(t, None, lab.now).unwrap());
    lab.pass_time(20 * MS);
    assert_eq!(lab.s.block_current(0, lab.now), Some(slept));
    assert_eq!(lab.s.pick_next(0, lab.now, &lab.view), None);
    // One pass over eight CPUs takes 100 ns each.
    assert_eq!(lab.s.newidle_pass_ns(0), Some(800));
    (lab, slept)
}

#[test]
fn a_newly_idle_search_takes_the_tasks_it_finds_at_its_end() {
    for form in FORMS {
        let (mut lab, _) = becomes_newly_idle(form);
        assert!(!lab.s.idle.contains(0) && lab.s.idle.contains(2), "{form}: searches for an idle CPU do not find it");
        let mut late = Lab { s: lab.s.clone(), now: lab.now, view: lab.view, log: Vec::new(), pushed: 0 };
        assert!(lab.s.pick_next(0, lab.now + 800, &lab.view).is_some(), "{form}");
        assert_eq!((lab.s.newidle_pass_ns(0), lab.s.nr_running(1)), (None, 1));
        // One of the two tasks exits during the search.
        late.s.exit_current(1, late.now + 400);
        late.pick(1);
        assert_eq!(late.s.pick_next(0, late.now + 800, &late.view), None, "{form}");
        assert_eq!((late.s.newidle_pass_ns(0), late.s.nr_running(1)), (None, 1));
        assert!(late.s.idle.contains(0));
    }
}

#[test]
fn work_that_arrives_waits_for_the_end_of_the_pass() {
    for form in FORMS {
        let (mut lab, slept) = becomes_newly_idle(form);
        assert_eq!(lab.s.wake(slept, None, false, lab.now + 400), 0);
        assert_eq!((lab.s.current(0), lab.s.newidle_pass_ns(0)), (None, Some(800)), "{form}");
        assert_eq!(lab.s.pick_next(0, lab.now + 800, &lab.view), Some(slept), "{form}");
        assert_eq!((lab.s.nr_running(0), lab.s.nr_running(1)), (1, 2), "{form}: and nothing is pulled");
    }
}

#[test]
fn a_task_woken_during_the_newly_idle_search_of_its_cpu_stays_there() {
    for form in FORMS {
        let anywhere = || {
            let (mut lab, slept) = becomes_newly_idle(form);
            lab.s.set_affinity(slept, None, lab.now).unwrap();
            (lab, slept)
        };
        // The task's CPU is not idle, and other CPUs of the cache are.
        let (mut lab, slept) = anywhere();
        assert_eq!(lab.s.wake(slept, Some(1), true, lab.now + 400), 0, "{form}");
        assert_eq!(lab.s.pick_next(0, lab.now + 800, &lab.view), Some(slept));
        // Another task has been queued meanwhile.
        let (mut lab, slept) = anywhere();
        let other = lab.s.add_task(Some(&[0]), 0).unwrap();
        lab.s.fork(0, other, lab.now + 100);
        assert_ne!(lab.s.wake(slept, Some(1), false, lab.now + 400), 0, "{form}");
        // The task slept there before, but is not the last that did.
        let (mut lab, slept) = anywhere();
        lab.s.rqs[0].last_sleeper = slept + 100;
        assert_ne!(lab.s.wake(slept, Some(1), false, lab.now + 400), 0, "{form}");
    }
}

#[test]
fn newly_idle_cpus_search_only_if_some_cpu_has_two_tasks_and_it_pays() {
    for form in FORMS {
        let mut lab = Lab::new(&Shape::t2(), &config(form));
        lab.fill(40, Some(&[40]), 3);
        lab.start(0, None);
        (0..3).for_each(|t| lab.s.set_affinity(t, None, lab.now).unwrap());
        lab.pass_time(20 * MS);
        // Costs on this shape are 100 ns per CPU: 0.2, 4 and 8 µs for the three levels.
        for d in lab.s.topo.ids(0) {
            lab.s.dom[d as usize].max_newidle_cost_ns = 100 * u64::from(lab.s.topo.domain(d).weight);
        }
        let mut short = Lab { s: lab.s.clone(), now: lab.now, view: lab.view, log: Vec::new(), pushed: 0 };
        // 4.2 µs pay for the core and the cache, but not for the machine.
        short.s.rqs[0].avg_idle_ns = 4200;
        short.sleep(0);
        assert_eq!(short.s.current(0), None, "{form}");
        let balanced = |e: &&Event| matches!(e, Event::Balanced { .. });
        let work = Event::Balanced { cpu: 0, why: Why::Newidle, passes: 2, ns: 4200, cpus: 42, stretch_ns: 0 };
        assert_eq!(short.log.iter().find(balanced), Some(&work));
        // This pays for the third level alone, but not after the cost of the first two.
        let mut spent = Lab { s: lab.s.clone(), now: lab.now, view: lab.view, log: Vec::new(), pushed: 0 };
        spent.s.rqs[0].avg_idle_ns = 8100;
        spent.sleep(0);
        assert_eq!(spent.s.current(0), None, "{form}");
        // This does not pay for the lowest level: there is no search.
        let mut none = Lab { s: lab.s.clone(), now: lab.now, view: lab.view, log: Vec::new(), pushed: 0 };
        none.s.rqs[0].avg_idle_ns = 199;
        none.sleep(0);
        assert_eq!(none.s.counters().newidle_skipped, lab.s.counters().newidle_skipped + 1);
        let mut single = Lab { s: lab.s.clone(), now: lab.now, view: lab.view, log: Vec::new(), pushed: 0 };
        single.s.overload = false;
        single.sleep(0);
        assert_eq!(
            (single.s.current(0), single.s.counters().newidle_skipped),
            (None, lab.s.counters().newidle_skipped + 1)
        );
        lab.sleep(0);
        assert!(lab.s.current(0).is_some(), "{form}: a waiting task crosses nodes");
        assert_eq!(lab.s.rqs[0].idle_stamp, 0);
    }
}

#[test]
fn idle_time_is_averaged_at_wakeups_only() {
    let mut lab = Lab::new(&Shape::flat(1, 8, 1, 10), &config("v612"));
    let t = lab.start(3, Some(&[3]));
    lab.pass_time(MS);
    lab.sleep(3);
    assert_eq!((lab.s.rqs[3].idle_stamp, lab.s.rqs[3].avg_idle_ns), (MS, MS));
    lab.pass_time(200_000);
    lab.wake(t, None);
    // 1 ms + (0.2 ms − 1 ms) / 8
    assert_eq!((lab.s.rqs[3].idle_stamp, lab.s.rqs[3].avg_idle_ns), (0, 900_000));
    lab.sleep(3);
    lab.pass_time(100 * MS);
    lab.start(3, None);
    assert_eq!(lab.s.rqs[3].avg_idle_ns, 900_000, "a fork does not change the average");
    assert_ne!(lab.s.rqs[3].idle_stamp, 0);
}

#[test]
fn up_to_5_15_short_idle_times_end_the_search() {
    // CPU 0 has nothing left to run and a task waits on its node. No cost has been measured. The arguments are the
    // average idle time and whether some CPU is known to have two tasks.
    let searches = |newidle: &'static str, avg_idle_us: u64, overload: bool| {
        let mut lab = Lab::new(&Shape::flat(1, 8, 1, 10), &SchedConfig { newidle: word(newidle), ..config("v61") });
        lab.fill(4, Some(&[4]), 2);
        lab.start(0, None);
        (0..2).for_each(|t| lab.s.set_affinity(t, None, lab.now).unwrap());
        lab.pass_time(20 * MS);
        lab.s.overload = overload;
        lab.s.rqs[0].avg_idle_ns = avg_idle_us * 1000;
        lab.sleep(0);
        lab.s.current(0).is_some()
    };
    let all = |us, overload| ["v37", "v313", "v317", "v516"].map(|rule| searches(rule, us, overload));
    assert_eq!(all(400, true), [false, false, false, true]);
    assert_eq!(all(600, true), [true; 4]);
    assert_eq!(all(600, false), [true, true, false, false]);
    // The oldest rule does not know the cost of a search; for the others it is too high.
    let costly = |newidle: &'static str| {
        let mut lab = Lab::new(&Shape::flat(1, 8, 1, 10), &SchedConfig { newidle: word(newidle), ..config("v61") });
        lab.fill(4, Some(&[4]), 2);
        lab.start(0, None);
        (0..2).for_each(|t| lab.s.set_affinity(t, None, lab.now).unwrap());
        lab.pass_time(20 * MS);
        let lowest = lab.s.topo.ids(0).next().unwrap();
        lab.s.dom[lowest as usize].max_newidle_cost_ns = 700_000;
        lab.s.rqs[0].avg_idle_ns = 600_000;
        lab.sleep(0);
        lab.s.current(0).is_none()
    };
    assert_eq!(["v37", "v313", "v317", "v516"].map(costly), [false, true, true, true]);
}

#[test]
fn up_to_3_12_one_long_idle_period_makes_the_average() {
    let average = |newidle: &'static str| {
        let mut lab = Lab::new(&Shape::flat(1, 8, 1, 10), &SchedConfig { newidle: word(newidle), ..config("v61") });
        let t = lab.start(3, Some(&[3]));
        lab.pass_time(MS);
        lab.sleep(3);
        lab.s.rqs[3].avg_idle_ns = 100_000;
        lab.pass_time(2 * MS);
        lab.wake(t, None);
        lab.s.rqs[3].avg_idle_ns
    };
    // Later rules: 0.1 ms + (2 ms − 0.1 ms) / 8.
    assert_eq!(["v37", "v313", "v516"].map(average), [1_000_000, 337_500, 337_500]);
}

#[test]
fn a_cheaper_newly_idle_pass_lets_the_remembered_cost_decay() {
    let mut lab = Lab::new(&Shape::flat(1, 8, 1, 10), &config("v612"));
    let d = dom(&lab, 0, 8);
    let cost = |lab: &Lab| lab.s.dom[d as usize].max_newidle_cost_ns;
    lab.s.update_newidle_cost(d, 1000);
    lab.pass_time(1000 * MS);
    lab.s.update_newidle_cost(d, 1000);
    assert_eq!(cost(&lab), 1000, "not before a second has passed");
    lab.pass_time(4 * MS);
    lab.s.update_newidle_cost(d, 500);
    assert_eq!(cost(&lab), 1000 * 253 / 256);
    lab.s.update_newidle_cost(d, 500);
    assert_eq!(cost(&lab), 988, "once a second");
}

#[test]
fn newly_idle_cpus_of_preemptible_kernels_take_one_task() {
    for (preempt_full, want) in [(true, 1), (false, 2)] {
        let mut lab = Lab::new(&Shape::flat(1, 2, 1, 10), &SchedConfig { preempt_full, ..config("v612") });
        lab.start(0, None);
        lab.fill(1, Some(&[1]), 5);
        (1..6).for_each(|t| lab.s.set_affinity(t, None, 0).unwrap());
        lab.pass_time(2 * MS);
        lab.sleep(0);
        assert_eq!(lab.s.nr_running(0), want);
    }
}
