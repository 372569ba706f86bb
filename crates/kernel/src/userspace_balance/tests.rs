//! Looks at small machines, and what is decided.

use super::*;
use crate::numa::topology::{NodeParts, NumaTopology};
use numalab_base::node_mask::NodeMask;
use proptest::prelude::*;

/// A machine of equal nodes, one last-level cache each, at distance 20.
fn topology(nodes: usize, cpus: usize) -> NumaTopology {
    let parts = vec![NodeParts { cpus, memory: true, tier: 0 }; nodes];
    let distance: Vec<u8> = (0..nodes * nodes).map(|i| if i / nodes == i % nodes { 10 } else { 20 }).collect();
    NumaTopology::from_parts(&parts, &distance).unwrap()
}

fn balancer(nodes: usize, cpus: usize) -> Balancer {
    Balancer::new(topology(nodes, cpus), vec![cpus as u32; nodes], Settings::default())
}

/// A machine with threads and mappings, on which verdicts are carried out.
struct World {
    look: Look,
}

impl World {
    fn new(nodes: usize) -> Self {
        let node = NodeLook { free_pages: 1 << 18, total_pages: 1 << 18, busy_elsewhere: 0 };
        Self { look: Look { nodes: vec![node; nodes], budget_pages: u64::MAX, ..Look::default() } }
    }
    fn task(&mut self, group: u64, node: usize) -> &mut TaskLook {
        let task = 100 * group + self.look.tasks.len() as u64;
        let allowed = NodeMask::of(0..self.look.nodes.len());
        self.look.tasks.push(TaskLook { task, group, node, busy_permille: 1000, hold: None, allowed });
        self.look.tasks.last_mut().unwrap()
    }
    fn mapping(&mut self, group: u64, pages: &[u64]) -> &mut MappingLook {
        let start = 0x1000 * self.look.mappings.len() as u64;
        let allowed = NodeMask::of(0..self.look.nodes.len());
        let m = MappingLook { group, start, pages: pages.to_vec(), used: None, huge: false, hold: None, allowed };
        pages.iter().enumerate().for_each(|(n, p)| self.look.nodes[n].free_pages -= p);
        self.look.mappings.push(m);
        self.look.mappings.last_mut().unwrap()
    }
    fn carry_out(&mut self, verdict: &Verdict) {
        for d in &verdict.decisions {
            match d.action {
                Action::MoveTask { task, to, .. } => {
                    self.look.tasks.iter_mut().find(|t| t.task == task).unwrap().node = to;
                }
                Action::KeepTask { task, node, .. } => {
                    assert_eq!(self.look.tasks.iter().find(|t| t.task == task).unwrap().node, node);
                }
                Action::MovePages { group, start, from, to, pages } => {
                    let m = self.look.mappings.iter_mut().find(|m| (m.group, m.start) == (group, start)).unwrap();
                    m.pages[from] -= pages;
                    m.pages[to] += pages;
                    self.look.nodes[from].free_pages += pages;
                    self.look.nodes[to].free_pages -= pages;
                }
            }
        }
    }
    /// Verdicts of `looks` looks, each carried out.
    fn run(&mut self, b: &mut Balancer, looks: usize) -> Vec<Verdict> {
        let one = |_| {
            let verdict = b.decide(&self.look);
            self.carry_out(&verdict);
            verdict
        };
        (0..looks).map(one).collect()
    }
    /// Nodes on which the threads of a group run.
    fn nodes_of(&self, group: u64) -> NodeMask {
        NodeMask::of(self.look.tasks.iter().filter(|t| t.group == group).map(|t| t.node))
    }
    fn local(&self, b: &mut Balancer) -> u64 {
        b.decide(&self.look).local_permille
    }
}

#[test]
fn memory_of_a_wrong_node_comes_to_its_threads() {
    let (mut w, mut b) = (World::new(2), balancer(2, 1));
    w.task(1, 1);
    w.task(2, 0);
    w.mapping(1, &[1000, 0]);
    w.mapping(2, &[10, 0]);
    let verdicts = w.run(&mut b, 4);
    assert_eq!(verdicts[0].decisions, [], "nothing is decided on one look");
    assert_eq!(w.look.mappings[0].pages, [0, 1000]);
    assert_eq!(w.look.mappings[1].pages, [10, 0]);
    let d = verdicts.iter().flat_map(|v| &v.decisions).next().unwrap();
    assert_eq!(d.reason, Reason::NobodyThere { cpu_permille: 1000 });
    assert!(d.reason.to_string().contains("100.0 % of its CPU time"), "{}", d.reason);
    assert_eq!(w.local(&mut b), 1000);
}

