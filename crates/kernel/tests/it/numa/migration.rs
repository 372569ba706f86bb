//! §19.7 M1 to M9, §9.3, §9.4.

use super::faults::DEFAULT;
use super::mock::{config, direct, settings, system, MockHost, MockMemory};
use numalab_base::node_mask::NodeMask;
use numalab_kernel::numa::counters::{Denial, Refusal};
use numalab_kernel::numa::fault::policy::{EffectivePolicy, PolicyMode};
use numalab_kernel::numa::group::NumaGroup;
use numalab_kernel::numa::migrate::{nearly_full, ZoneFacts};
use numalab_kernel::numa::page_filter::PageFilterKind;
use numalab_kernel::numa::state::{fault_index, CPU, MEM, PRIVATE, SHARED};
use numalab_kernel::numa::topology::NodeParts;
use numalab_kernel::numa::{fault::should_migrate::MigrationFacts, rules::MigrateRule};
use numalab_kernel::numa::{FaultSite, LastCpupid, NumaBalancing, NumaTopology, PageFacts, TaskNuma};

/// A task past its early life that prefers node 1 and faults on node 1 (CPUs 2 and 3). The page is on node 0.
fn settled() -> TaskNuma {
    TaskNuma { pid: 1000, numa_scan_seq: 5, numa_preferred_nid: Some(1), ..TaskNuma::default() }
}

fn ask(rule: MigrateRule, task: &TaskNuma, last: LastCpupid, group: Option<&NumaGroup>) -> Result<(), Denial> {
    rule.decide(&MigrationFacts { task, group, topo: &direct(2, 2), last, src: 0, dst: 1 })
}

fn now(task: &TaskNuma, last: LastCpupid) -> Result<(), Denial> {
    ask(MigrateRule::V420, task, last, None)
}

#[test]
fn m1_to_m4_ungrouped() {
    let fresh = TaskNuma { numa_preferred_nid: None, ..settled() };
    assert_eq!(now(&fresh, LastCpupid::UNSET), Ok(()), "M1");
    assert_eq!(now(&settled(), LastCpupid::UNSET), Ok(()), "M2");
    assert_eq!(now(&settled(), LastCpupid::new(0, 1000)), Err(Denial::TwoStage), "M3");
    assert_eq!(now(&settled(), LastCpupid::new(3, 77)), Ok(()), "M4");
}

#[test]
fn early_life_needs_only_a_private_page() {
    let young = TaskNuma { numa_scan_seq: 4, ..settled() };
    assert_eq!(now(&young, LastCpupid::new(0, 1000)), Ok(()), "own page, last seen on the other node");
    let homeless = TaskNuma { numa_scan_seq: 9, numa_preferred_nid: None, ..settled() };
    assert_eq!(now(&homeless, LastCpupid::new(0, 1000)), Ok(()), "without a preferred node at any age");
    assert_eq!(now(&young, LastCpupid::new(0, 77)), Err(Denial::TwoStage), "another task's");
    assert_eq!(ask(MigrateRule::V315, &young, LastCpupid::new(0, 1000), None), Err(Denial::TwoStage), "before 4.20");
}

fn group(c_src: u64, c_dst: u64, m_src: u64, m_dst: u64) -> NumaGroup {
    let mut faults = vec![0; 8];
    // The sums are split over both fault types, since only sums count.
    for (stat, node, sum) in [(CPU, 0, c_src), (CPU, 1, c_dst), (MEM, 0, m_src), (MEM, 1, m_dst)] {
        faults[fault_index(stat, 2, node, SHARED)] = sum / 2;
        faults[fault_index(stat, 2, node, PRIVATE)] = sum - sum / 2;
    }
    NumaGroup { faults, ..NumaGroup::default() }
}

#[test]
fn m5_to_m8_groups() {
    let other_task = LastCpupid::new(3, 77);
    let rows = [
        ("M5", group(100, 301, 0, 0), Ok(())),
        ("M6", group(100, 300, 10, 1000), Err(Denial::Group)),
        ("M7", group(300, 400, 100, 100), Err(Denial::Group)),
        ("M7 401", group(300, 401, 100, 100), Ok(())),
        ("M8", group(200, 300, 100, 100), Ok(())),
    ];
    for (id, g, expected) in rows {
        assert_eq!(ask(MigrateRule::V420, &settled(), other_task, Some(&g)), expected, "{id}");
    }
    assert_eq!(
        ask(MigrateRule::V313, &settled(), other_task, Some(&group(300, 400, 100, 100))),
        Ok(()),
        "no groups yet"
    );
}

