//! §14.1 to §14.4: moves and swaps; I6 to I8.

use super::faults::fault;
use super::mock::{config, direct, settings, MockHost};
use super::topology::{boxes, set_faults};
use numalab_kernel::numa::counters::Placement;
use numalab_kernel::numa::host::{CpuStats, NumaDomain};
use numalab_kernel::numa::placement::{biased, swap_matters};
use numalab_kernel::numa::placement::{load_too_imbalanced, node_stats::*};
use numalab_kernel::numa::{FaultSite, LastCpupid, MigrateResult, NumaBalancing, NumaTopology, PageFacts};

fn loaded(load: u64, capacity: u64) -> NodeStats {
    NodeStats { load, capacity, ..NodeStats::default() }
}

#[test]
fn i6_load_balance_of_a_move() {
    let stats = (&loaded(3000, 1024), &loaded(1000, 1024));
    assert!(!load_too_imbalanced(2500, 1500, stats), "I6: 1 024 000 ≤ 2 048 000");
    assert!(!load_too_imbalanced(1000, 3000, stats), "the same distance the other way round");
    assert!(load_too_imbalanced(999, 3001, stats));
}

#[test]
fn i7_importance_truncates_towards_zero() {
    assert_eq!((biased(480, true, false), biased(480, false, true)), (450, 540), "I7");
    assert_eq!((biased(-100, true, false), biased(-100, false, true)), (-94, -112), "I7");
    assert_eq!((biased(15, true, false), biased(15, false, true)), (15, 16), "I7");
}

#[test]
fn i8_hysteresis_of_swaps() {
    assert!(!swap_matters(29, 0, true), "I8");
    assert!(swap_matters(30, 0, true));
    assert!(!swap_matters(45, 30, true), "I8: 45 ≤ 45");
    assert!(swap_matters(46, 30, true), "I8");
    assert!(swap_matters(1, 0, false), "before 4.19 any gain");
    assert!(!swap_matters(0, 0, false));
}

pub struct Setup {
    pub n: NumaBalancing,
    pub host: MockHost,
}

/// Task 0 runs on CPU 0 with these faults and this preference. The other tasks run on the given CPUs.
pub fn setup(topo: NumaTopology, release: &str, tasks: &[(usize, &[u64], Option<usize>)]) -> Setup {
    let cpus = topo.cpu_count();
    let mut n = NumaBalancing::new(config(release, 1000), topo);
    let mut host = MockHost::new(cpus, tasks.len());
    for (id, (cpu, faults, preferred)) in tasks.iter().enumerate() {
        n.start(id as u32, Some(id as u32), 1000 + id as u32);
        set_faults(&mut n, id as u32, faults);
        n.tasks[id].numa_preferred_nid = *preferred;
        host.run(id as u32, *cpu);
    }
    Setup { n, host }
}

impl Setup {
    /// Takes a local fault, at which task 0 tries its placement. Returns the log of moves and swaps.
    pub fn place(&mut self) -> Vec<String> {
        let cpu = self.host.cpu[0];
        let site = FaultSite { task: 0, cpu, now: 10_000 };
        let mut page = PageFacts::private_anon(self.n.topo.node_of(cpu));
        fault(&mut self.n, &mut self.host, site, &mut page, MigrateResult::NotTried);
        std::mem::take(&mut self.host.log)
    }
    fn placed(&self, what: Placement) -> u64 {
        self.n.reasons.placed[what as usize]
    }
    /// Puts `task` in a group of its own.
    fn group(mut self, task: u32) -> Self {
        let cpu = self.host.cpu[task as usize];
        self.n.tasks[task as usize].numa_migrate_retry = 1 << 40;
        let mut page = PageFacts { last: LastCpupid::new(cpu, 5), ..PageFacts::private_anon(0) };
        fault(&mut self.n, &mut self.host, FaultSite { task, cpu, now: 1000 }, &mut page, MigrateResult::NotTried);
        self.n.tasks[task as usize].numa_migrate_retry = 0;
        assert!(self.n.tasks[task as usize].numa_group.is_some());
        self
    }
}

