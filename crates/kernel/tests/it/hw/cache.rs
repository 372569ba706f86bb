//! Caches and SMT: vectors 14 and 15 of machines.md section 8.4, and the STREAM rates of section 8.1.

use crate::hw::machines;
use numalab_kernel::hw::cache::{cyclic_hit, distinct_bytes, random_hit, CacheTimes, LlcLoads, Used};
use numalab_kernel::hw::contention::{Contention, Flow};
use numalab_kernel::hw::smt::{memory_share, pair_speed, speed, stream_share, Sibling};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

#[track_caller]
fn near(got: f64, want: f64, relative: f64) {
    assert!((got - want).abs() <= relative * want.abs(), "got {got}, want {want}");
}

/// Threads that use a set at `weight` lines per ms.
fn swept(weight: u32) -> Used {
    Used { weight, swept: true }
}

fn random(weight: u32) -> Used {
    Used { weight, swept: false }
}

/// What random accesses touch until a sweep comes back counts, and not the size of their set.
#[test]
fn a_sweep_finds_what_random_lines_left_of_it() {
    let m = machines::milan();
    let mut loads = LlcLoads::new(&m);
    let (hot, cold) = (loads.add_set(24 * MIB, 0.0), loads.add_set(1024 * MIB, 0.0));
    loads.enter(0, hot, swept(1), true);
    loads.enter(0, cold, random(100_000), true);
    assert_eq!(loads.cyclic_hit(0, 0.1), 1.0);
    // 16 MiB of random lines in a round, 40 of 32.
    assert_eq!(loads.cyclic_hit(0, 2.7), 0.0);
    // Whoever sweeps the same set comes by all of it.
    loads.enter(0, cold, swept(1), true);
    assert_eq!(loads.cyclic_hit(0, 0.1), 0.0);
    loads.leave(0, cold, swept(1), true);
    assert_eq!(loads.cyclic_hit(0, 0.1), 1.0);
    // Half of N lines are drawn after N ln 2 draws.
    near(distinct_bytes(0.0, 64 * MIB, (MIB as f64) * std::f64::consts::LN_2) as f64, (32 * MIB) as f64, 1e-6);
    assert_eq!(distinct_bytes(0.0, 64, 0.5), 64);
}

#[test]
fn vector_15_cyclic_sweeps_fall_off_the_cliff() {
    let m = machines::milan();
    let mut loads = LlcLoads::new(&m);
    let (a, b) = (loads.add_set(24 * MIB, 0.0), loads.add_set(24 * MIB, 0.0));
    loads.enter(0, a, swept(1), true);
    assert_eq!(loads.cyclic_hit(0, 1.0), 1.0);
    loads.enter(0, b, swept(1), true);
    assert_eq!(loads.sum_bytes(0), 48 * MIB);
    assert_eq!(loads.cyclic_hit(0, 1.0), 0.0);
    assert_eq!(loads.cyclic_hit(1, 1.0), 1.0);
    loads.leave(0, a, swept(1), true);
    assert_eq!(loads.cyclic_hit(0, 1.0), 1.0);
    // On the slope, 1.05 of the capacity is half way down.
    near(cyclic_hit(1050, 1000), 0.5, 1e-9);
    assert_eq!(cyclic_hit(900, 1000), 1.0);
    assert_eq!(cyclic_hit(1200, 1000), 0.0);
}

/// imb-numa-nr-2021, section 8.1: copy 166.7 GB/s with all threads on one node, 587.7 with one per LLC, ±15 %.
#[test]
fn stream_stacked_and_spread() {
    let m = machines::milan();
    let times = CacheTimes::new(&m);
    let rate = |threads_per_llc: usize, llcs: usize| {
        let mut loads = LlcLoads::new(&m);
        for llc in 0..llcs {
            for _ in 0..threads_per_llc {
                let set = loads.add_set(24 * MIB, 0.0);
                loads.enter(llc, set, swept(1), true);
            }
        }
        let nodes = if llcs > 8 { 2 } else { 1 };
        let threads = threads_per_llc * llcs;
        let mut c = Contention::new(&m);
        let flows: Vec<Flow> = (0..nodes).map(|n| Flow::stream(&m, n, n, threads as f64 / f64::from(nodes))).collect();
        c.solve(&flows, &[]);
        let hit = loads.cyclic_hit(0, 1.0);
        threads as f64 / (hit / times.llc_gbps + (1.0 - hit) / c.rates()[0].gbps)
    };
    let (stacked, spread) = (rate(2, 8), rate(1, 16));
    near(stacked, 166.7, 0.15);
    near(spread, 587.7, 0.15);
    near(spread / stacked, 3.53, 0.15);
}

#[test]
fn shared_sets_count_once_per_llc() {
    // shared-cow-2018: 36 threads of a socket share one array of 4 MB and stay in the 45 MiB LLC.
    let m = machines::x5_8();
    let mut loads = LlcLoads::new(&m);
    let shared = loads.add_set(4_000_000, 0.0);
    for _ in 0..36 {
        loads.enter(2, shared, swept(10), true);
    }
    assert_eq!(loads.sum_bytes(2), 4_000_000);
    assert_eq!(loads.cyclic_hit(2, 1.0), 1.0);
    for _ in 0..36 {
        loads.leave(2, shared, swept(10), true);
    }
    assert_eq!(loads.sum_bytes(2), 0);
    // A leave without an enter is ignored.
    loads.leave(2, shared, swept(10), true);
    assert_eq!(loads.sum_bytes(2), 0);
}

