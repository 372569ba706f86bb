//! Vectors of kernel-after-6.12.md §11 that need no state: S4, S5, P3 to P12, R1 to R7, D1, X1 to X22, K1 to K10.
#![allow(clippy::unwrap_used)]

use numalab_base::node_mask::NodeMask;
use numalab_kernel::mm::khugepaged::mthp::{parts, scans_for_parts, Part};
use numalab_kernel::mm::khugepaged::{scan_pmd, KhugepagedTunables, PmdFacts, ScanResult};
use numalab_kernel::mm::policy::auto_weights::{from_bandwidth, InterleaveWeights};
use numalab_kernel::mm::reclaim::{DemotionTargets, Lower};
use numalab_kernel::mm::thp::prctl::ThpDisable;
use numalab_kernel::sched::balance::dice::{rate, Dice};
use numalab_kernel::sched::cache_aware::decide::{can_migrate, CacheMove, CachePair, Limits};
use numalab_kernel::sched::cache_aware::epoch::{
    average_running, elects, preferred_cache, timed_out, CpuEpoch, MmRuntime, ONE,
};
use numalab_kernel::sched::cache_aware::size::{
    exceeds, footprint_after, footprint_after_exit, scale, too_many_threads,
};
use numalab_kernel::sched::cache_aware::CacheAwareTunables;
use numalab_kernel::sched::domains::simplify::remote_mean;

#[test]
fn s4_s5_footprint() {
    assert_eq!(footprint_after(100, -150), 0, "S4");
    assert_eq!((footprint_after_exit(100, 70), footprint_after_exit(100, 170)), (30, 0), "S5");
}

#[test]
fn p3_to_p8_weights_from_bandwidth() {
    assert_eq!(from_bandwidth(&[280_000, 50_000]), [27, 4], "P3");
    assert_eq!(from_bandwidth(&[7, 7]), [1, 1], "P4");
    assert_eq!(from_bandwidth(&[300, 100]), [3, 1], "P5");
    assert_eq!(from_bandwidth(&[1000, 10]), [31, 1], "P6");
    assert_eq!(from_bandwidth(&[1000, 0]), [32, 1], "P7");
    assert_eq!(from_bandwidth(&[200, 200, 100]), [2, 2, 1], "P8");
    assert_eq!(from_bandwidth(&[0, 0]), [1, 1], "before any report");
}

#[test]
fn p9_a_written_weight_ends_the_automatic_ones() {
    let mut w = InterleaveWeights::new(2, true);
    w.report(0, 300_000, 280_000);
    w.report(1, 60_000, 50_000);
    assert_eq!(w.weights(), [27, 4], "P3");
    w.write(1, 8);
    assert_eq!((w.weights(), w.auto()), (&[27, 8][..], false), "P9");
    w.report(0, 100, 100);
    assert_eq!(w.weights(), [27, 8], "P9: kept, not applied");
    w.set_auto(true);
    assert_eq!(w.weights(), from_bandwidth(&[100, 50_000]), "turning it on applies what was reported");
}

/// Target node of a demotion from node 0 for every draw, and the nodes it may fall back to.
fn demote(
    rule: DemotionTargets,
    preferred: &[usize],
    lower: &[usize],
    mems: &[usize],
) -> Vec<Option<(usize, Vec<usize>)>> {
    let mask = |n: &[usize]| NodeMask::of(n.iter().copied());
    let lower = Lower { preferred: mask(preferred), all: mask(lower) };
    let distance = |_: usize, n: usize| 20 + n as u8;
    let one = |d: usize| rule.target(0, lower, Some(mask(mems)), distance, |n| d % n);
    (0..2).map(|d| one(d).map(|t| (t.node, t.allowed.iter().collect()))).collect()
}

#[test]
fn p10_to_p12_demotion_and_cpusets() {
    use DemotionTargets::{Any, FirstAllowed, MaskClosest};
    let p10 = |rule| demote(rule, &[2, 3], &[2, 3], &[0, 1, 2]);
    assert_eq!(p10(MaskClosest), [Some((2, vec![2])), Some((2, vec![2]))], "P10");
    assert_eq!(p10(FirstAllowed), [Some((2, vec![2, 3])), None], "P10: pages may go to 2 or 3");
    assert_eq!(p10(Any), [Some((2, vec![2, 3])), Some((3, vec![2, 3]))], "P10");
    let p11 = |rule| demote(rule, &[3], &[3, 4, 5], &[0, 1, 2, 4, 5])[0].clone().map(|t| t.0);
    assert_eq!((p11(MaskClosest), p11(FirstAllowed), p11(Any)), (Some(4), None, Some(3)), "P11");
    let p12 = |rule| demote(rule, &[2, 3], &[2, 3], &[0, 1]);
    assert_eq!((p12(MaskClosest), p12(FirstAllowed)), (vec![None, None], vec![None, None]), "P12");
    assert!(p12(Any).iter().all(Option::is_some), "P12");
}

