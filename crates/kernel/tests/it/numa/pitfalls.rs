//! §18: for each pitfall a test that fails if the mistake is made.

use super::balance::imb_numa_nr;
use super::faults::{at, fault, DEFAULT};
use super::mock::{
    config, direct, mib_pages, settings, system, Content, MockHost, MockMemory, MockPage, MockSpace, MockVma, GIB, MIB,
};
use super::scan::three_vmas;
use super::topology::set_faults;
use numalab_kernel::numa::counters::SkipReason;
use numalab_kernel::numa::init_numa_balancing::CloneKind;
use numalab_kernel::numa::page_filter::Verdict;
use numalab_kernel::numa::period::{scan_max, windows, GroupScale};
use numalab_kernel::numa::scan::{ScanEnd, ScanReport};
use numalab_kernel::numa::state::{fault_index, pid_bit, CPU, CPUBUF, MEM, MEMBUF, PRIVATE, SHARED};
use numalab_kernel::numa::{fault::should_migrate::MigrationFacts, rules::MigrateRule};
use numalab_kernel::numa::{
    FaultSite, LastCpupid, MarkRules, MigrateResult, NumaBalancing, PageFacts, ScanArgs, TaskNuma, VmaNuma,
};
use numalab_kernel::sched::shapes::Shape;

const MS: u64 = 1_000_000;
const START: u64 = 0x4000_0000;

fn work(n: &mut NumaBalancing, space: &mut MockSpace, now: u64) -> ScanReport {
    n.mms[0].numa_next_scan = now;
    space.calls.clear();
    n.task_numa_work(0, ScanArgs { now, this_node: 1, rss_pages: mib_pages(1024) }, space)
}

fn one_vma(len: u64) -> MockSpace {
    MockSpace::of(vec![MockVma::anon(START, len)])
}

#[test]
fn pitfall_01_runtime_triggers_and_wall_time_gates() {
    let mut n = system("6.12", 1000);
    n.mms[0].numa_next_scan = 5000;
    assert!(!n.task_tick_numa(0, 500 * MS, 90_000, 0), "much wall time, little runtime");
    assert!(!n.task_tick_numa(0, 1001 * MS, 4999, 0), "much runtime, too early");
    assert_eq!(n.tasks[0].node_stamp, 1000 * MS, "the stamp moved although the gate was closed");
    assert!(n.task_tick_numa(0, 2001 * MS, 5000, 0));
}

#[test]
fn pitfall_02_threads_skip_the_switch_to_scan_start() {
    let mut n = system("6.12", 1000);
    n.fork(0, 1, CloneKind::Thread, 1001, 0, mib_pages(1024));
    n.mms[0].numa_next_scan = 0;
    let (process, thread) = (0, 1);
    assert!(
        n.task_tick_numa(process, 1001 * MS, 5000, mib_pages(1024))
            && n.task_tick_numa(thread, 1003 * MS, 5000, mib_pages(1024))
    );
    assert_eq!((n.tasks[0].numa_scan_period, n.tasks[1].numa_scan_period), (250, 1000));
}

#[test]
fn pitfall_03_the_winners_period_sets_the_gate_and_a_back_off_overwrites_it() {
    let mut n = system("6.12", 1000);
    n.fork(0, 1, CloneKind::Thread, 1001, 0, 0);
    (n.tasks[0].numa_scan_period, n.tasks[1].numa_scan_period) = (300, 700);
    n.mms[0].numa_next_scan = 5000;
    let args = ScanArgs { now: 5000, this_node: 0, rss_pages: 0 };
    assert_eq!(n.task_numa_work(1, args, &mut one_vma(MIB)).end, ScanEnd::Walked);
    assert_eq!(n.mms[0].numa_next_scan, 5700, "the winner's, not the shortest");
    assert_eq!(n.task_numa_work(0, args, &mut one_vma(MIB)).end, ScanEnd::NotDue);
    // The other thread's empty placement postpones the whole mm.
    let mut host = MockHost::new(4, 2);
    n.mms[0].numa_scan_seq = 7;
    let site = FaultSite { now: 5100, ..at(0) };
    fault(&mut n, &mut host, site, &mut PageFacts::private_anon(0), MigrateResult::NotTried);
    assert_eq!(n.mms[0].numa_next_scan, 5100 + 600);
}

