//! The pull towards homes (designs-2012.md section 2.6): when it is tried, what it may push, and how a refusal counts.

use super::word;
use super::*;
use crate::sched::balance::lb_env::LbEnv;
use crate::sched::event::Why;
use crate::sched::rules::Locality;
use crate::sched::state::CpuIdleType;

/// Three nodes of four CPUs. `counts[n]` CPUs of node n run a task each, whose home is `homes[n]`.
fn nodes(counts: [u32; 3], homes: [Option<u32>; 3]) -> Lab {
    on((4, 1), "types", counts, homes)
}

/// Like [`nodes`], with `width` CPUs in a node and `smt` in a core.
fn on((width, smt): (usize, usize), balancer: &'static str, counts: [u32; 3], homes: [Option<u32>; 3]) -> Lab {
    let config = SchedConfig {
        imbalance: word("none"),
        locality: Locality::Home,
        newidle: word("v37"),
        balancer: word(balancer),
        ..config("v61")
    };
    let mut lab = Lab::new(&Shape::flat(3, width, smt, 20), &config);
    for (node, (count, home)) in counts.into_iter().zip(homes).enumerate() {
        for cpu in 0..count {
            let t = lab.start((width * node) as u32 + cpu, None);
            lab.s.set_preferred_nid(t, home);
        }
    }
    lab.pass_time(1000 * MS);
    lab
}

/// Busy CPU 4, the first of node 1, makes a pass over all nodes. Returns how many tasks it has then. It balances for
/// its node although the last CPU there may be idle.
fn pass(lab: &mut Lab) -> u32 {
    let d = lab.s.topo.sd_numa(4).unwrap();
    let mut env = LbEnv::new(4, d, CpuIdleType::NotIdle, Why::Periodic);
    lab.s.pull(&mut env, &lab.view);
    lab.settle();
    lab.s.nr_running(4)
}

#[test]
fn a_lone_task_off_its_home_is_pushed_although_it_comes_no_nearer() {
    // All homes are node 0, which has no task to trade. Node 1 is lighter than node 2, but not by enough to balance.
    let mut lab = nodes([4, 3, 4], [Some(0); 3]);
    assert_eq!(pass(&mut lab), 1, "its stopper has not run yet");
    lab.stoppers();
    let pushed = |e: &Event| matches!(e, Event::Moved { from: 8..12, to: 4, why: Why::Active, .. });
    assert!(lab.log.iter().any(pushed), "{:?}", lab.log);
}

#[test]
fn a_stopper_is_not_asked_again_before_it_has_run() {
    let mut lab = nodes([4, 3, 4], [Some(0); 3]);
    for _ in 0..40 {
        pass(&mut lab);
    }
    let mut from: Vec<u32> = lab.asked().map(|a| a.0).collect();
    from.sort_unstable();
    assert_eq!(from, [8, 9, 10, 11]);
}

#[test]
fn a_node_as_loaded_as_the_others_pulls_nothing_home() {
    // Tasks of node 2 have their home on node 1, whose own tasks have none.
    let mut even = nodes([4, 4, 4], [Some(0), None, Some(1)]);
    assert_eq!(pass(&mut even), 1, "as loaded as all others");
    let mut heavy = nodes([3, 4, 3], [Some(0), None, Some(1)]);
    assert_eq!(pass(&mut heavy), 1, "more loaded than the others");
}

#[test]
fn a_task_refused_for_its_home_is_taken_after_failures() {
    let mut lab = nodes([4, 3, 3], [Some(0), Some(0), None]);
    let waiting = lab.start(8, None);
    lab.s.set_preferred_nid(waiting, Some(0));
    lab.pass_time(1000 * MS);
    let counts: Vec<u32> = (0..4).map(|_| pass(&mut lab)).collect();
    assert_eq!(counts, [1, 1, 1, 2], "refused until there are more failures than the two tries of the domain");
}

/// Every CPU is the thread of a core and runs a task. In 3.7 a node with more tasks than cores may be pulled from.
fn threads(homes: [Option<u32>; 3]) -> Lab {
    on((8, 2), "v37", [8, 8, 8], homes)
}

/// The tasks of node 0 are at home; those of nodes 1 and 2 have each other's node as home. CPU 15 of node 1 has just
/// become idle.
fn traded() -> Lab {
    let mut lab = threads([Some(0), Some(2), Some(1)]);
    lab.sleep(15);
    lab
}

#[test]
fn a_newly_idle_cpu_pulls_a_running_task_home() {
    let mut lab = traded();
    let asked: Vec<(u32, u32)> = lab.asked().collect();
    assert!(asked.len() == 1 && asked[0].0 >= 16 && asked[0].1 == 15, "node 0 has none to give: {asked:?}");
    lab.stoppers();
    let moved = lab.s.current(15).unwrap();
    assert_eq!(lab.s.preferred_nid(moved), Some(1));
}

#[test]
fn one_push_leads_to_the_next_until_every_task_is_home() {
    let mut lab = traded();
    for _ in 0..40 {
        lab.stoppers();
    }
    let away = (0..24).filter(|c| lab.s.current(*c).is_some_and(|t| lab.s.preferred_nid(t) != Some(c / 8))).count();
    assert!(lab.pushed >= 3 && away <= 2, "{} pushes, {away} away", lab.pushed);
    let before = lab.pushed;
    lab.stoppers();
    assert_eq!(lab.pushed, before, "it ends where no task is left to trade");
}

#[test]
fn a_newly_idle_cpu_among_tasks_at_home_stays_idle() {
    let mut lab = threads([Some(0), Some(1), Some(1)]);
    lab.sleep(15);
    assert_eq!(lab.asked().count(), 0);
}

