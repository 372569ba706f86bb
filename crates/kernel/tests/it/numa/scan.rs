//! §19.4: chunks, budgets, passes.

use super::mock::{config, direct, mib_pages, settings, system, Content, MockPage, MockSpace, MockVma, GIB, MIB, PAGE};
use numalab_kernel::numa::counters::SkipReason;
use numalab_kernel::numa::scan::{ScanEnd, ScanReport};
use numalab_kernel::numa::{NumaBalancing, PageFacts, ScanArgs, VmaNuma};

/// A scan work that passes the gate, on node 1; the pages are on node 0.
fn work(n: &mut NumaBalancing, space: &mut MockSpace) -> ScanReport {
    let now = n.mms[0].numa_next_scan.max(100_000);
    n.mms[0].numa_next_scan = now;
    space.calls.clear();
    let report = n.task_numa_work(0, ScanArgs { now, this_node: 1, rss_pages: mib_pages(1024) }, space);
    assert_eq!(report.end, ScanEnd::Walked);
    report
}

fn complete_in(n: &NumaBalancing, space: &MockSpace, index: usize) -> bool {
    space.vmas[index].state.unwrap().prev_scan_seq == n.mms[0].numa_scan_seq
}

#[test]
fn s1_first_chunk_is_rounded_up_to_a_huge_page() {
    let mut n = system("6.12", 1000);
    let mut space = MockSpace::of(vec![MockVma::anon(0x1000, GIB)]);
    let r = work(&mut n, &mut space);
    assert_eq!(space.calls, [(0, 0x1000, 0x1020_0000)], "S1");
    assert_eq!(r.pages_charged, 66_047, "S1: 511 pages beyond the budget");
    assert_eq!((n.mms[0].numa_scan_offset, n.mms[0].numa_scan_seq), (0x1020_0000, 0), "S1");
}

#[test]
fn s2_marked_ranges_cost_the_virtual_budget_only() {
    let mut n = system("6.12", 1000);
    let mut space = MockSpace::of(vec![MockVma::anon(0x4000_0000, 4 * GIB).with(Content::AllMarked)]);
    let r = work(&mut n, &mut space);
    assert_eq!((r.chunks, r.pages_walked, r.pages_charged), (8, 8 * 65_536, 0), "S2");
    assert!(space.calls.iter().all(|&(_, s, e)| e - s == 256 * MIB), "S2");
    assert_eq!(n.mms[0].numa_scan_offset, 0xC000_0000, "S2");
}

#[test]
fn s3_small_vmas_end_the_pass() {
    let mut n = system("6.12", 1000);
    let vmas = (1..=10).map(|i| MockVma::anon(i * 0x1000_0000, 16 * MIB)).collect();
    let mut space = MockSpace::of(vmas);
    let r = work(&mut n, &mut space);
    assert_eq!((r.pages_charged, 65_536 - r.pages_charged), (40_960, 24_576), "S3");
    assert_eq!((n.mms[0].numa_scan_offset, n.mms[0].numa_scan_seq), (0, 1), "S3");
}

#[test]
fn s4_a_vma_ending_on_the_budget_is_not_complete() {
    let mut n = system("6.12", 1000);
    let mut space = MockSpace::of(vec![MockVma::anon(0x4000_0000, 256 * MIB)]);
    work(&mut n, &mut space);
    assert_eq!((n.mms[0].numa_scan_offset, n.mms[0].numa_scan_seq), (0x5000_0000, 0), "S4");
    assert!(!complete_in(&n, &space, 0), "S4");
    n.mms[0].numa_next_scan += 2000;
    let r = work(&mut n, &mut space);
    assert_eq!((r.resets, n.mms[0].numa_scan_seq), (1, 1), "S4: no VMA beyond the offset");
    assert_eq!(space.calls[0].1, 0x4000_0000, "S4: rescanned from the beginning");
}

#[test]
fn s5_unpopulated_chunks_are_free_of_the_scan_budget() {
    let mut n = system("6.12", 1000);
    let mut pages = vec![MockPage::absent(); 65_536];
    pages.resize(300 * 256, MockPage::new(PageFacts::private_anon(0)));
    let mut space = MockSpace::of(vec![MockVma::anon(0x4000_0000, 300 * MIB).with(Content::Pages(pages))]);
    let r = work(&mut n, &mut space);
    assert_eq!(space.calls, [(0, 0x4000_0000, 0x5000_0000), (0, 0x5000_0000, 0x52C0_0000)], "S5");
    assert_eq!((r.pages_walked, r.pages_charged), (65_536 + 11_264, 11_264), "S5: budget 54272 left");
    assert_eq!(space.vmas[0].state.unwrap().prev_scan_seq, 0, "S5: complete");
    assert_eq!((n.mms[0].numa_scan_offset, n.mms[0].numa_scan_seq), (0, 1), "S5");
}