#[test]
fn pages_of_3_15_stay_on_the_nodes_where_the_group_is_active() {
    let topo = direct(2, 2);
    let ask = |mut g: NumaGroup| {
        g.update_numa_active_node_mask(&topo);
        ask(MigrateRule::V315, &settled(), LastCpupid::new(3, 77), Some(&g))
    };
    // The mask: in above 6/16 of the busiest node.
    assert_eq!(ask(group(1600, 600, 1000, 0)), Err(Denial::Group), "600 is 6/16 of 1600, not more");
    assert_eq!(ask(group(1600, 601, 1000, 0)), Ok(()), "both are active, and the source has more memory");
    assert_eq!(ask(group(600, 1600, 0, 1000)), Ok(()), "the source is not active");
    assert_eq!(ask(group(1000, 1000, 400, 300)), Err(Denial::Group), "300 is three quarters of 400, not less");
    assert_eq!(ask(group(1000, 1000, 400, 299)), Ok(()));
    // 4.6 asks for use times memory instead: these two differ.
    let spread = group(1000, 1000, 400, 290);
    assert_eq!(super::migration::ask(MigrateRule::V46, &settled(), LastCpupid::new(3, 77), Some(&spread)), Ok(()));
    let idle = group(1600, 600, 1000, 10);
    assert_eq!(super::migration::ask(MigrateRule::V46, &settled(), LastCpupid::new(3, 77), Some(&idle)), Ok(()));
    assert_eq!(ask(idle), Err(Denial::Group));
}

#[test]
fn a_node_leaves_the_mask_of_3_15_below_three_sixteenths() {
    let topo = direct(2, 2);
    let mut g = group(1600, 601, 0, 0);
    let mut now = |cpu1| {
        g.faults = group(1600, cpu1, 0, 0).faults;
        g.update_numa_active_node_mask(&topo);
        (g.in_active_mask(1), g.active_nodes)
    };
    assert_eq!(now(601), (true, 2));
    assert_eq!(now(300), (true, 2), "the hysteresis keeps it");
    assert_eq!(now(299), (false, 1));
    assert_eq!(now(600), (false, 1), "and keeps it out");
}

#[test]
fn m9_pid_255_modulo_256_looks_unset() {
    assert_eq!(now(&settled(), LastCpupid::new(0, 511)), Ok(()), "M9: filter step 6 bypassed");
    assert_eq!(now(&settled(), LastCpupid::new(0, 510)), Err(Denial::TwoStage));
}

#[test]
fn balancenuma_of_3_8_wants_two_faults_from_one_node() {
    let rule = |last| ask(MigrateRule::V38, &settled(), last, None);
    assert_eq!(rule(LastCpupid::UNSET), Err(Denial::TwoStage));
    assert_eq!(rule(LastCpupid::new(0, 1000)), Err(Denial::TwoStage));
    assert_eq!(rule(LastCpupid::new(2, 77)), Ok(()));
}

fn target(n: &mut NumaBalancing, page: &mut PageFacts, policy: &EffectivePolicy) -> Option<usize> {
    let at = FaultSite { task: 0, cpu: 2, now: 1000 };
    n.hint_fault_begin(at, page, None, policy, &MockMemory::plenty()).target
}

#[test]
fn policies_without_migrate_on_fault_stay() {
    let mut n = system("6.12", 1000);
    for mode in [PolicyMode::Local, PolicyMode::Preferred(NodeMask::of([1])), PolicyMode::Interleave(1)] {
        let mut page = PageFacts::private_anon(0);
        assert_eq!(target(&mut n, &mut page, &EffectivePolicy::user(mode, false)), None);
        assert!(page.last.is_unset(), "nothing is exchanged");
    }
    assert_eq!(target(&mut n, &mut PageFacts::private_anon(0), &DEFAULT), Some(1));
}

#[test]
fn bind_with_the_balancing_flag() {
    let mut n = system("6.12", 1000);
    let both = EffectivePolicy::user(PolicyMode::Bind(NodeMask::of([0, 1])), true);
    assert_eq!(target(&mut n, &mut PageFacts::private_anon(0), &both), Some(1));
    let mut local = PageFacts::private_anon(1);
    assert_eq!(target(&mut n, &mut local, &both), None);
    assert_eq!(local.last, LastCpupid::new(2, 1000), "no local exit here: even local faults are recorded");
    let other = EffectivePolicy::user(PolicyMode::Bind(NodeMask::of([0])), true);
    assert_eq!(target(&mut n, &mut PageFacts::private_anon(0), &other), None, "this node is not in the set");
}