/// A large region that nobody uses and a small one in use, on other nodes: the one in use decides.
#[test]
fn what_is_used_decides_and_not_what_is_there() {
    let world = |known: bool| {
        let mut w = World::new(4);
        w.task(1, 2);
        let used = |pages: &[u64]| known.then(|| Used { pages: pages.to_vec(), alone: vec![] });
        w.mapping(1, &[100_000, 0, 0, 0]).used = used(&[0, 0, 0, 0]);
        let hot = w.mapping(1, &[0, 1000, 0, 0]);
        (hot.used, hot.hold) = (used(&[0, 1000, 0, 0]), Some(Hold::OwnPolicy));
        w
    };
    let (mut w, mut b) = (world(true), balancer(4, 2));
    w.run(&mut b, 6);
    assert_eq!((w.nodes_of(1), w.local(&mut b)), (NodeMask::of([1]), 1000));
    assert_eq!(w.look.mappings[0].pages, [100_000, 0, 0, 0], "what nobody uses is not moved");
    let (mut w, mut b) = (world(false), balancer(4, 2));
    w.run(&mut b, 6);
    assert_eq!(w.nodes_of(1), NodeMask::of([2]), "without knowledge of use the larger one decides");
    assert_eq!(w.look.mappings[0].pages, [0, 0, 100_000, 0], "and is moved");
}

/// Two threads on two nodes, each with memory of its own on the other's node: as much on each node as CPU time, and all
/// of it remote.
#[test]
fn pages_go_to_the_only_node_that_uses_them() {
    let (mut w, mut b) = (World::new(2), balancer(2, 1));
    w.task(1, 0);
    w.task(1, 1);
    w.mapping(1, &[1000, 1000]).used = Some(Used { pages: vec![1000, 1000], alone: vec![vec![0, 900], vec![900, 0]] });
    b.decide(&w.look);
    let verdict = b.decide(&w.look);
    let moves: Vec<(usize, usize, u64, Reason)> = verdict
        .decisions
        .iter()
        .filter_map(|d| match d.action {
            Action::MovePages { from, to, pages, .. } => Some((from, to, pages, d.reason)),
            _ => None,
        })
        .collect();
    assert_eq!(moves, [(0, 1, 900, Reason::UsedThere), (1, 0, 900, Reason::UsedThere)]);
    // Where each uses what is beside it, nothing moves although one node has more.
    w.look.mappings[0].used = Some(Used { pages: vec![1000, 300], alone: vec![vec![1000, 0], vec![0, 300]] });
    assert_eq!(b.decide(&w.look).decisions, []);
}

#[test]
fn a_lone_thread_goes_to_its_memory() {
    let (mut w, mut b) = (World::new(2), balancer(2, 4));
    w.task(1, 1);
    // Memory that may not move: the thread must.
    w.mapping(1, &[1000, 0]).hold = Some(Hold::OwnPolicy);
    let verdicts = w.run(&mut b, 4);
    assert_eq!(w.nodes_of(1), NodeMask::of([0]));
    assert!(matches!(verdicts[2].decisions[0].reason, Reason::Gather { before_permille: 0, after_permille: 1000 }));
    assert_eq!(w.look.mappings[0].pages, [1000, 0]);
}

#[test]
fn a_move_says_whom_it_serves() {
    assert_eq!(Reason::of_threads(250, 1000).to_string(), "expected local accesses 25.0 % to 100.0 %");
    for after in [250, 100] {
        let text = Reason::of_threads(250, after).to_string();
        assert!(
            text.starts_with("makes room for a process that gains more, expected local accesses 25.0 % to "),
            "{text}"
        );
    }
}

#[test]
fn a_third_that_runs_now_and_then_does_not_bring_two_processes_together() {
    let (mut w, mut b) = (World::new(4), balancer(4, 2));
    for node in 0..4 {
        [1, 2].into_iter().for_each(|group| {
            w.task(group, node);
        });
    }
    w.task(3, 0).busy_permille = 300;
    [1, 2].into_iter().for_each(|group| {
        w.mapping(group, &[8000, 0, 0, 0]);
    });
    let verdicts = w.run(&mut b, 20);
    let (one, two) = (w.nodes_of(1), w.nodes_of(2));
    assert!(one.and(&two).is_empty(), "{one:?} {two:?}");
    assert_eq!((one.len(), two.len()), (2, 2), "as few nodes as have CPUs for all");
    assert!(w.look.mappings.iter().all(|m| m.pages.iter().filter(|&&p| p > 0).count() == 2));
    // Threads that are right already are kept there while others move.
    let kept = verdicts.iter().flat_map(|v| &v.decisions).filter(|d| matches!(d.action, Action::KeepTask { .. }));
    assert!(kept.count() > 0);
}

