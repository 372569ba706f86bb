//! §15.1 and the legacy rate limit; R1 to R5.

use super::faults::DEFAULT;
use super::marking::tiers;
use super::mock::{settings, system, MockHost, MockMemory};
use numalab_base::base_page::BasePage;
use numalab_kernel::numa::counters::{Denial, Refusal};
use numalab_kernel::numa::jiffies::Hz;
use numalab_kernel::numa::migrate::ZoneFacts;
use numalab_kernel::numa::rate_limit::NodeLimit;
use numalab_kernel::numa::tiering::{access_time, free_space_enough, hint_latency_ms, NodePromotion};
use numalab_kernel::numa::{FaultSite, LastCpupid, MigrateResult, NumaBalancing, NumaConfig, PageFacts, VmaNuma};

fn config(mode: u8, change: impl Fn(&mut numalab_kernel::numa::NumaSettings)) -> NumaConfig {
    let mut s = settings("6.12");
    s.scan.numa_balancing = mode;
    change(&mut s);
    s.resolve(1000).unwrap()
}

/// The threshold after one adjustment, with `candidates` since the last one.
fn adjusted(threshold_ms: u32, candidates: u64) -> u32 {
    let mut node = NodePromotion { threshold_ms, candidates, ..NodePromotion::default() };
    node.adjust(60_001, 60_000, 100 * 256, 1000);
    node.threshold_ms
}

#[test]
fn r1_threshold_steps_and_range() {
    assert_eq!(adjusted(0, 0), 1125, "R1: step 125");
    assert_eq!(adjusted(2000, 0), 2000, "R1: at most twice the reference");
    assert_eq!(adjusted(1900, 0), 2000);
    assert_eq!(adjusted(125, 10_000_000), 125, "R1: at least a step");
    assert_eq!(adjusted(250, 10_000_000), 125);
}

#[test]
fn r2_candidates_against_the_rate() {
    for (candidates, threshold) in [(1_700_000, 875), (1_689_600, 1000), (1_300_000, 1125), (1_382_400, 1000)] {
        assert_eq!(adjusted(0, candidates), threshold, "R2 {candidates}");
    }
    let mut early = NodePromotion::default();
    early.adjust(60_000, 60_000, 25_600, 1000);
    assert_eq!(early.threshold_ms, 0, "only after more than a period");
}

/// A slow node full of pages, and a top node with little free space.
fn tight() -> MockMemory {
    let zone =
        ZoneFacts { populated: true, free_pages: 100_000, high_wmark: 1000, promo_wmark: 1200, lowmem_reserve: 0 };
    MockMemory { zones: vec![[zone]; 2], present: 1 << 20 }
}

fn promotion(cfg: NumaConfig) -> NumaBalancing {
    let mut n = NumaBalancing::new(cfg, tiers());
    n.start(0, Some(0), 1000);
    n
}

/// Whether a page that was stamped at 5000 ms and touched at `now` is promoted.
fn promoted(n: &mut NumaBalancing, now: u64, memory: &MockMemory) -> bool {
    let stamp = access_time(&n.cfg, 5000);
    let mut page = PageFacts { last: stamp, ..PageFacts::private_anon(1) };
    let target = n.hint_fault_begin(FaultSite { task: 0, cpu: 0, now }, &mut page, None, &DEFAULT, memory).target;
    target.is_some()
}

#[test]
fn r3_latency_must_be_below_the_threshold() {
    for (latency, hot) in [(999, true), (1000, false), (1001, false)] {
        let mut n = promotion(config(2, |_| {}));
        n.promotion[0].threshold_start_ms = 5000;
        assert_eq!(promoted(&mut n, 5000 + latency, &tight()), hot, "R3 latency {latency}");
        assert_eq!(n.reasons.denied[Denial::NotHot as usize], u64::from(!hot), "R3");
        assert_eq!(n.counters.pgpromote_candidate, u64::from(hot), "cold pages are no candidates");
    }
}

#[test]
fn enough_free_space_promotes_everything() {
    let mut n = promotion(config(2, |_| {}));
    n.promotion[0].threshold_ms = 125;
    assert!(promoted(&mut n, 15_000, &MockMemory::plenty()));
    assert_eq!(n.promotion[0].threshold_ms, 0, "and resets the threshold");
    // 1 GiB, or a sixteenth of the node if more, above the promotion watermark and the reserve.
    let zone = |free_pages| {
        [ZoneFacts { populated: true, free_pages, promo_wmark: 100, lowmem_reserve: 5, ..ZoneFacts::default() }]
    };
    assert!(
        !free_space_enough(BasePage::Kib4, &zone(262_144 + 105), 0)
            && free_space_enough(BasePage::Kib4, &zone(262_144 + 106), 0)
    );
    assert!(
        !free_space_enough(BasePage::Kib4, &zone(500_105), 16 * 500_000)
            && free_space_enough(BasePage::Kib4, &zone(500_106), 16 * 500_000)
    );
}

