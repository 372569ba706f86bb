//! Placement at fork and wake-up, and idle searches.

use super::super::rq::sched_entity::COLD;
use super::super::rq::sis_prop::SisProp;
use super::super::rules::{IdleScan, RecentCpu};
use super::super::shapes::Shape;
use super::{config, Lab, FORMS, MS};

/// A task asleep on `cpu` of T1, free to run anywhere; the `busy` CPUs run a task each.
fn asleep(form: &'static str, cpu: u32, busy: impl IntoIterator<Item = u32>) -> (Lab, u32) {
    let mut lab = Lab::new(&Shape::t1(), &config(form));
    let t = lab.start(cpu, Some(&[cpu]));
    lab.pass_time(5 * MS);
    lab.sleep(cpu);
    lab.s.set_affinity(t, None, lab.now).unwrap();
    for c in busy {
        lab.start(c, None);
    }
    lab.pass_time(50 * MS);
    (lab, t)
}

#[test]
fn wakeups_stay_in_the_cache() {
    for form in FORMS {
        // The previous CPU is busy and its sibling idle: a wholly idle core of the cache is preferred.
        let (mut lab, t) = asleep(form, 20, [20]);
        assert_eq!(lab.wake(t, None), 22, "{form}");
        // All cores are half busy: the first idle thread is taken, and that no core is idle is remembered.
        let (mut lab, t) = asleep(form, 20, (16..32).step_by(2));
        assert!(lab.s.caches[1].has_idle_cores);
        assert_eq!(lab.wake(t, None), 21, "{form}");
        assert!(!lab.s.caches[1].has_idle_cores);
        // The whole cache is busy: the task is stacked on the target although 240 CPUs are idle elsewhere.
        let (mut lab, t) = asleep(form, 20, 16..32);
        assert_eq!(lab.wake(t, None), 20, "{form}");
        assert_eq!(lab.s.nr_running(20), 2);
    }
}

#[test]
fn without_idle_cores_the_own_sibling_comes_first() {
    for form in FORMS {
        let (mut lab, t) = asleep(form, 20, (16..32).step_by(2));
        lab.s.caches[1].has_idle_cores = false;
        assert_eq!(lab.wake(t, None), 21, "{form}");
        // An overloaded cache is not searched.
        let (mut lab, t) = asleep(form, 20, [16, 18, 20, 21, 22, 24, 26, 28, 30]);
        lab.s.caches[1].has_idle_cores = false;
        lab.s.caches[1].nr_idle_scan = 0;
        assert_eq!(lab.wake(t, None), 20, "{form}");
        // A short search gives up: it visits CPUs 21 and 22, both busy.
        let (mut lab, t) = asleep(form, 20, [16, 18, 20, 21, 22, 24, 26, 28, 30]);
        lab.s.caches[1].has_idle_cores = false;
        lab.s.caches[1].nr_idle_scan = 2;
        assert_eq!(lab.wake(t, None), 20, "{form}");
        lab.sleep(20);
    }
}

#[test]
fn before_6_0_the_wakers_idle_time_limits_the_search() {
    let busy = [16, 18, 20, 21, 22, 23, 24, 26, 28, 30];
    for (idle_ns, cost_ns, want) in [(0, 0, 20), (500_000, 999_999, 25), (500_000, 2_000_000, 20)] {
        let (mut lab, t) = asleep("v61", 20, busy);
        lab.s.params.idle_scan = IdleScan::Prop;
        // The use of the cache does not matter.
        (lab.s.caches[1].has_idle_cores, lab.s.caches[1].nr_idle_scan) = (false, 0);
        let jiffy = lab.now / lab.s.params.jiffy_ns;
        lab.s.rqs[16].sis_prop = SisProp { stamp: jiffy + 1, idle_ns, cost_ns };
        // The search visits 21 to 24, which are busy, and then 25, which is idle. Three visits are too few, eight are
        // enough.
        assert_eq!(lab.wake(t, Some(16)), want, "{idle_ns} {cost_ns}");
    }
}