#[test]
fn a_task_moves_to_an_idle_cpu_of_its_preferred_node() {
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1))]);
    assert_eq!(s.place(), ["move 0 2"]);
    assert_eq!(s.placed(Placement::Move), 1);
    // The fault is recorded for the CPU on which it was taken, and the next try has to wait.
    assert_eq!(s.n.buffered(0, 0, 1).1, 1);
    assert_eq!(s.n.tasks[0].numa_migrate_retry, 10_062);
    assert!(s.place().is_empty());
}

#[test]
fn idle_cores_come_first() {
    let mut s = setup(direct(2, 4), "6.12", &[(0, &[100, 900], Some(1))]);
    s.host.busy_cores = vec![4, 5];
    assert_eq!(s.place(), ["move 0 6"]);
    let mut s = setup(direct(2, 4), "6.12", &[(0, &[100, 900], Some(1))]);
    s.host.busy_cores = vec![4, 5, 6, 7];
    s.host.forbidden = vec![(0, 4)];
    assert_eq!(s.place(), ["move 0 5"], "no idle core: the first idle CPU it may use");
}

/// numa_migrate_on (sections 14.4, step 1, and 14.3): one CPU is not given to two tasks.
#[test]
fn a_cpu_that_another_task_is_about_to_take_is_left_alone() {
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1))]);
    s.host.claimed = vec![2];
    assert_eq!(s.place(), ["move 0 3"], "the next idle CPU");
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1))]);
    s.host.claimed = vec![2, 3];
    assert!(s.place().is_empty());
    assert_eq!(s.placed(Placement::Stick), 1);
}

#[test]
fn without_a_numa_domain_the_task_settles_where_it_is() {
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1))]);
    s.host.domain = None;
    assert_eq!(s.place(), ["prefer 0 Some(1) Some(0)"]);
}

#[test]
fn an_imbalance_beyond_the_allowance_prevents_a_move() {
    // Nodes have four CPUs. Node 1 has two tasks, node 0 none but task 0: 3 − 0 = 3 > 2.
    let others: [(usize, &[u64], Option<usize>); 3] =
        [(0, &[100, 900], Some(1)), (4, &[0, 9], Some(1)), (5, &[0, 9], Some(1))];
    let mut s = setup(direct(2, 4), "6.12", &others);
    assert!(s.place().is_empty(), "has spare, so ungrouped tasks are not swapped either");
    assert_eq!(s.placed(Placement::Stick), 1);
    // With one task on node 1, 2 − 0 = 2 is tolerated up to imb_numa_nr and not beyond.
    let mut s = setup(direct(2, 4), "6.12", &others[..2]);
    assert_eq!(s.place(), ["move 0 5"]);
    let mut s = setup(direct(2, 4), "6.12", &others[..2]);
    s.host.domain = Some(NumaDomain { imbalance_pct: 117, imb_numa_nr: 1 });
    assert!(s.place().is_empty());
}

#[test]
fn loads_decide_where_the_model_counts_nothing() {
    // Node 1 runs one task, node 0 only task 0: the move would turn loads of 1024/1024 into 0/2048.
    let tasks: [(usize, &[u64], Option<usize>); 2] = [(0, &[100, 900], Some(1)), (4, &[0, 9], Some(1))];
    let mut s = setup(direct(2, 4), "4.20", &tasks);
    assert!(s.place().is_empty());
    // An empty node may be moved to: |1024 − 0| is not worse than |0 − 1024|.
    let mut s = setup(direct(2, 4), "4.20", &tasks[..1]);
    assert_eq!(s.place(), ["move 0 7"], "before 5.7 every idle CPU replaces the one before");
}

/// One CPU per node, both busy.
fn two_busy(release: &str, other: (&[u64], Option<usize>)) -> Setup {
    setup(direct(2, 1), release, &[(0, &[100, 900], Some(1)), (1, other.0, other.1)])
}