#[test]
fn promotion_rate_limit() {
    let mut n = promotion(config(2, |s| s.scan.promote_rate_limit_mbps = 0));
    assert!(!promoted(&mut n, 5001, &tight()), "rate 0 allows nothing");
    assert_eq!(n.reasons.denied[Denial::PromoteRate as usize], 1);
    let mut node = NodePromotion { rate_start_ms: 1, ..NodePromotion::default() };
    let admitted = (0..1000).filter(|_| !node.rate_limited(900, 256, 1)).count();
    assert_eq!(admitted, 255, "256 pages per second: the 256th reaches the rate");
    assert!(!node.rate_limited(1002, 256, 1), "a new window starts behind the page that opens it");
    assert_eq!(node.rate_candidates, 1001);
}

#[test]
fn hint_latency_wraps_with_the_field() {
    let cfg = config(2, |_| {});
    let mut page = PageFacts { last: LastCpupid::from_raw((1 << 21) - 10), ..PageFacts::private_anon(1) };
    assert_eq!(hint_latency_ms(&cfg, &mut page, 20), 30, "21 bits at 8192 CPUs");
    assert_eq!(page.last.raw(), 20, "the stored time becomes now");
    // 8 CPUs leave 11 bits, so times are stored in units of 2 ms.
    let small = config(2, |s| s.scan.max_cpus = 8);
    let mut page = PageFacts { last: access_time(&small, 1001), ..PageFacts::private_anon(1) };
    assert_eq!(page.last.raw(), 500);
    assert_eq!(hint_latency_ms(&small, &mut page, 1101) & !1, 100);
}

#[test]
fn slow_tier_faults_are_not_recorded_and_hide_their_time() {
    let mut n = promotion(config(3, |_| {}));
    let mut host = MockHost::new(2, 1);
    let mut page = PageFacts { last: access_time(&n.cfg, 5000), ..PageFacts::private_anon(1) };
    let site = FaultSite { task: 0, cpu: 0, now: 9000 };
    let d = n.hint_fault_begin(site, &mut page, None, &DEFAULT, &tight());
    assert!(d.last.is_unset() && d.target.is_none());
    let outcome = n.hint_fault_end(site, &mut page, &d, MigrateResult::NotTried, &mut host);
    assert!(!outcome.recorded);
    assert_eq!(n.counters.numa_hint_faults, 1);
    let d = n.hint_fault_begin(FaultSite { now: 9100, ..site }, &mut page, None, &DEFAULT, &tight());
    assert_eq!(d.target, Some(0), "touched again within 100 ms");
    let outcome = n.hint_fault_end(site, &mut page, &d, MigrateResult::Migrated, &mut host);
    assert!(outcome.recorded, "after promotion the page is on the top tier");
    assert!(page.last.is_unset(), "crossing tiers unsets the field");
    assert_eq!((n.counters.pgpromote_success, n.counters.pgpromote_candidate), (1, 1));
}

#[test]
fn basic_tiering_decides_as_for_any_page() {
    let mut s = settings("5.18");
    s.scan.numa_balancing = 2;
    let mut n = promotion(s.resolve(1000).unwrap());
    let mut page = PageFacts::private_anon(1);
    let site = FaultSite { task: 0, cpu: 0, now: 9000 };
    assert_eq!(n.hint_fault_begin(site, &mut page, None, &DEFAULT, &tight()).target, Some(0));
    assert_eq!(page.last, LastCpupid::new(0, 1000));
    assert_eq!(n.counters.pgpromote_candidate, 0);
}

#[test]
fn stale_times_are_recognised_after_tiering_is_switched_off() {
    let mut n = promotion(config(1, |_| {}));
    let mut page = PageFacts { last: LastCpupid::from_raw(5000), ..PageFacts::private_anon(1) };
    let d = n.hint_fault_begin(FaultSite { task: 0, cpu: 0, now: 9000 }, &mut page, None, &DEFAULT, &tight());
    // 5000 >> 8 = 19 is not a CPU of this machine.
    assert_eq!((d.target, n.reasons.denied[Denial::StaleTime as usize]), (None, 1));
    assert_eq!(page.last, LastCpupid::new(0, 1000), "exchanged nevertheless");
}

#[test]
fn turning_tiering_on_resets_thresholds() {
    let mut n = promotion(config(1, |_| {}));
    n.promotion[0].threshold_ms = 700;
    n.set_mode(3);
    assert_eq!(n.promotion[0].threshold_ms, 0);
    n.promotion[0].threshold_ms = 700;
    n.set_mode(2);
    assert_eq!(n.promotion[0].threshold_ms, 700, "it was on");
}

