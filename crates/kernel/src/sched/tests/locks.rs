//! What CPUs do to each other in the scheduler: locks, the token of wide domains, wake-ups across caches, and lines.

use super::super::event::{Event, Why};
use super::super::numa_view::NoNuma;
use super::super::rq::sched_entity::TaskId;
use super::super::shapes::Shape;
use super::super::state::CpuIdleType;
use super::balance::dom;
use super::{config, Lab, FORMS, MS};
use crate::sched::config::SchedConfig;

/// Lines from the same cache, another cache of the socket, and another socket, ns.
const LINES_NS: [u64; 3] = [30, 100, 200];

fn lab(shape: &Shape, config: &SchedConfig) -> Lab<NoNuma> {
    let mut machine = shape.machine("m");
    machine.cache.core_to_core_ns = LINES_NS.map(|ns| Some(ns as f64));
    Lab::on(&machine, config, NoNuma)
}

/// The waits that the scheduler has reported since the last look.
fn waits(lab: &mut Lab<NoNuma>) -> Vec<(u32, u64)> {
    let mut events = Vec::new();
    lab.s.swap_events(&mut events);
    let wait = |e: &Event| if let Event::Waited { cpu, ns } = e { Some((*cpu, *ns)) } else { None };
    events.iter().filter_map(wait).collect()
}

/// Two CPUs that pull from one queue do so one after the other: the second waits as long as the first holds the lock.
#[test]
fn pulls_from_one_queue_take_turns() {
    for form in FORMS {
        let mut lab = lab(&Shape::flat(1, 8, 1, 10), &config(form));
        lab.fill(1, Some(&[1]), 4);
        let slept: Vec<TaskId> = [0, 2].map(|cpu| lab.start(cpu, Some(&[cpu]))).to_vec();
        (0..4).for_each(|t| lab.s.set_affinity(t, None, lab.now).unwrap());
        lab.pass_time(20 * MS);
        for cpu in [0, 2] {
            lab.s.block_current(cpu, lab.now).unwrap();
            assert_eq!(lab.s.pick_next(cpu, lab.now, &lab.view), None);
        }
        assert_eq!(slept.len(), 2);
        waits(&mut lab);
        let end_ns = lab.now + lab.s.newidle_pass_ns(0).unwrap();
        assert!(lab.s.pick_next(0, end_ns, &lab.view).is_some(), "{form}");
        assert_eq!(waits(&mut lab), [], "{form}: the lock was free");
        assert!(lab.s.pick_next(2, end_ns, &lab.view).is_some(), "{form}");
        // The first looked at two tasks, one of which runs, and took the other: 2·2 + 5 lines, and that of the lock.
        assert_eq!(waits(&mut lab), [(2, 10 * LINES_NS[0])], "{form}");
        assert_eq!((lab.s.counters().rq_lock_waits, lab.s.counters().rq_lock_wait_ns), (1, 300));
        assert_eq!((lab.s.counters().newidle_passes, lab.s.counters().newidle_pulled), (2, 2));
        assert_eq!(lab.s.counters().levels[1].gained, 2, "inside the cache");
    }
}

