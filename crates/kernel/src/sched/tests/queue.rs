//! Run-queue rules of CFS and EEVDF.

use super::super::config::SchedConfig;
use super::super::rq::sched_entity::State;
use super::super::shapes::Shape;
use super::next_resched::next_resched_ns;
use super::{config, release, word, Lab, MS};

fn lab(form: &'static str) -> Lab {
    Lab::new(&Shape::flat(1, 8, 1, 10), &config(form))
}

#[test]
fn the_first_request_is_half_a_slice() {
    let mut lab = lab("v612");
    let t = lab.start(0, None);
    let task = &lab.s.tasks[t as usize];
    assert_eq!(task.deadline - task.vruntime, 1_400_000);
    // Up to 6.11 the slice that `task_fork_fair` halved is replaced by a whole one.
    let mut before = Lab::new(&Shape::flat(1, 8, 1, 10), &release(6, 11));
    let first = before.start(0, None);
    let task = &before.s.tasks[first as usize];
    assert_eq!(task.deadline - task.vruntime, before.s.params.base_slice_ns);
    lab.pass_time(2 * MS);
    lab.s.account(0, lab.now);
    let task = &lab.s.tasks[t as usize];
    assert_eq!(task.deadline - task.vruntime, 2_800_000, "renewed with a full slice");
}

#[test]
fn a_sleeper_with_negative_lag_stays_queued() {
    let mut lab = lab("v612");
    let both = [lab.start(0, Some(&[0])), lab.start(0, Some(&[0]))];
    // The running task has had more than its share.
    lab.pass_time(MS);
    let first = lab.s.current(0).unwrap();
    let second = both[usize::from(first == both[0])];
    lab.sleep(0);
    assert_eq!(lab.s.state(first), State::Delayed);
    assert_eq!((lab.s.nr_running(0), lab.s.current(0)), (2, Some(second)));
    // When woken, it becomes runnable in place.
    let mut woken = Lab { s: lab.s.clone(), now: lab.now, view: lab.view, log: Vec::new(), pushed: 0 };
    woken.pass_time(MS / 10);
    assert_eq!(woken.wake(first, Some(5)), 0);
    assert_eq!((woken.s.state(first), woken.s.nr_running(0)), (State::Queued, 2));
    // If it is not woken, it leaves once the other task has caught up and it is picked; it keeps no lag.
    for _ in 0..6 {
        lab.pass_time(MS);
        lab.tick(0);
    }
    assert_eq!((lab.s.state(first), lab.s.nr_running(0)), (State::Blocked, 1));
    assert!(lab.s.tasks[first as usize].vlag <= 0);
}

#[test]
fn eevdf_of_6_6_to_6_11_has_no_delayed_dequeue_and_keeps_no_deadline() {
    let config = |minor| release(6, minor);
    assert_eq!([6, 7, 11, 12].map(|minor| config(minor).base_slice_ns), [750_000, 750_000, 750_000, 700_000]);
    for (minor, complete) in [(7, false), (12, true)] {
        let new = || Lab::new(&Shape::flat(1, 8, 1, 10), &SchedConfig { hz: 1000, ..config(minor) });
        let mut lab = new();
        lab.fill(0, Some(&[0]), 2);
        lab.pass_time(MS);
        let first = lab.sleep(0);
        let left = if complete { (State::Delayed, 2) } else { (State::Blocked, 1) };
        assert_eq!((lab.s.state(first), lab.s.nr_running(0)), left, "6.{minor}");
        // The task moves in the middle of a request.
        let mut lab = new();
        let t = lab.start(0, None);
        lab.pass_time(MS);
        lab.s.account(0, lab.now);
        let of = |lab: &Lab| lab.s.tasks[t as usize].deadline - lab.s.tasks[t as usize].vruntime;
        let before = of(&lab);
        lab.s.migrate(t, 3, lab.now);
        lab.settle();
        let slice = lab.s.params.base_slice_ns;
        assert!(before < slice - MS as i64 / 2);
        assert_eq!(of(&lab), if complete { before } else { slice }, "6.{minor}");
        // A task that was alone keeps the CPU until its request is used up, or yields once it has had its share.
        let mut lab = new();
        let sleeper = lab.start(0, Some(&[0]));
        lab.sleep(0);
        let hog = lab.start(0, Some(&[0]));
        for _ in 0..9 {
            lab.pass_time(MS);
            lab.tick(0);
        }
        lab.pass_time(MS / 2);
        lab.wake(sleeper, None);
        lab.pass_time(MS / 2);
        lab.tick(0);
        assert_eq!(lab.s.current(0), Some(if complete { sleeper } else { hog }), "6.{minor}");
    }
}

#[test]
fn a_sole_task_is_never_delayed() {
    let mut lab = lab("v612");
    let t = lab.start(0, None);
    lab.pass_time(7 * MS);
    lab.sleep(0);
    assert_eq!(lab.s.state(t), State::Blocked);
    assert!(lab.s.is_idle(0));
}

