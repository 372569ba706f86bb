//! §11.2, §13: placement of statistics and groups; D1 to D3, D6 to D10.

use super::faults::{at, fault};
use super::mock::{config, direct, mib_pages, settings, system, MockHost};
use numalab_kernel::numa::group::NumaGroup;
use numalab_kernel::numa::init_numa_balancing::CloneKind;
use numalab_kernel::numa::state::{fault_index, CPU, CPUBUF, MEM, MEMBUF, PRIVATE, SHARED};
use numalab_kernel::numa::{
    fault::{cpu_share, decay_cpu, decay_mem},
    rules::FaultStats,
};
use numalab_kernel::numa::{FaultSite, LastCpupid, MigrateResult, NumaBalancing, PageFacts};

/// Places task 0: ends a pass and takes one local fault on node 0, which is recorded after the placement.
fn place(n: &mut NumaBalancing, host: &mut MockHost) {
    n.mms[0].numa_scan_seq += 1;
    let mut page = PageFacts::private_anon(0);
    fault(n, host, FaultSite { now: 100_000, ..at(0) }, &mut page, MigrateResult::NotTried);
}

#[test]
fn d1_memory_averages_decay_by_half_rounded_up() {
    for (average, recorded, expected) in [(100, 40, 90), (1, 0, 1), (7, 0, 4), (0, 5, 5)] {
        assert_eq!(decay_mem(FaultStats::V315, average, recorded), expected, "D1 {average}");
        let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
        n.tasks[0].faults = vec![0; 16];
        n.tasks[0].faults[fault_index(MEM, 2, 1, PRIVATE)] = average;
        n.tasks[0].faults[fault_index(MEMBUF, 2, 1, PRIVATE)] = recorded;
        n.tasks[0].total_numa_faults = average;
        place(&mut n, &mut host);
        let t = &n.tasks[0];
        assert_eq!(t.faults[fault_index(MEM, 2, 1, PRIVATE)], expected, "D1 {average} in the array");
        assert_eq!(t.total_numa_faults, expected, "D1 {average}: total follows");
        assert_eq!(t.faults[fault_index(MEMBUF, 2, 1, PRIVATE)], 0);
    }
    assert_eq!(decay_mem(FaultStats::V313, 7, 0), 3, "3.13 rounds down");
    assert_eq!(decay_mem(FaultStats::V313, 1, 0), 0);
}

#[test]
fn d2_cpu_averages_by_share_of_cpu_time() {
    assert_eq!(cpu_share(500_000_000, 1_000_000_000), 32_767, "D2 fw");
    assert_eq!(decay_cpu(0, 512, 32_767, 999), 16_776, "D2");
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let t = &mut n.tasks[0];
    t.faults = vec![0; 16];
    t.faults[fault_index(CPUBUF, 2, 1, PRIVATE)] = 512;
    t.numa_faults_locality = [999, 0, 0];
    t.last_task_numa_placement = 7_000_000_000;
    t.last_sum_exec_runtime = 2_000_000_000;
    host.clock_ns = 8_000_000_000;
    host.runtime_ns[0] = 2_500_000_000;
    place(&mut n, &mut host);
    let t = &n.tasks[0];
    assert_eq!(t.faults[fault_index(CPU, 2, 1, PRIVATE)], 16_776, "D2 in the array");
    assert_eq!((t.last_task_numa_placement, t.last_sum_exec_runtime), (8_000_000_000, 2_500_000_000));
}

#[test]
fn d3_first_placement_uses_the_load_sum() {
    assert_eq!(cpu_share(47_742, 47_742), 65_534, "D3 fw");
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    n.tasks[0].faults = vec![0; 16];
    n.tasks[0].faults[fault_index(CPUBUF, 2, 0, SHARED)] = 512;
    n.tasks[0].numa_faults_locality = [0, 999, 0];
    place(&mut n, &mut host);
    assert_eq!(n.tasks[0].faults[fault_index(CPU, 2, 0, SHARED)], 33_553, "D3");
}

#[test]
fn cpu_averages_arrive_with_3_15() {
    for (release, expected) in [("3.13", 0), ("3.15", 33_553)] {
        let (mut n, mut host) = (system(release, 1000), MockHost::new(4, 1));
        n.tasks[0].faults = vec![0; 16];
        n.tasks[0].faults[fault_index(CPUBUF, 2, 0, SHARED)] = 512;
        n.tasks[0].numa_faults_locality = [0, 999, 0];
        place(&mut n, &mut host);
        assert_eq!(n.tasks[0].faults[fault_index(CPU, 2, 0, SHARED)], expected, "{release}");
    }
}

