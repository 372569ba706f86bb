//! Control groups: CPU time by `cpu.weight`, however many tasks a group has.

use super::{config, Lab, FORMS, MS};
use crate::sched::rq::sched_entity::TaskId;
use crate::sched::shapes::Shape;

fn lab(form: &'static str) -> Lab {
    Lab::new(&Shape::flat(1, 2, 1, 10), &config(form))
}

/// Starts `count` tasks on `cpu`, in a group of that weight if there is one.
fn hogs(lab: &mut Lab, cpu: u32, cpu_weight: Option<u32>, count: usize) -> Vec<TaskId> {
    let group = cpu_weight.map(|w| lab.s.add_group(w));
    (0..count).map(|_| hog(lab, cpu, group)).collect()
}

fn hog(lab: &mut Lab, cpu: u32, group: Option<u32>) -> TaskId {
    let t = lab.s.add_task(Some(&[cpu]), 0).unwrap();
    if let Some(group) = group {
        lab.s.join_group(t, group);
    }
    lab.s.fork(cpu, t, lab.now);
    lab.settle();
    t
}

/// Lets both CPUs tick for `ms`.
fn run(lab: &mut Lab, ms: u64) {
    for _ in 0..ms / 4 {
        lab.pass_time(4 * MS);
        lab.tick(0);
        lab.tick(1);
    }
}

fn time_ns(lab: &Lab, tasks: &[TaskId]) -> f64 {
    tasks.iter().map(|t| lab.s.runtime_ns(*t)).sum::<u64>() as f64
}

#[track_caller]
fn is_near(found: f64, expected: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < 0.03, "{what}: {found:.3}, {expected} expected");
}

#[test]
fn groups_share_a_cpu_by_weight_however_many_tasks_they_have() {
    for form in FORMS {
        for (weights, tasks) in [((100, 300), (1, 1)), ((100, 100), (8, 1)), ((50, 400), (5, 2))] {
            let mut lab = lab(form);
            let (a, b) = (hogs(&mut lab, 0, Some(weights.0), tasks.0), hogs(&mut lab, 0, Some(weights.1), tasks.1));
            run(&mut lab, 40_000);
            let ratio = time_ns(&lab, &b) / time_ns(&lab, &a);
            is_near(ratio, f64::from(weights.1) / f64::from(weights.0), &format!("{form} {weights:?} {tasks:?}"));
        }
    }
}

#[test]
fn a_task_of_the_root_group_is_worth_a_group_of_the_default_weight() {
    for form in FORMS {
        let mut lab = lab(form);
        let (group, root) = (hogs(&mut lab, 0, Some(100), 4), hogs(&mut lab, 0, None, 1));
        run(&mut lab, 20_000);
        is_near(time_ns(&lab, &root) / time_ns(&lab, &group), 1.0, form);
    }
}

/// Half of the group's load is on the other CPU, and half of its shares with it.
#[test]
fn a_group_spreads_its_shares_over_cpus_by_load() {
    for form in FORMS {
        let mut lab = lab(form);
        let group = lab.s.add_group(100);
        let (here, there) = (hog(&mut lab, 0, Some(group)), hog(&mut lab, 1, Some(group)));
        let root = hog(&mut lab, 0, None);
        run(&mut lab, 20_000);
        is_near(time_ns(&lab, &[root]) / time_ns(&lab, &[here]), 2.0, form);
        assert!(time_ns(&lab, &[there]) > 19.9e9, "the other CPU has one task");
    }
}

/// While the others of its group sleep, a task has all of the group's shares; afterwards its part again.
#[test]
fn sleepers_leave_their_shares_to_the_rest_of_the_group() {
    for form in FORMS {
        let mut lab = lab(form);
        let group = lab.s.add_group(100);
        let (awake, other) = (hog(&mut lab, 0, Some(group)), hog(&mut lab, 1, Some(group)));
        let root = hog(&mut lab, 0, None);
        run(&mut lab, 1000);
        assert_eq!(lab.sleep(1), other);
        let before = (time_ns(&lab, &[awake]), time_ns(&lab, &[root]));
        run(&mut lab, 20_000);
        let ratio = (time_ns(&lab, &[root]) - before.1) / (time_ns(&lab, &[awake]) - before.0);
        is_near(ratio, 1.0, form);
        lab.wake(other, None);
        let before = (time_ns(&lab, &[awake]), time_ns(&lab, &[root]));
        run(&mut lab, 20_000);
        let ratio = (time_ns(&lab, &[root]) - before.1) / (time_ns(&lab, &[awake]) - before.0);
        is_near(ratio, 2.0, form);
    }
}

/// Kernel: a task whose weight falls keeps its lag in weighted time, so the mean of its queue stays.
#[test]
fn a_new_weight_leaves_the_mean_of_the_queue_where_it_was() {
    let mut lab = lab("v612");
    let group = lab.s.add_group(100);
    let here = [hog(&mut lab, 0, Some(group)), hog(&mut lab, 0, None)];
    run(&mut lab, 100);
    lab.pass_time(MS);
    lab.s.update_curr(0);
    let mean = |lab: &Lab| {
        let sum = |f: fn(i128, i128) -> i128| -> i128 {
            let tasks = here.iter().map(|t| &lab.s.tasks[*t as usize]);
            tasks.map(|t| f(i128::from(t.weight), i128::from(t.vruntime))).sum()
        };
        sum(|w, v| w * v) / sum(|w, _| w)
    };
    let before = (mean(&lab), lab.s.tasks[here[0] as usize].weight);
    hog(&mut lab, 1, Some(group));
    lab.s.update_cfs_group(0);
    assert_eq!((before.1, lab.s.tasks[here[0] as usize].weight), (1024, 512));
    assert!((mean(&lab) - before.0).abs() <= 3, "{} ns, before {} ns", mean(&lab), before.0);
}