#[test]
fn lag_survives_sleep_and_arrival() {
    let mut lab = lab("v612");
    let a = lab.start(0, Some(&[0]));
    lab.start(0, Some(&[0]));
    for _ in 0..9 {
        lab.pass_time(3 * MS);
        lab.tick(0);
    }
    while lab.s.current(0) == Some(a) {
        lab.pass_time(MS);
        lab.tick(0);
    }
    // `a` becomes current, sleeps with positive lag, and returns.
    let lag = super::super::rq::eevdf::entity_lag(&lab.s.params, &lab.s.rqs[0], &lab.s.tasks, a);
    lab.s.deactivate_task(a, true);
    lab.s.tasks[a as usize].state = State::Blocked;
    assert_eq!(lab.s.tasks[a as usize].vlag, lag);
    lab.wake(a, None);
    let now = super::super::rq::eevdf::entity_lag(&lab.s.params, &lab.s.rqs[0], &lab.s.tasks, a);
    assert!(now.abs_diff(lag) <= 2, "{now} after {lag}");
}

#[test]
fn a_task_that_was_alone_yields_at_the_tick_that_finds_its_share_used() {
    let mut lab = Lab::new(&Shape::flat(1, 8, 1, 10), &SchedConfig { hz: 1000, ..config("v612") });
    let sleeper = lab.start(0, Some(&[0]));
    lab.sleep(0);
    let hog = lab.start(0, Some(&[0]));
    for _ in 0..9 {
        lab.pass_time(MS);
        lab.tick(0);
    }
    // Requests of the hog ended at the ticks of 2, 5 and 8 ms; the present one lasts until 10.8 ms.
    lab.pass_time(MS / 2);
    lab.wake(sleeper, None);
    assert_eq!(lab.s.current(0), Some(hog), "an equal that is no sooner due does not pre-empt");
    assert_eq!(next_resched_ns(&lab.s, 0), 10 * MS);
    lab.pass_time(MS / 2);
    lab.tick(0);
    assert_eq!(lab.s.current(0), Some(sleeper));
}

#[test]
fn cfs_sleepers_get_half_a_latency() {
    let mut lab = lab("v61");
    let t = lab.start(0, Some(&[0]));
    lab.pass_time(MS);
    lab.sleep(0);
    let hog = lab.start(0, Some(&[0]));
    lab.pass_time(500 * MS);
    lab.wake(t, Some(0));
    let v = |t: u32| lab.s.tasks[t as usize].vruntime;
    // The latency is 24 ms on eight CPUs. The lead of 12 ms exceeds the granularity of 4 ms, so the task runs at once.
    assert_eq!(v(hog) - v(t), 12_000_000);
    assert_eq!(lab.s.current(0), Some(t));
}

#[test]
fn cfs_wakees_need_a_lead() {
    for (sleep_ms, runs) in [(3, false), (5, true)] {
        let mut lab = lab("v61");
        let hog = lab.start(0, Some(&[0]));
        let t = lab.start(0, Some(&[0]));
        // Both start at the same vruntime; then `t` sleeps while the hog gains `sleep_ms`.
        lab.s.tasks[t as usize].vruntime = lab.s.tasks[hog as usize].vruntime;
        lab.s.block_current(0, lab.now);
        lab.pick(0);
        let (asleep, other) = if lab.s.current(0) == Some(hog) { (t, hog) } else { (hog, t) };
        lab.settle();
        lab.pass_time(sleep_ms * MS);
        lab.wake(asleep, None);
        assert_eq!(lab.s.current(0), Some(if runs { asleep } else { other }), "{sleep_ms} ms");
    }
}

#[test]
fn next_resched_is_where_the_tick_takes_the_cpu() {
    for (form, at) in [("v61", 16 * MS), ("v612", 4 * MS)] {
        let mut lab = lab(form);
        lab.start(0, Some(&[0]));
        assert_eq!(next_resched_ns(&lab.s, 0), u64::MAX, "alone");
        let b = lab.start(0, Some(&[0]));
        lab.s.tasks[b as usize].vruntime = lab.s.tasks[0].vruntime;
        // 6.1: a slice of 12 ms, strictly exceeded at the tick of 16 ms. 6.12: half a slice is 1.4 ms, first tick at 4
        // ms.
        assert_eq!(next_resched_ns(&lab.s, 0), at, "{form}");
    }
}

#[test]
fn ticks_are_spread_over_a_jiffy() {
    let lab = lab("v612");
    assert_eq!(
        (0..8).map(|c| lab.s.tick_offset_ns(c)).collect::<Vec<_>>(),
        (0..8).map(|c| c * MS / 2).collect::<Vec<_>>()
    );
    assert_eq!(lab.s.tick_at_or_after(3, 0), 3 * MS / 2);
    assert_eq!(lab.s.tick_at_or_after(3, 3 * MS / 2 + 1), 3 * MS / 2 + 4 * MS);
}