#[test]
fn d6_active_nodes() {
    let topo = direct(3, 1);
    let mut g = NumaGroup { faults: vec![0; 12], ..NumaGroup::default() };
    for (node, faults) in [(0, 900), (1, 301), (2, 300)] {
        g.faults[fault_index(CPU, 3, node, SHARED)] = faults;
    }
    g.numa_group_count_active_nodes(&topo);
    assert_eq!((g.active_nodes, g.max_faults_cpu), (2, 900), "D6");
    assert!(g.is_active(3, 1) && !g.is_active(3, 2), "D6");
    g.faults = vec![0; 12];
    g.numa_group_count_active_nodes(&topo);
    assert_eq!(g.active_nodes, 0, "no CPU faults, no active node");
}

#[test]
fn d7_first_recorded_fault_after_the_pass_changed() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 2));
    n.fork(0, 1, CloneKind::Thread, 1001, 10, mib_pages(1024));
    n.mms[0].numa_scan_seq = 1;
    let site = FaultSite { task: 1, cpu: 0, now: 5000 };
    fault(&mut n, &mut host, site, &mut PageFacts::private_anon(0), MigrateResult::NotTried);
    let t = &n.tasks[1];
    assert_eq!(t.numa_scan_period, 2000, "D7: doubled by an empty placement");
    assert_eq!(n.mms[0].numa_next_scan, 7000, "D7: the mm is postponed");
    assert_eq!(t.numa_preferred_nid, None, "D7");
    assert_eq!(n.buffered(1, 0, PRIVATE), (1, 1), "D7: then recorded");
    assert_eq!(t.total_numa_faults, 0);
}

#[test]
fn an_empty_placement_keeps_an_inherited_preferred_node() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 2));
    n.tasks[0].numa_preferred_nid = Some(1);
    n.fork(0, 1, CloneKind::Thread, 1001, 10, mib_pages(1024));
    n.mms[0].numa_scan_seq = 1;
    host.refuse_moves = true;
    let site = FaultSite { task: 1, cpu: 0, now: 5000 };
    fault(&mut n, &mut host, site, &mut PageFacts::private_anon(0), MigrateResult::NotTried);
    assert_eq!(n.tasks[1].numa_preferred_nid, Some(1));
    assert!(n.tasks[1].numa_migrate_retry > 0, "and tries to go there at once");
}

#[test]
fn an_empty_placement_leaves_a_group_without_active_nodes() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    n.mms[0].numa_scan_seq = 1;
    let mut page = PageFacts { last: LastCpupid::new(2, 77), ..PageFacts::private_anon(0) };
    fault(&mut n, &mut host, FaultSite { now: 5000, ..at(0) }, &mut page, MigrateResult::NotTried);
    let g = n.groups.get(n.tasks[0].numa_group.unwrap());
    assert_eq!((g.active_nodes, g.max_faults_cpu), (0, 0), "1 at creation, recounted by the placement");
}

#[test]
fn a_group_follows_its_members_cpu_averages() {
    let (mut n, mut host) = crowd(16, &[]);
    let g = unite(&mut n, &mut host, &[0, 1]);
    n.tasks[0].faults[fault_index(CPUBUF, 2, 1, PRIVATE)] = 512;
    n.tasks[0].numa_faults_locality = [999, 0, 0];
    n.tasks[0].faults[fault_index(CPUBUF, 2, 0, SHARED)] = 0;
    n.tasks[0].faults[fault_index(CPU, 2, 1, PRIVATE)] = 101;
    n.groups.get_mut(g).faults[fault_index(CPU, 2, 1, PRIVATE)] = 1101;
    host.domain = None;
    place(&mut n, &mut host);
    let group = n.groups.get(g);
    // D3's 33553 and half of 101, rounded up. The group had 1000 from other tasks.
    assert_eq!(n.tasks[0].faults[fault_index(CPU, 2, 1, PRIVATE)], 33_604);
    assert_eq!(group.faults[fault_index(CPU, 2, 1, PRIVATE)], 34_604);
    assert_eq!((group.active_nodes, group.max_faults_cpu), (1, 34_604));
}