#[test]
fn pitfall_04_rounding_by_or_and_factor_by_members() {
    let mut s = settings("6.12");
    s.scan.scan_size_mb = 100;
    assert_eq!(windows(&s.scan, 30_000), 1, "a true ceiling gives 2");
    let cfg = config("6.12", 1000);
    let g = |members| Some(GroupScale { members, private: 0, shared: 10 });
    assert_eq!(scan_max(&cfg, mib_pages(1024), g(3)), 45_000);
    assert_eq!(scan_max(&cfg, mib_pages(1024), g(4)), 60_000);
}

#[test]
fn pitfall_05_budget_by_length_if_anything_changed() {
    let mut n = system("6.12", 1000);
    // 16 MiB with one present page, then a large VMA: the remaining budget gives the length of its first chunk.
    let mut pages = vec![MockPage::absent(); 4096];
    pages[7] = MockPage::new(PageFacts::private_anon(0));
    let mut space =
        MockSpace::of(vec![MockVma::anon(START, 16 * MIB).with(Content::Pages(pages)), MockVma::anon(2 * START, GIB)]);
    let r = work(&mut n, &mut space, 10_000);
    assert_eq!(space.calls[1].2 - space.calls[1].1, 240 * MIB, "16 MiB were charged for one update");
    assert_eq!((r.updates, r.pages_charged), (1 + 61_440, 65_536));
}

#[test]
fn pitfall_06_a_budget_exit_never_completes_a_vma() {
    let mut n = system("6.12", 1000);
    let mut space = one_vma(256 * MIB);
    work(&mut n, &mut space, 10_000);
    assert_eq!((space.vmas[0].state.unwrap().prev_scan_seq, n.mms[0].numa_scan_seq), (-1, 0));
}

#[test]
fn pitfall_07_one_work_may_reset_twice() {
    let mut n = system("6.12", 1000);
    n.mms[0].numa_scan_offset = START + 16 * MIB;
    let r = work(&mut n, &mut one_vma(16 * MIB), 10_000);
    assert_eq!((r.resets, n.mms[0].numa_scan_seq), (2, 2), "at the start and at the end");
}

#[test]
fn pitfall_08_the_partial_rule_uses_the_stored_offset() {
    let (mut n, mut space) = three_vmas(0);
    // During the walk the local position is beyond B and C while the stored offset is still 0: both VMAs are inactive.
    let inactive = n.reasons.skip[SkipReason::PidInactive as usize];
    work(&mut n, &mut space, 100_000);
    assert_eq!(n.reasons.skip[SkipReason::PidInactive as usize] - inactive, 2);
    assert_eq!(n.reasons.skip[SkipReason::IgnorePidInactive as usize], 0);
}

#[test]
fn pitfall_09_windows_shift_once_per_visit_and_bits_need_state() {
    let mut n = system("6.12", 1000);
    n.mms[0].numa_scan_seq = 1;
    let mut space = one_vma(MIB);
    space.vmas[0].state = Some(VmaNuma { pids_active: [1, 2], pids_active_reset: 1, ..VmaNuma::default() });
    work(&mut n, &mut space, 1_000_000);
    assert_eq!(space.vmas[0].state.unwrap().pids_active, [2, 0], "once, however late");
    n.mms[0].numa_scan_seq = 0;
    work(&mut n, &mut space, 2_000_000);
    assert_eq!(space.vmas[0].state.unwrap().pids_active, [2, 0], "not in pass 0");
    let mut none: Option<VmaNuma> = None;
    n.hint_fault_begin(at(2), &mut PageFacts::private_anon(0), none.as_mut(), &DEFAULT, &MockMemory::plenty());
    assert!(none.is_none(), "a fault creates no state");
}

#[test]
fn pitfall_10_two_free_passes_of_the_vma() {
    let mut n = system("6.12", 1000);
    n.mms[0].numa_scan_seq = 40;
    let mut space = one_vma(MIB);
    work(&mut n, &mut space, 10_000);
    assert!(space.calls.is_empty(), "a new VMA waits for its delay, except in pass 0");
    assert_eq!(space.vmas[0].state.unwrap().start_scan_seq, 40);
    let mut scans = 0;
    for i in 0..3 {
        work(&mut n, &mut space, 20_000 + i);
        scans += space.calls.len();
        if i == 0 {
            assert_eq!(n.reasons.skip[SkipReason::PidInactive as usize], 0);
        }
    }
    assert_eq!(scans, 3, "pass 41 is free; later ones are forced at the end of the list");
    assert!(n.reasons.skip[SkipReason::PidInactive as usize] >= 1);
}