#[test]
fn r1_r2_dice() {
    let fresh = Dice::default();
    assert_eq!((fresh.searches(513), fresh.searches(514)), (Some(513), None), "R1");
    let credit = |ratio: u32| Dice::credit(1 + ratio);
    assert_eq!([credit(512), credit(1024), credit(256), credit(0)], [2, 1, 4, 1024], "R2");
}

/// `calls` calls, the first `pulls` of which bring a task at a constant ratio of 512.
fn after(mut dice: Dice, calls: u32, pulls: u32) -> Dice {
    (0..calls).for_each(|i| dice.count(if i < pulls { 2 } else { 0 }, false, 0));
    dice
}

#[test]
fn r3_to_r6_the_ratio_follows_success() {
    let none = after(Dice::default(), 512, 0);
    assert_eq!((none.ratio, none.call, none.success), (256, 512, 128), "R3");
    let some = after(Dice::default(), 512, 200);
    assert_eq!((some.ratio, some.success), (656, 328), "R4");
    let mut dice = Dice::default();
    let ratios: Vec<u32> = (0..10)
        .map(|_| {
            dice = after(dice, 512, 0);
            dice.ratio
        })
        .collect();
    assert_eq!(ratios, [256, 128, 64, 32, 16, 8, 4, 2, 1, 0], "R5");
    assert_eq!((0..1024).filter(|d| dice.searches(*d).is_some()).count(), 2, "R6");
}

#[test]
fn r7_by_rate() {
    assert_eq!(rate(4_194_304_000, 24), 1024, "R7");
    let rare = Dice { ratio: 1024, ..Dice::default() };
    assert!(!rare.is_thrown(true) && rare.is_thrown(false), "R7: no dice");
    assert_eq!(rate(4_194_304, 24), 25);
}

#[test]
fn d1_mean_of_remote_distances() {
    let rows: [[u8; 6]; 6] = [
        [10, 15, 17, 21, 28, 26],
        [15, 10, 15, 23, 26, 23],
        [17, 15, 10, 26, 23, 21],
        [21, 28, 26, 10, 15, 17],
        [23, 26, 23, 15, 10, 15],
        [26, 23, 21, 17, 15, 10],
    ];
    let table: Vec<Vec<u8>> = rows.iter().map(|r| r.to_vec()).collect();
    assert_eq!(remote_mean(&table, &[0, 1, 2, 3, 4, 5]), Some(24), "D1");
}

#[test]
fn x1_to_x4_size() {
    assert_eq!([0, 1, 50, 99, 100].map(|t| scale(t, 256)), [Some(0), Some(1), Some(12_545), Some(25_089), None], "X1");
    let llc = Some(32 << 20);
    assert_eq!([8192, 8193].map(|pages| exceeds(true, llc, 1, pages)), [false, true], "X2");
    assert_eq!([205_529_088, 205_529_089].map(|pages| exceeds(true, llc, 99, pages)), [false, true], "X3");
    assert!(!exceeds(false, llc, 1, 8193), "X4");
    assert!(exceeds(true, None, 100, 0) && !exceeds(true, llc, 100, u64::MAX));
}

#[test]
fn x5_to_x7_threads() {
    assert_eq!([6, 7].map(|n| too_many_threads(9, n, 2, 16, 1)), [false, true], "X5");
    assert_eq!([12, 13].map(|n| too_many_threads(20, n, 1, 16, 1)), [false, true], "X6");
    assert!(too_many_threads(1, 0, 2, 16, 1), "X7");
}

#[test]
fn x8_x9_epochs_and_occupancy() {
    let mut cpu = CpuEpoch { epoch: 7, next_ns: 50_000_000, runtime_ns: 8_000_000 };
    cpu.advance(75_000_000, 10_000_000);
    assert_eq!(cpu, CpuEpoch { epoch: 10, next_ns: 80_000_000, runtime_ns: 1_000_000 }, "X8");
    let cpu = CpuEpoch { runtime_ns: 9_999_999, ..cpu };
    let mm = MmRuntime { epoch: cpu.epoch, runtime_ns: 5_000_000 };
    assert_eq!(cpu.occupancy(&mm), ONE / 2, "X9");
    let late = MmRuntime { epoch: cpu.epoch - 1, ..mm };
    assert_eq!(cpu.occupancy(&late), ONE / 4, "an epoch without a run halves it");
}

#[test]
fn x10_to_x12_election() {
    assert_eq!([200, 201].map(|best| elects(best, 100)), [false, true], "X10");
    assert_eq!(preferred_cache(Some(3), 0, Some(1)), None, "X11");
    assert_eq!((preferred_cache(Some(3), 0, None), preferred_cache(Some(3), 0, Some(0))), (Some(3), Some(3)), "X12");
}