#[test]
fn a_clock_that_went_back_counts_as_no_time() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let t = &mut n.tasks[0];
    t.faults = vec![0; 16];
    t.faults[fault_index(CPUBUF, 2, 1, PRIVATE)] = 100;
    t.numa_faults_locality = [99, 0, 0];
    t.last_task_numa_placement = 8_000_000_000;
    host.clock_ns = 7_000_000_000;
    host.runtime_ns[0] = 3;
    place(&mut n, &mut host);
    assert_eq!(n.tasks[0].faults[fault_index(CPU, 2, 1, PRIVATE)], 3 << 16);
}

#[test]
fn memory_without_cpus_is_served_from_the_nearest_node() {
    use numalab_kernel::numa::topology::NodeParts;
    use numalab_kernel::numa::NumaTopology;
    let cpu = NodeParts { cpus: 1, memory: true, tier: 0 };
    let memory = NodeParts { cpus: 0, memory: true, tier: 0 };
    let topo = NumaTopology::from_parts(&[cpu.clone(), cpu, memory], &[10, 20, 30, 20, 10, 20, 30, 20, 10]).unwrap();
    let mut n = NumaBalancing::new(config("6.12", 1000), topo);
    n.start(0, Some(0), 1000);
    n.tasks[0].faults = vec![0; 24];
    n.tasks[0].faults[fault_index(MEMBUF, 3, 2, PRIVATE)] = 10;
    let mut host = MockHost::new(2, 1);
    place(&mut n, &mut host);
    assert_eq!(n.tasks[0].numa_preferred_nid, Some(1));
}

#[test]
fn a_first_fault_in_the_pass_of_creation_places_nothing() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    fault(&mut n, &mut host, at(0), &mut PageFacts::private_anon(0), MigrateResult::NotTried);
    assert_eq!((n.tasks[0].numa_scan_period, n.tasks[0].last_task_numa_placement), (1000, 0));
}

/// Tasks 0..count, each running on its own CPU of two nodes. All are in mm 0, except `others`, which have their own
/// mms.
fn crowd(count: u32, others: &[u32]) -> (NumaBalancing, MockHost) {
    let mut n = NumaBalancing::new(config("6.12", 1000), direct(2, 8));
    let mut host = MockHost::new(16, count as usize);
    for id in 0..count {
        let mm = if others.contains(&id) { 50 + id } else { 0 };
        n.start(id, Some(mm), 1000 + id);
        host.run(id, id as usize);
    }
    (n, host)
}

/// `task` faults on a page whose last fault was that of `other`, both where they run. Returns whether the fault counted
/// as private.
fn meet(n: &mut NumaBalancing, host: &mut MockHost, task: u32, other: u32, page: PageFacts) -> bool {
    let cpu = |t: u32| host.cpu[t as usize];
    let (here, there) = (cpu(task), cpu(other));
    let pid = n.tasks[other as usize].pid;
    let mut page = PageFacts { last: LastCpupid::new(there, pid), ..page };
    let before = n.buffered(task, 0, PRIVATE).1 + n.buffered(task, 1, PRIVATE).1;
    fault(n, host, FaultSite { task, cpu: here, now: 1000 }, &mut page, MigrateResult::NotTried);
    n.buffered(task, 0, PRIVATE).1 + n.buffered(task, 1, PRIVATE).1 > before
}

/// Makes one group of tasks: the first faults on pages of the second until it joins, and the others follow.
fn unite(n: &mut NumaBalancing, host: &mut MockHost, tasks: &[u32]) -> u32 {
    let page = PageFacts::private_anon(0);
    if tasks.len() == 1 {
        meet(n, host, tasks[0], 15, page);
        return n.tasks[tasks[0] as usize].numa_group.unwrap();
    }
    meet(n, host, tasks[0], tasks[1], page);
    meet(n, host, tasks[1], tasks[0], page);
    meet(n, host, tasks[0], tasks[1], page);
    for &t in &tasks[2..] {
        meet(n, host, t, tasks[1], page);
    }
    let g = n.tasks[tasks[0] as usize].numa_group.unwrap();
    assert!(tasks.iter().all(|&t| n.tasks[t as usize].numa_group == Some(g)));
    assert_eq!(n.groups.get(g).nr_tasks as usize, tasks.len());
    g
}

