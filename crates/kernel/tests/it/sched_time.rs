//! Intervals, active balance, cache heat, tickless CPUs and slices: vectors 76–80 of kernel-scheduler.md §9.8.
#![allow(clippy::unwrap_used)]

use crate::sched_common;

use numalab_kernel::sched::balance::get_sd_balance_interval;
use numalab_kernel::sched::domains::BusyInterval;
use numalab_kernel::sched::shapes::Shape;
use numalab_kernel::sched::{sched_slice, Event, SchedConfig, Scheduler, State, TaskId, Why};
use sched_common::{config, World, MS};

#[test]
fn v76_intervals() {
    // The level's weight, then idle and busy ms for w and 2w at 250 Hz and at 1000 Hz.
    let table = [
        (2, [(4, 28), (4, 60), (2, 31), (4, 63)]),
        (8, [(8, 124), (16, 252), (8, 127), (16, 255)]),
        (16, [(16, 252), (32, 508), (16, 255), (32, 511)]),
        (40, [(40, 636), (80, 1276), (40, 639), (80, 1279)]),
        (128, [(128, 2044), (256, 4092), (128, 2047), (256, 4095)]),
        (256, [(256, 4092), (512, 8188), (256, 4095), (512, 8191)]),
    ];
    for (weight, want) in table {
        for (i, (idle, busy)) in want.into_iter().enumerate() {
            let (hz, ms) = (if i < 2 { 250 } else { 1000 }, weight * (1 + i as u64 % 2));
            let pace = BusyInterval { factor: 16, less: 1 };
            let at = |busy: bool| get_sd_balance_interval(ms, busy.then_some(pace), hz, 256) * 1000 / hz;
            assert_eq!((at(false), at(true)), (idle, busy), "weight {weight}, column {i}");
        }
    }
}

/// First push of a running task: time, source, destination.
fn first_active(w: &World) -> Option<(u64, u32, u32)> {
    w.log.iter().find_map(|(at, e)| match e {
        Event::Moved { from, to, why: Why::Active, .. } => Some((*at, *from, *to)),
        _ => None,
    })
}

#[test]
fn v77_active_balance_between_nodes_takes_five_failures() {
    for form in ["v61", "v612"] {
        let mut w = World::new(&Shape::t1(), &config(form, "imb_6_0"));
        // Four cores of every cache of node 0 are busy and node 1 is empty: only the NUMA level is out of balance.
        for cpu in (0..128).filter(|c| c % 2 == 0 && c % 16 < 8) {
            w.place(cpu);
        }
        w.run_until(1400 * MS);
        let (at, from, to) = first_active(&w).unwrap();
        assert!(from < 128 && to >= 128, "{form}: {from} to {to}");
        // The first failure comes after 256 ms, the fifth four intervals later; ticks add at most two.
        assert!((1280 * MS..1290 * MS).contains(&at), "{form}: {at}");
        let moved = |e: &Event| matches!(e, Event::Moved { why, .. } if *why != Why::Fork);
        let before = w.log.iter().filter(|(t, e)| *t < at && moved(e)).count();
        assert_eq!(before, 0, "{form}: nothing else moves a task that has its CPU to itself");
    }
}

#[test]
fn v77_active_balance_between_caches_takes_four_failures() {
    for form in ["v61", "v612"] {
        let mut w = World::new(&Shape::t1(), &config(form, "imb_6_0"));
        (0..16).filter(|c| c % 2 == 0).for_each(|cpu| {
            w.place(cpu);
        });
        w.run_until(600 * MS);
        let (at, from, to) = first_active(&w).unwrap();
        assert!(from < 16 && (16..128).contains(&to), "{form}: {from} to {to}");
        // The caches are the groups of the domain of 128 CPUs: the first failure is at 128 ms, the fourth at 512 ms.
        assert!((512 * MS..522 * MS).contains(&at), "{form}: {at}");
    }
}

/// Whether `thief` pulls a task. CPU 0 has two tasks; `thief` becomes newly idle `delay_us` after CPU 0 switched.
fn steal(thief: u32, delay_us: u64, form: &'static str) -> bool {
    let mut w = World::new(&Shape::t1(), &config(form, "imb_6_0"));
    let both: Vec<TaskId> = (0..2).map(|_| w.fork_with(0, Some(&[0]))).collect();
    w.fork_with(thief, Some(&[thief]));
    w.run_until(100 * MS);
    let running = w.s.current(0);
    let mut switched = None;
    for step in 0..80 {
        w.run_until(100 * MS + step * MS / 4);
        if w.s.current(0) != running {
            switched = Some(w.now);
            break;
        }
    }
    // CPU 0 ticks at whole jiffies, so the switch was at the tick before.
    let at = switched.unwrap() / (4 * MS) * (4 * MS);
    w.now = at.max(w.now);
    for t in both {
        w.s.set_affinity(t, None, w.now).unwrap();
    }
    w.now = at + delay_us * 1000;
    w.sleep(thief);
    w.s.current(thief).is_some()
}

