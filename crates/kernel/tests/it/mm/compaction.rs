//! Compaction in the allocator: deferral, odds on a node, the counter-scenario of section 14.

use crate::mm::setup::{naples, put, small_naples, Faulting, State};
use numalab_kernel::mm::thp::Locality;
use numalab_kernel::mm::{Gfp, PageClass, PhysicalMemory, Work};

#[test]
fn vector_29_failures_defer_the_zone() {
    let mut m = naples(&["thp.locality=thp_thisnode"]);
    put(&mut m, 0, State::X);
    let fault = |m: &mut PhysicalMemory| {
        let before = m.events.compact_stall;
        assert_eq!(Faulting::new(Locality::ThisNode, Gfp::TRANSHUGE).run(m), Ok((false, 0)));
        m.events.compact_stall - before
    };
    // Each fault compacts asynchronously, which defers nothing, and then synchronously; a failure of the latter
    // doubles the back-off.
    assert_eq!(fault(&mut m), 2);
    // Shift 1: one attempt is skipped; the next one runs and fails synchronously, which makes shift 2.
    assert_eq!(fault(&mut m), 1);
    // Shift 2: attempts 1 and 2 of 3 are skipped.
    assert_eq!(fault(&mut m), 0);
}

/// Share of local huge pages in 1 GiB of faults on a node that is 60 % full and has 10 % polluted blocks.
fn local_share(rule: Locality) -> (f64, PhysicalMemory) {
    let mut m = naples(&[
        &format!("thp.locality={}", rule.word()),
        "compact.async_unmovable=1000",
        "compact.sync_unmovable=200",
    ]);
    m.fragment(0, 400, 100);
    for node in 1..8 {
        m.cache_fill(node, (16 << 18) * 6 / 10, PageClass::FileMapped);
    }
    let local = (0..512).filter(|_| Faulting::new(rule, Gfp::TRANSHUGE).run(&mut m) == Ok((true, 0))).count();
    (local as f64 / 512.0, m)
}

#[test]
fn counter_scenario_of_section_14() {
    for rule in [Locality::ThisNode, Locality::TwoStep] {
        let (share, m) = local_share(rule);
        assert!(share >= 0.9, "{rule:?}: {share}");
        assert_eq!(m.events.pswpout, 0);
        m.check().unwrap();
    }
    let (share, m) = local_share(Locality::Relaxed);
    assert!(share < 0.01, "{share}");
    assert_eq!(m.events.compact_stall, 0);
}

#[test]
fn vector_28_success_of_one_candidate_on_a_node() {
    // Each attempt has one candidate: a limit of one block, on a node with 60 % occupancy and no polluted block.
    let mut m = naples(&["compact.async_blocks=1", "compact.async_unmovable=1000", "thp.locality=thp_two_step"]);
    m.fragment(0, 400, 0);
    let tries = 600;
    for _ in 0..tries {
        let _ = Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE | Gfp::THISNODE).run(&mut m);
    }
    let share = m.events.compact_success as f64 / m.events.compact_stall as f64;
    // A block holds 307 movable pages, each of which can be moved with a probability of 0.999.
    let expected = 0.999f64.powi(307);
    assert!((share - expected).abs() < 0.06, "{share}, expected {expected}");
}

#[test]
fn compaction_costs_what_it_looks_at_and_moves() {
    let mut m = naples(&[]);
    put(&mut m, 0, State::C);
    let mut work = Work::default();
    let owner = &mut numalab_kernel::mm::reclaim::NoAnonReclaim;
    let f = Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE).with(&mut m, owner, &mut work).unwrap();
    assert!(f.huge && f.node == 0);
    assert_eq!(work.compact_scanned, m.events.compact_migrate_scanned + m.events.compact_free_scanned);
    assert_eq!(work.compact_moved, m.events.pgmigrate_success);
    assert!(work.compact_moved > 200 && work.compact_scanned >= 1024);
    let costs = crate::mm::machines::milan().costs;
    let ns = work.compact_scanned as f64 * 20.0 + work.compact_moved as f64 * 3500.0;
    assert_eq!(work.compaction_ns(&costs), ns);
}

/// Number of compactions in one hopeless fault without retries.
fn stalls_of_a_fault(era: &str) -> u64 {
    let mut m = small_naples(&[&format!("compact.era={era}"), "thp.locality=thp_zonelist"]);
    put(&mut m, 0, State::X);
    for node in 1..8 {
        put(&mut m, node, State::X);
    }
    assert_eq!(Faulting::new(Locality::Zonelist, Gfp::TRANSHUGE | Gfp::NORETRY).run(&mut m), Ok((false, 0)));
    m.events.compact_stall
}

#[test]
fn the_naive_era_compacts_synchronously_at_once() {
    assert_eq!(stalls_of_a_fault("async_fault"), 2, "asynchronous failures defer nothing");
    assert_eq!(stalls_of_a_fault("naive"), 1, "the first was synchronous and defers the second");
}