#[test]
fn s6_a_small_vma_completes_and_ends_the_pass() {
    let mut n = system("6.12", 1000);
    let mut space = MockSpace::of(vec![MockVma::anon(0x4000_0000, 24 * MIB)]);
    let r = work(&mut n, &mut space);
    assert_eq!(r.pages_charged, 6144, "S6");
    assert_eq!(space.vmas[0].state.unwrap().prev_scan_seq, 0, "S6: complete in pass 0");
    assert_eq!((n.mms[0].numa_scan_offset, n.mms[0].numa_scan_seq), (0, 1), "S6");
}

/// S7 and S8: three old VMAs in pass 6; the thread is active in VMA `active`.
pub fn three_vmas(active: usize) -> (NumaBalancing, MockSpace) {
    let mut n = system("6.12", 1000);
    n.mms[0].numa_scan_seq = 6;
    let starts = [0x4000_0000, 0x6000_0000, 0x8000_0000];
    let mut space = MockSpace::of(starts.iter().map(|&s| MockVma::anon(s, 16 * MIB)).collect());
    for (i, v) in space.vmas.iter_mut().enumerate() {
        let mut s = VmaNuma { prev_scan_seq: 5, pids_active_reset: 1 << 40, ..VmaNuma::default() };
        if i == active {
            s.record(1000);
        }
        v.state = Some(s);
    }
    (n, space)
}

fn visited(space: &MockSpace) -> Vec<usize> {
    space.calls.iter().map(|c| c.0).collect()
}

#[test]
fn s7_forced_retry_after_a_completed_vma() {
    let (mut n, mut space) = three_vmas(0);
    let r = work(&mut n, &mut space);
    assert_eq!(visited(&space), [0, 1], "S7: A, then B forced");
    assert_eq!(r.pages_charged, 2 * 4096, "S7");
    assert!(r.forced && r.resets == 0, "S7");
    assert_eq!((n.mms[0].numa_scan_offset, n.mms[0].numa_scan_seq), (0x6100_0000, 6), "S7");
    let r = work(&mut n, &mut space);
    assert_eq!((visited(&space), r.forced), (vec![2], true), "S7: C forced");
    assert_eq!((n.mms[0].numa_scan_offset, n.mms[0].numa_scan_seq), (0x8100_0000, 6), "S7");
    work(&mut n, &mut space);
    assert_eq!(n.mms[0].numa_scan_seq, 7, "S7: no VMA beyond the offset");
}

#[test]
fn s8_forced_retry_before_an_active_vma() {
    let (mut n, mut space) = three_vmas(1);
    work(&mut n, &mut space);
    assert_eq!(visited(&space), [1, 0], "S8: B, then A forced");
    assert_eq!((n.mms[0].numa_scan_offset, n.mms[0].numa_scan_seq), (0x4100_0000, 6), "S8");
    let completed = n.reasons.skip[SkipReason::SeqCompleted as usize];
    work(&mut n, &mut space);
    assert_eq!(n.reasons.skip[SkipReason::SeqCompleted as usize], completed + 1, "S8: B once, before the retry");
    assert_eq!(visited(&space), [2], "S8: C forced");
    assert_eq!((n.mms[0].numa_scan_offset, n.mms[0].numa_scan_seq), (0x8100_0000, 6), "S8");
}

#[test]
fn the_gate_is_checked_before_anything_is_charged() {
    let mut n = system("6.12", 250);
    let mut space = MockSpace::of(vec![MockVma::anon(0x4000_0000, 16 * MIB)]);
    n.mms[0].numa_next_scan = 500;
    let args = ScanArgs { now: 499, this_node: 1, rss_pages: mib_pages(1024) };
    assert_eq!(n.task_numa_work(0, args, &mut space).end, ScanEnd::NotDue);
    assert_eq!(n.tasks[0].node_stamp, 0);
    let report = n.task_numa_work(0, ScanArgs { now: 500, ..args }, &mut space);
    assert_eq!(report.end, ScanEnd::Walked);
    assert_eq!(n.mms[0].numa_next_scan, 750, "the winner's period (1000 ms) at HZ 250");
    assert_eq!(n.tasks[0].node_stamp, 8_000_000);
}

