//! §9.1, §9.2, §11.1: what a fault counts and records; R6 to R8.

use super::mock::{settings, system, MockHost, MockMemory};
use numalab_kernel::numa::counters::Refusal;
use numalab_kernel::numa::fault::policy::EffectivePolicy;
use numalab_kernel::numa::migrate::ZoneFacts;
use numalab_kernel::numa::state::{PRIVATE, SHARED};
use numalab_kernel::numa::{FaultDecision, FaultFlags, FaultOutcome};
use numalab_kernel::numa::{FaultSite, LastCpupid, MigrateResult, NumaBalancing, PageFacts, VmaNuma};

pub const DEFAULT: EffectivePolicy = EffectivePolicy::DEFAULT;

/// A fault of task 0 on a CPU.
pub fn at(cpu: usize) -> FaultSite {
    FaultSite { task: 0, cpu, now: 1000 }
}

/// A whole fault under the default policy, with free memory everywhere. Every migration has the given result.
pub fn fault(
    n: &mut NumaBalancing,
    host: &mut MockHost,
    at: FaultSite,
    page: &mut PageFacts,
    result: MigrateResult,
) -> (FaultDecision, FaultOutcome) {
    let d = n.hint_fault_begin(at, page, None, &DEFAULT, &MockMemory::plenty());
    let result = if d.target.is_some() { result } else { MigrateResult::NotTried };
    let outcome = n.hint_fault_end(at, page, &d, result, host);
    (d, outcome)
}

#[test]
fn r6_migrated_huge_page() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let mut page = PageFacts::private_anon_huge(0);
    fault(&mut n, &mut host, at(2), &mut page, MigrateResult::Migrated);
    let c = &n.counters;
    assert_eq!((c.numa_hint_faults, c.numa_hint_faults_local, c.numa_pages_migrated), (1, 0, 512), "R6");
    assert_eq!((c.pgmigrate_success, c.thp_migration_success), (512, 1), "R6");
    assert_eq!(n.buffered(0, 1, PRIVATE), (512, 512), "R6: MEMBUF and CPUBUF of the target");
    assert_eq!(n.tasks[0].numa_faults_locality, [512, 0, 0], "R6: remote, although now local");
    assert_eq!(n.tasks[0].numa_pages_migrated, 512);
}

#[test]
fn r7_refused_huge_page_doubles_the_period() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let mut page = PageFacts::private_anon_huge(0);
    let d = n.hint_fault_begin(at(2), &mut page, None, &DEFAULT, &MockMemory::plenty());
    assert_eq!(d.target, Some(1));
    let full = [ZoneFacts { populated: true, free_pages: 512, ..ZoneFacts::default() }];
    assert_eq!(n.migrate_misplaced_folio_prepare(at(2), &page, 1, &full, true), Err(Refusal::NearlyFull), "R7");
    n.hint_fault_end(at(2), &mut page, &d, MigrateResult::Refused, &mut host);
    let c = &n.counters;
    assert_eq!((c.numa_hint_faults, c.numa_pages_migrated, c.pgmigrate_fail), (1, 0, 0), "R7");
    assert_eq!(n.buffered(0, 0, PRIVATE).0, 512, "R7: MEMBUF of the old node");
    assert_eq!(n.tasks[0].numa_faults_locality, [512, 0, 512], "R7");
    n.mms[0].numa_scan_seq = 1;
    fault(&mut n, &mut host, FaultSite { now: 2000, ..at(2) }, &mut page, MigrateResult::Migrated);
    assert_eq!(n.tasks[0].numa_scan_period, 2000, "R7: the next placement doubles the period");
}

#[test]
fn r8_failed_huge_page_counts_as_failure() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let mut page = PageFacts::private_anon_huge(0);
    fault(&mut n, &mut host, at(2), &mut page, MigrateResult::Failed);
    let c = &n.counters;
    assert_eq!((c.pgmigrate_fail, c.thp_migration_fail, c.numa_pages_migrated), (512, 1, 0), "R8");
    assert_eq!(n.tasks[0].numa_faults_locality, [512, 0, 512], "R8");
    assert_eq!(n.buffered(0, 0, PRIVATE).0, 512, "R8");
    assert_eq!(page.nid, 0);
}

#[test]
fn a_local_fault_counts_as_local_and_tries_nothing() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let (d, _) = fault(&mut n, &mut host, at(2), &mut PageFacts::private_anon(1), MigrateResult::Migrated);
    assert_eq!(d.target, None);
    assert!(d.flags.has(FaultFlags::LOCAL));
    assert_eq!((n.counters.numa_hint_faults, n.counters.numa_hint_faults_local), (1, 1));
    assert_eq!(n.tasks[0].numa_faults_locality, [0, 1, 0]);
}