#[test]
fn before_5_12_the_own_core_comes_last() {
    let busy = [16, 18, 20, 22, 23, 24, 26, 28, 30];
    for (avg_idle_ns, cost_ns, want) in [(0, 0, 21), (512 * 1000, 999, 25), (512 * 1000, 100_000, 21)] {
        let (mut lab, t) = asleep("v61", 21, busy.into_iter().chain([21]));
        lab.s.params.idle_scan = IdleScan::PropV413;
        lab.s.caches[1].has_idle_cores = false;
        let rq = &mut lab.s.rqs[16];
        (rq.avg_idle_ns, rq.sis_prop.cost_ns) = (avg_idle_ns, cost_ns);
        // Three looks from 21 on find 21, 22 and 23 busy; fifteen reach 25. The own core has no idle thread.
        assert_eq!(lab.wake(t, Some(16)), want, "{avg_idle_ns} {cost_ns}");
    }
    // With the other thread of the core idle, the walk is still too short, and the own core is tried last.
    let (mut lab, t) = asleep("v61", 20, [16, 18, 20, 22, 24, 26, 28, 30]);
    lab.s.params.idle_scan = IdleScan::PropV413;
    lab.s.caches[1].has_idle_cores = false;
    lab.s.rqs[16].avg_idle_ns = 0;
    assert_eq!(lab.wake(t, Some(16)), 21);
    // An idle core is found however short the walk may be.
    let (mut lab, t) = asleep("v61", 20, [16, 18, 20, 22, 24, 26, 28]);
    lab.s.params.idle_scan = IdleScan::PropV413;
    lab.s.rqs[16].avg_idle_ns = 0;
    assert_eq!(lab.wake(t, Some(16)), 30);
}

#[test]
fn before_4_9_only_whole_groups_are_taken() {
    for scan in [IdleScan::Groups, IdleScan::GroupsV37] {
        // A whole core is idle.
        let (mut lab, t) = asleep("v61", 20, [16, 18, 20, 22, 24, 26, 28]);
        lab.s.params.idle_scan = scan;
        assert_eq!(lab.wake(t, Some(16)), 30);
        // Every core is half busy: only the other thread of the own core is taken.
        let (mut lab, t) = asleep("v61", 20, (16..32).step_by(2));
        lab.s.params.idle_scan = scan;
        assert_eq!(lab.wake(t, Some(16)), 21);
        // That thread is busy too: the task is stacked although seven CPUs of its cache are idle.
        let (mut lab, t) = asleep("v61", 20, (16..32).step_by(2).chain([21]));
        lab.s.params.idle_scan = scan;
        assert_eq!(lab.wake(t, None), 20);
        assert_eq!(lab.s.nr_running(20), 2);
    }
}

#[test]
fn since_3_9_the_last_cpu_is_tried_before_the_groups() {
    // CPU 16 of the same cache wakes the task synchronously: the target is 16, and the last CPU idles on a half-busy
    // core.
    for (scan, want) in [(IdleScan::GroupsV37, 18), (IdleScan::Groups, 21)] {
        let (mut lab, t) = asleep("v61", 21, [16, 20]);
        lab.s.params.idle_scan = scan;
        assert_eq!(lab.s.select_idle_sibling(t, 21, 16, 16), want);
    }
}

#[test]
fn before_4_16_recent_cpus_are_not_tried() {
    let (mut lab, t) = asleep("v61", 20, (16..32).filter(|c| *c != 27));
    lab.s.params.recent_used_cpu = RecentCpu::Off;
    lab.s.tasks[t as usize].recent_used_cpu = 27;
    lab.s.caches[1].nr_idle_scan = 0;
    assert_eq!(lab.wake(t, None), 20);
}