#[test]
fn two_processes_on_four_nodes_get_nodes_of_their_own() {
    let (mut w, mut b) = (World::new(4), balancer(4, 2));
    for group in [1, 2] {
        for node in 0..4 {
            w.task(group, node);
        }
        w.mapping(group, &[4000, 0, 0, 0]);
    }
    w.run(&mut b, 6);
    let (a, z) = (w.nodes_of(1), w.nodes_of(2));
    assert!(a.and(&z).is_empty() && a.len() == 2 && z.len() == 2, "{a:?} {z:?}");
    for (m, nodes) in w.look.mappings.iter().zip([a, z]) {
        let on: u64 = nodes.iter().map(|n| m.pages[n]).sum();
        assert_eq!(on, 4000, "{m:?}");
        nodes.iter().for_each(|n| assert!((1700..=2300).contains(&m.pages[n]), "{m:?}"));
    }
    let after = w.run(&mut b, 20);
    assert!(after.iter().all(|v| v.decisions.is_empty()), "it stays settled");
}

#[test]
fn what_is_held_is_never_touched() {
    let (mut w, mut b) = (World::new(2), balancer(2, 2));
    w.task(1, 1).hold = Some(Hold::Pinned);
    w.mapping(1, &[1000, 0]);
    // The pinned thread has taken the room of node 1, so this one does not go to the pages that it shares.
    w.task(2, 0);
    w.mapping(2, &[2000, 0]);
    w.mapping(2, &[0, 500]).hold = Some(Hold::SharedCow);
    let verdicts = w.run(&mut b, 6);
    assert!(verdicts.iter().all(|v| v.decisions.is_empty()), "{verdicts:?}");
    let left = &verdicts[5].left;
    assert!(left.contains(&Left { group: 1, start: None, count: 1, hold: Hold::Pinned }), "{left:?}");
    assert!(left.contains(&Left { group: 2, start: Some(0x2000), count: 500, hold: Hold::SharedCow }), "{left:?}");
}

#[test]
fn the_budget_and_the_reserve_of_a_node_hold() {
    let (mut w, mut b) = (World::new(2), balancer(2, 1));
    w.task(1, 1);
    w.task(2, 0);
    w.mapping(1, &[100_000, 0]);
    w.look.budget_pages = 300;
    let verdicts = w.run(&mut b, 3);
    assert_eq!((w.look.mappings[0].pages[1], verdicts[1].over_budget_pages), (600, 99_700), "two looks act");
    w.look.budget_pages = u64::MAX;
    w.look.nodes[1].free_pages = 6000;
    w.run(&mut b, 1);
    let reserve = (1 << 18) / 1000 * 20;
    assert_eq!(w.look.nodes[1].free_pages, reserve);
}

#[test]
fn huge_pages_move_whole() {
    let (mut w, mut b) = (World::new(2), balancer(2, 1));
    w.task(1, 1);
    w.task(2, 0);
    w.mapping(1, &[2048 + 7, 0]).huge = true;
    w.look.budget_pages = 1000;
    w.run(&mut b, 2);
    assert_eq!(w.look.mappings[0].pages, [2048 + 7 - 512, 512]);
    w.look.budget_pages = 5000;
    w.run(&mut b, 1);
    assert_eq!(w.look.mappings[0].pages, [0, 2048 + 7], "the last small pages go along");
}

/// `imb_numa_nr` of 6.0 on: a pair may share a node of 16 CPUs and one cache (16 / 8 = 2), four threads may not.
#[test]
fn nodes_stay_as_balanced_as_the_kernel_keeps_them() {
    let topo = topology(2, 16);
    let limits = |llc: u32, total| super::homes::limits(&topo, &[llc; 2], total);
    assert_eq!((limits(16, 2), limits(16, 4)), (vec![2, 2], vec![2, 2]));
    assert_eq!((limits(4, 4), limits(4, 6)), (vec![3, 3], vec![4, 4]), "four caches: imb_numa_nr is 4");
    assert_eq!(limits(16, 40), [20, 20], "more threads than CPUs: half each");
}