#[test]
fn flags_of_a_fault() {
    let mut n = system("6.12", 1000);
    let mut flags = |page: PageFacts| {
        let mut page = page;
        n.hint_fault_begin(at(2), &mut page, None, &DEFAULT, &MockMemory::plenty()).flags
    };
    let page = PageFacts::private_anon(0);
    assert!(!flags(page).has(FaultFlags::NO_GROUP));
    assert!(flags(PageFacts { writable: false, ..page }).has(FaultFlags::NO_GROUP));
    let shared = PageFacts { shared_mapping: true, mapcount: 2, ..page };
    assert!(flags(shared).has(FaultFlags::SHARED));
    assert!(!flags(PageFacts { mapcount: 1, ..shared }).has(FaultFlags::SHARED));
    assert!(!flags(PageFacts { shared_mapping: false, ..shared }).has(FaultFlags::SHARED));
    let thp = PageFacts { shared_mapping: true, mapcount: 2, ..PageFacts::private_anon_huge(0) };
    assert!(flags(thp).has(FaultFlags::SHARED));
    let mut old = system("6.1", 1000);
    let flags = old.hint_fault_begin(at(2), &mut thp.clone(), None, &DEFAULT, &MockMemory::plenty()).flags;
    assert!(!flags.has(FaultFlags::SHARED), "no shared flag on huge pages in 6.1");
}

#[test]
fn faults_set_the_threads_bit_only_where_state_exists() {
    let mut n = system("6.12", 1000);
    let mut state = VmaNuma::default();
    let mut page = PageFacts::private_anon(0);
    n.hint_fault_begin(at(2), &mut page, Some(&mut state), &DEFAULT, &MockMemory::plenty());
    assert_eq!(state.pids_active, [0, 1 << 61]);
    n.hint_fault_begin(at(2), &mut page, None, &DEFAULT, &MockMemory::plenty());
    assert_eq!(n.counters.numa_hint_faults, 2);
}

#[test]
fn pages_without_a_page_and_old_large_folios_are_only_restored() {
    let special = PageFacts { special: true, ..PageFacts::private_anon(0) };
    let folio = PageFacts { pages: 16, ..PageFacts::private_anon(0) };
    for (release, page, ignored) in [("6.12", special, true), ("6.1", folio, true), ("6.12", folio, false)] {
        let (mut n, mut host) = (system(release, 1000), MockHost::new(4, 1));
        let mut state = VmaNuma::default();
        let mut page = page;
        let d = n.hint_fault_begin(at(2), &mut page, Some(&mut state), &DEFAULT, &MockMemory::plenty());
        assert_eq!(d.ignored, ignored, "{release}");
        let outcome = n.hint_fault_end(at(2), &mut page, &d, MigrateResult::NotTried, &mut host);
        assert_eq!((n.counters.numa_hint_faults == 0, !outcome.recorded), (ignored, ignored), "{release}");
        assert_eq!(state.pids_active[1] == 0, ignored, "{release}");
    }
}

#[test]
fn a_large_folio_is_one_event_and_k_pages() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let mut folio = PageFacts { pages: 16, ..PageFacts::private_anon(0) };
    fault(&mut n, &mut host, at(2), &mut folio, MigrateResult::Migrated);
    let c = &n.counters;
    assert_eq!((c.numa_hint_faults, c.numa_pages_migrated, c.thp_migration_success), (1, 16, 0));
    assert_eq!(n.buffered(0, 1, PRIVATE), (16, 16));
}

#[test]
fn switching_off_leaves_marks_that_still_fault_and_migrate() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    n.set_mode(0);
    let (_, outcome) = fault(&mut n, &mut host, at(2), &mut PageFacts::private_anon(0), MigrateResult::Migrated);
    assert_eq!((n.counters.numa_hint_faults, n.counters.numa_pages_migrated), (1, 1));
    assert!(!outcome.recorded && n.tasks[0].faults.is_empty(), "but nothing is recorded");
}

#[test]
fn a_changed_entry_drops_the_fault_since_6_11() {
    for (drops, recorded) in [("true", false), ("false", true)] {
        let mut s = settings("6.12");
        s.set("numa", "changed_entry_drops_fault", drops).unwrap();
        let mut n = system("6.12", 1000);
        n.cfg = s.resolve(1000).unwrap();
        let mut host = MockHost::new(4, 1);
        let (_, outcome) =
            fault(&mut n, &mut host, at(2), &mut PageFacts::private_anon(0), MigrateResult::FailedEntryChanged);
        assert_eq!(outcome.recorded, recorded);
        assert_eq!((n.counters.numa_hint_faults, n.counters.pgmigrate_fail), (1, 1));
    }
}