#[test]
fn up_to_5_14_the_recent_cpu_is_where_the_task_last_woke_another() {
    // The task last slept on 20. The whole cache is busy except CPU 27.
    let (mut lab, t) = asleep("v61", 20, (16..32).filter(|c| *c != 27));
    lab.s.params.recent_used_cpu = RecentCpu::Waker;
    lab.s.caches[1].nr_idle_scan = 0;
    let recent = |lab: &Lab, t: u32| lab.s.tasks[t as usize].recent_used_cpu;
    lab.s.tasks[t as usize].recent_used_cpu = 16;
    let waker = lab.s.current(18).unwrap();
    // No idle CPU is found: the task keeps its CPU, and only the waker remembers its own.
    lab.wake(t, Some(18));
    assert_eq!((recent(&lab, t), recent(&lab, waker)), (16, 18));
    // An idle CPU is found: the task goes there and remembers its previous CPU.
    let (mut lab, t) = asleep("v61", 20, (16..32).filter(|c| *c != 27));
    lab.s.params.recent_used_cpu = RecentCpu::Waker;
    lab.s.caches[1].nr_idle_scan = 0;
    lab.s.tasks[t as usize].recent_used_cpu = 27;
    assert_eq!(lab.wake(t, None), 27);
    assert_eq!(recent(&lab, t), 20);
}

#[test]
fn an_idle_core_is_remembered_when_its_last_thread_sleeps() {
    let (mut lab, _) = asleep("v612", 20, [16, 17]);
    lab.s.caches[1].has_idle_cores = false;
    lab.sleep(16);
    assert!(!lab.s.caches[1].has_idle_cores);
    lab.sleep(17);
    assert!(lab.s.caches[1].has_idle_cores);
}

#[test]
fn recently_used_cpus_are_tried() {
    for form in FORMS {
        let (mut lab, t) = asleep(form, 20, (16..32).filter(|c| *c != 27));
        lab.s.tasks[t as usize].recent_used_cpu = 27;
        lab.s.caches[1].nr_idle_scan = 0;
        assert_eq!(lab.wake(t, None), 27, "{form}");
        assert_eq!(lab.s.tasks[t as usize].recent_used_cpu, 20);
    }
}

#[test]
fn many_partners_are_not_pulled_together() {
    // The waker is on CPU 2 of node 0; the previous CPU, on node 1, is heavily loaded. The weight rule takes the
    // waker's CPU.
    for wide in [false, true] {
        let (mut lab, t) = asleep("v612", 130, [2, 130, 130, 130]);
        let waker = lab.s.current(2).unwrap();
        if wide {
            lab.s.tasks[waker as usize].wakee_flips = 300;
            lab.s.tasks[t as usize].wakee_flips = 17;
        }
        lab.wake(t, Some(2));
        let node = lab.s.domains().node_of(lab.s.cpu_of(t));
        assert_eq!(node, u32::from(wide));
    }
    // Before 3.12 the kernel does not ask.
    let (mut lab, t) = asleep("v61", 130, [2, 130, 130, 130]);
    lab.s.params.wake_wide = false;
    let waker = lab.s.current(2).unwrap();
    (lab.s.tasks[waker as usize].wakee_flips, lab.s.tasks[t as usize].wakee_flips) = (300, 17);
    lab.wake(t, Some(2));
    assert_eq!(lab.s.domains().node_of(lab.s.cpu_of(t)), 0);
}

#[test]
fn a_far_waker_does_not_pull() {
    let shape = Shape { node_reclaim_distance: 30, ..Shape::t1() };
    let mut lab = Lab::new(&shape, &config("v612"));
    let t = lab.start(130, Some(&[130]));
    lab.pass_time(5 * MS);
    lab.sleep(130);
    lab.s.set_affinity(t, None, lab.now).unwrap();
    lab.start(2, None);
    lab.start(130, None);
    lab.pass_time(50 * MS);
    lab.s.wake(t, Some(2), true, lab.now);
    assert_eq!(lab.s.domains().node_of(lab.s.cpu_of(t)), 1);
}

#[test]
fn flips_are_halved_once_a_second() {
    let mut lab = Lab::new(&Shape::flat(1, 8, 1, 10), &config("v612"));
    let waker = lab.start(0, Some(&[0]));
    // A wake-up of a task that may use only one CPU is not counted.
    let others = [1, 2].map(|c| lab.start(c, Some(&[c, c + 2])));
    let flip = |lab: &mut Lab| {
        for t in others {
            lab.sleep(lab.s.cpu_of(t));
            lab.wake(t, Some(0));
        }
        lab.s.tasks[waker as usize].wakee_flips
    };
    assert_eq!((flip(&mut lab), flip(&mut lab), flip(&mut lab)), (2, 4, 6));
    lab.pass_time(1100 * MS);
    assert_eq!(flip(&mut lab), 5, "halved to 3 before the first of the two");
}

