//! The pull towards homes (designs-2012.md section 2.6): when it is tried, what it may push, and what a refusal counts.

use super::*;
use crate::sched::balance::pass::Env;
use crate::sched::balance::Idle;
use crate::sched::event::Why;

/// Three nodes of four CPUs; `counts[n]` CPUs of node n run a task each, with homes as given by node.
fn nodes(counts: [u32; 3], homes: [Option<u32>; 3]) -> Lab {
    let config = SchedConfig { imbalance: "none", locality: "home", ..config("v61") };
    let mut lab = Lab::new(&Shape::flat(3, 4, 1, 20), &config);
    for (node, (count, home)) in counts.into_iter().zip(homes).enumerate() {
        for cpu in 0..count {
            let t = lab.start(4 * node as u32 + cpu, None);
            lab.s.set_preferred_nid(t, home);
        }
    }
    lab.pass_time(1000 * MS);
    lab
}

/// The busy CPU 4, the first of node 1, makes a pass over all nodes; returns how many tasks it runs then. It balances
/// for its node although the last CPU there may be idle.
fn pass(lab: &mut Lab) -> u32 {
    let d = lab.s.numa_domain(4).unwrap().id;
    let mut env = Env::new(4, d, Idle::Busy, Why::Periodic);
    lab.s.pull(&mut env, &lab.view);
    lab.settle();
    lab.s.nr_running(4)
}

#[test]
fn a_lone_task_off_its_home_is_pushed_although_it_comes_no_nearer() {
    // All homes are node 0, which has no task to trade; node 1 is lighter than node 2, but not by enough to balance.
    let mut lab = nodes([4, 3, 4], [Some(0); 3]);
    assert_eq!(pass(&mut lab), 2);
    assert_eq!((8..12).map(|c| lab.s.nr_running(c)).sum::<u32>(), 3);
}

#[test]
fn a_node_as_loaded_as_the_others_pulls_nothing_home() {
    // Tasks of node 2 want to node 1, whose own have no home.
    let mut even = nodes([4, 4, 4], [Some(0), None, Some(1)]);
    assert_eq!(pass(&mut even), 1, "as loaded as all others");
    let mut heavy = nodes([3, 4, 3], [Some(0), None, Some(1)]);
    assert_eq!(pass(&mut heavy), 1, "more loaded than the others");
}

#[test]
fn what_is_refused_for_its_home_is_taken_after_failures() {
    let mut lab = nodes([4, 3, 3], [Some(0), Some(0), None]);
    let waiting = lab.start(8, None);
    lab.s.set_preferred_nid(waiting, Some(0));
    lab.pass_time(1000 * MS);
    let counts: Vec<u32> = (0..4).map(|_| pass(&mut lab)).collect();
    assert_eq!(counts, [1, 1, 1, 2], "refused until there are more failures than the two tries of the domain");
}