#[test]
fn tasks_swap_if_both_gain_enough() {
    let mut s = two_busy("6.12", (&[900, 100], Some(0)));
    assert_eq!(s.place(), ["swap 0 1"]);
    assert_eq!((s.host.cpu[0], s.host.cpu[1], s.placed(Placement::Swap)), (1, 0, 1));
    // The other task would lose as much as this one gains: importance 800 − 800.
    let mut s = two_busy("6.12", (&[100, 900], None));
    assert!(s.place().is_empty());
    // A task without faults has weight 0, so only this task's gain counts.
    let mut s = two_busy("6.12", (&[0, 0], None));
    assert_eq!(s.place(), ["swap 0 1"]);
}

#[test]
fn small_gains_do_not_swap_since_4_19() {
    // The gain is 20 thousandths.
    let tasks: [(usize, &[u64], Option<usize>); 2] = [(0, &[490, 510], Some(1)), (1, &[0, 0], None)];
    assert!(setup(direct(2, 1), "4.19", &tasks).place().is_empty());
    assert_eq!(setup(direct(2, 1), "4.18", &tasks).place(), ["swap 0 1"]);
}

#[test]
fn swaps_respect_affinity_and_load() {
    let mut s = two_busy("6.12", (&[900, 100], Some(0)));
    s.host.forbidden = vec![(1, 0)];
    assert!(s.place().is_empty(), "the other may not run on the source CPU");
    let mut s = two_busy("6.12", (&[900, 100], Some(0)));
    s.host.load[1] = 200;
    assert!(s.place().is_empty(), "swapping loads 1024 and 200 would unbalance the nodes");
}

#[test]
fn no_swaps_between_ungrouped_tasks_where_cpus_are_spare_since_6_0() {
    // On node 1, CPU 4 runs a task that prefers node 0; the other CPUs are idle, but task 0 may not use them.
    let build = |release| {
        let mut s = setup(direct(2, 4), release, &[(0, &[100, 900], Some(1)), (4, &[900, 100], Some(0))]);
        s.host.forbidden = (5..8).map(|c| (0, c)).collect();
        s.host.domain = Some(NumaDomain { imbalance_pct: 117, imb_numa_nr: 0 });
        s.place()
    };
    assert_eq!(build("5.18"), ["swap 0 1"]);
    assert!(build("6.0").is_empty());
}

#[test]
fn swap_partners_that_want_to_leave_are_preferred() {
    // Two candidates for a swap: the first has the larger gain, the second prefers the source node.
    let tasks: [(usize, &[u64], Option<usize>); 3] =
        [(0, &[100, 900], Some(2)), (1, &[900, 100], None), (2, &[550, 450], Some(0))];
    let parts = [1, 2].map(|cpus| numalab_kernel::numa::topology::NodeParts { cpus, memory: true, tier: 0 });
    let topo = NumaTopology::from_parts(&parts, &[10, 20, 20, 10]).unwrap();
    let mut s = setup(topo, "6.12", &tasks);
    s.n.tasks[0].numa_preferred_nid = Some(1);
    assert_eq!(s.place(), ["swap 0 2"]);
}

#[test]
fn a_failed_move_is_a_stick() {
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1))]);
    s.host.refuse_moves = true;
    assert!(s.place().is_empty());
    assert_eq!((s.placed(Placement::Stick), s.placed(Placement::Move)), (1, 0));
    s.host.refuse_moves = false;
    s.n.tasks[0].numa_migrate_retry = 0;
    assert_eq!(s.place(), ["move 0 2"], "the CPU is free to be claimed again");
}

#[test]
fn a_move_that_is_put_off_is_neither_booked_nor_felt_yet() {
    let mut s = two_busy("6.12", (&[900, 100], None));
    s.host.put_off = true;
    (s.n.tasks[0].numa_scan_period, s.n.tasks[1].numa_scan_period) = (7777, 7777);
    assert!(s.place().is_empty());
    assert_eq!((s.placed(Placement::Swap), s.placed(Placement::Stick)), (0, 0));
    assert_eq!((s.n.tasks[0].numa_scan_period, s.n.tasks[1].numa_scan_period), (7777, 7777));
    s.n.count_placement(Placement::Swap);
    assert_eq!(s.placed(Placement::Swap), 1);
}

