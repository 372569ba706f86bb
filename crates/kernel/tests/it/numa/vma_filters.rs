//! §19.5: VMA filters.

use super::mock::{mib_pages, settings, system, MockSpace, MockVma, MIB};
use numalab_kernel::numa::counters::SkipReason;
use numalab_kernel::numa::state::pid_bit;
use numalab_kernel::numa::vma_filter::{Access, FilterContext, VmaFilter};
use numalab_kernel::numa::{NumaBalancing, ScanArgs, VmaNuma};

const START: u64 = 0x4000_0000;

fn context(seq: i32, offset: u64, nr_threads: u32) -> FilterContext {
    FilterContext {
        seq,
        tid: 1000,
        scan_offset: offset,
        nr_threads,
        scan_size_mb: 256,
        start: START,
        end: START + 24 * MIB,
    }
}

fn sized(mib: u64) -> FilterContext {
    FilterContext { end: START + mib * MIB, ..context(9, 0, 1) }
}

fn state(start_scan_seq: i32, prev_scan_seq: i32) -> VmaNuma {
    VmaNuma { start_scan_seq, prev_scan_seq, ..VmaNuma::default() }
}

#[test]
fn v1_hash_of_thread_ids() {
    for (tid, bit) in [(1, 24), (2, 48), (3, 9), (100, 12), (1000, 61), (1234, 22), (4096, 34), (12345, 23)] {
        assert_eq!(pid_bit(tid), bit, "V1 tid {tid}");
    }
}

#[test]
fn v2_threads_with_one_bit_allow_each_other() {
    let mut v = state(0, 5);
    v.record(1089);
    assert_eq!(pid_bit(1089), 61);
    assert_eq!(VmaFilter::V612.parts().access(&v, &context(6, 0, 1)), Access::Allow, "V2: tid 1000");
    assert_eq!(VmaFilter::V612.parts().access(&v, &FilterContext { tid: 3, ..context(6, 0, 1) }), Access::Deny);
}

#[test]
fn v3_to_v8_rules_of_6_12() {
    use Access::{Allow, AllowPartial, Deny};
    let rows = [
        ("V3", state(4, 4), context(5, 0, 1), Allow),
        ("V4", state(4, 5), context(6, 0, 1), Deny),
        ("V4 offset at the start", state(4, 5), context(6, START, 1), Deny),
        ("V5", state(4, 4), context(6, 0, 1), Allow),
        ("V6", state(4, 4), context(6, 0, 2), Deny),
        ("V7", state(4, 5), context(6, START + 4096, 1), AllowPartial),
        ("V8", state(7, 7), context(0, 0, 1), Allow),
    ];
    for (id, v, c, access) in rows {
        assert_eq!(VmaFilter::V612.parts().access(&v, &c), access, "{id}");
    }
}

#[test]
fn filters_v67_and_v68_lack_later_rules() {
    // V5's VMA is free in 6.12 only; V3's (young VMA, old mm) from 6.8 on; the first passes of the mm in 6.7 only.
    assert_eq!(VmaFilter::V68.parts().access(&state(4, 4), &context(6, 0, 1)), Access::Deny);
    assert_eq!(VmaFilter::V67.parts().access(&state(4, 4), &context(5, 0, 1)), Access::Deny);
    assert_eq!(VmaFilter::V67.parts().access(&state(0, 0), &context(1, 0, 1)), Access::Allow);
    assert_eq!(VmaFilter::V67.parts().access(&state(0, 1), &context(2, 0, 1)), Access::Deny);
    assert_eq!(VmaFilter::V67.parts().access(&state(4, 5), &context(6, START + 4096, 1)), Access::AllowPartial);
}

fn scan(n: &mut NumaBalancing, space: &mut MockSpace, now: u64) {
    n.mms[0].numa_next_scan = now;
    n.task_numa_work(0, ScanArgs { now, this_node: 1, rss_pages: mib_pages(1024) }, space);
}

#[test]
fn v9_window_shifts_strictly_after_five_seconds() {
    let mut n = system("6.12", 1000);
    let mut space = MockSpace::of(vec![MockVma::anon(START, MIB)]);
    // The kernel's jiffies are not 0 when a process starts. The vector's t = 0 is this time.
    let t = 100_000;
    scan(&mut n, &mut space, t);
    let v = space.vmas[0].state.unwrap();
    assert_eq!(v.next_scan - t, 1000, "V9");
    space.vmas[0].state.as_mut().unwrap().pids_active = [1, 2];
    scan(&mut n, &mut space, t + 5000);
    assert_eq!(space.vmas[0].state.unwrap().pids_active, [1, 2], "V9: not at 5000 ms");
    scan(&mut n, &mut space, t + 5001);
    let v = space.vmas[0].state.unwrap();
    assert_eq!(v.pids_active, [2, 0], "V9");
    assert_eq!(v.pids_active_reset - t, 9000, "V9: from the old due time");
}

