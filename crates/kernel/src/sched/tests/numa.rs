//! The interface to NUMA balancing: verdicts on pulls, load figures, moves.

use super::super::balance::migrate_degrades_locality::{migrate_degrades_locality, NodePull};
use super::super::config::SchedConfig;
use super::super::event::{Event, Why};
use super::super::numa::CpuLoad;
use super::super::numa_view::NumaView;
use super::super::shapes::Shape;
use super::super::state::CpuIdleType;
use super::{config, word, Lab, FORMS, MS};

/// Every task has faults; the weight of node n is `self.0[n]`.
struct Weights([i64; 2]);

impl NumaView for Weights {
    fn enabled(&self) -> bool {
        true
    }
    fn has_faults(&self, _task: u32) -> bool {
        true
    }
    fn node_weight(&self, _task: u32, node: u32, _distance: u32) -> i64 {
        self.0[node as usize]
    }
}

#[test]
fn locality_verdicts() {
    let near = Weights([700, 300]);
    let v = |preferred, (src, dst), others, idle, view: &Weights| {
        let pull = NodePull { src, dst, distance: 20, nr: 2 + u32::from(others), nr_preferred: 2, idle };
        migrate_degrades_locality(0, Some(preferred), &pull, view)
    };
    // Away from the preferred node: it degrades locality if other tasks there are off theirs, else no opinion.
    assert_eq!(v(0, (0, 1), true, CpuIdleType::NewlyIdle, &near), 1);
    assert_eq!(v(0, (0, 1), false, CpuIdleType::NewlyIdle, &near), -1);
    // Towards the preferred node: it improves locality.
    assert_eq!(v(1, (0, 1), true, CpuIdleType::NotIdle, &near), 0);
    // Neither: no opinion for an idle CPU; else weights are compared, and equal weights do not degrade locality.
    assert_eq!(v(7, (0, 1), true, CpuIdleType::Idle, &near), -1);
    assert_eq!(v(7, (0, 1), true, CpuIdleType::NewlyIdle, &near), 1);
    assert_eq!(v(7, (1, 0), true, CpuIdleType::NewlyIdle, &near), 0);
    assert_eq!(v(7, (0, 1), true, CpuIdleType::NewlyIdle, &Weights([5, 5])), 0);
    assert_eq!(v(7, (1, 1), true, CpuIdleType::NewlyIdle, &near), -1);
}

/// Number of queued tasks of a CPU with a preferred node, and of those on it.
fn counts(lab: &Lab, cpu: u32) -> (u32, u32) {
    let rq = &lab.s.rqs[cpu as usize];
    (rq.nr_numa, rq.nr_preferred)
}

#[test]
fn counts_follow_preference_and_place() {
    let mut lab = Lab::new(&Shape::flat(2, 4, 1, 20), &config("v612"));
    let t = lab.start(0, None);
    assert_eq!(counts(&lab, 0), (0, 0));
    lab.s.set_preferred_nid(t, Some(1));
    assert_eq!((counts(&lab, 0), lab.s.preferred_nid(t)), ((1, 0), Some(1)));
    assert!(lab.s.migrate(t, 5, lab.now));
    lab.settle();
    assert_eq!((counts(&lab, 0), counts(&lab, 5)), ((0, 0), (1, 1)));
    lab.s.set_preferred_nid(t, None);
    assert_eq!(counts(&lab, 5), (0, 0));
}

/// The task that CPU 0 on node 0 pulls when it becomes newly idle. CPU 4 of node 1 has two cache-cold tasks, of which
/// the first runs.
fn newidle_steal(form: &'static str, preferred: [Option<u32>; 2], view: Weights) -> Option<u32> {
    let config = SchedConfig { imbalance: word("none"), ..config(form) };
    let mut lab = Lab::with_view(&Shape::flat(2, 4, 1, 20), &config, view);
    lab.start(0, Some(&[0]));
    let both = [lab.start(4, Some(&[4])), lab.start(4, Some(&[4]))];
    for (t, nid) in both.into_iter().zip(preferred) {
        lab.s.set_preferred_nid(t, nid);
    }
    for n in 0.. {
        lab.pass_time(4 * MS);
        lab.tick(4);
        if n > 30 && lab.s.current(4) == Some(both[0]) {
            break;
        }
    }
    both.iter().for_each(|t| lab.s.set_affinity(*t, None, lab.now).unwrap());
    // Passes that found all tasks pinned have cleared the flag.
    lab.s.overload = true;
    lab.pass_time(2 * MS);
    lab.sleep(0);
    lab.s.current(0)
}

#[test]
fn tasks_at_home_are_left_there() {
    for form in FORMS {
        // No task has a preferred node: the queue is of the regular class, tasks are cold, and weights do not object.
        assert!(newidle_steal(form, [None, None], Weights([5, 5])).is_some(), "{form}");
        // Weights object: the task stays until failures exceed the tries.
        assert!(newidle_steal(form, [None, None], Weights([1, 9])).is_none(), "{form}");
        // One task is at home and one prefers node 0: the second goes.
        let got = newidle_steal(form, [Some(1), Some(0)], Weights([5, 5]));
        assert!(got.is_some_and(|t| t == 2), "{form}: {got:?}");
    }
}