#[test]
fn policies_with_migrate_on_fault_but_not_towards_the_fault() {
    let mut n = NumaBalancing::new(config("6.12", 1000), direct(4, 2));
    n.start(0, Some(0), 1000);
    let policy = |mode| EffectivePolicy { mode, migrate_on_fault: true, to_faulting_node: false };
    let mut ask = |mode, nid| target(&mut n, &mut PageFacts::private_anon(nid), &policy(mode));
    assert_eq!(ask(PolicyMode::Interleave(3), 0), Some(3));
    assert_eq!(ask(PolicyMode::Interleave(3), 3), None);
    assert_eq!(ask(PolicyMode::Local, 0), Some(1));
    assert_eq!(ask(PolicyMode::Preferred(NodeMask::of([2, 3])), 0), Some(2), "first of the set");
    assert_eq!(ask(PolicyMode::Preferred(NodeMask::of([2, 3])), 3), None);
    assert_eq!(ask(PolicyMode::Bind(NodeMask::of([2, 3])), 3), None);
    assert_eq!(ask(PolicyMode::Bind(NodeMask::of([0, 2])), 3), Some(0), "nearest, lowest id on ties");
}

#[test]
fn pages_do_not_migrate_to_memoryless_nodes() {
    let cpu_only = NodeParts { cpus: 2, memory: false, tier: 0 };
    let full = NodeParts { cpus: 2, memory: true, tier: 0 };
    for (release, expected) in [("6.1", Some(1)), ("6.12", None)] {
        let topo = NumaTopology::from_parts(&[full.clone(), cpu_only.clone()], &[10, 20, 20, 10]).unwrap();
        let mut n = NumaBalancing::new(config(release, 1000), topo);
        n.start(0, Some(0), 1000);
        let mut page = PageFacts::private_anon(0);
        assert_eq!(target(&mut n, &mut page, &DEFAULT), expected, "{release}");
        assert_eq!(page.last.is_unset(), expected.is_none(), "{release}: the test precedes the exchange");
    }
}

#[test]
fn local_faults_update_the_cpupid_in_old_kernels_only() {
    for (release, updated) in [("5.11", true), ("5.16", false), ("6.12", false)] {
        let mut n = system(release, 1000);
        let mut page = PageFacts::private_anon(1);
        assert_eq!(target(&mut n, &mut page, &DEFAULT), None);
        assert_eq!(page.last == LastCpupid::new(2, 1000), updated, "{release}");
        assert_eq!(n.reasons.denied, [0; Denial::ALL.len()], "a local page is not a denied migration");
    }
}

fn zone(free_pages: u64) -> ZoneFacts {
    ZoneFacts { populated: true, free_pages, high_wmark: 1000, promo_wmark: 1200, lowmem_reserve: 10 }
}

#[test]
fn nearly_full_needs_one_zone_strictly_above() {
    assert!(nearly_full(&[zone(1011)], 1), "1011 > 1000 + 1 + 10 is false");
    assert!(!nearly_full(&[zone(1012)], 1));
    assert!(!nearly_full(&[zone(0), zone(1012)], 1), "any one zone suffices");
    assert!(nearly_full(&[zone(1522)], 512) && !nearly_full(&[zone(1523)], 512), "a huge page needs 512 more");
    assert!(nearly_full(&[ZoneFacts { populated: false, ..zone(5000) }], 1));
}

#[test]
fn refusals_in_order() {
    let at = FaultSite { task: 0, cpu: 2, now: 1000 };
    let mut n = system("6.12", 1000);
    let file = PageFacts { file_lru: true, exec_vma: true, mapcount: 2, dirty: true, ..PageFacts::private_anon(0) };
    let mut refuse =
        |page: PageFacts, free, isolatable| n.migrate_misplaced_folio_prepare(at, &page, 1, &[zone(free)], isolatable);
    assert_eq!(refuse(file, 0, false), Err(Refusal::ExecShared));
    assert_eq!(refuse(PageFacts { mapcount: 1, ..file }, 0, false), Err(Refusal::Dirty));
    assert_eq!(refuse(PageFacts { file_lru: false, ..file }, 0, false), Err(Refusal::NearlyFull));
    assert_eq!(refuse(PageFacts { file_lru: false, ..file }, 5000, false), Err(Refusal::NotIsolated));
    assert_eq!(refuse(PageFacts { file_lru: false, ..file }, 5000, true), Ok(()));
    assert_eq!(n.reasons.refused[Refusal::ExecShared as usize], 1);
    assert_eq!((n.counters.pgmigrate_fail, n.counters.pgmigrate_success), (0, 0), "refusals are not migrations");
}