/// Four nodes with AutoNUMA's meaning of a preferred node.
fn selected(balancer: &'static str) -> Lab {
    // A rule for groups with types. The rule before them keeps a fork on any node with an idle CPU.
    let imbalance = if balancer == "types" { "imb_6_0" } else { "none" };
    let config = SchedConfig {
        imbalance: word(imbalance),
        locality: Locality::Selected,
        newidle: word("v37"),
        balancer: word(balancer),
        ..config("v61")
    };
    Lab::new(&Shape::flat(4, 12, 2, 21), &config)
}

#[test]
fn a_fork_stays_on_the_node_that_its_creator_had_selected() {
    for balancer in ["v37", "v318", "types"] {
        let nodes = |selected_nid: Option<u32>| {
            let mut lab = selected(balancer);
            (0..6).for_each(|c| lab.fill(2 * c, Some(&[2 * c]), 1));
            lab.pass_time(100 * MS);
            let mut fork = || {
                let t = lab.s.add_task(None, 0).unwrap();
                lab.s.set_preferred_nid(t, selected_nid);
                let cpu = lab.s.fork(0, t, lab.now);
                lab.settle();
                cpu
            };
            [fork(), fork(), fork()]
        };
        let all = |cpus: [u32; 3], what: fn(u32) -> bool| cpus.into_iter().all(what);
        assert!(all(nodes(None), |c| c >= 12), "{balancer}: the other nodes are idle");
        // Every CPU of the idler node fails the test, and the walk continues in the node of the creator.
        let own = nodes(Some(0));
        assert!(all(own, |c| c < 12 && c % 2 == 1), "{balancer}: {own:?}, idle threads of busy cores");
        // Only the idlest group is asked. If it is another one, the fork stays where it is.
        assert!(all(nodes(Some(3)), |c| !(12..36).contains(&c)), "{balancer}");
    }
}

#[test]
fn a_waker_off_the_selected_node_leaves_the_task_on_its_previous_cpu() {
    let wake = |nid: Option<u32>, waker: u32| {
        let mut lab = selected("v37");
        let t = lab.start(12, Some(&[12]));
        lab.pass_time(5 * MS);
        lab.sleep(12);
        lab.s.set_affinity(t, None, lab.now).unwrap();
        lab.s.set_preferred_nid(t, nid);
        // The task's CPU has become busy; the cores beside it are idle.
        lab.start(12, Some(&[12]));
        lab.start(waker, Some(&[waker]));
        lab.pass_time(50 * MS);
        lab.wake(t, Some(waker))
    };
    assert_eq!(wake(Some(1), 0), 12, "although it is busy");
    assert_ne!(wake(Some(1), 20), 12, "a waker of its node: an idle core");
    assert_ne!(wake(None, 0), 12, "no node selected");
}

#[test]
fn the_stopper_pushes_the_task_that_locality_prefers() {
    // CPU 0 on node 0 has three tasks: the first of its queue prefers node 0, the second node 3, the third node 1.
    let pushed = |locality: Locality, dst: u32| {
        let config = SchedConfig { imbalance: word("none"), locality, ..config("v61") };
        let mut lab = Lab::new(&Shape::flat(4, 12, 2, 21), &config);
        let tasks = [Some(0), Some(3), Some(1)].map(|nid| {
            let t = lab.start(0, Some(&[0]));
            lab.s.set_preferred_nid(t, nid);
            t
        });
        lab.s.rqs[0].list = tasks.to_vec();
        tasks.iter().for_each(|t| lab.s.set_affinity(*t, None, lab.now).unwrap());
        lab.pass_time(5 * MS);
        lab.s.push(0, dst, lab.now);
        lab.settle();
        tasks.iter().position(|t| lab.s.cpu_of(*t) == dst)
    };
    assert_eq!(pushed(Locality::Preferred, 12), Some(0));
    assert_eq!(pushed(Locality::Selected, 12), Some(2), "the task that prefers node 1");
    assert_eq!(pushed(Locality::Selected, 24), Some(0), "no task prefers node 2: any");
    assert_eq!(pushed(Locality::Home, 12), Some(1), "off its home, wherever that is");
}

#[test]
fn a_task_off_its_home_is_looked_at_once() {
    // CPU 0 runs a task; two off their home and one at home wait. All are hot, so a pull for a busy CPU refuses each.
    let config =
        SchedConfig { imbalance: word("none"), locality: Locality::Home, migration_cost_ns: -1, ..config("v61") };
    let mut lab = Lab::new(&Shape::flat(4, 12, 2, 21), &config);
    let tasks = [None, Some(3), Some(0), Some(3)].map(|nid| {
        let t = lab.start(0, Some(&[0]));
        lab.s.set_preferred_nid(t, nid);
        t
    });
    tasks.iter().for_each(|t| lab.s.set_affinity(*t, None, lab.now).unwrap());
    lab.pass_time(5 * MS);
    let running = lab.s.current(0).unwrap();
    let [off, on] = [true, false].map(|off| {
        let of = tasks.iter().filter(|t| **t != running && lab.s.off_home(**t) == off);
        of.count() as u64
    });
    let d = lab.s.topo.ids(4).last().unwrap();
    let mut env = LbEnv::new(4, d, CpuIdleType::NotIdle, Why::Periodic);
    (env.src, env.amount) = (0, 100);
    assert_eq!(lab.s.detach_tasks(&mut env, &lab.view), 0);
    // The pass looks four times at each list. Looks at the running task are not counted.
    let (offs, ons) = (4 - u64::from(off < 2) * 2, 4 - u64::from(on < 2) * 2);
    assert_eq!(lab.s.counters().hot_refused, offs + ons);
}