#[test]
fn pitfall_11_fork_resets_a_single_threaded_parent() {
    let mut n = system("6.12", 1000);
    n.mms[0].numa_scan_seq = 30;
    n.mms[0].numa_scan_offset = 0x7000;
    n.fork(0, 1, CloneKind::Process(1), 1001, 4000, 0);
    assert_eq!((n.mms[0].numa_scan_seq, n.mms[0].numa_next_scan), (0, 5000), "the parent's own");
    assert_eq!((n.mms[0].numa_scan_offset, n.mms[1].numa_scan_offset), (0x7000, 0x7000));
}

#[test]
fn pitfall_12_single_user_shortcut_is_for_base_pages_only() {
    let rules = MarkRules::new(&config("6.12", 1000), &direct(2, 2), 0, 1, false, 0);
    assert_eq!(rules.pte(&PageFacts::private_anon(0)), Verdict::Skip);
    let huge =
        PageFacts { mapcount: 9, refcount: 2000, file_lru: true, dirty: true, ..PageFacts::private_anon_huge(0) };
    assert_eq!(rules.huge(&huge), Verdict::Mark, "nor COW, pin or dirty checks");
}

#[test]
fn pitfall_13_last_is_read_before_the_exchange_and_local_faults_do_not_exchange() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let mut page = PageFacts { last: LastCpupid::new(3, 77), ..PageFacts::private_anon(0) };
    let (d, _) = fault(&mut n, &mut host, at(2), &mut page, MigrateResult::Migrated);
    assert_eq!(d.last, LastCpupid::new(3, 77), "judged shared by the old value");
    assert_eq!(page.last, LastCpupid::new(2, 1000));
    let mut local = PageFacts { last: LastCpupid::new(3, 77), ..PageFacts::private_anon(1) };
    fault(&mut n, &mut host, at(2), &mut local, MigrateResult::Migrated);
    assert_eq!(local.last, LastCpupid::new(3, 77));
}

#[test]
fn pitfall_14_pids_match_modulo_256() {
    assert!(LastCpupid::new(0, 1000).matches(1256) && !LastCpupid::new(0, 1000).matches(1001));
    assert!(LastCpupid::new(0, 255).pid_unset() && LastCpupid::new(0, 767).pid_unset());
    assert!(!LastCpupid::new(0, 255).is_unset(), "only the PID part");
    assert_ne!(pid_bit(1000), pid_bit(1256), "the VMA filter hashes the whole tid");
    // A fault on a page with pid part 255 is shared, since the value is not wholly unset; migration treats it as unset.
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let mut page = PageFacts { last: LastCpupid::new(0, 511), ..PageFacts::private_anon(0) };
    fault(&mut n, &mut host, at(2), &mut page, MigrateResult::Migrated);
    assert_eq!((page.nid, n.buffered(0, 1, SHARED).0), (1, 1));
}

#[test]
fn pitfall_15_placement_precedes_recording_and_happens_once_per_pass() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    n.tasks[0].faults = vec![0; 16];
    n.tasks[0].faults[fault_index(MEMBUF, 2, 0, PRIVATE)] = 10;
    n.tasks[0].numa_faults_locality = [0, 10, 0];
    n.mms[0].numa_scan_seq = 1;
    let site = |now| FaultSite { now, ..at(0) };
    fault(&mut n, &mut host, site(10_000), &mut PageFacts::private_anon(0), MigrateResult::NotTried);
    assert_eq!(n.tasks[0].faults[fault_index(MEM, 2, 0, PRIVATE)], 10, "without the fault at hand");
    assert_eq!(n.buffered(0, 0, PRIVATE).0, 1);
    fault(&mut n, &mut host, site(20_000), &mut PageFacts::private_anon(0), MigrateResult::NotTried);
    assert_eq!(n.buffered(0, 0, PRIVATE).0, 2, "same pass: no second placement");
    n.mms[0].numa_scan_seq = 2;
    n.tasks[0].numa_migrate_retry = 30_000;
    fault(&mut n, &mut host, site(30_000), &mut PageFacts::private_anon(0), MigrateResult::NotTried);
    assert_eq!(n.tasks[0].numa_scan_seq, 1, "not before the retry time, strictly");
    fault(&mut n, &mut host, site(30_001), &mut PageFacts::private_anon(0), MigrateResult::NotTried);
    assert_eq!(n.tasks[0].numa_scan_seq, 2);
}