#[test]
fn another_node_is_taken_if_the_preferred_one_is_full() {
    // Node 1 runs a pinned task; node 2 is idle.
    let build = |grouped: bool| {
        let tasks: [(usize, &[u64], Option<usize>); 2] = [(0, &[100, 700, 200], Some(1)), (1, &[0, 9, 0], Some(1))];
        let mut s = setup(direct(3, 1), "6.12", &tasks);
        if grouped {
            s = s.group(0);
            s.n.tasks[0].numa_preferred_nid = Some(1);
        }
        s.host.forbidden = vec![(1, 0)];
        let log = s.place();
        (log, s.n.tasks[0].numa_preferred_nid)
    };
    let (log, preferred) = build(false);
    assert_eq!((log, preferred), (vec!["move 0 2".to_string()], Some(1)), "ungrouped tasks keep their preference");
    let (log, preferred) = build(true);
    assert_eq!(preferred, Some(2), "grouped ones prefer what they found");
    assert_eq!(log, ["prefer 0 Some(1) Some(2)", "move 0 2"]);
}

#[test]
fn other_nodes_are_compared_at_the_distance_of_the_node_before() {
    // The source is node 0. Preferred node 2, in the other box, runs a pinned task. Node 1, in the same box, weighs
    // more than node 0 alone. But within distance 40, that of the node examined before, both are one box: no gain and
    // no swap.
    let tasks: [(usize, &[u64], Option<usize>); 4] =
        [(0, &[100, 300, 400, 0], Some(2)), (1, &[0; 4], None), (2, &[0; 4], None), (3, &[0; 4], None)];
    let mut s = setup(boxes(), "6.12", &tasks);
    s.host.forbidden = vec![(2, 0)];
    assert!(s.place().is_empty());
    assert_eq!(s.placed(Placement::Stick), 1);
    // The same two tasks swap if node 1 is examined at its own distance of 20: it weighs 375, node 0 125.
    let tasks: [(usize, &[u64], Option<usize>); 4] =
        [(0, &[100, 300, 400, 0], Some(1)), (1, &[0; 4], None), (2, &[0; 4], None), (3, &[0; 4], None)];
    assert_eq!(setup(boxes(), "6.12", &tasks).place(), ["swap 0 1"]);
}

#[test]
fn queued_tasks_count_in_the_statistics() {
    // One CPU is idle, but two tasks wait behind the other one: 3 ≥ 2 CPUs and a heavy load, so loads decide against
    // it.
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1)), (2, &[0, 9], Some(1))]);
    s.host.stats[2] = CpuStats { load: 3072, runnable: 3072, util: 2000, nr_running: 3, capacity: 1024 };
    assert!(s.place().is_empty());
}

#[test]
fn searches_do_not_hinder_each_other() {
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1))]);
    s.place();
    // The task moves back and forth: each search finds its CPU unclaimed.
    s.n.tasks[0].numa_preferred_nid = Some(0);
    s.n.tasks[0].numa_migrate_retry = 0;
    assert_eq!(s.place(), ["move 0 0"]);
    s.n.tasks[0].numa_preferred_nid = Some(1);
    s.n.tasks[0].numa_migrate_retry = 0;
    assert_eq!(s.place(), ["move 0 2"]);
}

#[test]
fn the_3_8_kernel_places_no_tasks() {
    let mut n = NumaBalancing::new(settings("3.8").resolve(1000).unwrap(), direct(2, 2));
    n.start(0, Some(0), 1000);
    set_faults(&mut n, 0, &[1, 9]);
    n.tasks[0].numa_preferred_nid = Some(1);
    let mut host = MockHost::new(4, 1);
    fault(
        &mut n,
        &mut host,
        FaultSite { task: 0, cpu: 0, now: 10_000 },
        &mut PageFacts::private_anon(0),
        MigrateResult::NotTried,
    );
    assert!(host.log.is_empty());
}