#[test]
fn v78_recently_run_tasks_are_hot() {
    for form in ["v61", "v612"] {
        assert!(!steal(2, 400, form), "{form}: 0.4 ms is hot");
        assert!(steal(2, 600, form), "{form}: 0.6 ms is cold");
        assert!(steal(1, 400, form), "{form}: never hot between threads of a core");
    }
}

#[test]
fn v79_no_kick_with_one_busy_cpu_per_cache() {
    for form in ["v61", "v612"] {
        let mut w = World::new(&Shape::t1(), &config(form, "imb_6_0"));
        (0..16).for_each(|cache| {
            w.place(cache * 16);
        });
        w.run_until(3000 * MS);
        assert_eq!(w.s.counters().nohz_runs, 0, "{form}");
        w.place(2);
        w.run_until(3100 * MS);
        assert!(w.s.counters().nohz_runs > 0, "{form}");
    }
}

/// Time between the switches of `n` hogs on CPU 0 of a machine of eight CPUs, ms, over a second.
fn quanta(form: &'static str, hz: u32, n: usize) -> Vec<u64> {
    let config = SchedConfig { hz, ..config(form, "imb_6_0") };
    let mut w = World::new(&Shape::flat(1, 8, 1, 10), &config);
    for _ in 0..n {
        w.fork_with(0, Some(&[0]));
    }
    let tick = w.s.tick_ns();
    let (mut last, mut current, mut out) = (0, w.s.current(0), Vec::new());
    for k in 1..u64::from(hz) {
        w.run_until(k * tick + 1);
        if w.s.current(0) != current {
            out.push((k * tick - last) / MS);
            (last, current) = (k * tick, w.s.current(0));
        }
    }
    // The first switches still depend on the start of the tasks.
    out.split_off(2 * n)
}

#[test]
fn v80_slices_of_6_1() {
    let s = Scheduler::new(&Shape::flat(1, 8, 1, 10).machine("m"), &config("v61", "imb_6_0")).unwrap();
    let slice = |n: u64| sched_slice(s.params(), n as u32, 1024, 1024 * n);
    assert_eq!((slice(2), slice(8), slice(16)), (12_000_000, 3_000_000, 3_000_000));
    // The slice of a task with all the weight is the period.
    assert_eq!([8, 16].map(|n| sched_slice(s.params(), n, 1024, 1024)), [24_000_000, 48_000_000]);
    for (hz, n, most) in [(250, 2, [12, 16]), (1000, 2, [12, 13]), (250, 10, [4, 4]), (1000, 10, [3, 4])] {
        let q = quanta("v61", hz, n);
        // A second of turns, without the first 2 n and the time they may have lasted.
        let turns = 1000 / most[1] as usize;
        assert!(q.len() + 4 * n >= turns, "{n} at {hz} Hz: {} of {turns} turns", q.len());
        assert!(q.iter().all(|q| most.contains(q)), "{n} at {hz} Hz: {q:?}");
    }
}

#[test]
fn v80_quantum_of_6_12() {
    let q250 = quanta("v612", 250, 2);
    assert!(q250.len() > 200 && q250.iter().all(|q| *q == 4), "{q250:?}");
    let q1000 = quanta("v612", 1000, 2);
    assert!(q1000.len() > 300 && q1000.iter().all(|q| *q == 3), "{q1000:?}");
}

#[test]
fn fair_shares_on_one_cpu() {
    // Three hogs of nice 0, 0 and −5 on one CPU: shares follow the weights 1024, 1024 and 3121.
    for form in ["v61", "v612"] {
        let mut w = World::new(&Shape::flat(1, 8, 1, 10), &config(form, "imb_6_0"));
        let hogs = [0, 0, -5].map(|nice| {
            let t = w.s.add_task(Some(&[3]), nice).unwrap();
            w.s.fork(3, t, 0);
            w.settle();
            t
        });
        w.run_until(20_000 * MS);
        let total: u64 = hogs.iter().map(|t| w.s.runtime_ns(*t)).sum();
        for (t, weight) in hogs.iter().zip([1024, 1024, 3121]) {
            let share = w.s.runtime_ns(*t) * 1000 / total;
            let want = weight * 1000 / (1024 + 1024 + 3121);
            assert!(share.abs_diff(want) <= 20, "{form}: task {t} got {share} of {want} per mille");
            assert_eq!(w.s.state(*t), State::Queued);
        }
    }
}
