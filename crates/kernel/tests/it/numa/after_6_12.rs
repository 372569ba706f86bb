//! kernel-after-6.12.md §11.1 (C1 to C7), §11.2 (M1 to M12), §11.4 (S1 to S3), §11.5 (P1, P2, P13).

use super::faults::DEFAULT;
use super::marking::tiers;
use super::mock::{config, direct, mib_pages, settings, Content, MockMemory, MockPage, MockSpace, MockVma, GIB, MIB};
use super::placement::setup;
use numalab_base::node_mask::NodeMask;
use numalab_kernel::numa::counters::SkipReason;
use numalab_kernel::numa::mark::MarkRules;
use numalab_kernel::numa::migrate::ZoneFacts;
use numalab_kernel::numa::page_filter::Verdict;
use numalab_kernel::numa::placement::moves_to_nobody;
use numalab_kernel::numa::scan::{ScanArgs, ScanEnd, VmaView};
use numalab_kernel::numa::tiering::access_time;
use numalab_kernel::numa::{FaultSite, NumaBalancing, PageFacts};

const TICK_MS: u64 = 4;

/// NUMA balancing of a release at 250 Hz: one task whose cpuset has `mems`, and whose mm opens its gate at `next_scan`.
fn in_cpuset(release: &str, mems: Option<&[usize]>, next_scan_ms: u64) -> NumaBalancing {
    let mut n = NumaBalancing::new(config(release, 250), direct(2, 2));
    n.start(0, Some(0), 1000);
    n.mms[0].mems_allowed = mems.map(|m| NodeMask::of(m.iter().copied()));
    n.mms[0].numa_next_scan = next_scan_ms / TICK_MS;
    n
}

fn work(n: &mut NumaBalancing, at_ms: u64, space: &mut MockSpace) -> ScanEnd {
    n.task_numa_work(0, ScanArgs { now: at_ms / TICK_MS, this_node: 0, rss_pages: mib_pages(64) }, space).end
}

/// Times at which works run, ms, of a task that always runs for `ms`.
fn works(n: &mut NumaBalancing, ms: u64) -> Vec<u64> {
    let mut space = MockSpace::of(vec![MockVma::anon(0, MIB)]);
    let mut out = Vec::new();
    for at in (0..ms).step_by(TICK_MS as usize) {
        if n.task_tick_numa(0, at * 1_000_000, at / TICK_MS, mib_pages(64)) {
            work(n, at, &mut space);
            out.push(at);
        }
    }
    out
}

#[test]
fn c1_a_cpuset_of_one_node_arms_nothing() {
    let mut space = MockSpace::of(vec![MockVma::anon(0, MIB)]);
    let mut n = in_cpuset("6.16", Some(&[1]), 0);
    assert_eq!(work(&mut n, 1004, &mut space), ScanEnd::SingleNodeCpuset, "C1");
    let mm = &n.mms[0];
    assert_eq!(
        (n.reasons.cpuset_skips, mm.numa_next_scan, mm.numa_scan_seq, n.counters.numa_pte_updates),
        (1, 0, 0, 0)
    );
    let mut old = in_cpuset("6.12", Some(&[1]), 0);
    assert_eq!(work(&mut old, 1004, &mut space), ScanEnd::NotDue, "C1: 6.12 arms the gate");
    assert_eq!(old.mms[0].numa_next_scan, (1004 + 1000) / TICK_MS);
}

#[test]
fn c2_c3_works_come_exactly_a_period_apart() {
    let mut n = in_cpuset("6.16", Some(&[0]), 4);
    assert_eq!(works(&mut n, 4200), [1004, 2004, 3004, 4004], "C2");
    assert_eq!(works(&mut in_cpuset("6.12", Some(&[0, 1]), 4), 3200), [1004, 2012, 3020], "C2: 6.12");
    let mut n = in_cpuset("6.16", Some(&[0]), 4);
    assert_eq!(works(&mut n, 10_001).len(), 9, "C3");
    assert_eq!((n.reasons.cpuset_skips, n.counters.numa_pte_updates), (9, 0), "C3");
}

#[test]
fn c4_a_policy_of_one_node_is_another_thing() {
    let bound = VmaView { policy_without_mof: true, ..VmaView::anonymous(0, MIB) };
    let mut space = MockSpace::of(vec![MockVma { view: bound, ..MockVma::anon(0, MIB) }]);
    let mut n = in_cpuset("6.16", Some(&[0, 1]), 4);
    assert_eq!(work(&mut n, 1004, &mut space), ScanEnd::Walked, "C4");
    assert_eq!((n.reasons.cpuset_skips, n.reasons.skip[SkipReason::Unsuitable as usize]), (0, 1), "C4");
    assert!(n.mms[0].numa_next_scan > 1004 / TICK_MS, "C4");
}