#[test]
fn pitfall_16_a_migrated_page_is_remote_in_locality_and_local_in_memory() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    fault(&mut n, &mut host, at(2), &mut PageFacts::private_anon(0), MigrateResult::Migrated);
    assert_eq!(n.tasks[0].numa_faults_locality, [1, 0, 0]);
    assert_eq!((n.buffered(0, 0, PRIVATE).0, n.buffered(0, 1, PRIVATE).0), (0, 1));
}

#[test]
fn pitfall_17_one_is_sticky_and_cpu_sums_to_the_share() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let t = &mut n.tasks[0];
    t.faults = vec![0; 16];
    t.faults[fault_index(MEM, 2, 1, SHARED)] = 1;
    t.faults[fault_index(CPUBUF, 2, 0, PRIVATE)] = 300;
    t.faults[fault_index(CPUBUF, 2, 1, SHARED)] = 700;
    t.numa_faults_locality = [400, 600, 0];
    n.mms[0].numa_scan_seq = 1;
    fault(
        &mut n,
        &mut host,
        FaultSite { now: 10_000, ..at(0) },
        &mut PageFacts::private_anon(0),
        MigrateResult::NotTried,
    );
    let t = &n.tasks[0];
    assert_eq!(t.faults[fault_index(MEM, 2, 1, SHARED)], 1);
    // ⌊65534·300/1001⌋ and ⌊65534·700/1001⌋.
    assert_eq!(t.faults[fault_index(CPU, 2, 0, PRIVATE)], 19_640);
    assert_eq!(t.faults[fault_index(CPU, 2, 1, SHARED)], 45_827);
}

/// The period after the placement of an interval with these localities and fault counts, from 1000.
fn period_after(locality: [u64; 3], shared: u64, private: u64) -> u32 {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    n.tasks[0].faults = vec![0; 16];
    n.tasks[0].faults[fault_index(MEMBUF, 2, 0, SHARED)] = shared;
    n.tasks[0].faults[fault_index(MEMBUF, 2, 0, PRIVATE)] = private;
    n.tasks[0].numa_faults_locality = locality;
    n.mms[0].numa_scan_seq = 1;
    fault(
        &mut n,
        &mut host,
        FaultSite { now: 10_000, ..at(0) },
        &mut PageFacts::private_anon(0),
        MigrateResult::NotTried,
    );
    n.tasks[0].numa_scan_period
}

#[test]
fn pitfall_18_remote_and_private_only_doubles() {
    assert_eq!(period_after([1000, 0, 0], 0, 1000), 2000);
    assert_eq!(period_after([1000, 1, 0], 0, 1001), 1300, "one local page is enough to adapt");
}

#[test]
fn pitfall_19_one_failed_migration_doubles() {
    assert_eq!(period_after([900, 100, 0], 1000, 0), 400);
    assert_eq!(period_after([900, 100, 1], 1000, 0), 2000);
}

#[test]
fn pitfall_20_a_group_gets_the_joining_tasks_averages_only() {
    let mut n = NumaBalancing::new(config("6.12", 1000), direct(2, 2));
    let mut host = MockHost::new(4, 3);
    for id in 0..3 {
        n.start(id, Some(id / 2), 1000 + id);
        host.run(id, id as usize);
    }
    let meet = |n: &mut NumaBalancing, host: &mut MockHost, task: u32, other: u32| {
        let last = LastCpupid::new(other as usize, 1000 + other);
        let mut page = PageFacts { last, ..PageFacts::private_anon(0) };
        let site = FaultSite { task, cpu: task as usize, now: 1000 };
        fault(n, host, site, &mut page, MigrateResult::NotTried);
    };
    meet(&mut n, &mut host, 0, 1);
    meet(&mut n, &mut host, 1, 0);
    n.tasks[0].faults[0] = 40;
    n.groups.get_mut(n.tasks[0].numa_group.unwrap()).faults[0] = 40;
    meet(&mut n, &mut host, 0, 1);
    let g = n.tasks[1].numa_group.unwrap();
    assert_eq!(n.tasks[0].numa_group, Some(g));
    assert_eq!(n.groups.get(g).faults, [40, 0, 0, 0, 0, 0, 0, 0], "no buffered pages");
    // Task 2 belongs to another process, so the fault counts as private.
    meet(&mut n, &mut host, 2, 0);
    assert_eq!((n.buffered(2, 0, SHARED).0, n.buffered(2, 0, PRIVATE).0), (0, 1));
}