#[test]
fn v10_one_shift_per_visit() {
    let mut n = system("6.12", 1000);
    let mut space = MockSpace::of(vec![MockVma::anon(START, MIB)]);
    let t = 100_000;
    scan(&mut n, &mut space, t);
    // A VMA that passes the filter, so each work visits it once.
    *space.vmas[0].state.as_mut().unwrap() =
        VmaNuma { pids_active: [0, 4], start_scan_seq: 100, ..space.vmas[0].state.unwrap() };
    scan(&mut n, &mut space, t + 20_000);
    let v = space.vmas[0].state.unwrap();
    assert_eq!((v.pids_active, v.pids_active_reset - t), ([4, 0], 9000), "V10 first visit");
    scan(&mut n, &mut space, t + 20_100);
    let v = space.vmas[0].state.unwrap();
    assert_eq!((v.pids_active, v.pids_active_reset - t), ([0, 0], 13_000), "V10 second visit");
}

#[test]
fn a_forced_retry_is_a_second_visit() {
    let mut n = system("6.12", 1000);
    n.mms[0].numa_scan_seq = 6;
    let mut space = MockSpace::of(vec![MockVma::anon(START, MIB)]);
    space.vmas[0].state = Some(VmaNuma { pids_active: [0, 4], pids_active_reset: 1000, ..state(0, 5) });
    scan(&mut n, &mut space, 100_000);
    // Denied, then forced: two visits long after the due time shift the windows twice.
    assert_eq!(space.vmas[0].state.unwrap().pids_active_reset, 9000);
    assert_eq!(space.vmas[0].state.unwrap().pids_active, [0, 0]);
    assert_eq!(space.calls.len(), 1);
}

#[test]
fn v11_no_delay_in_the_first_pass() {
    for (seq, scanned) in [(0, true), (1, false)] {
        let mut n = system("6.12", 1000);
        n.mms[0].numa_scan_seq = seq;
        let mut space = MockSpace::of(vec![MockVma::anon(START, MIB)]);
        space.vmas[0].state = Some(VmaNuma { next_scan: 2000, pids_active_reset: 6000, ..state(seq, seq - 1) });
        scan(&mut n, &mut space, 1010);
        assert_eq!(!space.calls.is_empty(), scanned, "V11 seq {seq}");
        assert_eq!(n.reasons.skip[SkipReason::ScanDelay as usize], u64::from(!scanned), "V11 seq {seq}");
    }
}

#[test]
fn v12_rfc_v3_threshold() {
    for (mib, threshold) in [
        (1, 1),
        (24, 1),
        (255, 1),
        (256, 1),
        (511, 1),
        (512, 2),
        (768, 2),
        (1024, 3),
        (4096, 9),
        (10_240, 21),
        (1_048_576, 2049),
    ] {
        assert_eq!(sized(mib).budget(), threshold, "V12 {mib} MiB");
        let allowed = (0..).take_while(|&visits| allows(VmaFilter::RfcV3, mib, visits)).count() as u64;
        assert_eq!(allowed, threshold, "V12 {mib} MiB visits");
    }
}

fn allows(filter: VmaFilter, mib: u64, visits: u32) -> bool {
    let v = VmaNuma { scan_counter: visits, ..state(0, 8) };
    filter.parts().access(&v, &sized(mib)) == Access::Allow
}

#[test]
fn a_budget_on_6_12_replaces_only_the_free_passes() {
    // 1024 MiB: the first three visits pass for any thread, then 6.12's own rules apply; two free passes never do.
    let verdict = |visits, seq, prev, scan_offset, tid| {
        let mut v = VmaNuma { scan_counter: visits, ..state(seq, prev) };
        v.record(1000);
        let c = FilterContext { seq, scan_offset, tid, nr_threads: 4, ..sized(1024) };
        (VmaFilter::V612Budget.parts().access(&v, &c), VmaFilter::V612.parts().access(&v, &c))
    };
    use Access::{Allow, AllowPartial, Deny};
    assert_eq!(verdict(2, 9, 8, 0, 1001), (Allow, Allow), "in its budget; its state is new");
    assert_eq!(verdict(3, 9, 8, 0, 1001), (Deny, Allow), "a new state is no free pass");
    assert_eq!(verdict(3, 9, 8, 0, 1000), (Allow, Allow), "a thread that faulted there");
    assert_eq!(verdict(3, 9, 8, u64::MAX, 1001), (AllowPartial, Allow), "a work stopped in or behind it");
    assert_eq!(verdict(3, 9, 4, 0, 1001), (Allow, Allow), "left alone for longer than there are threads");
    assert!(VmaFilter::V612Budget.parts().counts_visits() && VmaFilter::V612Budget.parts().completion);
}

fn system_with(filter: &str) -> NumaBalancing {
    let mut s = settings("6.4");
    s.roles.vma_filter = VmaFilter::parse(filter).unwrap();
    let mut n = NumaBalancing::new(s.resolve(1000).unwrap(), super::mock::direct(2, 2));
    n.start(0, Some(0), 1000);
    n
}

