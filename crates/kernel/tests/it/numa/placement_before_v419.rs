//! The search for a CPU before 4.19: `numa_has_capacity`, and how `task_numa_compare` uses loads.

use super::mock::direct;
use super::placement::{setup, Setup};
use numalab_kernel::numa::placement::node_stats::NodeStats;
use numalab_kernel::numa::rules::SearchModel;

/// Two nodes of two CPUs. Task 0, of load 100, is on CPU 0 and prefers node 1. There task 1 runs on CPU 2 with the same
/// load, and CPU 3 is idle. A past task has left a load of 900 on CPU 1.
fn light(release: &str, other: &[u64]) -> Setup {
    let mut s = setup(direct(2, 2), release, &[(0, &[100, 900], Some(1)), (2, other, Some(1))]);
    s.host.load = vec![100, 100];
    (s.host.stats[0].load, s.host.stats[1].load, s.host.stats[2].load) = (100, 900, 100);
    s
}

#[test]
fn nodes_are_full_when_every_core_has_a_task() {
    let node = |capacity, weight| NodeStats { capacity, weight, ..NodeStats::default() };
    let of = |m: SearchModel| [node(12 * 589, 12), node(8 * 1024, 8), node(0, 0)].map(|n| m.task_capacity(&n));
    assert_eq!(of(SearchModel::V313), [7, 8, 0]);
    assert_eq!(of(SearchModel::V42), [6, 8, 0]);
}

#[test]
fn from_4_2_to_4_18_only_nodes_with_less_load_are_searched() {
    let build = |release, load| {
        let mut s = setup(direct(2, 1), release, &[(0, &[100, 900], Some(1)), (1, &[900, 100], Some(0))]);
        (s.host.load[0], s.host.stats[0].load) = (load, load);
        s.place()
    };
    // The other node has a load of 1024. Half of the domain's 17 % is tolerated: 948·108 is less, 949·108 is more.
    for (release, swaps) in [("4.1", true), ("4.4", false), ("4.18", false), ("4.19", true)] {
        assert_eq!(!build(release, 948).is_empty(), swaps, "{release}");
        assert_eq!(build(release, 949), ["swap 0 1"], "{release}");
    }
}

#[test]
fn before_4_19_an_idle_thread_of_a_busy_core_is_no_room() {
    let threads = |release, capacity| {
        let mut s = light(release, &[0, 9]);
        s.host.forbidden = vec![(1, 0)];
        s.host.stats.iter_mut().for_each(|c| c.capacity = capacity);
        s.place()
    };
    assert_eq!(threads("4.18", 1024), ["move 0 3"]);
    assert!(threads("4.18", 589).is_empty());
    assert_eq!(threads("4.19", 589), ["move 0 3"]);
}

#[test]
fn before_4_19_tasks_that_have_their_cpus_to_themselves_swap_whatever_their_loads() {
    let build = |release| {
        let others: [(usize, &[u64], Option<usize>); 3] =
            [(0, &[100, 900], Some(1)), (2, &[900, 100], Some(0)), (3, &[0, 9], Some(1))];
        let mut s = setup(direct(2, 2), release, &others);
        s.host.forbidden = vec![(2, 0)];
        s.host.load = vec![1024, 200, 700];
        (s.host.stats[2].load, s.host.stats[3].load) = (200, 700);
        // Both nodes have as many tasks.
        s.host.stats[1].nr_running = 1;
        s
    };
    assert_eq!(build("4.18").place(), ["swap 0 1"]);
    assert!(build("4.19").place().is_empty(), "loads of 1024 and 900 would be 200 and 1724");
    let mut shared = build("4.18");
    shared.host.stats[2].nr_running = 2;
    assert!(shared.place().is_empty(), "then loads count");
}

#[test]
fn before_4_19_a_move_instead_of_a_swap_goes_to_the_busy_cpu_itself() {
    let build = |release| {
        let mut s = light(release, &[100, 900]);
        s.host.forbidden = vec![(0, 3)];
        s.host.idle_sibling = Some(3);
        s.place()
    };
    assert_eq!(build("4.18"), ["move 0 2"]);
    assert_eq!(build("4.19"), ["move 0 3"]);
}

#[test]
fn before_4_19_searches_claim_no_cpu() {
    let build = |release| {
        let mut s = light(release, &[0, 9]);
        s.host.forbidden = vec![(1, 0)];
        s.host.claimed = vec![3];
        s.place()
    };
    assert_eq!(build("4.18"), ["move 0 3"]);
    assert_ne!(build("4.19"), ["move 0 3"]);
}

#[test]
fn the_3_13_kernel_wants_loads_to_be_close_after_a_move() {
    // 3.17 only asks that loads be no farther apart than before.
    let alone = |release| setup(direct(2, 2), release, &[(0, &[100, 900], Some(1))]).place();
    assert!(alone("3.13").is_empty());
    assert_eq!(alone("3.17"), ["move 0 2"]);
    let build = |blocked| {
        let mut s = setup(direct(2, 2), "3.13", &[(0, &[100, 900], Some(1))]);
        s.host.load = vec![100];
        (s.host.stats[0].load, s.host.stats[1].load, s.host.stats[2].load) = (100, blocked, 900);
        s.place()
    };
    // Loads per capacity are 625 and 450; the task's 100 is not scaled. 3.13 takes the last of equal CPUs.
    assert_eq!(build(1150), ["move 0 3"]);
    assert!(build(1000).is_empty(), "550 and 450 would be 450 and 550, more than 8 % apart");
}

#[test]
fn the_3_13_kernel_skips_a_full_preferred_node_and_prefers_what_it_found() {
    let build = |release| {
        let tasks: [(usize, &[u64], Option<usize>); 2] = [(0, &[100, 700, 200], Some(1)), (1, &[900, 9, 0], Some(0))];
        let mut s = setup(direct(3, 1), release, &tasks);
        (s.host.load[0], s.host.stats[0].load, s.host.stats[2].load) = (100, 1000, 800);
        let log = s.place();
        (log, s.n.tasks[0].numa_preferred_nid)
    };
    let (log, preferred) = build("3.13");
    assert_eq!((log, preferred), (vec!["prefer 0 Some(1) Some(2)".into(), "move 0 2".into()], Some(2)));
    let (log, preferred) = build("3.17");
    assert_eq!((log, preferred), (vec!["swap 0 1".to_string()], Some(1)), "node 1 is searched");
}
