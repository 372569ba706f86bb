//! The balancers of 3.7 to 5.12 at work: forks spread, stacked tasks spread, and a balanced machine stays at rest.
#![allow(clippy::unwrap_used)]

use crate::sched_common;
use numalab_kernel::sched::shapes::Shape;
use numalab_kernel::sched::{Event, Why};
use sched_common::{World, MS};

/// One release of each balancer.
const RELEASES: [(u32, u32); 14] = [
    (3, 7),
    (3, 13),
    (4, 0),
    (4, 7),
    (4, 15),
    (4, 19),
    (4, 20),
    (5, 4),
    (5, 5),
    (5, 6),
    (5, 7),
    (5, 9),
    (5, 10),
    (5, 12),
];

fn world(shape: &Shape, release: (u32, u32)) -> World {
    World::new(shape, &sched_common::release(release.0, release.1))
}

fn moves(w: &World, since: u64) -> usize {
    let moved = |e: &Event| matches!(e, Event::Moved { why, .. } if *why != Why::Fork);
    w.log.iter().filter(|(at, e)| *at >= since && moved(e)).count()
}

#[test]
fn forks_of_a_process_get_a_cpu_each() {
    for release in RELEASES {
        let mut w = world(&Shape::flat(4, 12, 2, 21), release);
        (0..48).for_each(|_| _ = w.fork(0));
        w.run_until(3000 * MS);
        let nr: Vec<u32> = (0..48).map(|c| w.s.nr_running(c)).collect();
        assert_eq!(nr, [1; 48], "{release:?}");
    }
}

#[test]
fn a_stack_of_tasks_spreads_over_the_machine() {
    for release in RELEASES {
        let mut w = world(&Shape::flat(4, 12, 2, 21), release);
        let stack: Vec<_> = (0..24).map(|_| w.fork_with(0, Some(&[0]))).collect();
        stack.iter().for_each(|t| w.s.set_affinity(*t, None, w.now).unwrap());
        w.run_until(6000 * MS);
        let most = (0..48).map(|c| w.s.nr_running(c)).max();
        assert_eq!(most, Some(1), "{release:?}");
        let nodes = w.per_node();
        let spread = nodes.iter().max().unwrap() - nodes.iter().min().unwrap();
        assert!(spread <= 2, "{release:?}: {nodes:?}");
    }
}

#[test]
fn one_task_per_cpu_comes_to_rest() {
    for release in RELEASES {
        let mut w = world(&Shape::flat(4, 12, 2, 21), release);
        (0..48).for_each(|cpu| _ = w.place(cpu));
        w.run_until(4000 * MS);
        assert_eq!(moves(&w, 0), 0, "{release:?}");
    }
}

#[test]
fn half_the_cores_of_every_node_come_to_rest() {
    for release in RELEASES {
        let mut w = world(&Shape::flat(4, 12, 2, 21), release);
        (0..48).filter(|c| c % 4 == 0).for_each(|cpu| _ = w.place(cpu));
        w.run_until(4000 * MS);
        assert_eq!(moves(&w, 0), 0, "{release:?}");
    }
}