#[test]
fn the_idle_wakers_cpu_wins_inside_a_cache() {
    for form in FORMS {
        // CPU 28 takes an interrupt while idle; the previous CPU runs a very light task.
        let (mut lab, t) = asleep(form, 20, []);
        let light = lab.s.add_task(Some(&[20]), 19).unwrap();
        lab.s.fork(20, light, lab.now);
        lab.settle();
        assert_eq!(lab.wake(t, Some(28)), 28, "{form}");
        assert_eq!(lab.s.tasks[t as usize].exec_start, lab.now as i64);
        // If the previous CPU is idle, it is taken.
        let (mut lab, t) = asleep(form, 20, []);
        assert_eq!(lab.wake(t, Some(28)), 20, "{form}");
    }
}

#[test]
fn tasks_that_changed_cpu_are_cold_until_they_run() {
    for form in FORMS {
        // All of cache 1 is busy except CPU 31, on which the task is woken and not yet picked.
        let (mut lab, t) = asleep(form, 20, 16..31);
        assert_ne!(lab.s.tasks[t as usize].exec_start, COLD);
        assert_eq!(lab.s.wake(t, None, false, lab.now), 31, "{form}");
        assert_eq!(lab.s.tasks[t as usize].exec_start, COLD);
        lab.settle();
        assert_ne!(lab.s.tasks[t as usize].exec_start, COLD);
        assert!(lab.s.migrate(t, 32, lab.now));
        assert_eq!(lab.s.tasks[t as usize].exec_start, COLD);
        lab.settle();
    }
}

#[test]
fn forks_prefer_the_least_used_group_and_the_latest_idle_cpu() {
    for form in FORMS {
        let mut lab = Lab::new(&Shape::t1(), &config(form));
        lab.start(0, None);
        for cpu in [27, 24] {
            lab.start(cpu, Some(&[cpu]));
            lab.pass_time(5 * MS);
            // 27 exits before 24, so 24 became idle last.
            lab.s.exit_current(cpu, lab.now);
            lab.pick(cpu);
            lab.settle();
        }
        let fork = |lab: &mut Lab| {
            let node: Vec<u32> = (0..128).collect();
            let t = lab.s.add_task(Some(&node), 0).unwrap();
            let cpu = lab.s.fork(0, t, lab.now);
            lab.settle();
            cpu
        };
        assert_eq!(fork(&mut lab), 24, "{form}: first of the untouched caches, its last idled CPU");
        // A sleeper leaves utilisation in cache 2, so cache 3 comes first.
        lab.start(32, Some(&[32]));
        lab.pass_time(20 * MS);
        lab.sleep(32);
        assert_eq!(fork(&mut lab) / 16, 3, "{form}");
    }
}

#[test]
fn a_waking_task_weighs_what_it_fell_asleep_with() {
    // The task fell asleep with 1024, half of which is left on CPU 1; that CPU has another task since. CPU 0 runs a
    // task of 300. With the task brought up to date, to 512, CPU 0 would be lighter: (300 + 512) · 100 < 1024 · 108.
    let mut lab = Lab::new(&Shape::flat(1, 2, 1, 10), &config("v61"));
    let light = lab.start(0, Some(&[0]));
    let sleeper = lab.start(1, Some(&[1]));
    lab.sleep(0);
    lab.sleep(1);
    lab.start(1, Some(&[1]));
    lab.pass_time(32 * MS);
    lab.wake(light, None);
    (0..2).for_each(|cpu| lab.s.rqs[cpu].refresh(lab.now));
    lab.s.rqs[0].pelt.load = 300;
    assert!(lab.s.tasks[sleeper as usize].pelt.load > 1000 && lab.s.rqs[1].pelt.load.abs_diff(1536) < 30);
    assert_eq!(lab.s.wake_affine(117, sleeper, 0, 1, false), 1);
    let now = lab.now;
    lab.s.tasks[sleeper as usize].refresh(now, false);
    assert_eq!(lab.s.wake_affine(117, sleeper, 0, 1, false), 0);
}