/// Wakers of one cache wait for each other at a common target. Across caches the target queues the tasks, and pays.
#[test]
fn wakers_of_one_cpu_take_turns_and_those_of_other_caches_do_not_wait() {
    for form in FORMS {
        let mut lab = lab(&Shape::flat(2, 8, 1, 20), &config(form));
        let tasks: Vec<TaskId> = (0..4).map(|_| lab.start(0, Some(&[0]))).collect();
        (1..16).for_each(|cpu| _ = lab.start(cpu, Some(&[cpu])));
        for t in &tasks {
            while lab.s.current(0) != Some(*t) {
                lab.pass_time(MS);
                lab.s.resched(0);
                lab.tick(0);
            }
            lab.pass_time(20 * MS);
            lab.s.block_current(0, lab.now).unwrap();
            lab.s.pick_at_once(0, lab.now, &lab.view);
            lab.settle();
        }
        lab.pass_time(100 * MS);
        let all = |lab: &Lab<NoNuma>, wakers: [u32; 4]| {
            let mut lab = Lab { s: lab.s.clone(), now: lab.now, view: lab.view, log: Vec::new(), pushed: 0 };
            waits(&mut lab);
            let before = *lab.s.counters();
            tasks.iter().zip(wakers).for_each(|(t, waker)| assert_eq!(lab.s.wake(*t, Some(waker), false, lab.now), 0));
            let c = *lab.s.counters();
            (waits(&mut lab), c.ttwu_count - before.ttwu_count, c.ttwu_queued - before.ttwu_queued)
        };
        let near = all(&lab, [1, 2, 3, 4]);
        assert_eq!(near, (vec![(2, 150), (3, 300), (4, 450)], 4, 0), "{form}: five lines each");
        let far = all(&lab, [8, 9, 10, 11]);
        assert_eq!(far, (vec![(0, 150), (0, 300), (0, 450)], 4, 4), "{form}");
    }
}

/// A pass that finds that another CPU balances between nodes stays due up to 6.18, and counts as balanced from 6.19 on.
#[test]
fn one_cpu_at_a_time_balances_between_nodes() {
    for (busy_is_balanced, renewed) in [(false, false), (true, true)] {
        let cfg = SchedConfig { serialize_busy: busy_is_balanced, ..config("v612") };
        let mut lab = lab(&Shape::flat(4, 4, 1, 20), &cfg);
        (0..16).for_each(|cpu| _ = lab.start(cpu, Some(&[cpu])));
        lab.pass_time(5000 * MS);
        let numa = |lab: &Lab<NoNuma>, cpu: u32| dom(lab, cpu, 16);
        let (first, second) = (numa(&lab, 0), numa(&lab, 4));
        let last = |lab: &Lab<NoNuma>| lab.s.dom[second as usize].last_balance;
        let pass_ns = lab.s.pass_ns(first);
        // Sixteen queues at 100 ns, and twelve lines from other sockets that take 170 ns longer than an own one.
        assert_eq!(pass_ns, 1600 + 12 * (LINES_NS[2] - LINES_NS[0]));
        let due = |lab: &mut Lab<NoNuma>, cpu: u32| {
            lab.s.sched_balance_domains(cpu, CpuIdleType::NotIdle, Why::Periodic, &NoNuma).passes
        };
        assert_eq!(due(&mut lab, 0), 2, "the cache and the machine");
        lab.pass_time(pass_ns - 1);
        assert_eq!(due(&mut lab, 4), 1, "only the cache");
        assert_eq!((lab.s.counters().serialized, last(&lab) > 0), (1, renewed));
        lab.pass_time(1);
        assert_eq!(due(&mut lab, 8), 2, "the token is free again");
        assert_eq!(lab.s.counters().serialized, 1);
    }
}

/// Before 5.8 the waker of a task whose CPU still searches waits for the end of the search.
#[test]
fn wakers_waited_for_the_switch_before_5_8() {
    for (wakelist_on_cpu, waited) in [(true, vec![]), (false, vec![(1, 500)])] {
        let cfg = SchedConfig { wakelist_on_cpu, ..config("v61") };
        let mut lab = Lab::new(&Shape::flat(1, 8, 1, 10), &cfg);
        lab.fill(1, Some(&[1]), 2);
        let slept = lab.start(0, None);
        lab.pass_time(20 * MS);
        assert_eq!(lab.s.block_current(0, lab.now), Some(slept));
        assert_eq!(lab.s.pick_next(0, lab.now, &lab.view), None);
        assert_eq!(lab.s.newidle_pass_ns(0), Some(800));
        waits(&mut lab);
        assert_eq!(lab.s.wake(slept, Some(1), true, lab.now + 300), 0);
        assert_eq!(waits(&mut lab), waited);
        assert_eq!(lab.s.counters().ttwu_on_cpu, u64::from(!wakelist_on_cpu));
    }
}
