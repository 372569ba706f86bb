//! Fork placement: vectors 12 and 18–36 of kernel-scheduler.md §9.3.
#![allow(clippy::unwrap_used)]

use crate::sched_common;

use numalab_kernel::sched::select_cpu::load_leaves;
use numalab_kernel::sched::shapes::Shape;
use numalab_kernel::sched::{NoNuma, Scheduler};
use sched_common::{config, World, MS};

const RULES: [&str; 5] = ["quarter_5_11", "quarter_5_17s", "imb_v3", "imb_5_18", "imb_6_0"];

fn form(rule: &str) -> &'static str {
    if rule == "imb_6_0" {
        "v612"
    } else {
        "v61"
    }
}

/// A parent on CPU 0 forks `children` CPU-bound tasks; returns the number of tasks per node.
fn spread(shape: &Shape, rule: &'static str, form: &'static str, children: usize) -> Vec<u32> {
    let mut w = World::new(shape, &config(form, rule));
    w.place(0);
    for _ in 0..children {
        w.now += MS / 10;
        w.fork(0);
    }
    w.per_node()
}

fn check(shape: &Shape, children: usize, want: [(u32, u32); 5]) {
    for (rule, want) in RULES.into_iter().zip(want) {
        let got = spread(shape, rule, form(rule), children);
        assert_eq!((got[0], got[1]), want, "{rule}");
    }
    // 6.1 and 6.12 share the rule of 6.0.
    let got = spread(shape, "imb_6_0", "v61", children);
    assert_eq!((got[0], got[1]), want[4], "k60 on 6.1");
}

/// The nodes of `children` tasks forked from CPU 0, in order.
fn sequence(shape: &Shape, rule: &'static str, children: usize) -> Vec<u32> {
    let mut w = World::new(shape, &config(form(rule), rule));
    w.place(0);
    (0..children)
        .map(|_| {
            let t = w.fork(0);
            w.node_of(t)
        })
        .collect()
}

fn letters(nodes: &[u32]) -> String {
    nodes.iter().map(|n| if *n == 0 { 'L' } else { 'R' }).collect()
}

/// Row "to 5.10" of §5.2: a fork leaves the node only when none of its CPUs is idle. The balancer of 5.5 tolerates
/// nothing, that of 5.6 to 5.10 two tasks.
#[test]
fn from_5_5_to_5_10_forks_fill_the_node_first() {
    for release in [(5, 5), (5, 6), (5, 10)] {
        let mut w = World::new(&Shape::t1(), &sched_common::release(release.0, release.1));
        w.place(0);
        for _ in 0..127 {
            w.now += MS / 10;
            w.fork(0);
        }
        assert_eq!(w.per_node(), [128, 0], "{release:?}");
    }
}

#[test]
fn v12_generic_limit_keeps_forks_on_the_node() {
    let shape = Shape { node_reclaim_distance: 30, ..Shape::t1() };
    assert_eq!(spread(&shape, "imb_6_0", "v612", 140), [141, 0]);
}

#[test]
fn v18_t1_3() {
    check(&Shape::t1(), 3, [(4, 0), (4, 0), (2, 2), (4, 0), (3, 1)]);
}

#[test]
fn v19_t1_7() {
    check(&Shape::t1(), 7, [(8, 0), (8, 0), (4, 4), (8, 0), (5, 3)]);
}

#[test]
fn v20_t1_15() {
    check(&Shape::t1(), 15, [(16, 0), (16, 0), (8, 8), (8, 8), (8, 8)]);
}

#[test]
fn v21_t1_31() {
    check(&Shape::t1(), 31, [(32, 0), (31, 1), (16, 16), (16, 16), (16, 16)]);
}

#[test]
fn v22_t1_64() {
    check(&Shape::t1(), 64, [(64, 1), (33, 32), (33, 32), (33, 32), (33, 32)]);
}

#[test]
fn v23_t2_8() {
    check(&Shape::t2(), 8, [(9, 0), (9, 0), (9, 0), (9, 0), (5, 4)]);
}

#[test]
fn v24_t2_15() {
    check(&Shape::t2(), 15, [(16, 0), (9, 7), (10, 6), (10, 6), (8, 8)]);
}