#[test]
fn x13_to_x18_x20_moves_between_caches() {
    let limits = Limits::new(&CacheAwareTunables::default(), true);
    let ask = |src_util, dst_util, task, towards| {
        let pair = CachePair { src_util, dst_util, src_capacity: 1000, dst_capacity: 1000 };
        can_migrate(Some(pair), task, towards, &limits)
    };
    assert_eq!(ask(300, 450, 100, true), CacheMove::Forbid, "X13");
    assert_eq!(ask(500, 480, 40, true), CacheMove::Towards, "X14");
    for t in [0, 100, 600] {
        assert_eq!(ask(600, 550, t, true), CacheMove::Unrestricted, "X15");
    }
    assert_eq!(ask(600, 300, 50, false), CacheMove::Towards, "X16");
    assert_eq!(ask(480, 100, 10, false), CacheMove::Forbid, "X17");
    assert_eq!(ask(560, 490, 20, false), CacheMove::Forbid, "X18");
    assert_eq!(ask(300, 500, 0, true), CacheMove::Forbid, "X20");
    assert_eq!(can_migrate(None, 0, true, &limits), CacheMove::Unrestricted);
    let without_smt = Limits::new(&CacheAwareTunables::default(), false);
    assert!(without_smt.fits(749, 1000) && !without_smt.fits(750, 1000), "three quarters without SMT");
}

#[test]
fn x19_the_average_sticks_below_the_count() {
    let mut avg = 0;
    let seen = [(); 6].map(|()| {
        avg = average_running(avg, 8, 16);
        avg
    });
    assert_eq!(seen, [2, 3, 4, 5, 5, 5], "X19");
}

#[test]
fn x21_time_out() {
    assert_eq!([5, 6].map(|behind| timed_out(100 + behind, 100, 5)), [false, true], "X21");
}

fn collapse(orders: &[u32], none: u32, occupied: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
    let enabled = orders.iter().fold(0, |mask, o| mask | 1 << o);
    parts(enabled, none, occupied, |_| true).into_iter().map(|Part { offset, order }| (offset, order)).collect()
}

#[test]
fn k1_to_k7_collapse_to_parts() {
    assert_eq!(collapse(&[9, 4], 0, |p| p < 16 || p == 20), [(0, 4)], "K1");
    assert_eq!(collapse(&[9, 4], 511, |p| p == 3), [(0, 9)], "K2");
    assert_eq!(collapse(&[4], 511, |p| p == 3 || p == 100), [(0, 4), (96, 4)], "K3");
    assert_eq!(collapse(&[9, 4], 100, |p| p < 412), [(0, 9)], "K4");
    let small = collapse(&[9, 4], 100, |p| p < 411);
    assert_eq!((small.len(), small.iter().all(|p| p.1 == 4)), (25, true), "K4");
    assert_eq!(collapse(&[4], 0, |p| (8..24).contains(&p)), [], "K5");
    assert_eq!(collapse(&[4, 3], 0, |p| (8..24).contains(&p)), [(8, 3), (16, 3)], "K6");
    let k7 = collapse(&[4], 0, |p| !(32..256).contains(&p));
    assert_eq!(k7.len(), 18, "K7");
    let target = numalab_kernel::mm::khugepaged::target_node(&[256, 32]).unwrap();
    assert_eq!(target.node, 0, "K7: one target for all parts of the range");
}

#[test]
fn a_collapse_that_fails_is_tried_smaller() {
    let enabled = 1 << 9 | 1 << 4;
    let some = parts(enabled, 511, |_| true, |p| p.order == 4 && p.offset != 16);
    assert_eq!((some.len(), some[1]), (31, Part { offset: 32, order: 4 }));
}

#[test]
fn k8_without_smaller_sizes_the_scan_is_the_old_one() {
    assert!(!scans_for_parts(1 << 9) && scans_for_parts(1 << 9 | 1 << 4), "K8");
    let t = KhugepagedTunables { max_ptes_none: 100, ..KhugepagedTunables::default() };
    let found = |present| PmdFacts { present, referenced: present, writable: true, ..PmdFacts::default() };
    assert_eq!(scan_pmd(&t, &found(412)), ScanResult::Collapse, "K8");
    assert_eq!(scan_pmd(&t, &found(411)), ScanResult::ExceedNone, "K8");
}

#[test]
fn k9_k10_prctl() {
    let except = ThpDisable::set(true, 2).unwrap();
    assert_eq!((except.allows(false), except.allows(true), except.get()), (false, true, 3), "K9");
    assert!(ThpDisable::set(false, 2).is_err(), "K10");
    assert!(ThpDisable::set(true, 1).is_err());
    assert_eq!([ThpDisable::set(false, 0).unwrap().get(), ThpDisable::set(true, 0).unwrap().get()], [0, 1]);
}