#[test]
fn a_held_lock_consumes_the_period() {
    let mut n = system("6.12", 250);
    n.mms[0].numa_next_scan = 500;
    let mut space = MockSpace::of(vec![MockVma::anon(0x4000_0000, 16 * MIB)]);
    space.locked = true;
    let args = ScanArgs { now: 500, this_node: 1, rss_pages: mib_pages(1024) };
    let report = n.task_numa_work(0, args, &mut space);
    assert_eq!((report.end, n.mms[0].numa_next_scan, n.tasks[0].node_stamp), (ScanEnd::Locked, 750, 8_000_000));
    n.scan_done(0, &report, 1_000_000);
    assert_eq!(n.tasks[0].node_stamp, 8_000_000, "works that stop early skip the overhead rule");
    // 4.4 waits for the lock instead.
    let mut old = system("4.4", 250);
    old.mms[0].numa_next_scan = 500;
    assert_eq!(old.task_numa_work(0, args, &mut space).end, ScanEnd::Walked);
}

#[test]
fn a_zero_period_is_initialised_by_the_work() {
    let mut n = system("6.12", 250);
    n.tasks[0].numa_scan_period = 0;
    n.mms[0].numa_next_scan = 500;
    let args = ScanArgs { now: 500, this_node: 1, rss_pages: mib_pages(1024) };
    n.task_numa_work(0, args, &mut MockSpace::default());
    assert_eq!((n.tasks[0].numa_scan_period, n.tasks[0].numa_scan_period_max), (250, 15000));
}

#[test]
fn an_empty_address_space_ends_two_passes_per_work() {
    let mut n = system("6.12", 250);
    let r = work(&mut n, &mut MockSpace::default());
    assert_eq!((r.resets, n.mms[0].numa_scan_seq), (2, 2), "at the start for want of a VMA, and at the end");
}

#[test]
fn skip_reasons_in_the_order_of_the_checks() {
    let mut n = system("6.12", 250);
    let mut space = MockSpace::of((1..=4).map(|i| MockVma::anon(i * 0x1000_0000, MIB)).collect());
    space.vmas[0].view.unmigratable = true;
    space.vmas[0].view.shared_ro = true;
    space.vmas[1].view.shared_ro = true;
    space.vmas[1].view.inaccessible = true;
    space.vmas[2].view.inaccessible = true;
    space.vmas[3].view.policy_without_mof = true;
    work(&mut n, &mut space);
    let skip = |r: SkipReason| n.reasons.skip[r as usize];
    assert_eq!((skip(SkipReason::Unsuitable), skip(SkipReason::SharedRo), skip(SkipReason::Inaccessible)), (2, 1, 1));
    assert!(space.calls.is_empty() && space.vmas.iter().all(|v| v.state.is_none()), "no state for unsuitable VMAs");
}

#[test]
fn balancenuma_of_3_8() {
    let mut n = NumaBalancing::new(config("3.8", 1000), direct(2, 2));
    n.start(0, Some(0), 1000);
    n.mms[0].numa_next_scan = 1000;
    // A VMA below 2 MiB is skipped, a read-only file mapping is not.
    let mut space = MockSpace::of(vec![MockVma::anon(0x1000_0000, MIB), MockVma::anon(0x4000_0000, 600 * MIB)]);
    space.vmas[1].view.shared_ro = true;
    let on = |now, this_node| ScanArgs { now, this_node, rss_pages: 0 };
    assert_eq!(n.task_numa_work(0, on(1000, 0), &mut space).end, ScanEnd::FirstNode);
    assert_eq!(n.task_numa_work(0, on(1001, 0), &mut space).end, ScanEnd::FirstNode, "still the first node");
    let r = n.task_numa_work(0, on(1002, 1), &mut space);
    assert_eq!(r.end, ScanEnd::Walked);
    assert_eq!(n.reasons.skip[SkipReason::Small as usize], 1);
    assert_eq!(r.updates, 65_536);
    assert_eq!(n.mms[0].numa_next_scan, 1102, "period 100 ms");
    assert!(space.vmas[1].state.is_none());
    // The gate stays open on the first node too, and the period is reset once per minute.
    n.tasks[0].numa_scan_period = 5000;
    assert_eq!(n.mms[0].numa_next_reset, 61_002);
    n.mms[0].numa_next_scan = 61_003;
    assert_eq!(n.task_numa_work(0, on(61_003, 0), &mut space).end, ScanEnd::Walked);
    assert_eq!((n.tasks[0].numa_scan_period, n.mms[0].numa_next_reset), (100, 121_003));
}