#[test]
fn ungrouped_tasks_consider_nodes_they_would_lose_on() {
    // Preferred node 1 is full of pinned tasks. Node 2 weighs less than the source but is idle, so it is taken with
    // importance 0.
    let mut s = setup(direct(3, 1), "6.12", &[(0, &[200, 700, 100], Some(1)), (1, &[0, 9, 0], Some(1))]);
    s.host.forbidden = vec![(1, 0)];
    assert_eq!(s.place(), ["move 0 2"]);
}

#[test]
fn spread_groups_look_at_other_nodes_even_if_the_preferred_one_has_room() {
    for (active_nodes, target) in [(1, 1), (2, 2)] {
        let mut s = setup(direct(3, 1), "6.12", &[(0, &[100, 500, 400], Some(1))]).group(0);
        let g = s.n.tasks[0].numa_group.unwrap();
        s.n.groups.get_mut(g).active_nodes = active_nodes;
        // An idle CPU replaces any earlier best choice, so the last node with one wins.
        assert_eq!(s.place().last().unwrap(), &format!("move 0 {target}"), "{active_nodes} active nodes");
        assert_eq!(s.n.tasks[0].numa_preferred_nid, Some(target));
    }
}

/// task_numa_migrate() before 4.19 remembers env.dst_nid, the node examined last, and only for groups that span nodes.
#[test]
fn before_4_19_spread_groups_prefer_the_node_examined_last() {
    let build = |release, active_nodes, max_faults_cpu| {
        // Node 1 has room. Node 2 weighs less and runs a pinned task that loses nothing by staying.
        let mut s = setup(direct(3, 1), release, &[(0, &[200, 700, 100], Some(1)), (2, &[0, 0, 9], Some(2))]).group(0);
        s.host.forbidden = vec![(1, 0)];
        let g = s.n.tasks[0].numa_group.unwrap();
        let group = s.n.groups.get_mut(g);
        (group.active_nodes, group.max_faults_cpu) = (active_nodes, max_faults_cpu);
        // The group has CPU faults on all nodes.
        group.faults[6..].fill(100);
        // Node 2 weighs more for the group, so it is examined.
        group.faults[4] = 900;
        assert_eq!(s.place().last().unwrap(), "move 0 1", "{release}");
        s.n.tasks[0].numa_preferred_nid
    };
    assert_eq!(build("4.18", 2, 100), Some(2), "examined after the CPU was found");
    assert_eq!(build("4.18", 2, 1000), Some(1), "not active there");
    assert_eq!(build("4.18", 1, 100), Some(1), "not spread");
    assert_eq!(build("4.19", 2, 100), Some(1));
}

#[test]
fn grouped_tasks_skip_nodes_on_which_both_lose() {
    let mut s = setup(direct(3, 1), "6.12", &[(0, &[200, 700, 100], Some(1)), (1, &[0, 9, 0], Some(1))]).group(0);
    s.host.forbidden = vec![(1, 0)];
    assert_eq!(s.place(), ["prefer 0 Some(1) Some(0)"], "node 2 is worse for task and group");
}

#[test]
fn a_swap_is_a_cross_node_move_for_both() {
    let mut s = two_busy("6.12", (&[900, 100], None));
    (s.n.tasks[0].numa_scan_period, s.n.tasks[1].numa_scan_period) = (7777, 7777);
    assert_eq!(s.place(), ["swap 0 1"]);
    // Both tasks are in their first pass, so both periods restart (250 at 1 GiB).
    assert_eq!((s.n.tasks[0].numa_scan_period, s.n.tasks[1].numa_scan_period), (250, 250));
}

/// task_numa_migrate() before 4.19: the period of the searching task restarts once a CPU is found, whether it moves or
/// not.
#[test]
fn before_4_19_only_the_searching_task_restarts_its_period() {
    let mut s = two_busy("4.18", (&[900, 100], None));
    (s.n.tasks[0].numa_scan_period, s.n.tasks[1].numa_scan_period) = (7777, 7777);
    assert_eq!(s.place(), ["swap 0 1"]);
    assert_eq!((s.n.tasks[0].numa_scan_period, s.n.tasks[1].numa_scan_period), (250, 7777));
    let mut s = two_busy("4.18", (&[900, 100], None));
    s.n.tasks[0].numa_scan_period = 7777;
    s.host.refuse_moves = true;
    assert!(s.place().is_empty());
    assert_eq!(s.n.tasks[0].numa_scan_period, 250);
}

