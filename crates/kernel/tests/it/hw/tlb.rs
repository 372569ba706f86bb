//! Page walks: the acceptance ladders of thp-and-allocation.md section 15 and vector 10 of machines.md.

use crate::hw::machines;
use numalab_kernel::hw::tlb::{PageSize, TlbModel, Walk};
use numalab_model::machine::Machine;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

#[track_caller]
fn near(got: f64, want: f64, relative: f64) {
    assert!((got - want).abs() <= relative * want.abs(), "got {got}, want {want}");
}

/// Time of a random access far above the TLB reach, with page tables on the node of the data.
fn seek(m: &Machine, guest: bool, to: usize, size: PageSize) -> f64 {
    let tlb = TlbModel::new(m, guest);
    let walk = tlb.walk(size, 8 * GIB, 8 * MIB);
    tlb.random_access_ns(m.latency_ns[0][to], walk, m.latency_ns[0][to])
}

/// Ratios to local huge pages, in the order of `rungs`: (node, size).
fn ladder(m: &Machine, guest: bool, rungs: &[(usize, PageSize)]) -> Vec<f64> {
    let best = seek(m, guest, 0, PageSize::Huge);
    rungs.iter().map(|&(to, size)| seek(m, guest, to, size) / best).collect()
}

#[test]
fn vector_10_seeks_on_the_1950x() {
    let m = machines::threadripper();
    near(seek(&m, true, 0, PageSize::Base), 149.5, 0.001);
    near(seek(&m, true, 1, PageSize::Huge), 117.0, 1e-9);
}

#[test]
fn naples_ladder() {
    let m = machines::naples();
    let rungs =
        [(0, PageSize::Base), (1, PageSize::Huge), (1, PageSize::Base), (4, PageSize::Huge), (4, PageSize::Base)];
    let got = ladder(&m, false, &rungs);
    // First the predicted column of the document, then the figures of the mail within its tolerance of 2.5 %.
    for (got, want) in got.iter().zip([1.42, 1.448, 2.056, 2.305, 3.273]) {
        near(*got, want, 0.001);
    }
    for (got, want) in got.iter().zip([1.43, 1.45, 2.06, 2.31, 3.24]) {
        near(*got, want, 0.025);
    }
    // Here D0 4k is faster than D1 THP.
    assert!(got[0] < got[1] && got[1] < got[2] && got[2] < got[3] && got[3] < got[4]);
}

#[test]
fn guest_ladder_of_both_memory_speeds() {
    let fast = machines::threadripper();
    let mut slow = machines::threadripper();
    slow.latency_ns = vec![vec![78.0, 133.0], vec![133.0, 78.0]];
    slow.tlb.base_ns = 17.0;
    slow.tlb.walk_4k_guest_ns = 17.3;
    let rungs = [(1, PageSize::Huge), (0, PageSize::Base), (1, PageSize::Base)];
    for (m, predicted) in [(fast, [1.581, 2.02, 3.194]), (slow, [1.579, 2.02, 3.190])] {
        let got = ladder(&m, true, &rungs);
        for (got, want) in got.iter().zip(predicted) {
            near(*got, want, 0.001);
        }
        for (got, want) in got.iter().zip([1.58, 2.01, 3.22]) {
            near(*got, want, 0.025);
        }
        // In the guest D1 THP is faster than D0 4k.
        assert!(got[0] < got[1]);
    }
}

#[test]
fn haswell_regression_of_13_9_percent() {
    let mut m = machines::milan();
    m.latency_ns = vec![vec![90.0, 140.0], vec![140.0, 90.0]];
    m.tlb.leaf_miss = 0.321;
    m.tlb.walk_4k_ns = 0.321 * 9.0;
    let tlb = TlbModel::new(&m, false);
    let small = tlb.walk(PageSize::Base, 64 * GIB, 32 * MIB);
    let local_4k = tlb.random_access_ns(90.0, small, 90.0);
    let remote_huge = tlb.random_access_ns(140.0, Walk::default(), 140.0);
    near(remote_huge / local_4k, 1.139, 0.025);
}

#[test]
fn reach_of_the_families() {
    for (m, base, huge) in [
        (machines::westmere(), 2 * MIB, 64 * MIB),
        (machines::x5_8(), 4 * MIB, 2 * GIB),
        (machines::naples(), 6 * MIB, 3 * GIB),
        (machines::milan(), 8 * MIB, 4 * GIB),
        (machines::spr_8s(), 8 * MIB, 4 * GIB),
    ] {
        let tlb = TlbModel::new(&m, false);
        assert_eq!(tlb.reach_bytes(PageSize::Base), base, "{}", m.name);
        assert_eq!(tlb.reach_bytes(PageSize::Huge), huge, "{}", m.name);
    }
}

#[test]
fn leaf_misses_rise_between_reach_and_512_shares() {
    let tlb = TlbModel::new(&machines::milan(), false);
    let at = |footprint| tlb.walk(PageSize::Base, footprint, 2 * MIB);
    assert_eq!(at(8 * MIB), Walk::default());
    // Just above the reach only the constant part counts.
    near(at(8 * MIB + 1).fixed_ns, 3.78, 1e-9);
    assert!(at(8 * MIB + 1).leaf_miss < 1e-6);
    // From 8 MiB to 1 GiB there are seven doublings: 64 MiB is after three of them, and 90.5 MiB is halfway.
    near(at(64 * MIB).leaf_miss, 0.42 * 3.0 / 7.0, 1e-12);
    near(at(94_906_266).leaf_miss, 0.21, 1e-6);
    near(at(GIB).leaf_miss, 0.42, 1e-12);
    near(at(100 * GIB).leaf_miss, 0.42, 1e-12);
    // With so small a share the tables never fit, so all leaf entries miss at once.
    near(tlb.walk(PageSize::Base, 9 * MIB, 4096).leaf_miss, 0.42, 1e-12);
    // The tables are on another node than the data.
    near(tlb.random_access_ns(110.0, at(GIB), 200.0), 110.0 + 9.0 + 3.78 + 0.42 * 200.0, 1e-9);
    near(tlb.overhead_ns(), 9.0, 1e-12);
}

#[test]
fn huge_pages_walk_for_nothing_up_to_64_gib() {
    let tlb = TlbModel::new(&machines::milan(), false);
    assert_eq!(tlb.walk(PageSize::Huge, 64 * GIB, 2 * MIB), Walk::default());
    let beyond = tlb.walk(PageSize::Huge, 2048 * GIB, 2 * MIB);
    assert!(beyond.leaf_miss > 0.0 && beyond.leaf_miss <= 0.42);
    assert_eq!(beyond.fixed_ns, 0.0);
    // Even with a very small share the tables of 64 GiB count as cached.
    assert_eq!(tlb.walk(PageSize::Huge, 64 * GIB, 1), Walk::default());
}
