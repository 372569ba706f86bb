//! §14.1 to §14.4: moves and swaps; I4 to I8.

use super::faults::fault;
use super::mock::{config, direct, settings, MockHost};
use super::topology::{boxes, set_faults};
use numalab_kernel::numa::counters::Placement;
use numalab_kernel::numa::host::{CpuStats, NumaDomain};
use numalab_kernel::numa::placement::compare::{biased, swap_matters};
use numalab_kernel::numa::placement::node_stats::{too_imbalanced, NodeStats, NodeType};
use numalab_kernel::numa::placement::placement_imbalance_pct;
use numalab_kernel::numa::{FaultSite, LastCpupid, MigrateResult, NumaBalancing, NumaTopology, PageFacts};

#[test]
fn i4_imbalance_percentage_of_placement() {
    assert_eq!(placement_imbalance_pct(117), 108, "I4");
    assert_eq!(placement_imbalance_pct(125), 112);
}

#[test]
fn i5_node_types() {
    let class = |nr_running, util, runnable| {
        NodeStats { nr_running, util, runnable, capacity: 4096, weight: 4, ..NodeStats::default() }.classify(112)
    };
    assert_eq!(class(4, 4000, 4000), NodeType::FullyBusy, "I5");
    assert_eq!(class(3, 1_000_000, 1_000_000), NodeType::HasSpare, "I5: any load");
    assert_eq!(class(5, 3700, 3700), NodeType::Overloaded, "I5");
    assert_eq!(class(5, 3000, 3000), NodeType::HasSpare, "I5");
}

fn loaded(load: u64, capacity: u64) -> NodeStats {
    NodeStats { load, capacity, ..NodeStats::default() }
}

#[test]
fn i6_load_balance_of_a_move() {
    let stats = (&loaded(3000, 1024), &loaded(1000, 1024));
    assert!(!too_imbalanced(2500, 1500, stats), "I6: 1 024 000 ≤ 2 048 000");
    assert!(!too_imbalanced(1000, 3000, stats), "the same distance the other way round");
    assert!(too_imbalanced(999, 3001, stats));
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
}

struct Setup {
    n: NumaBalancing,
    host: MockHost,
}

/// Task 0 runs on CPU 0 and has these faults and preference; tasks 1.. follow with theirs on the given CPUs.
fn setup(topo: NumaTopology, release: &str, tasks: &[(usize, &[u64], Option<usize>)]) -> Setup {
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
    /// Task 0 tries its placement, by a local fault; the log of what happened.
    fn place(&mut self) -> Vec<String> {
        let cpu = self.host.cpu[0];
        let site = FaultSite { task: 0, cpu, now: 10_000 };
        let mut page = PageFacts::private_anon(self.n.topo.node_of(cpu));
        fault(&mut self.n, &mut self.host, site, &mut page, MigrateResult::NotTried);
        std::mem::take(&mut self.host.log)
    }
    fn placed(&self, what: Placement) -> u64 {
        self.n.reasons.placed[what as usize]
    }
    /// Puts task 0 in a group of its own.
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
    // The fault is recorded for the CPU on which it was taken, and the next try waits.
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

#[test]
fn without_a_numa_domain_the_task_settles_where_it_is() {
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1))]);
    s.host.domain = None;
    assert_eq!(s.place(), ["prefer 0 Some(1) Some(0)"]);
}

#[test]
fn an_imbalance_beyond_the_allowance_prevents_a_move() {
    // Nodes of four CPUs; two tasks on node 1 already, none else on node 0: 3 − 0 = 3 > 2.
    let others: [(usize, &[u64], Option<usize>); 3] =
        [(0, &[100, 900], Some(1)), (4, &[0, 9], Some(1)), (5, &[0, 9], Some(1))];
    let mut s = setup(direct(2, 4), "6.12", &others);
    assert!(s.place().is_empty(), "has spare, so ungrouped tasks are not swapped either");
    assert_eq!(s.placed(Placement::Stick), 1);
    // One task there: 2 − 0 = 2 is tolerated up to imb_numa_nr, not beyond.
    let mut s = setup(direct(2, 4), "6.12", &others[..2]);
    assert_eq!(s.place(), ["move 0 5"]);
    let mut s = setup(direct(2, 4), "6.12", &others[..2]);
    s.host.domain = Some(NumaDomain { imbalance_pct: 117, imb_numa_nr: 1 });
    assert!(s.place().is_empty());
}