#[test]
fn d8_the_smaller_group_joins() {
    let (mut n, mut host) = crowd(16, &[]);
    let theirs = unite(&mut n, &mut host, &[1, 2, 3]);
    let mine = unite(&mut n, &mut host, &[0]);
    assert_eq!(n.groups.get(mine).nr_tasks, 1);
    // Sets averages in the tasks and the same amounts in the groups' sums.
    for (task, g, first) in [(0, mine, 100), (1, theirs, 1000)] {
        let faults: Vec<u64> = (first..first + 8).collect();
        n.tasks[task].faults[..8].copy_from_slice(&faults);
        n.tasks[task].total_numa_faults = first;
        n.groups.get_mut(g).faults = faults;
        n.groups.get_mut(g).total_faults = first;
    }
    let buffers = n.tasks[0].faults[8..].to_vec();
    let live = n.groups.live();
    let private = meet(&mut n, &mut host, 0, 1, PageFacts::private_anon(0));
    assert!(!private, "D8: priv stays 0");
    assert_eq!(n.tasks[0].numa_group, Some(theirs), "D8");
    let g = n.groups.get(theirs);
    assert_eq!((g.nr_tasks, n.groups.live()), (4, live - 1), "D8: sizes 4 and 0 (freed)");
    assert_eq!(g.faults, (0..8).map(|i| 1100 + 2 * i).collect::<Vec<u64>>(), "D8: MEM and CPU added");
    assert_eq!(g.total_faults, 1100, "D8");
    assert_eq!(n.tasks[0].faults[..8], (100..108).collect::<Vec<u64>>()[..], "the task keeps its own averages");
    let changed = n.tasks[0].faults[8..].iter().zip(&buffers).filter(|(a, b)| a != b).count();
    assert_eq!(changed, 2, "D8: buffers untouched but for this fault's own page");
}

#[test]
fn d9_a_larger_group_does_not_join_a_smaller() {
    let (mut n, mut host) = crowd(16, &[]);
    let theirs = unite(&mut n, &mut host, &[4, 5, 6]);
    let mine = unite(&mut n, &mut host, &[0, 1, 2, 3]);
    assert!(!meet(&mut n, &mut host, 0, 4, PageFacts::private_anon(0)), "D9: priv 0");
    assert_eq!(n.tasks[0].numa_group, Some(mine), "D9");
    meet(&mut n, &mut host, 4, 0, PageFacts::private_anon(0));
    assert_eq!(n.tasks[4].numa_group, Some(mine), "D9: the other side joins on its own fault");
    assert_eq!(n.groups.get(theirs).nr_tasks, 2, "only the faulting task moves");
}

#[test]
fn d10_a_task_of_another_process_makes_the_fault_private() {
    let (mut n, mut host) = crowd(16, &[0]);
    let theirs = unite(&mut n, &mut host, &[1, 2, 3]);
    let private = meet(&mut n, &mut host, 0, 1, PageFacts::private_anon(0));
    assert!(private, "D10: priv 1");
    assert!(n.tasks[0].numa_group.is_some_and(|g| g != theirs), "D10: no join, but a group of its own was created");
    // If the page is mapped shared in a shared VMA, the groups of two processes join.
    let shared = PageFacts { shared_mapping: true, mapcount: 2, ..PageFacts::private_anon(0) };
    assert!(!meet(&mut n, &mut host, 0, 1, shared));
    assert_eq!(n.tasks[0].numa_group, Some(theirs));
}

#[test]
fn faults_count_as_shared_where_the_size_rules_forbid_a_join() {
    let (mut n, mut host) = crowd(16, &[4]);
    unite(&mut n, &mut host, &[0, 1, 2]);
    unite(&mut n, &mut host, &[4]);
    assert!(!meet(&mut n, &mut host, 0, 4, PageFacts::private_anon(0)), "three members against one: priv stays 0");
}

#[test]
fn on_a_tie_the_older_group_joins_the_younger_only() {
    let (mut n, mut host) = crowd(16, &[]);
    let first = unite(&mut n, &mut host, &[0]);
    let second = unite(&mut n, &mut host, &[1]);
    meet(&mut n, &mut host, 1, 0, PageFacts::private_anon(0));
    assert_eq!(n.tasks[1].numa_group, Some(second), "younger does not join older");
    meet(&mut n, &mut host, 0, 1, PageFacts::private_anon(0));
    assert_eq!(n.tasks[0].numa_group, Some(second));
    assert_ne!(first, second);
}