#[test]
fn random_accesses_hit_by_capacity_held() {
    let m = machines::milan();
    let mut loads = LlcLoads::new(&m);
    let (big, fast) = (loads.add_set(256 * MIB, 0.0), loads.add_set(64 * MIB, 0.0));
    loads.enter(0, big, random(100), true);
    near(loads.random_hit(0, big), 32.0 / 256.0, 1e-9);
    assert_eq!(loads.random_hit(0, fast), 0.0);
    // The sets hold capacity in proportion to their access rates, 1 to 3.
    loads.enter(0, fast, random(300), true);
    near(loads.random_hit(0, big), 8.0 / 256.0, 1e-9);
    near(loads.random_hit(0, fast), 24.0 / 64.0, 1e-9);
    // A small set cannot use its part, so the other set gets the rest.
    let small = loads.add_set(2 * MIB, 0.0);
    loads.leave(0, fast, random(300), true);
    loads.enter(0, small, random(900), true);
    assert_eq!(loads.random_hit(0, small), 1.0);
    assert_eq!(loads.held_bytes(0, big), 30 * MIB);
    assert_eq!(random_hit(10, 10), 1.0);
}

#[test]
fn times_of_hits() {
    let t = CacheTimes::new(&machines::milan());
    near(t.l2_ns, 12.0 / 2.9, 1e-9);
    near(t.llc_ns, 13.5, 1e-9);
    assert!(t.l2_gbps >= t.llc_gbps);
    assert_eq!((t.l2_share_bytes(false), t.l2_share_bytes(true)), (512 << 10, 256 << 10));
}

#[test]
fn vector_14_siblings() {
    near(pair_speed(0.0), 0.62, 1e-12);
    near(pair_speed(0.5), 0.76, 1e-12);
    near(pair_speed(1.0), 0.90, 1e-12);
    assert_eq!(speed(0.3, Sibling::Idle), 1.0);
    near(speed(0.0, Sibling::Spinning), 0.75, 1e-12);
    near(speed(1.0, Sibling::Spinning), 0.90, 1e-12);
    near(speed(0.5, Sibling::Working(1)), 0.76, 1e-12);
    near(memory_share(30.0, 10.0), 0.25, 1e-12);
    assert_eq!(memory_share(0.0, 0.0), 0.0);
}

/// A full core of eight threads does 1.72 times the work of one, not five times as with the speed of a pair for each.
#[test]
fn more_than_two_threads_share_what_a_core_can_do() {
    let total = |threads: u8, m: f64| f64::from(threads) * speed(m, Sibling::Working(threads - 1));
    let totals: Vec<f64> = [2, 3, 4, 8].map(|n| total(n, 0.0)).to_vec();
    for (got, want) in totals.iter().zip([1.24, 1.43, 1.61, 1.72]) {
        near(*got, want, 1e-12);
    }
    // Who waits for memory loses less, and never more than who computes.
    assert!(total(8, 1.0) > total(8, 0.5) && total(8, 0.5) > total(8, 0.0) && total(8, 1.0) < 8.0);
    near(8.0 * stream_share(Sibling::Working(7)), 1.1, 1e-12);
    let states: Vec<usize> = Sibling::all(8).map(Sibling::index).collect();
    assert_eq!(states, (0..9).collect::<Vec<_>>());
    assert_eq!(Sibling::all(1).count(), 3, "kinds of a core without a second thread stay those of a pair");
}

#[test]
fn streaming_siblings() {
    let m = machines::milan();
    let paired = |threads: f64| {
        let share = stream_share(Sibling::Working(1));
        let one = Flow::stream(&m, 0, 0, threads);
        Flow { lines: one.lines * share, cap_gbps: one.cap_gbps * share, ..one }
    };
    let total = |flow: Flow| {
        let mut c = Contention::new(&m);
        c.solve(&[flow], &[]);
        c.node_gbps(0)
    };
    // Below saturation a pair moves 1.1 times as much as one thread; at saturation it moves as much as one thread per
    // core.
    near(total(paired(2.0)) / total(Flow::stream(&m, 0, 0, 1.0)), 1.1, 1e-3);
    near(total(paired(128.0)) / total(Flow::stream(&m, 0, 0, 64.0)), 1.0, 1e-6);
    assert_eq!(stream_share(Sibling::Idle), 1.0);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(3),
        ..ProptestConfig::default()
    })]

    /// Any order of arrivals and departures ends in the initial state, and shares stay in 0..=1.
    #[test]
    fn loads_are_conserved(steps in prop::collection::vec((0usize..4, 0usize..6, 1u32..1000), 0..60)) {
        let m = machines::naples();
        let mut loads = LlcLoads::new(&m);
        for i in 0..6 {
            loads.add_set((i + 1) * 3 * MIB, 0.0);
        }
        for &(llc, set, weight) in &steps {
            loads.enter(llc, set, swept(weight), true);
            let h = loads.random_hit(llc, set);
            prop_assert!(h > 0.0 && h <= 1.0);
            prop_assert!((0.0..=1.0).contains(&loads.cyclic_hit(llc, 1.0)));
        }
        for &(llc, set, weight) in steps.iter().rev() {
            loads.leave(llc, set, swept(weight), true);
        }
        for llc in 0..4 {
            prop_assert_eq!(loads.sum_bytes(llc), 0);
        }
    }

    /// More pressure on the cache never raises a hit share.
    #[test]
    fn more_pressure_never_raises_the_hit_share(a in 0u64..1 << 40, b in 0u64..1 << 40) {
        prop_assert!(cyclic_hit(a.max(b), 1 << 25) <= cyclic_hit(a.min(b), 1 << 25));
    }
}