#[test]
fn v13_owners_use_the_allowance_up_too() {
    let mut n = system_with("rfc_v3");
    n.start(1, None, 2000);
    n.tasks[1].mm = Some(0);
    n.mms[0].users = 2;
    n.mms[0].numa_scan_seq = 9;
    let mut space = MockSpace::of(vec![MockVma::anon(START, 1024 * MIB)]);
    let mut owner = VmaNuma { pids_active_reset: u64::MAX / 4, ..state(0, 0) };
    owner.record(1000);
    space.vmas[0].state = Some(owner);
    let visit = |n: &mut NumaBalancing, space: &mut MockSpace, task: u32| {
        let now = n.mms[0].numa_next_scan.max(10_000);
        n.mms[0].numa_next_scan = now;
        n.mms[0].numa_scan_offset = 0;
        space.calls.clear();
        n.task_numa_work(task, ScanArgs { now, this_node: 1, rss_pages: 0 }, space);
        !space.calls.is_empty()
    };
    assert!(visit(&mut n, &mut space, 0) && visit(&mut n, &mut space, 0), "V13: two visits by the owner");
    assert_eq!(space.vmas[0].state.unwrap().scan_counter, 2);
    assert!(visit(&mut n, &mut space, 1), "V13: another thread, 2 < 3");
    assert!(!visit(&mut n, &mut space, 1), "V13: another thread, 3 < 3 is false");
    assert!(visit(&mut n, &mut space, 0), "the owner always may");
}

#[test]
fn v14_allowance_of_the_covering_letter() {
    for (mib, allowed) in [(256, 1), (512, 1), (1024, 2), (1280, 3), (24, 1)] {
        let visits = (0..).take_while(|&v| allows(VmaFilter::RfcV3Cover, mib, v)).count();
        assert_eq!(visits, allowed, "V14 {mib} MiB");
    }
}

#[test]
fn rfc_v2_allows_one_more_and_refills_every_sixteenth_pass() {
    assert!(allows(VmaFilter::RfcV2, 24, 1) && !allows(VmaFilter::RfcV2, 24, 2), "scan_counter ≤ 1");
    let mut n = system_with("rfc_v2");
    let mut space = MockSpace::of(vec![MockVma::anon(START, MIB)]);
    for (seq, scanned) in [(15, false), (16, true), (17, true), (18, false)] {
        if seq == 15 {
            space.vmas[0].state = Some(VmaNuma { scan_counter: 2, pids_active_reset: 1 << 40, ..state(0, 0) });
        }
        n.mms[0].numa_scan_seq = seq;
        space.calls.clear();
        scan(&mut n, &mut space, 10_000);
        assert_eq!(!space.calls.is_empty(), scanned, "pass {seq}");
    }
}

#[test]
fn v15_6_4_is_free_for_the_first_two_passes_of_the_mm_only() {
    assert_eq!(VmaFilter::V64.parts().access(&state(1, 0), &context(1, 0, 1)), Access::Allow, "V15 seq 1");
    assert_eq!(VmaFilter::V64.parts().access(&state(2, 1), &context(2, 0, 1)), Access::Deny, "V15 seq 2, newest VMA");
    assert_eq!(VmaFilter::V64.parts().access(&state(0, 1), &context(2, START + 1, 1)), Access::Deny, "no partial rule");
}

#[test]
fn v16_completed_vmas_move_the_offset() {
    let mut n = system("6.12", 1000);
    n.mms[0].numa_scan_seq = 6;
    let mut space = MockSpace::of(vec![MockVma::anon(START, MIB), MockVma::anon(2 * START, MIB)]);
    for (v, prev) in space.vmas.iter_mut().zip([6, 5]) {
        v.state = Some(VmaNuma { pids_active_reset: 1 << 40, ..state(0, prev) });
    }
    space.vmas[0].state.as_mut().unwrap().record(1000);
    scan(&mut n, &mut space, 10_000);
    // The second VMA is inactive, so the walk is repeated from the stored offset, which is after the first VMA.
    assert_eq!(space.calls, [(1, 2 * START, 2 * START + MIB)], "V16: completed, not scanned");
    assert_eq!(n.reasons.skip[SkipReason::SeqCompleted as usize], 1, "V16: offset := end of the first");
    assert_eq!(n.reasons.skip[SkipReason::PidInactive as usize], 1);
}

#[test]
fn window_shifts_only_for_admitted_vmas_in_6_4() {
    for (release, shifted) in [("6.4", false), ("6.7", true)] {
        let mut n = system(release, 1000);
        n.mms[0].numa_scan_seq = 6;
        let mut space = MockSpace::of(vec![MockVma::anon(START, MIB)]);
        space.vmas[0].state = Some(VmaNuma { pids_active: [0, 2], pids_active_reset: 9000, ..state(0, 5) });
        scan(&mut n, &mut space, 10_000);
        // Another thread's bit is in the current window, and the due time is past.
        assert_eq!(space.vmas[0].state.unwrap().pids_active == [2, 0], shifted, "{release}");
    }
}

#[test]
fn filters_off_keep_no_state() {
    let mut n = system("6.3", 1000);
    let mut space = MockSpace::of(vec![MockVma::anon(START, MIB)]);
    scan(&mut n, &mut space, 10_000);
    assert!(space.vmas[0].state.is_none());
    assert_eq!(space.calls.len(), 1);
}
