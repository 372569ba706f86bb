//! Load tracking and wake-up rules: vectors 66–75 of kernel-scheduler.md §9.6, §9.7.
#![allow(clippy::unwrap_used)]

use crate::sched_common;

use numalab_kernel::sched::balance::scan_limit;
use numalab_kernel::sched::pelt::{decay, new_task_util, Pelt};
use numalab_kernel::sched::select_cpu::{is_wide, weight_rule};
use numalab_kernel::sched::shapes::Shape;
use sched_common::{config, World, MS};

const PERIOD: u64 = 1_048_576;

/// Averages after running, or being blocked, for `ns`, from a utilisation of `util` and a load of 1024.
fn after(ns: u64, util: u64, running: bool) -> Pelt {
    let mut p = Pelt::with_averages(0, 1024, 1024, util, util);
    p.update(ns, 1024, u64::from(running), u64::from(running), running);
    p
}

#[test]
fn v66_running_from_zero() {
    let want = [
        (1, 21),
        (2, 43),
        (4, 85),
        (8, 162),
        (16, 299),
        (32, 512),
        (64, 768),
        (96, 896),
        (128, 960),
        (256, 1020),
        (345, 1023),
    ];
    for (n, util) in want {
        assert_eq!(after(n * PERIOD, 0, true).util, util, "{n} periods");
    }
}

#[test]
fn v66_many_small_updates_agree_within_one() {
    let mut p = Pelt::default();
    for n in 1..=345 {
        p.update(n * PERIOD, 1024, 1, 1, true);
        let whole = after(n * PERIOD, 0, true).util;
        assert!(p.util.abs_diff(whole) <= 1, "{n}: {} against {whole}", p.util);
    }
}

#[test]
fn v67_decay_from_full() {
    for (n, util) in [(1, 1002), (4, 939), (8, 861), (16, 724), (32, 511), (64, 255), (128, 63), (320, 0)] {
        assert_eq!(after(n * PERIOD, 1024, false).util, util, "{n} periods");
    }
}

#[test]
fn v68_new_task_running() {
    for (n, util) in [(1, 522), (8, 593), (16, 661), (32, 767), (64, 896)] {
        let p = after(n * PERIOD, 512, true);
        assert_eq!(p.util, util, "{n} periods");
        assert!((1023..=1024).contains(&p.load), "load {}", p.load);
    }
}

#[test]
fn v69_wall_clock() {
    for (ms, util, phase) in [(4, 81, 834), (10, 191, 549), (32, 495, 530), (100, 894, 376), (200, 1007, 752)] {
        let p = after(ms * MS, 0, true);
        assert_eq!((p.util, p.phase()), (util, phase), "{ms} ms");
    }
    for (ms, util) in [(10, 832), (32, 528), (100, 129)] {
        assert_eq!(after(ms * MS, 1024, false).util, util, "{ms} ms");
    }
}

#[test]
fn v70_decay_function() {
    assert_eq!(decay(47_742, 1), 46_718);
    assert_eq!(decay(47_742, 32), 23_870);
    assert_eq!(decay(47_742, 33), 23_359);
    assert_eq!(decay(1024, 16), 724);
    assert_eq!(decay(u64::MAX >> 8, 2017), 0);
}

#[test]
fn v71_util_of_new_tasks() {
    let (v612, v61) = (1024, 1024 * 1024);
    assert_eq!(new_task_util(0, 0, v612), 512);
    assert_eq!(new_task_util(512, 1024, v612), 256);
    assert_eq!(new_task_util(100, 2000, v612), 51);
    assert_eq!(new_task_util(100, 2000, v61), 462);
    assert_eq!(new_task_util(1024, 1024, v612), 0);
    assert_eq!(new_task_util(1030, 1024, v612), 0);
}

#[test]
fn v72_weight_rule() {
    assert!(!weight_rule(1000, 900, 200, None, 117));
    assert!(weight_rule(300, 900, 200, None, 117));
}

/// A task that slept on CPU `prev`. CPU `waker`, and `prev` if `prev_busy`, run a task.
fn asleep(prev: u32, waker: u32, prev_busy: bool) -> (World, u32) {
    let mut w = World::new(&Shape::t1(), &config("v612", "imb_6_0"));
    let t = w.fork_with(prev, Some(&[prev]));
    w.run_until(20 * MS);
    w.sleep(prev);
    w.s.set_affinity(t, None, w.now).unwrap();
    w.place(waker);
    if prev_busy {
        w.place(prev);
    }
    w.run_until(200 * MS);
    (w, t)
}

#[test]
fn v73_sync_wakeups_cross_nodes() {
    let (mut w, t) = asleep(130, 2, true);
    // Only a search of the waker's cache can bring the task to node 0.
    w.wake(t, Some(2), true);
    assert_eq!(w.node_of(t), 0);
    let (mut w, t) = asleep(130, 2, false);
    w.wake(t, Some(2), true);
    assert_eq!(w.node_of(t), 0);
    let (mut w, t) = asleep(130, 2, false);
    assert_eq!(w.wake(t, Some(2), false), 130);
}

#[test]
fn v74_wake_wide() {
    assert!(!is_wide(40, 3, 16));
    assert!(is_wide(256, 16, 16));
    assert!(!is_wide(255, 16, 16));
    assert!(is_wide(16, 256, 16));
}

#[test]
fn v75_scan_limit() {
    let limit = |llc: u32, mean: u64| scan_limit(mean * u64::from(llc), llc, 117);
    for (mean, n) in
        [(0, 16), (128, 15), (256, 14), (512, 10), (640, 7), (768, 3), (800, 2), (847, 1), (848, 0), (1024, 0)]
    {
        assert_eq!(limit(16, mean), n, "mean {mean}");
    }
    assert_eq!((limit(40, 864) > 0, limit(40, 865)), (true, 0));
    assert_eq!((limit(56, 867) > 0, limit(56, 868)), (true, 0));
    assert_eq!((limit(56, 512), limit(56, 768)), (36, 12));
}