#[test]
fn c5_without_cpusets_nothing_is_skipped() {
    let mut space = MockSpace::of(vec![MockVma::anon(0, MIB)]);
    assert_eq!(work(&mut in_cpuset("6.16", None, 4), 1004, &mut space), ScanEnd::Walked, "C5");
}

#[test]
fn c6_c7_widening_starts_with_the_old_state() {
    let mut space = MockSpace::of(vec![MockVma::anon(0, MIB)]);
    for (next_scan, end, next) in [(0, ScanEnd::NotDue, 6004), (1000, ScanEnd::Walked, 6004)] {
        let mut n = in_cpuset("6.16", Some(&[1]), next_scan);
        assert_eq!(work(&mut n, 1004, &mut space), ScanEnd::SingleNodeCpuset);
        n.mms[0].mems_allowed = Some(NodeMask::of([0, 1]));
        assert_eq!(work(&mut n, 5004, &mut space), end, "C6, C7");
        assert_eq!(n.mms[0].numa_next_scan, next / TICK_MS, "C6, C7");
    }
}

/// Whether the entry is marked by 6.12 and by 6.19, from node 0.
fn marks(mode: u8, users: u32, page: PageFacts) -> [bool; 2] {
    ["6.12", "6.19"].map(|release| {
        let mut s = settings(release);
        s.scan.numa_balancing = mode;
        let cfg = s.resolve(250).unwrap();
        let topo = if mode == 2 { tiers() } else { direct(2, 2) };
        let rules = MarkRules::new(&cfg, &topo, 0, users, page.shared_mapping, 0);
        let verdict = if page.huge { rules.huge(&page) } else { rules.pte(&page) };
        verdict == Verdict::Mark
    })
}

#[test]
fn m1_to_m10_one_predicate() {
    let huge = PageFacts::private_anon_huge;
    let small = PageFacts::private_anon;
    let shared = |p: PageFacts| PageFacts { shared_mapping: true, ..p };
    let twice = |p: PageFacts| PageFacts { mapcount: 2, entire_mapcount: 2, ..p };
    let pinned = |p: PageFacts| PageFacts { refcount: 1025, ..p };
    let file = |p: PageFacts| PageFacts { file_lru: true, dirty: false, ..p };
    assert_eq!(marks(1, 1, huge(0)), [true, false], "M1");
    assert_eq!(marks(1, 1, huge(1)), [true, true], "M2");
    assert_eq!(marks(1, 2, huge(0)), [true, true], "M3");
    assert_eq!(marks(1, 1, twice(huge(1))), [true, false], "M4");
    assert_eq!(marks(1, 2, shared(twice(huge(0)))), [true, true], "M5");
    assert_eq!(marks(1, 2, pinned(shared(file(small(1))))), [true, false], "M6");
    assert_eq!(marks(1, 2, pinned(small(1))), [false, false], "M7");
    assert_eq!(marks(1, 2, PageFacts { dirty: true, ..file(huge(1)) }), [true, false], "M8");
    assert_eq!(marks(1, 2, PageFacts { special: true, ..small(1) }), [false, false], "M9");
    assert_eq!(marks(2, 4, huge(0)), [false, false], "M10");
}

/// Works that walk 8 GiB of huge pages once, and the pages that each marked.
fn pass_over_8_gib(release: &str, remote: usize) -> Vec<u64> {
    let pages = (0..4096).map(|i| PageFacts::private_anon_huge(usize::from(i < remote))).collect();
    let mut space = MockSpace::of(vec![MockVma::anon(0, 8 * GIB).with(Content::Huge(pages))]);
    let mut n = NumaBalancing::new(config(release, 250), direct(2, 2));
    n.start(0, Some(0), 1000);
    n.mms[0].numa_next_scan = 1;
    let (mut out, mut walked, mut now) = (Vec::new(), 0, 1000);
    while walked < 8 * GIB / 4096 {
        now += 100_000;
        let report = n.task_numa_work(0, ScanArgs { now, this_node: 0, rss_pages: 8 * mib_pages(1024) }, &mut space);
        walked += report.pages_walked;
        out.push(report.updates);
    }
    out
}

#[test]
fn m11_m12_skipped_huge_pages_save_the_budget() {
    let old = pass_over_8_gib("6.12", 0);
    assert_eq!((old.len(), old.iter().all(|u| *u == 65_536)), (32, true), "M11");
    assert_eq!(pass_over_8_gib("6.19", 0), [0; 4], "M11");
    assert_eq!(pass_over_8_gib("6.19", 100), [51_200, 0, 0, 0, 0], "M12");
}