#[test]
fn pid_bits_are_recorded_for_slow_pages_too() {
    let mut n = promotion(config(2, |_| {}));
    let mut vma = VmaNuma::default();
    let site = FaultSite { task: 0, cpu: 0, now: 9000 };
    n.hint_fault_begin(site, &mut PageFacts::private_anon(1), Some(&mut vma), &DEFAULT, &tight());
    assert_eq!(vma.pids_active[1], 1 << 61);
}

fn admissions(pages: u64) -> usize {
    let hz = Hz::new(1000).unwrap();
    let mut node = NodeLimit::default();
    let admitted = (0..100_000).filter(|_| node.admit(hz, 5000, pages)).count();
    assert!(!node.admit(hz, 5100, pages), "until the window has ended");
    assert!(node.admit(hz, 5101, pages), "strictly after it");
    admitted
}

#[test]
fn r4_r5_legacy_rate_limit() {
    assert_eq!(admissions(1), 32_769, "R4");
    assert_eq!(admissions(512), 65, "R5");
}

#[test]
fn the_rate_limit_is_a_refusal_of_old_kernels() {
    let zone = [ZoneFacts { populated: true, free_pages: 1 << 30, ..ZoneFacts::default() }];
    for (release, limited) in [("3.13", true), ("4.15", true), ("4.19", false)] {
        let mut n = system(release, 1000);
        let page = PageFacts::private_anon_huge(0);
        let at = FaultSite { task: 0, cpu: 2, now: 1000 };
        let results: Vec<_> = (0..70).map(|_| n.migrate_misplaced_folio_prepare(at, &page, 1, &zone, true)).collect();
        let refused = results.iter().filter(|r| **r == Err(Refusal::RateLimited)).count();
        assert_eq!(refused, if limited { 5 } else { 0 }, "{release}");
        assert_eq!(n.limits[0].admitted, 0, "limits are per destination");
    }
}

#[test]
fn marking_stops_on_limited_nodes_in_3_8() {
    use super::mock::{MockSpace, MockVma};
    use numalab_kernel::numa::scan::ScanEnd;
    use numalab_kernel::numa::ScanArgs;
    for (release, at, end, period) in [
        ("3.8", 2100, ScanEnd::RateLimited, 100),
        ("3.8", 2101, ScanEnd::Walked, 100),
        ("3.13", 2100, ScanEnd::Walked, 1000),
    ] {
        let mut n = system(release, 1000);
        n.cfg.switches.first_nid_gate = false;
        n.limits[1] = NodeLimit { window_end: 1100, admitted: 32_768 };
        n.mms[0].numa_next_scan = at;
        let mut space = MockSpace::of(vec![MockVma::anon(0x4000_0000, 1 << 24)]);
        let args = ScanArgs { now: at, this_node: 1, rss_pages: 0 };
        assert_eq!(n.task_numa_work(0, args, &mut space).end, end, "{release} {at}");
        assert_eq!(n.mms[0].numa_next_scan, at + period, "the period is consumed");
    }
}

#[test]
fn slow_nodes_without_tiering_are_recorded_from_the_second_fault() {
    let mut n = promotion(config(1, |_| {}));
    let mut host = MockHost::new(2, 1);
    let mut page = PageFacts { writable: false, ..PageFacts::private_anon(1) };
    let site = FaultSite { task: 0, cpu: 0, now: 9000 };
    for (recorded, why) in [(false, "unset is not a CPU"), (true, "now it is")] {
        let d = n.hint_fault_begin(site, &mut page, None, &DEFAULT, &tight());
        let outcome = n.hint_fault_end(site, &mut page, &d, MigrateResult::Failed, &mut host);
        assert_eq!(outcome.recorded, recorded, "{why}");
    }
}

#[test]
fn crossing_tiers_keeps_the_cpupid_without_tiering() {
    let mut n = promotion(config(1, |_| {}));
    let mut host = MockHost::new(2, 1);
    let mut page = PageFacts { last: LastCpupid::new(0, 1000), ..PageFacts::private_anon(1) };
    let site = FaultSite { task: 0, cpu: 0, now: 9000 };
    let d = n.hint_fault_begin(site, &mut page, None, &DEFAULT, &tight());
    n.hint_fault_end(site, &mut page, &d, MigrateResult::Migrated, &mut host);
    assert_eq!((page.nid, page.last), (0, LastCpupid::new(0, 1000)));
    assert_eq!(n.counters.pgpromote_success, 0, "counted in tiering mode only");
}