/// NUMA balancing of a release with a budget of 1 MiB.
fn with_1_mib(release: &str) -> NumaBalancing {
    let mut s = settings(release);
    s.scan.scan_size_mb = 1;
    let mut n = NumaBalancing::new(s.resolve(1000).unwrap(), direct(2, 2));
    n.start(0, Some(0), 1000);
    n
}

/// A VMA of 32 MiB with the pages for which `present` holds.
fn sparse(present: impl Fn(usize) -> bool) -> MockSpace {
    let page = MockPage::new(PageFacts::private_anon(0));
    let pages = (0..8192).map(|i| if present(i) { page } else { MockPage::absent() }).collect();
    MockSpace::of(vec![MockVma::anon(0x4000_0000, 32 * MIB).with(Content::Pages(pages))])
}

#[test]
fn what_old_kernels_charge() {
    // Every second page is present: 2 MiB of address space cost 256 pages in 3.8, 512 after.
    let charged = |release| {
        let mut n = with_1_mib(release);
        n.cfg.switches.first_nid_gate = false;
        let r = work(&mut n, &mut sparse(|i| i % 2 == 0));
        (r.chunks, r.pages_walked, r.updates, r.pages_charged)
    };
    assert_eq!(charged("3.8"), (1, 512, 256, 256));
    assert_eq!((charged("3.13"), charged("4.4")), ((1, 512, 256, 512), (1, 512, 256, 512)));
    // With nothing to mark, 4.4 stops after 8 budgets of 1 MiB (4 chunks of 2 MiB). Kernels before walk to the end.
    let walked = |release| work(&mut with_1_mib(release), &mut sparse(|_| false)).pages_walked;
    assert_eq!((walked("3.13"), walked("4.1"), walked("4.4")), (8192, 8192, 2048));
}

/// task_numa_work() of 3.13 to 4.3: `nr_pte_updates +=`; of 4.4: `nr_pte_updates =`.
#[test]
fn until_4_3_all_is_charged_once_an_entry_has_changed() {
    // Two VMAs: the first has one page, the second is empty for 8 MiB.
    let build = |release| {
        let mut n = with_1_mib(release);
        let page = MockPage::new(PageFacts::private_anon(0));
        let hole = vec![MockPage::absent(); 2048];
        let mut space = MockSpace::of(vec![
            MockVma::anon(0x4000_0000, PAGE).with(Content::Pages(vec![page])),
            MockVma::anon(0x5000_0000, 8 * MIB).with(Content::Pages(hole)),
        ]);
        let r = work(&mut n, &mut space);
        (r.chunks, r.pages_charged)
    };
    assert_eq!(build("4.1"), (2, 513), "2 MiB of the second use the budget up");
    assert_eq!(build("4.4"), (5, 1), "all of it costs nothing");
}

#[test]
fn a_pass_ends_behind_its_walk() {
    let mut n = system("6.12", 1000);
    let mut space = MockSpace::of(vec![MockVma::anon(0x4000_0000, 16 * MIB)]);
    n.mms[0].numa_next_scan = 100_000;
    let args = ScanArgs { now: 100_000, this_node: 1, rss_pages: mib_pages(16) };
    let report = n.task_numa_work_begin(0, args, &mut space);
    assert!(report.updates > 0 && report.list_ended, "{report:?}");
    assert_eq!(n.mms[0].numa_scan_seq, 0, "faults on these marks come in the pass that made them");
    n.task_numa_work_end(0, &report);
    assert_eq!((n.mms[0].numa_scan_seq, n.mms[0].numa_scan_offset), (1, 0));
    // A walk whose budget is used up ends no pass.
    let mut n = system("6.12", 1000);
    let mut space = MockSpace::of(vec![MockVma::anon(0x4000_0000, GIB)]);
    n.mms[0].numa_next_scan = 100_000;
    let report = n.task_numa_work_begin(0, args, &mut space);
    n.task_numa_work_end(0, &report);
    assert_eq!((report.list_ended, n.mms[0].numa_scan_seq), (false, 0));
}