#[test]
fn write_permission_after_a_migration_attempt() {
    use MigrateResult::{Failed, Migrated, Refused};
    let private = PageFacts::private_anon(0);
    let shared = PageFacts { shared_mapping: true, ..private };
    let read_only = PageFacts { writable: false, ..private };
    for (release, page, result, dropped) in [
        ("6.12", private, Migrated, true),
        ("6.12", private, Failed, true),
        ("6.12", private, Refused, false),
        ("6.7", private, Refused, true),
        ("6.7", private, MigrateResult::NotTried, false),
        ("6.12", shared, Migrated, false),
        ("6.12", PageFacts { write_notify: true, ..shared }, Migrated, true),
        ("6.12", read_only, Migrated, false),
        ("6.12", PageFacts::private_anon_huge(0), Migrated, true),
        ("6.1", private, Migrated, false),
    ] {
        let (mut n, mut host) = (system(release, 1000), MockHost::new(4, 1));
        let (_, outcome) = fault(&mut n, &mut host, at(2), &mut page.clone(), result);
        assert_eq!(outcome.write_dropped, dropped, "{release} {result:?} {page:?}");
    }
}

#[test]
fn a_write_fault_resets_the_last_cpupid_of_small_pages_only() {
    let mut n = system("6.12", 1000);
    for (page, unset) in [(PageFacts::private_anon(0), true), (PageFacts::private_anon_huge(0), false)] {
        let mut page = PageFacts { last: LastCpupid::new(1, 5), ..page };
        n.wp_page_reuse(&mut page);
        assert_eq!(page.last.is_unset(), unset);
    }
    assert_eq!(n.counters.pgreuse, 2);
}

#[test]
fn shared_faults_between_active_nodes_of_a_group_count_as_local() {
    let (mut n, mut host) = (system("6.12", 1000), MockHost::new(4, 1));
    let mut other_task = PageFacts { last: LastCpupid::new(0, 77), ..PageFacts::private_anon(0) };
    fault(&mut n, &mut host, at(2), &mut other_task, MigrateResult::Migrated);
    let g = n.tasks[0].numa_group.unwrap();
    assert_eq!(n.tasks[0].numa_faults_locality, [1, 0, 0], "one active node: remote stays remote");
    let group = n.groups.get_mut(g);
    group.faults = vec![0, 0, 0, 0, 100, 0, 100, 0];
    group.active_nodes = 2;
    group.max_faults_cpu = 100;
    let mut page = PageFacts { last: LastCpupid::new(0, 77), ..PageFacts::private_anon(0) };
    fault(&mut n, &mut host, at(2), &mut page, MigrateResult::Migrated);
    assert_eq!(n.tasks[0].numa_faults_locality, [1, 1, 0]);
    assert_eq!(n.buffered(0, 1, SHARED).1, 2, "CPUBUF of the faulting node");
    // Both nodes must be active, and there must be more than one active node.
    for (active_nodes, max, local) in [(2, 400, 0), (1, 100, 0), (2, 100, 1)] {
        let group = n.groups.get_mut(g);
        group.faults[4] = 200;
        (group.active_nodes, group.max_faults_cpu) = (active_nodes, max);
        let before = n.tasks[0].numa_faults_locality[1];
        let mut page = PageFacts { last: LastCpupid::new(0, 77), ..PageFacts::private_anon(0) };
        fault(&mut n, &mut host, at(2), &mut page, MigrateResult::Refused);
        assert_eq!(n.tasks[0].numa_faults_locality[1] - before, local, "{active_nodes} active, max {max}");
    }
    let locality = n.tasks[0].numa_faults_locality;
    // Private faults are not affected.
    let mut own = PageFacts { last: LastCpupid::new(0, 1000), ..PageFacts::private_anon(0) };
    fault(&mut n, &mut host, at(2), &mut own, MigrateResult::Migrated);
    assert_eq!(n.tasks[0].numa_faults_locality, [locality[0] + 1, locality[1], locality[2]]);
}

#[test]
fn balancenuma_of_3_8_records_nothing_and_slows_down() {
    let (mut n, mut host) = (system("3.8", 250), MockHost::new(4, 1));
    n.tasks[0].numa_scan_period = 100;
    n.mms[0].numa_scan_seq = 3;
    let mut page = PageFacts::private_anon(0);
    let (_, outcome) = fault(&mut n, &mut host, at(2), &mut page, MigrateResult::Migrated);
    assert!(!outcome.recorded);
    assert_eq!(n.counters.numa_pages_migrated, 0, "first fault from this node");
    assert_eq!(n.tasks[0].numa_scan_period, 140);
    fault(&mut n, &mut host, at(2), &mut page, MigrateResult::Migrated);
    assert_eq!(n.counters.numa_pages_migrated, 1, "second in a row");
    assert_eq!(n.tasks[0].numa_scan_period, 140, "a migrated page does not slow the scanner down");
    assert!(n.tasks[0].faults.is_empty() && n.tasks[0].numa_preferred_nid.is_none());
    assert_eq!(n.tasks[0].numa_scan_seq, 3);
}