#[test]
fn refusals_of_single_releases() {
    let at = FaultSite { task: 0, cpu: 2, now: 1000 };
    let shared = PageFacts { mapcount: 2, ..PageFacts::private_anon(0) };
    let huge = PageFacts { mapcount: 2, ..PageFacts::private_anon_huge(0) };
    for (release, small, thp) in [
        ("3.8", Err(Refusal::MapcountNotOne), Err(Refusal::MapcountNotOne)),
        ("6.1", Ok(()), Err(Refusal::SharedThp)),
        ("6.12", Ok(()), Ok(())),
    ] {
        let mut n = system(release, 1000);
        assert_eq!(n.migrate_misplaced_folio_prepare(at, &shared, 1, &[zone(5000)], true), small, "{release}");
        assert_eq!(n.migrate_misplaced_folio_prepare(at, &huge, 1, &[zone(5000)], true), thp, "{release}");
    }
    let mut s = settings("6.12");
    s.roles.page_filter = PageFilterKind::MapcountThreshold;
    let many = PageFacts { mapcount: 6, ..shared };
    for (refuses, expected) in [("false", Ok(())), ("true", Err(Refusal::MapcountLimit))] {
        s.set("page_filter", "mapcount_limit_refuses_migration", refuses).unwrap();
        let mut n = NumaBalancing::new(s.resolve(1000).unwrap(), direct(2, 2));
        n.start(0, Some(0), 1000);
        assert_eq!(n.migrate_misplaced_folio_prepare(at, &many, 1, &[zone(5000)], true), expected);
        assert_eq!(n.migrate_misplaced_folio_prepare(at, &shared, 1, &[zone(5000)], true), Ok(()));
    }
}

#[test]
fn a_new_page_keeps_its_cpupid_across_migration() {
    let mut n = system("6.12", 1000);
    let mut host = MockHost::new(4, 1);
    let at = FaultSite { task: 0, cpu: 2, now: 1000 };
    let mut page = PageFacts::private_anon(0);
    let d = n.hint_fault_begin(at, &mut page, None, &DEFAULT, &MockMemory::plenty());
    n.hint_fault_end(at, &mut page, &d, numalab_kernel::numa::MigrateResult::Migrated, &mut host);
    assert_eq!((page.nid, page.last), (1, LastCpupid::new(2, 1000)));
}

/// 3.13, de1c9ce6f07f: after a page with several users came from another node, sixteen migrations of such pages are
/// skipped.
#[test]
fn a_shared_page_from_elsewhere_defers_migrations_of_shared_pages() {
    let wants = |n: &mut NumaBalancing, last: LastCpupid| {
        let mut page = PageFacts { last, ..PageFacts::private_anon(0) };
        let at = FaultSite { task: 0, cpu: 2, now: 1000 };
        n.hint_fault_begin(at, &mut page, None, &DEFAULT, &MockMemory::plenty()).target.is_some()
    };
    let mut n = system("3.13", 1000);
    let me = n.tasks[0].pid;
    let (here, elsewhere) = (LastCpupid::new(3, me + 1), LastCpupid::new(0, me + 1));
    assert!(wants(&mut n, here), "nothing deferred yet");
    assert!(!wants(&mut n, LastCpupid::new(0, me)), "the filter");
    assert!(wants(&mut n, here), "an own page defers nothing");
    assert!(!wants(&mut n, elsewhere));
    for i in 0..16 {
        assert!(wants(&mut n, LastCpupid::new(3, me)), "own pages move all along");
        assert!(!wants(&mut n, if i % 2 == 0 { here } else { LastCpupid::UNSET }), "{i}");
    }
    assert!(wants(&mut n, here), "the seventeenth");
    assert_eq!(n.reasons.denied[Denial::Deferred as usize], 16);
    let mut later = system("3.15", 1000);
    assert!(!wants(&mut later, elsewhere));
    assert!(wants(&mut later, here), "3.15 has nothing of it");
}
