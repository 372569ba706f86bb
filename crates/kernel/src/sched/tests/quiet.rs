//! Ticks that the scheduler is not told of leave it as if it had been told.

use super::*;
use crate::sched::Event;

/// A scheduler in which every CPU has one task, ticked up to `jiffies`. CPUs of `unseen` tick unseen where they can.
fn ticked(config: &SchedConfig, nice: i32, unseen: bool, jiffies: u64) -> (Scheduler, u64) {
    let shape = Shape::flat(2, 8, 2, 20);
    let mut s = Scheduler::new(&shape.machine("m"), config).unwrap();
    for cpu in 0..16 {
        let task = s.add_task(Some(&[cpu]), nice).unwrap();
        s.fork(cpu, task, 0);
        s.pick_next(cpu, 0, &NoNuma);
        s.set_affinity(task, None, 0).unwrap();
    }
    let jiffy_ns = s.tick_ns();
    let (mut seen, mut next, mut events) = (0, [0; 16], Vec::new());
    for jiffy in 1..jiffies {
        for cpu in 0..16 {
            let at_ns = jiffy * jiffy_ns + s.tick_offset_ns(cpu);
            if at_ns < next[cpu as usize] {
                continue;
            }
            s.end_quiet(cpu, at_ns - 1);
            s.tick(cpu, at_ns, &NoNuma);
            s.swap_events(&mut events);
            if events.iter().any(|e| matches!(e, Event::QuietEnds | Event::SecondTask)) {
                (0..16).for_each(|c| s.end_quiet(c, at_ns));
                next = [0; 16];
            }
            seen += 1;
            let plain = if unseen { s.plain_ticks(cpu, at_ns + jiffy_ns) } else { 0 };
            if plain > 0 {
                s.begin_quiet(cpu, at_ns + jiffy_ns);
                next[cpu as usize] = at_ns.saturating_add(plain.saturating_add(1).saturating_mul(jiffy_ns));
            }
        }
    }
    (0..16).for_each(|cpu| s.end_quiet(cpu, (jiffies - 1) * jiffy_ns + s.tick_offset_ns(cpu)));
    (s, seen)
}

#[test]
fn unseen_ticks_leave_the_same_state() {
    for form in FORMS {
        for nice in [0, 5] {
            let (told, all) = ticked(&config(form), nice, false, 3000);
            let (untold, seen) = ticked(&config(form), nice, true, 3000);
            assert!(seen * 2 < all, "{form}: {seen} ticks of {all}");
            for task in 0..16 {
                let state = |s: &Scheduler| {
                    let t = &s.tasks[task];
                    (t.runtime_ns, t.vruntime, t.exec_start, t.deadline)
                };
                assert_eq!(state(&told), state(&untold), "{form} {nice} task {task}");
            }
            assert_eq!(told.dom, untold.dom, "{form}: intervals of balancing");
            assert_eq!(told.counters, untold.counters, "{form}");
            let next = |s: &Scheduler| s.rqs.iter().map(|r| (r.next_balance, r.min_vruntime)).collect::<Vec<_>>();
            assert_eq!(next(&told), next(&untold), "{form}");
        }
    }
}

#[test]
fn a_wake_up_on_a_quiet_cpu_disturbs_it() {
    let (mut s, _) = ticked(&config("v61"), 0, true, 100);
    let now = 100 * s.tick_ns();
    s.begin_quiet(3, now + s.tick_offset_ns(3));
    let pass_ns = s.next_unseen_pass_ns(3).unwrap();
    assert!(pass_ns >= now && pass_ns % s.tick_ns() == s.tick_offset_ns(3), "its next pass is at {pass_ns}");
    let late = now + 10 * s.tick_ns();
    let task = s.add_task(Some(&[3]), 0).unwrap();
    s.fork(3, task, late);
    let mut events = Vec::new();
    s.swap_events(&mut events);
    assert!(events.contains(&Event::Disturbed { cpu: 3 }) && events.contains(&Event::SecondTask), "{events:?}");
    assert_eq!(s.tasks[3].exec_start, late as i64);
    assert_eq!(s.plain_ticks(3, late), 0, "it has two tasks");
}

/// A task that has slept from the start loads nothing, and wakes up on its CPU.
#[test]
fn a_task_can_be_older_than_the_run() {
    for form in FORMS {
        let mut s = Scheduler::new(&Shape::flat(2, 4, 1, 20).machine("m"), &config(form)).unwrap();
        let task = s.add_task(None, 0).unwrap();
        s.sleep_from_start(task, 5, 0);
        assert_eq!((s.nr_running(5), s.tasks[task as usize].pelt.load, s.cpu_of(task)), (0, 0, 5), "{form}");
        assert_eq!(s.wake(task, None, false, 3_000_000), 5, "{form}: its CPU idles");
        assert_eq!(s.nr_running(5), 1, "{form}");
    }
}