#[test]
fn no_group_is_joined_if_the_cpu_runs_another_task() {
    let (mut n, mut host) = crowd(16, &[]);
    unite(&mut n, &mut host, &[1, 2, 3]);
    // Task 9 is in a large group, but its pid is not the recorded one.
    unite(&mut n, &mut host, &[9, 10, 11]);
    host.running[1] = Some(9);
    assert!(!meet(&mut n, &mut host, 0, 1, PageFacts::private_anon(0)));
    assert_eq!(n.groups.get(n.tasks[0].numa_group.unwrap()).nr_tasks, 1, "created, not joined");
    assert_eq!(n.groups.get(n.tasks[0].numa_group.unwrap()).gid, 1000);
    host.running[1] = None;
    meet(&mut n, &mut host, 0, 1, PageFacts::private_anon(0));
    assert_eq!(n.groups.get(n.tasks[0].numa_group.unwrap()).nr_tasks, 1);
}

#[test]
fn read_only_entries_form_no_group() {
    let (mut n, mut host) = crowd(16, &[]);
    let page = PageFacts { writable: false, ..PageFacts::private_anon(0) };
    assert!(!meet(&mut n, &mut host, 0, 1, page), "still a shared fault");
    assert!(n.tasks[0].numa_group.is_none());
}

#[test]
fn exec_and_exit_leave_the_group() {
    let (mut n, mut host) = crowd(16, &[]);
    let g = unite(&mut n, &mut host, &[0, 1, 2]);
    for task in 0..3 {
        n.tasks[task].faults[..8].copy_from_slice(&[task as u64 + 1; 8]);
        n.tasks[task].total_numa_faults = 10 * (task as u64 + 1);
    }
    n.groups.get_mut(g).faults = vec![6; 8];
    n.groups.get_mut(g).total_faults = 60;
    n.exec(0, 20);
    assert_eq!((n.groups.get(g).nr_tasks, n.groups.get(g).total_faults), (2, 50));
    assert_eq!(n.groups.get(g).faults, [5; 8]);
    n.exit(1);
    assert_eq!((n.groups.get(g).nr_tasks, n.groups.get(g).total_faults), (1, 30));
    assert!(n.tasks[1].faults.is_empty());
    let live = n.groups.live();
    n.exit(2);
    assert_eq!(n.groups.live(), live - 1);
}

#[test]
fn placement_elects_the_first_node_with_most_faults() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    n.tasks[0].faults = vec![0; 16];
    n.tasks[0].faults[fault_index(MEMBUF, 2, 0, PRIVATE)] = 50;
    n.tasks[0].faults[fault_index(MEMBUF, 2, 1, SHARED)] = 30;
    n.tasks[0].faults[fault_index(MEMBUF, 2, 1, PRIVATE)] = 20;
    n.tasks[0].numa_faults_locality = [50, 50, 0];
    host.cpu[0] = 0;
    place(&mut n, &mut host);
    assert_eq!(n.tasks[0].numa_preferred_nid, Some(0), "a tie goes to the lowest node");
    assert_eq!(host.log, ["prefer 0 None Some(0)"]);
    // ps = ⌊10·70/100⌋ = 7: one slot of 100 up.
    assert_eq!(n.tasks[0].numa_scan_period, 1100);
    assert_eq!(n.tasks[0].numa_faults_locality, [0, 1, 0], "zeroed, then this fault");
}

#[test]
fn a_grouped_task_follows_its_group() {
    let (mut n, mut host) = crowd(16, &[]);
    let g = unite(&mut n, &mut host, &[0, 1]);
    n.tasks[0].faults[fault_index(MEMBUF, 2, 0, PRIVATE)] = 100;
    n.groups.get_mut(g).faults[fault_index(MEM, 2, 1, SHARED)] = 500;
    n.groups.get_mut(g).total_faults = 500;
    host.domain = None;
    n.mms[0].numa_scan_seq += 1;
    fault(
        &mut n,
        &mut host,
        FaultSite { now: 100_000, ..at(0) },
        &mut PageFacts::private_anon(0),
        MigrateResult::NotTried,
    );
    assert!(host.log.contains(&"prefer 0 None Some(1)".to_string()), "{:?}", host.log);
    assert_eq!(n.groups.get(g).faults[fault_index(MEM, 2, 0, PRIVATE)], 100, "the group gets the task's new pages");
    assert!(n.groups.get(g).total_faults >= 600);
}