/// A kernel that compares loads instead of counting tasks, as 5.7 does where no CPU is spare, and searches as 5.7. Two
/// nodes of two CPUs; task 0 is on CPU 0.
fn weighing(tasks: &[(usize, &[u64], Option<usize>)]) -> Setup {
    let mut s = setup(direct(2, 2), "4.20", tasks);
    s.n.cfg.switches.bias_by_preference = true;
    s
}

/// task_numa_compare() before 5.7: no preferences, no early end, moves by select_idle_sibling().
#[test]
fn before_5_7_preferences_do_not_bias_the_search() {
    // As in `a_partner_that_gets_home_is_not_given_up_...`, where task 1 is taken for its preference.
    let tasks: [(usize, &[u64], Option<usize>); 3] =
        [(0, &[100, 900], Some(1)), (2, &[550, 450], Some(0)), (3, &[900, 100], None)];
    let build = |release| {
        let mut s = setup(direct(2, 2), release, &tasks);
        s.host.stats[1] = CpuStats { load: 3072, runnable: 3072, util: 1024, nr_running: 3, capacity: 1024 };
        s.place()
    };
    assert_eq!(build("4.20"), ["swap 0 2"]);
    assert_eq!(build("5.7"), ["swap 0 1"]);
    // The search goes on after the task itself and after the first partner that gets to its preferred node.
    let tasks: [(usize, &[u64], Option<usize>); 4] =
        [(0, &[100, 900], Some(1)), (1, &[9, 0], None), (2, &[550, 450], Some(0)), (3, &[900, 100], Some(0))];
    assert_eq!(setup(direct(2, 2), "4.20", &tasks).place(), ["swap 0 3"]);
    // select_idle_sibling() finds the CPU of a move, not the search for the node's idle cores.
    let mut s = setup(direct(2, 4), "4.20", &[(0, &[100, 900], Some(1))]);
    s.host.idle_sibling = Some(5);
    assert_eq!(s.place(), ["move 0 5"]);
}

#[test]
fn an_idle_cpu_is_taken_without_any_gain() {
    assert_eq!(weighing(&[(0, &[500, 500], Some(1))]).place(), ["move 0 2"], "importance 0 ≥ 0");
}

#[test]
fn a_move_to_an_idle_cpu_ends_the_search() {
    // Node 0 runs two tasks. Node 1 runs one, with which a swap would gain more than the move.
    let mut s = weighing(&[(0, &[100, 900], Some(1)), (1, &[9, 0], None), (3, &[900, 100], Some(0))]);
    assert_eq!(s.place(), ["move 0 2"]);
}

#[test]
fn a_move_beats_a_swap_with_a_task_that_would_lose() {
    // Node 1 has one CPU, busy with a task that prefers node 1. Loads (4096 against 1024) call for a move.
    let parts = [2, 1].map(|cpus| numalab_kernel::numa::topology::NodeParts { cpus, memory: true, tier: 0 });
    let topo = NumaTopology::from_parts(&parts, &[10, 20, 20, 10]).unwrap();
    let mut s = setup(topo, "4.20", &[(0, &[100, 900], Some(1)), (2, &[100, 900], Some(1))]);
    s.host.stats[1] = CpuStats { load: 3072, runnable: 3072, util: 1024, nr_running: 3, capacity: 1024 };
    assert_eq!(s.place(), ["move 0 2"], "behind the running task");
}