/// A thread of no process comes and goes, and the room for others with it, so that no two plans in a row are the same.
#[test]
fn pages_follow_although_the_plan_changes_with_every_look() {
    let (mut w, mut b) = (World::new(4), balancer(4, 2));
    for node in 0..4 {
        w.task(1, node);
    }
    w.mapping(1, &[4000, 0, 0, 0]);
    let mut moved = 0;
    for look in 0..12 {
        w.look.nodes[look % 2].busy_elsewhere = 2;
        w.look.nodes[1 - look % 2].busy_elsewhere = 0;
        let verdict = b.decide(&w.look);
        moved += verdict.decisions.iter().filter(|d| matches!(d.action, Action::MovePages { .. })).count();
        w.carry_out(&verdict);
    }
    assert!(moved > 0, "{:?}", w.look.mappings);
}

#[test]
fn a_short_burst_moves_nothing() {
    let (mut w, mut b) = (World::new(2), balancer(2, 1));
    w.task(1, 1);
    w.task(2, 0);
    w.mapping(1, &[1000, 0]);
    for look in 0..8 {
        w.look.tasks[0].busy_permille = if look % 4 == 3 { 150 } else { 0 };
        let verdict = b.decide(&w.look);
        assert_eq!(verdict.decisions, [], "look {look}");
    }
}

proptest! {
    /// Whatever a look holds: nothing that is held moves, pages are there and fit, and the budget holds.
    #[test]
    fn verdicts_keep_their_promises(
        tasks in prop::collection::vec((0u64..4, 0usize..5, 0u32..1500, 0u8..4), 0..24),
        mappings in prop::collection::vec((0u64..4, prop::collection::vec(0u64..5000, 0..5), any::<bool>(), 0u8..6), 0..12),
        used in prop::collection::vec(
            (prop::collection::vec(0u64..6000, 0..5), prop::collection::vec(0u64..6000, 0..9)), 0..12),
        budget in 0u64..20_000,
        free in prop::collection::vec(0u64..10_000, 4),
    ) {
        let topo = topology(4, 2);
        let mut b = Balancer::new(topo, vec![2; 4], Settings::default());
        let all = NodeMask::of(0..4);
        let mut look = Look { budget_pages: budget, ..Look::default() };
        look.nodes = free.iter().map(|&f| NodeLook { free_pages: f, total_pages: 20_000, busy_elsewhere: 1 }).collect();
        for (i, &(group, node, busy_permille, hold)) in tasks.iter().enumerate() {
            let hold = (hold == 0).then_some(Hold::Pinned);
            look.tasks.push(TaskLook { task: i as u64, group, node, busy_permille, hold, allowed: all });
        }
        for (i, (group, pages, huge, hold)) in mappings.iter().enumerate() {
            let hold = Hold::ALL.get(usize::from(*hold)).copied();
            let used = used.get(i).and_then(|(pages, alone)| {
                let alone = alone.chunks(2).map(<[u64]>::to_vec).collect();
                (!pages.is_empty()).then(|| Used { pages: pages.clone(), alone })
            });
            let m = MappingLook {
                group: *group, start: i as u64, pages: pages.clone(), used, huge: *huge, hold, allowed: all,
            };
            look.mappings.push(m);
        }
        for _ in 0..3 {
            let verdict = b.decide(&look);
            let mut moved = 0;
            let mut from_each = std::collections::BTreeMap::new();
            for d in &verdict.decisions {
                match d.action {
                    Action::MoveTask { task, from, to, .. } => {
                        let t = &look.tasks[task as usize];
                        prop_assert!(t.hold.is_none() && t.node == from && from != to && to < 4);
                    }
                    Action::KeepTask { task, node, .. } => {
                        let t = &look.tasks[task as usize];
                        prop_assert!(t.hold.is_none() && t.node == node);
                    }
                    Action::MovePages { start, from, to, pages, .. } => {
                        let m = &look.mappings[start as usize];
                        prop_assert!(m.hold.is_none() && pages > 0 && from != to);
                        moved += pages;
                        let out: &mut u64 = from_each.entry((start, from)).or_default();
                        *out += pages;
                        prop_assert!(*out <= m.counted(from));
                    }
                }
            }
            prop_assert!(moved <= budget);
            prop_assert!(verdict.local_permille <= 1000);
        }
    }
}