#[test]
fn v25_t2_24() {
    check(&Shape::t2(), 24, [(20, 5), (13, 12), (13, 12), (13, 12), (13, 12)]);
}

#[test]
fn v26_t5_3() {
    check(&Shape::t5(), 3, [(4, 0), (3, 1), (2, 2), (2, 2), (2, 2)]);
}

#[test]
fn v27_t5_8() {
    check(&Shape::t5(), 8, [(8, 1), (5, 4), (5, 4), (5, 4), (5, 4)]);
}

#[test]
fn v28_t1_k60_sequence() {
    assert_eq!(letters(&sequence(&Shape::t1(), "imb_6_0", 16)), "LLRLRLRLRLRLRRRL");
}

#[test]
fn v29_t1_k518_sequence() {
    assert_eq!(letters(&sequence(&Shape::t1(), "imb_5_18", 16)), "LLLLLLLRRRRRRRRL");
}

#[test]
fn v30_t1_v3_sequence() {
    assert_eq!(letters(&sequence(&Shape::t1(), "imb_v3", 16)), "RLRLRLRLRLRLRLRL");
}

#[test]
fn v31_t4_k60() {
    let nodes = sequence(&Shape::t4(), "imb_6_0", 8);
    assert_eq!((nodes[0], nodes[1], nodes[3], nodes[7]), (0, 1, 2, 3));
    for child in [2, 4, 5, 6] {
        assert!(nodes[child] >= 4, "child {} went to node {}", child + 1, nodes[child]);
    }
}

#[test]
fn v32_inside_a_node_caches_are_taken_in_ring_order() {
    // K518 keeps the first seven children on the node. An eighth would leave it, so children may use that node only.
    for form in ["v61", "v612"] {
        let mut w = World::new(&Shape::t1(), &config(form, "imb_5_18"));
        w.place(0);
        let node: Vec<u32> = (0..128).collect();
        let caches: Vec<u32> = (0..8)
            .map(|_| {
                let t = w.fork_with(0, Some(&node));
                w.s.cpu_of(t) / 16
            })
            .collect();
        assert_eq!(caches, [1, 2, 3, 4, 5, 6, 7, 0], "{form}");
    }
}

#[test]
fn v33_preferred_node_decides_for_threads() {
    for rule in RULES {
        let mut w = World::new(&Shape::t1(), &config(form(rule), rule));
        w.place(0);
        for i in 0..60 {
            let t = w.s.add_task(None, 0).unwrap();
            w.s.set_preferred_nid(t, Some(0));
            w.s.fork(0, t, w.now);
            w.settle();
            assert_eq!(w.node_of(t), 0, "{rule} thread {i}");
        }
        let mut w = World::new(&Shape::t1(), &config(form(rule), rule));
        w.place(0);
        let t = w.s.add_task(None, 0).unwrap();
        w.s.set_preferred_nid(t, Some(1));
        w.s.fork(0, t, w.now);
        assert_eq!(w.node_of(t), 1, "{rule}");
    }
}

#[test]
fn v34_loaded_groups() {
    assert!(load_leaves(1200, 1000, 117, true));
    assert!(!load_leaves(1170, 1000, 117, true));
    assert!(!load_leaves(1100, 1000, 117, false));
    assert!(load_leaves(1200, 1000, 117, false));
}

#[test]
fn v35_spare_beats_busy() {
    // Two nodes of two CPUs. A busy node has both CPUs fully used for a long time.
    let shape = Shape::flat(2, 2, 1, 20);
    for busy_node in [0, 1] {
        let mut w = World::new(&shape, &config("v612", "imb_6_0"));
        for cpu in [2 * busy_node, 2 * busy_node + 1] {
            w.fork_with(cpu, Some(&[cpu]));
        }
        w.run_until(500 * MS);
        let t = w.fork(0);
        assert_eq!(w.node_of(t), 1 - busy_node);
    }
}