#[test]
fn a_partner_that_gets_home_is_not_given_up_for_a_larger_gain() {
    // Loads (4096 against 2048) allow a move, so the search goes on after the first candidate for a swap.
    let tasks: [(usize, &[u64], Option<usize>); 3] =
        [(0, &[100, 900], Some(1)), (2, &[550, 450], Some(0)), (3, &[900, 100], None)];
    let mut s = weighing(&tasks);
    s.host.stats[1] = CpuStats { load: 3072, runnable: 3072, util: 1024, nr_running: 3, capacity: 1024 };
    // Importances: 800 + 100 and an eighth = 1012 for task 1, which prefers node 0; 800 + 800 for task 2.
    assert_eq!(s.place(), ["swap 0 1"]);
}

#[test]
fn the_search_ends_at_the_first_partner_that_gets_home() {
    // No moves, since all CPUs are equally busy. Both candidates prefer node 0; the second has the larger gain.
    let tasks: [(usize, &[u64], Option<usize>); 4] =
        [(0, &[100, 900], Some(1)), (1, &[9, 0], None), (2, &[550, 450], Some(0)), (3, &[900, 100], Some(0))];
    assert_eq!(setup(direct(2, 2), "6.12", &tasks).place(), ["swap 0 2"]);
}

#[test]
fn swaps_inside_a_group_need_a_sixteenth_more() {
    // A gain of 30 is enough for ungrouped tasks. 30 − 1 is not enough for members of one group.
    let tasks: [(usize, &[u64], Option<usize>); 2] = [(0, &[485, 515], Some(1)), (1, &[0, 0], None)];
    assert_eq!(setup(direct(2, 1), "6.12", &tasks).place(), ["swap 0 1"]);
    let mut s = setup(direct(2, 1), "6.12", &tasks).group(0);
    s.n.tasks[1].numa_group = s.n.tasks[0].numa_group;
    assert!(s.place().iter().all(|line| !line.starts_with("swap")));
}

#[test]
fn members_of_different_groups_are_compared_by_group() {
    // As tasks both would gain, but the other task's group should stay where it is.
    let tasks: [(usize, &[u64], Option<usize>); 2] = [(0, &[100, 900], Some(1)), (1, &[900, 100], None)];
    let build = |group_faults: [u64; 8]| {
        let mut s = setup(direct(2, 1), "6.12", &tasks).group(0).group(1);
        let g = s.n.tasks[1].numa_group.unwrap();
        let group = s.n.groups.get_mut(g);
        group.faults = group_faults.to_vec();
        group.total_faults = 1000;
        s.place()
    };
    assert_eq!(build([0, 900, 0, 100, 0, 0, 0, 0]), ["swap 0 1"]);
    let log = build([0, 100, 0, 900, 0, 0, 0, 0]);
    assert!(log.iter().all(|line| !line.starts_with("swap")), "800 − 800: {log:?}");
}

#[test]
fn a_better_choice_leaves_nothing_claimed() {
    let tasks: [(usize, &[u64], Option<usize>); 4] =
        [(0, &[100, 900], Some(1)), (1, &[9, 0], None), (2, &[900, 100], None), (3, &[550, 450], Some(0))];
    let mut s = setup(direct(2, 2), "6.12", &tasks);
    assert_eq!(s.place(), ["swap 0 3"], "CPU 2 was claimed first, then CPU 3");
    // All tasks are back, and only the task on CPU 2 is worth a swap.
    s.host.run(0, 0);
    s.host.run(3, 3);
    set_faults(&mut s.n, 3, &[0, 9]);
    s.n.tasks[3].numa_preferred_nid = None;
    s.n.tasks[0].numa_migrate_retry = 0;
    assert_eq!(s.place(), ["swap 0 2"]);
}

#[test]
fn an_exiting_task_counts_as_none() {
    let mut s = weighing(&[(0, &[500, 500], Some(1)), (2, &[500, 500], None), (3, &[500, 500], None)]);
    s.host.stats[2] = CpuStats { capacity: 1024, ..CpuStats::default() };
    s.host.stats[3] = s.host.stats[2];
    s.n.exit(1);
    assert_eq!(s.place(), ["move 0 2"], "CPU 2 still runs it, but there is no task to swap with");
}