#[test]
fn no_task_is_descheduled_before_next_resched() {
    for (form, hz) in [("v61", 250), ("v61", 1000), ("v612", 250), ("v612", 1000)] {
        let mut lab = Lab::new(&Shape::flat(1, 8, 1, 10), &SchedConfig { hz, ..config(form) });
        for nice in [0, 0, -4, 7] {
            let t = lab.s.add_task(Some(&[0]), nice).unwrap();
            lab.s.fork(0, t, 0);
            lab.settle();
        }
        let mut kept = 0;
        for _ in 0..2000 {
            let (promise, current) = (next_resched_ns(&lab.s, 0), lab.s.current(0));
            lab.pass_time(lab.s.tick_ns());
            lab.s.tick(0, lab.now, &lab.view);
            assert_eq!(lab.s.need_resched(0), lab.now >= promise, "{form} {hz} Hz at {}", lab.now);
            kept += u32::from(lab.s.current(0) == current && !lab.s.need_resched(0));
            lab.settle();
        }
        assert!(form == "v612" && hz == 250 || kept > 100, "{form}: {kept}");
    }
}

#[test]
fn the_lead_that_a_cfs_wakee_needs_grows_with_the_logarithm_of_the_cpus() {
    // 1 ms · (1 + log2 of at most eight CPUs), in every release with CFS.
    for (cpus, lead_us) in [(1, 1000), (2, 2000), (4, 3000), (8, 4000), (16, 4000)] {
        for balancer in ["types", "v37"] {
            for (more_us, preempts) in [(0, false), (1, true)] {
                let config = SchedConfig { balancer: word(balancer), ..config("v61") };
                let mut lab = Lab::new(&Shape::flat(1, cpus, 1, 10), &config);
                let (hog, t) = (lab.start(0, Some(&[0])), lab.start(0, Some(&[0])));
                let running = lab.s.current(0).unwrap();
                let waiting = if running == hog { t } else { hog };
                lab.s.tasks[waiting as usize].vruntime = lab.s.tasks[running as usize].vruntime;
                lab.sleep(0);
                assert_eq!(lab.s.current(0), Some(waiting));
                lab.pass_time((lead_us + more_us) * MS / 1000);
                // The wake-up alone decides; no task is picked yet.
                lab.s.wake(running, None, false, lab.now);
                assert_eq!(lab.s.need_resched(0), preempts, "{cpus} CPUs, {balancer}, {more_us} us more");
            }
        }
    }
}

#[test]
fn an_eevdf_wakee_preempts_when_the_running_task_has_had_its_share() {
    // Woken with lag, the wakee is eligible. The other task is ahead of the mean, so its request does not protect it.
    for (lag, preempts) in [(MS as i64, true), (0, false)] {
        let mut lab = lab("v612");
        let hog = lab.start(0, Some(&[0]));
        let t = lab.start(0, Some(&[0]));
        lab.s.deactivate_task(t, true);
        lab.s.tasks[t as usize].state = State::Blocked;
        lab.s.tasks[t as usize].vlag = lag;
        lab.pick(0);
        lab.settle();
        lab.s.wake(t, None, false, lab.now);
        assert_eq!((lab.s.current(0), lab.s.need_resched(0)), (Some(hog), preempts), "lag {lag}");
    }
}

#[test]
fn before_4_15_the_task_queued_last_is_pulled_first() {
    for order in ["v37", "v415"] {
        let mut lab = Lab::new(&Shape::flat(1, 8, 1, 10), &SchedConfig { queue_order: word(order), ..config("v61") });
        let [a, b, c] = [0; 3].map(|_| lab.start(0, Some(&[0])));
        // The tasks take turns until the first of them runs again.
        let mut ran = vec![lab.s.current(0).unwrap()];
        while ran.len() < 4 || lab.s.current(0) != Some(a) {
            lab.pass_time(4 * MS);
            lab.tick(0);
            if lab.s.current(0) != ran.last().copied() {
                ran.push(lab.s.current(0).unwrap());
            }
        }
        lab.start(4, None);
        (0..3).for_each(|t| lab.s.set_affinity(t, None, lab.now).unwrap());
        lab.pass_time(2 * MS);
        (lab.s.overload, lab.s.rqs[4].avg_idle_ns) = (true, 1_000_000);
        lab.sleep(4);
        let rested = ran.iter().rev().copied().find(|t| *t != a && ran[ran.len() - 2] != *t);
        let want = if order == "v37" { Some(c) } else { rested };
        assert_eq!(lab.s.current(4), want, "{order}: {b} and {c} waited, they ran in the order {ran:?}");
    }
}