#[test]
fn s1_a_kernel_thread_is_no_partner() {
    let build = |release| {
        let tasks: [(usize, &[u64], Option<usize>); 2] = [(0, &[100, 900], Some(1)), (1, &[0, 0], None)];
        let mut s = setup(direct(2, 1), release, &tasks);
        s.n.tasks[1].mm = None;
        s.place()
    };
    assert_eq!(build("6.12"), ["swap 0 1"], "S1: compared as a task");
    assert!(build("6.19").is_empty(), "S1");
}

#[test]
fn s2_s3_nobody_takes_a_move_that_is_good_enough() {
    assert!(moves_to_nobody(true, 50, 40), "S2");
    assert!(!moves_to_nobody(true, 30, 40), "S3");
    assert!(!moves_to_nobody(false, 50, 40), "S1");
}

/// Takes hint faults of `node 1` pages of `sizes` base pages 10 ms after their marks, in mode 2.
fn promote(release: &str, memory: &MockMemory, sizes: &[u32]) -> (u64, u64) {
    let mut s = settings(release);
    s.scan.numa_balancing = 2;
    let mut n = NumaBalancing::new(s.resolve(1000).unwrap(), tiers());
    n.start(0, Some(0), 1000);
    n.promotion[0].threshold_start_ms = 5000;
    for pages in sizes {
        let huge = PageFacts { pages: *pages, huge: *pages > 1, ..PageFacts::private_anon(1) };
        let mut page = PageFacts { last: access_time(&n.cfg, 5000), ..huge };
        let site = FaultSite { task: 0, cpu: 0, now: 5010 };
        assert_eq!(n.hint_fault_begin(site, &mut page, None, &DEFAULT, memory).target, Some(0));
    }
    (n.counters.pgpromote_candidate, n.counters.pgpromote_candidate_nrl)
}

#[test]
fn p1_p2_promotions_without_and_with_a_rate_limit() {
    let (much, four) = (MockMemory::plenty(), [1, 1, 1, 512]);
    assert_eq!(promote("6.18", &much, &four), (0, 515), "P1");
    assert_eq!(promote("6.12", &much, &four), (0, 0), "P1: 6.12");
    let zone =
        ZoneFacts { populated: true, free_pages: 100_000, high_wmark: 1000, promo_wmark: 1200, lowmem_reserve: 0 };
    let tight = MockMemory { zones: vec![[zone]; 2], present: 1 << 20 };
    assert_eq!(promote("6.18", &tight, &[1; 10]), (10, 0), "P2");
}

#[test]
fn p13_promote_only_walks_what_the_filter_refuses() {
    let build = |promote_only: bool| {
        let mut s = settings("7.2");
        s.scan.numa_balancing = 3;
        s.numa.promote_only = promote_only;
        let mut n = NumaBalancing::new(s.resolve(250).unwrap(), tiers());
        n.start(0, Some(0), 1000);
        n.mms[0].numa_scan_seq = 9;
        n.mms[0].users = 16;
        n.mms[0].numa_next_scan = 1;
        let page = |i| MockPage::new(PageFacts::private_anon(usize::from(i >= 600)));
        let mut space =
            MockSpace::of(vec![MockVma::anon(0, 1000 * 4096).with(Content::Pages((0..1000).map(page).collect()))]);
        let state = numalab_kernel::numa::VmaNuma {
            prev_scan_seq: 8,
            start_scan_seq: 1,
            pids_active_reset: 1 << 40,
            ..Default::default()
        };
        space.vmas[0].state = Some(state);
        // No forced round: a pass that ends is not repeated for promotion.
        n.cfg.vma_filter = numalab_kernel::numa::vma_filter::VmaRules::new(
            n.cfg.vma_filter.role,
            &numalab_kernel::numa::vma_filter::VmaFilterTunables {
                force_inactive: numalab_kernel::numa::vma_filter::Part::Off,
                ..Default::default()
            },
        );
        let report = n.task_numa_work(0, ScanArgs { now: 10_000, this_node: 0, rss_pages: 1000 }, &mut space);
        let skips = n.reasons.skip[SkipReason::PidInactive as usize];
        (report.updates, space.vmas[0].state.unwrap().prev_scan_seq, skips)
    };
    assert_eq!(build(true), (400, 8, 1), "P13");
    assert_eq!(build(false), (0, 8, 1), "P13: 7.2");
}