#[test]
fn a_member_of_the_own_group_is_passed_over_not_the_end() {
    // Node 1 has spare CPUs that task 0 may not use. CPU 4 runs a member of its group, CPU 5 a task to swap with.
    let tasks: [(usize, &[u64], Option<usize>); 3] =
        [(0, &[100, 900], Some(1)), (4, &[900, 100], Some(0)), (5, &[900, 100], Some(0))];
    let mut s = setup(direct(2, 4), "6.12", &tasks).group(0);
    s.n.tasks[1].numa_group = s.n.tasks[0].numa_group;
    s.host.forbidden = vec![(0, 6), (0, 7)];
    assert_eq!(s.place(), ["swap 0 2"]);
}

#[test]
fn a_swap_as_good_as_a_move_is_a_swap() {
    // As in `a_move_beats_a_swap_...`, but the other task has nothing to lose.
    let parts = [2, 1].map(|cpus| numalab_kernel::numa::topology::NodeParts { cpus, memory: true, tier: 0 });
    let topo = NumaTopology::from_parts(&parts, &[10, 20, 20, 10]).unwrap();
    let mut s = setup(topo, "4.20", &[(0, &[100, 900], Some(1)), (2, &[0, 0], None)]);
    s.host.stats[1] = CpuStats { load: 3072, runnable: 3072, util: 1024, nr_running: 3, capacity: 1024 };
    assert_eq!(s.place(), ["swap 0 1"]);
}

#[test]
fn an_idle_best_cpu_is_kept_over_a_busy_one() {
    // Preferred node 1 has an idle CPU (2). Node 2 is busy with a task that prefers node 2, but loads would allow a
    // move. Its busy CPU does not replace the idle one.
    let parts = [2, 1, 1].map(|cpus| numalab_kernel::numa::topology::NodeParts { cpus, memory: true, tier: 0 });
    let topo = NumaTopology::from_parts(&parts, &[10, 20, 20, 20, 10, 20, 20, 20, 10]).unwrap();
    let mut s = setup(topo, "6.12", &[(0, &[100, 500, 400], Some(1)), (3, &[0, 0, 9], Some(2))]).group(0);
    let g = s.n.tasks[0].numa_group.unwrap();
    s.n.groups.get_mut(g).active_nodes = 2;
    s.host.stats[1] = CpuStats { load: 3072, runnable: 3072, util: 1024, nr_running: 1, capacity: 1024 };
    s.host.domain = Some(NumaDomain { imbalance_pct: 117, imb_numa_nr: 8 });
    assert_eq!(s.place(), ["move 0 2"]);
}

/// task_numa_placement() before 4.19 ends with numa_migrate_preferred(), whatever the retry time.
#[test]
fn before_4_19_a_placement_starts_the_move_itself() {
    for (release, log) in [("4.18", vec!["prefer 0 None Some(1)", "move 0 2"]), ("4.19", vec![])] {
        let mut s = setup(direct(2, 2), release, &[(0, &[100, 900], None)]);
        s.n.tasks[0].numa_migrate_retry = 1 << 40;
        s.n.mms[0].numa_scan_seq = 1;
        assert_eq!(s.place(), log, "{release}");
    }
    // A placement is due in both. 4.18 adapts the period before the search restarts it, 4.19 after.
    let mut s = setup(direct(2, 2), "4.18", &[(0, &[100, 900], Some(1))]);
    s.n.mms[0].numa_scan_seq = 1;
    s.n.tasks[0].numa_scan_period = 1000;
    assert_eq!(s.place().last().unwrap(), "move 0 2");
    // No local or shared fault doubles the period. Then it restarts at the 250 ms of 1 GiB, and the retry time is that
    // of now.
    assert_eq!((s.n.tasks[0].numa_scan_period, s.n.tasks[0].numa_migrate_retry), (250, 10_125));
}

#[test]
fn without_task_migration_tasks_stay() {
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1))]);
    s.n.cfg.moves_tasks = false;
    assert!(s.place().is_empty());
    assert!(s.n.tasks[0].numa_migrate_retry > 0, "the pace is kept");
}