#[test]
fn queues_of_a_higher_class_are_not_pulled_from() {
    for form in FORMS {
        let config = SchedConfig { imbalance: word("none"), ..config(form) };
        let mut lab = Lab::with_view(&Shape::flat(2, 4, 1, 20), &config, Weights([5, 5]));
        lab.fill(4, Some(&[4]), 3);
        lab.fill(5, Some(&[5]), 2);
        (0..3).for_each(|t| lab.s.set_preferred_nid(t, Some(1)));
        (0..5).for_each(|t| lab.s.set_affinity(t, None, lab.now).unwrap());
        let d = lab.s.topo.sd_numa(0).unwrap();
        lab.s.sched_balance_rq(0, d, CpuIdleType::Idle, Why::Nohz, &lab.view);
        lab.settle();
        // CPU 4 has more tasks, but they are at home while the group has tasks without a preferred node.
        assert_eq!((lab.s.nr_running(0), lab.s.nr_running(4), lab.s.nr_running(5)), (1, 3, 1), "{form}");
    }
}

#[test]
fn load_figures_of_cpus() {
    let mut lab = Lab::new(&Shape::t5(), &config("v612"));
    // Node 1 is CPUs 16 to 31. A thread of each of its first two cores is busy.
    let t = lab.start(16, None);
    lab.start(18, None);
    lab.pass_time(2000 * MS);
    let cpus: Vec<CpuLoad> = (16..32).map(|c| lab.s.cpu_load(c)).collect();
    let sum = |of: fn(&CpuLoad) -> u64| cpus.iter().map(of).sum::<u64>();
    assert_eq!(sum(|c| c.nr_running.into()), 2);
    for all in [sum(|c| c.util), sum(|c| c.load), sum(|c| c.runnable)] {
        assert!(all.abs_diff(2048) <= 4, "{cpus:?}");
    }
    assert_eq!(lab.s.task_load_now(t), 1024);
    let idle: Vec<u32> = (16..32).filter(|&c| lab.s.is_core_idle(c)).collect();
    assert_eq!(idle, (20..32).collect::<Vec<_>>(), "whole cores");
}

#[test]
fn running_tasks_move_and_swap() {
    for form in FORMS {
        let mut lab = Lab::new(&Shape::flat(2, 4, 1, 20), &config(form));
        let (a, b) = (lab.start(0, None), lab.start(4, None));
        lab.pass_time(3 * MS);
        assert!(lab.s.swap(a, b, lab.now));
        lab.settle();
        assert_eq!((lab.s.current(0), lab.s.current(4)), (Some(b), Some(a)));
        assert_eq!((lab.s.runtime_ns(a), lab.s.runtime_ns(b)), (3 * MS, 3 * MS));
        let numa = |e: &&Event| matches!(e, Event::Moved { why: Why::Numa, .. });
        assert_eq!(lab.log.iter().filter(numa).count(), 2);
        assert!(!lab.s.migrate(a, 4, lab.now), "already there");
        lab.s.set_affinity(a, Some(&[4]), lab.now).unwrap();
        assert!(!lab.s.migrate(a, 1, lab.now) && !lab.s.swap(a, b, lab.now), "affinity forbids");
        let asleep = lab.sleep(0);
        assert!(!lab.s.migrate(asleep, 1, lab.now), "asleep");
    }
}

#[test]
fn a_stopper_counts_as_a_second_task() {
    type Act = fn(&mut Lab);
    let moves: [(&str, Act); 4] = [
        ("push", |lab| lab.s.push(0, 1, lab.now)),
        ("NUMA", |lab| assert!(lab.s.migrate(0, 4, lab.now))),
        ("swap", |lab| assert!(lab.s.swap(0, 1, lab.now))),
        ("affinity", |lab| lab.s.set_affinity(0, Some(&[1]), lab.now).unwrap()),
    ];
    for (what, act) in moves {
        let mut lab = Lab::new(&Shape::flat(2, 4, 1, 20), &config("v612"));
        lab.start(0, None);
        lab.start(5, None);
        assert!(!lab.s.overload);
        act(&mut lab);
        // The flag stays set until the whole machine is searched.
        assert!(lab.s.overload, "{what}");
    }
}

#[test]
fn the_sleeper_of_a_swap_wakes_up_on_the_others_cpu() {
    for form in FORMS {
        // Each task has a CPU of its own, so that only `wake_cpu` decides where it wakes up.
        let mut lab = Lab::new(&Shape::flat(2, 4, 1, 20), &config(form));
        let (a, b) = (lab.start(0, None), lab.start(4, None));
        lab.pass_time(3 * MS);
        lab.sleep(4);
        assert!(lab.s.swap(a, b, lab.now), "{form}");
        lab.settle();
        assert_eq!((lab.s.current(4), lab.s.cpu_of(b)), (Some(a), 4));
        assert_eq!(lab.wake(b, None), 0, "{form}");
        lab.s.set_affinity(a, Some(&[4]), lab.now).unwrap();
        lab.sleep(0);
        assert!(!lab.s.swap(a, b, lab.now), "affinity forbids the one that would move");
        lab.sleep(4);
        lab.s.set_affinity(a, None, lab.now).unwrap();
        assert!(!lab.s.swap(a, b, lab.now), "both asleep");
    }
}

#[test]
fn an_absent_cpu_is_refused() {
    let mut lab = Lab::new(&Shape::flat(1, 4, 1, 10), &SchedConfig::default());
    let e = lab.s.add_task(Some(&[1, 4]), 0).unwrap_err().to_string();
    assert_eq!(e, "affinity to CPU 4, which the machine does not have; expected CPUs 0 to 3");
    assert!(lab.s.add_task(Some(&[]), 0).unwrap_err().to_string().contains("at least one CPU"));
}