#[test]
fn one_failure_doubles_every_later_period_in_every_release() {
    for (release, later) in [("6.1", 4000), ("6.12", 2000), ("7.2", 2000), ("6.12+locality-reset", 1300)] {
        let (mut n, mut host) = (system(release, 1000), MockHost::new(4, 1));
        n.tasks[0].faults = vec![0; 16];
        n.tasks[0].numa_faults_locality = [0, 100, 1];
        n.tasks[0].faults[fault_index(MEMBUF, 2, 0, PRIVATE)] = 100;
        place(&mut n, &mut host);
        assert_eq!(n.tasks[0].numa_scan_period, 2000, "{release}");
        n.tasks[0].numa_scan_period = if release == "6.1" { 2000 } else { 1000 };
        n.tasks[0].numa_migrate_retry = 0;
        place(&mut n, &mut host);
        // With the fix, one local private page since the last placement adds 3 slots of 100.
        assert_eq!(n.tasks[0].numa_scan_period, later, "{release}");
    }
}

#[test]
fn placement_is_paced_by_the_retry_time_since_4_19() {
    for (release, placed) in [("4.15", true), ("4.19", false), ("6.12", false)] {
        let (mut n, mut host) = (system(release, 1000), MockHost::new(4, 1));
        n.tasks[0].numa_migrate_retry = 1 << 40;
        place(&mut n, &mut host);
        assert_eq!(n.tasks[0].numa_scan_seq == 1, placed, "{release}");
    }
}

#[test]
fn group_members_scale_the_period() {
    let (mut n, mut host) = crowd(16, &[]);
    let g = unite(&mut n, &mut host, &[0, 1, 2, 3]);
    n.groups.get_mut(g).faults = vec![0, 0, 500, 0, 0, 0, 0, 0];
    assert_eq!(n.task_scan_start(0, mib_pages(1024)), 1000, "250·4·501/501");
    assert_eq!(n.task_scan_max(0, mib_pages(1024)), 60_000);
    n.cfg = settings("3.17").resolve(1000).unwrap();
    assert_eq!(n.task_scan_start(0, mib_pages(1024)), 250);
}

#[test]
fn a_reused_slot_leaves_group_and_mm_first() {
    let (mut n, mut host) = crowd(16, &[]);
    let g = unite(&mut n, &mut host, &[0, 1, 2]);
    n.mms[0].users = 3;
    n.fork(1, 0, CloneKind::Process(60), 2000, 5000, 0);
    assert_eq!((n.groups.get(g).nr_tasks, n.mms[0].users, n.mms[60].users), (2, 2, 1));
    assert!(n.tasks[0].faults.is_empty() && n.tasks[0].numa_group.is_none() && !n.tasks[0].exiting);
}

/// 3.13 to 3.16: if the task's busiest node is not its group's, the weights of both are added, in thousandths.
#[test]
fn before_3_17_a_tasks_own_faults_weigh_as_much_as_its_groups() {
    // The task's and the group's pages on nodes 0 and 1, after the decay of the pass; the preferred node before and
    // since 3.17.
    let rows = [
        ("own 90 %, group's 60 %", [900, 100], [4_000, 6_000], 0, 1),
        ("own 60 %, group's 90 %", [600, 400], [1_000, 9_000], 1, 1),
        ("both alike", [300, 700], [4_000, 6_000], 1, 1),
    ];
    for (what, own, group, before, since) in rows {
        for (release, expected) in [("3.13", before), ("3.15", before), ("3.17", since), ("4.15", since)] {
            let (mut n, mut host) = (system(release, 1000), MockHost::new(4, 1));
            let mut page = PageFacts { last: LastCpupid::new(2, 77), ..PageFacts::private_anon(0) };
            fault(&mut n, &mut host, at(0), &mut page, MigrateResult::NotTried);
            let id = n.tasks[0].numa_group.unwrap();
            n.groups.get_mut(id).faults = vec![0; 8];
            let t = &mut n.tasks[0];
            t.faults = vec![0; 16];
            t.total_numa_faults = 2 * (own[0] + own[1]);
            for node in 0..2 {
                // The pass halves the task's faults, in its own array and in the group's.
                t.faults[fault_index(MEM, 2, node, PRIVATE)] = 2 * own[node];
                n.groups.get_mut(id).faults[fault_index(MEM, 2, node, PRIVATE)] = group[node] + own[node];
            }
            n.groups.get_mut(id).total_faults = 10_000 + own[0] + own[1];
            place(&mut n, &mut host);
            assert_eq!(n.tasks[0].numa_preferred_nid, Some(expected), "{what}, {release}");
        }
    }
}