#[test]
fn v36_affinity_lowers_the_threshold() {
    let mut w = World::new(&Shape::t1(), &config("v612", "imb_6_0"));
    w.place(0);
    w.place(1);
    let t = w.fork_with(0, Some(&[0, 1, 128, 129]));
    assert_eq!(w.node_of(t), 1);
    // Without the affinity the task stays local: 126 against 128 idle CPUs, 3 tasks of 8.
    let mut w = World::new(&Shape::t1(), &config("v612", "imb_6_0"));
    w.place(0);
    w.place(1);
    let t = w.fork(0);
    assert_eq!(w.node_of(t), 0);
}

/// The task's two CPUs on its node are busy, the one on the other node is idle. Of all CPUs more are idle on its node.
#[test]
fn only_late_kernels_weigh_groups_by_the_cpus_a_task_may_use() {
    for (release, node) in [((6, 12), 1), ((6, 7), 0), ((6, 1), 0)] {
        let mut w = World::new(&Shape::t1(), &sched_common::release(release.0, release.1));
        [0, 1].into_iter().chain((130..150).step_by(2)).for_each(|cpu| {
            w.place(cpu);
        });
        let t = w.fork_with(0, Some(&[0, 1, 128]));
        assert_eq!(w.node_of(t), node, "{release:?}");
    }
}

#[test]
fn numbering_of_threads_does_not_matter() {
    // T1 as Linux numbers it: the second threads of all cores come after all first threads.
    let mut machine = Shape::t1().machine("t1");
    for (c, cpu) in machine.cpus.iter_mut().enumerate() {
        cpu.core = c % 128;
        cpu.llc = cpu.core / 8;
        cpu.node = cpu.core / 64;
    }
    for (n, node) in machine.nodes.iter_mut().enumerate() {
        node.cpus = (0..256).filter(|c| c % 128 / 64 == n).collect();
    }
    for (rule, want) in
        [("imb_v3", "RLRLRLRLRLRLRLRL"), ("imb_5_18", "LLLLLLLRRRRRRRRL"), ("imb_6_0", "LLRLRLRLRLRLRRRL")]
    {
        let mut s = Scheduler::new(&machine, &config(form(rule), rule)).unwrap();
        let mut start = |affinity: Option<&[u32]>| {
            let t = s.add_task(affinity, 0).unwrap();
            let cpu = s.fork(0, t, 0);
            s.pick_next(cpu, 0, &NoNuma);
            s.domains().node_of(cpu)
        };
        start(Some(&[0]));
        let nodes: Vec<u32> = (0..16).map(|_| start(None)).collect();
        assert_eq!(letters(&nodes), want, "{rule}");
    }
}

fn of_release(shape: &Shape, minor: u32) -> World {
    World::new(shape, &sched_common::release(5, minor))
}

#[test]
fn before_5_7_forks_stay_where_groups_are_loaded() {
    for (minor, node) in [(5, 0), (6, 0), (7, 1)] {
        let mut w = of_release(&Shape::flat(2, 2, 1, 20), minor);
        for (cpu, tasks) in [(0, 4), (1, 4), (2, 2), (3, 2)] {
            (0..tasks).for_each(|_| _ = w.fork_with(cpu, Some(&[cpu])));
        }
        w.run_until(500 * MS);
        let t = w.fork(0);
        assert_eq!(w.node_of(t), node, "5.{minor}");
    }
}

#[test]
fn the_5_5_kernel_does_not_see_the_idle_cpu_of_a_node_in_use() {
    for (minor, node) in [(5, 1), (6, 0)] {
        let mut w = of_release(&Shape::flat(2, 4, 1, 20), minor);
        (0..4).for_each(|cpu| _ = w.fork_with(cpu, Some(&[cpu])));
        w.run_until(500 * MS);
        w.sleep(3);
        let t = w.fork(0);
        assert_eq!(w.node_of(t), node, "5.{minor}");
    }
}

#[test]
fn from_5_9_on_forks_take_the_less_used_of_groups_with_as_many_idle_cpus() {
    for (minor, node) in [(7, 1), (9, 2)] {
        let mut w = of_release(&Shape::flat(3, 1, 1, 20), minor);
        [0, 0, 1].into_iter().for_each(|cpu| _ = w.fork_with(cpu, Some(&[cpu])));
        w.run_until(500 * MS);
        w.sleep(1);
        let t = w.fork(0);
        assert_eq!(w.node_of(t), node, "5.{minor}");
    }
}