#[test]
fn loads_decide_where_the_model_counts_nothing() {
    // Node 1 runs one task already, node 0 only task 0: the move would turn 1024/1024 into 0/2048.
    let tasks: [(usize, &[u64], Option<usize>); 2] = [(0, &[100, 900], Some(1)), (4, &[0, 9], Some(1))];
    let mut s = setup(direct(2, 4), "4.20", &tasks);
    assert!(s.place().is_empty());
    // An empty node may be moved to: |1024 − 0| is not worse than |0 − 1024|.
    let mut s = setup(direct(2, 4), "4.20", &tasks[..1]);
    assert_eq!(s.place(), ["move 0 4"]);
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
    // The other would lose as much as this one gains: importance 800 − 800.
    let mut s = two_busy("6.12", (&[100, 900], None));
    assert!(s.place().is_empty());
    // A task without faults has weight 0: only this one's gain counts.
    let mut s = two_busy("6.12", (&[0, 0], None));
    assert_eq!(s.place(), ["swap 0 1"]);
}

#[test]
fn small_gains_do_not_swap_since_4_19() {
    // Gain 20 thousandths.
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
    // Node 1: CPU 4 runs a task that wants node 0; CPUs 5.. are idle but forbidden to task 0.
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
    // Two swap candidates: the first has the larger gain, the second wants to go to the source.
    let tasks: [(usize, &[u64], Option<usize>); 3] =
        [(0, &[100, 900], Some(2)), (1, &[900, 100], None), (2, &[550, 450], Some(0))];
    let parts = [1, 2].map(|cpus| numalab_kernel::numa::topology::NodeParts { cpus, memory: true, tier: 0 });
    let topo = NumaTopology::from_parts(&parts, &[10, 20, 20, 10]).unwrap();
    let mut s = setup(topo, "6.12", &tasks);
    s.n.tasks[0].numa_preferred_nid = Some(1);
    assert_eq!(s.place(), ["swap 0 2"]);
}

#[test]
fn a_failed_move_is_a_stick_and_releases_its_claim() {
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1))]);
    s.host.refuse_moves = true;
    assert!(s.place().is_empty());
    assert_eq!((s.placed(Placement::Stick), s.placed(Placement::Move)), (1, 0));
    s.host.refuse_moves = false;
    s.n.tasks[0].numa_migrate_retry = 0;
    assert_eq!(s.place(), ["move 0 2"], "the CPU is free to be claimed again");
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
    // Source node 0; preferred node 2 (other box) runs a pinned task; node 1 (same box) is worth more than node 0 on
    // its own, but within the distance 40 of the node examined before both are one box: no gain, no swap.
    let tasks: [(usize, &[u64], Option<usize>); 4] =
        [(0, &[100, 300, 400, 0], Some(2)), (1, &[0; 4], None), (2, &[0; 4], None), (3, &[0; 4], None)];
    let mut s = setup(boxes(), "6.12", &tasks);
    s.host.forbidden = vec![(2, 0)];
    assert!(s.place().is_empty());
    assert_eq!(s.placed(Placement::Stick), 1);
    // The same two tasks swap where node 1 is examined at its own distance of 20: it is worth 375, node 0 125.
    let tasks: [(usize, &[u64], Option<usize>); 4] =
        [(0, &[100, 300, 400, 0], Some(1)), (1, &[0; 4], None), (2, &[0; 4], None), (3, &[0; 4], None)];
    assert_eq!(setup(boxes(), "6.12", &tasks).place(), ["swap 0 1"]);
}

#[test]
fn queued_tasks_count_in_the_statistics() {
    // One idle CPU, but two tasks queued behind the other: 3 ≥ 2 CPUs and heavy load, so loads decide against it.
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1)), (2, &[0, 9], Some(1))]);
    s.host.stats[2] = CpuStats { load: 3072, runnable: 3072, util: 2000, nr_running: 3, capacity: 1024 };
    assert!(s.place().is_empty());
}

#[test]
fn claims_are_released_after_every_search() {
    let mut s = setup(direct(2, 2), "6.12", &[(0, &[100, 900], Some(1))]);
    s.place();
    // Back and forth: each search finds its CPU unclaimed.
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