// Pitfall 21 (distance of the node examined before) is
// `placement::other_nodes_are_compared_at_the_distance_of_the_node_before`.

// Pitfall 22 (only grouped tasks re-set the preferred node) is
// `placement::another_node_is_taken_if_the_preferred_one_is_full`.

#[test]
fn pitfall_23_the_first_fault_after_a_pass_runs_an_empty_placement() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    n.mms[0].numa_scan_seq = 1;
    fault(&mut n, &mut host, at(0), &mut PageFacts::private_anon(0), MigrateResult::NotTried);
    assert_eq!((n.tasks[0].numa_scan_period, n.mms[0].numa_next_scan), (2000, 3000));
    assert_eq!(n.tasks[0].total_numa_faults, 0);
}

#[test]
fn pitfall_24_stores_after_migration_unset_the_cpupid_reads_do_not() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let mut page = PageFacts::private_anon(0);
    let (_, outcome) = fault(&mut n, &mut host, at(2), &mut page, MigrateResult::Migrated);
    assert!(outcome.write_dropped);
    assert_eq!(page.last, LastCpupid::new(2, 1000), "a reader leaves it");
    n.wp_page_reuse(&mut page);
    assert!(page.last.is_unset());
}

#[test]
fn pitfall_25_imb_numa_nr_counts_caches_below_the_node_level() {
    // Two nodes of 64 CPUs with one cache each. Computed on the NUMA domain (span 128, child 64) it would be L = 2.
    assert_eq!(imb_numa_nr(&Shape::flat(2, 64, 1, 20)), [8]);
}

#[test]
fn pitfall_26_a_forced_retry_follows_even_a_successful_walk() {
    let (mut n, mut space) = three_vmas(1);
    let r = work(&mut n, &mut space, 100_000);
    assert!(r.forced && r.vmas_scanned == 2, "B was scanned completely, A forced nevertheless");
}

#[test]
fn pitfall_27_a_user_policy_switches_scanning_off() {
    let mut n = system("6.12", 1000);
    let mut space = one_vma(MIB);
    space.vmas[0].view.policy_without_mof = true;
    let r = work(&mut n, &mut space, 10_000);
    assert_eq!((r.updates, n.reasons.skip[SkipReason::Unsuitable as usize]), (0, 1));
}

#[test]
fn shared_memory_without_a_policy_is_scanned_before_3_18_and_since_the_fix() {
    // vma_policy_mof() took an object without policy for one without migrate-on-fault (fc3147245d19, fixed in June
    // 2026).
    for (release, scanned) in [("3.13", true), ("3.18", false), ("4.15", false), ("6.1", false), ("6.12", true)] {
        let mut n = system(release, 1000);
        let mut space = one_vma(MIB * 4);
        space.vmas[0].view.shmem_without_policy = true;
        let r = work(&mut n, &mut space, 10_000);
        assert_eq!(r.updates > 0, scanned, "{release}");
    }
}

#[test]
fn early_life_ends_with_the_fifth_pass_of_the_task() {
    // §10 step 5 reads the task's copy of the counter, taken at placement, not the mm's counter.
    let topo = direct(2, 2);
    let task = TaskNuma { pid: 1000, numa_scan_seq: 5, numa_preferred_nid: Some(1), ..TaskNuma::default() };
    let facts =
        |task| MigrationFacts { task, group: None, topo: &topo, last: LastCpupid::new(0, 1000), src: 0, dst: 1 };
    assert!(MigrateRule::V420.decide(&facts(&task)).is_err());
    let young = TaskNuma { numa_scan_seq: 4, ..task.clone() };
    assert!(MigrateRule::V420.decide(&facts(&young)).is_ok());
}

#[test]
fn swaps_leave_the_recorded_cpu_node_of_the_fault() {
    // §17.1: a move takes effect before the fault is recorded, but with the CPU node from before the move.
    let mut n = NumaBalancing::new(config("6.12", 1000), direct(2, 1));
    let mut host = MockHost::new(2, 1);
    n.start(0, Some(0), 1000);
    set_faults(&mut n, 0, &[1, 99]);
    n.tasks[0].numa_preferred_nid = Some(1);
    host.run(0, 0);
    fault(&mut n, &mut host, at(0), &mut PageFacts::private_anon(0), MigrateResult::NotTried);
    assert_eq!(host.cpu[0], 1);
    assert_eq!((n.buffered(0, 0, PRIVATE).1, n.buffered(0, 1, PRIVATE).1), (1, 0));
}
