//! Table 16.1: one huge-page fault in an advised range under the default policy, and the vectors for it.

use crate::mm::setup::{naples, put, small_naples, small_page, thp, Fault, Faulting, HugePages, State};
use numalab_kernel::mm::reclaim::NoAnonReclaim;
use numalab_kernel::mm::thp::Locality;
use numalab_kernel::mm::{Gfp, PageClass, PhysicalMemory, Work};
use State::{Stuck, C, E, S, X};

/// A machine whose local node and other nodes are in these states.
fn nodes(rule: Locality, local: State, others: State) -> PhysicalMemory {
    let mut m = small_naples(&[&format!("thp.locality={}", rule.word())]);
    put(&mut m, 0, local);
    for node in 1..8 {
        put(&mut m, node, others);
    }
    m
}

/// Result of the fault, and the memory after it.
fn fault(rule: Locality, local: State, others: State) -> ((bool, usize), PhysicalMemory) {
    let mut m = nodes(rule, local, others);
    let faulting = match rule {
        // The column of this rule is for defrag = never.
        Locality::PrctlSpan => Faulting { span: true, ..Faulting::new(rule, Gfp::TRANSHUGE_LIGHT) },
        _ => Faulting::new(rule, Gfp::TRANSHUGE),
    };
    let result = faulting.run(&mut m).unwrap();
    m.check().unwrap();
    (result, m)
}

const COLUMNS: [Locality; 4] = [Locality::ThisNode, Locality::Relaxed, Locality::TwoStep, Locality::PrctlSpan];

fn row(local: State, others: State) -> [(bool, usize); 4] {
    COLUMNS.map(|rule| fault(rule, local, others).0)
}

#[test]
fn local_block_free() {
    assert_eq!(row(E, E), [thp(0); 4]);
    assert_eq!(row(E, X), [thp(0); 4]);
}

#[test]
fn local_compactable() {
    assert_eq!(row(C, E), [thp(0), thp(1), thp(0), thp(1)]);
    assert_eq!(row(C, X), [thp(0), thp(0), thp(0), small_page(0)]);
    for rule in [Locality::ThisNode, Locality::TwoStep] {
        let m = fault(rule, C, E).1;
        assert_eq!((m.events.compact_success, m.events.allocstall), (1, 0), "{rule:?}");
    }
}

#[test]
fn local_short_of_memory() {
    assert_eq!(row(S, E)[1..], [thp(1); 3]);
    let (result, m) = fault(Locality::ThisNode, S, E);
    assert_eq!((result.1, m.events.allocstall), (0, 1), "reclaims its node while others are empty");
    assert!(m.events.pgsteal_direct >= 1024);
}

#[test]
fn short_everywhere_but_base_pages_are_free() {
    let (result, m) = fault(Locality::ThisNode, S, X);
    assert_eq!(result.1, 0);
    assert!(m.events.pgsteal_direct >= 1024);
    for rule in [Locality::Relaxed, Locality::TwoStep] {
        let (result, m) = fault(rule, Stuck, X);
        assert_eq!((result, m.events.allocstall), (small_page(1), 1), "{rule:?}: D0 is not above low");
        assert_eq!((m.events.compact_stall, m.events.thp_fault_fallback), (2, 1), "the others ran twice");
    }
    assert_eq!(fault(Locality::PrctlSpan, S, X).0, small_page(1));
}

#[test]
fn local_compaction_fails() {
    let (result, m) = fault(Locality::ThisNode, X, E);
    assert_eq!((result, m.events.allocstall, m.events.compact_fail), (small_page(0), 1, 2), "reclaim once, retry");
    assert_eq!(row(X, E)[1..], [thp(1); 3]);
    let two_step = fault(Locality::TwoStep, X, E).1;
    assert_eq!(two_step.events.allocstall, 0, "step A never reclaims");
    for rule in [Locality::ThisNode, Locality::Relaxed, Locality::TwoStep] {
        let (result, m) = fault(rule, X, X);
        assert_eq!((result, m.events.allocstall), (small_page(0), 1), "{rule:?}");
    }
    assert_eq!(fault(Locality::PrctlSpan, X, X).0, small_page(0));
}

#[test]
fn the_rule_of_5_4_reclaims_its_node_once_if_compaction_ran_and_failed() {
    let (result, m) = fault(Locality::TwoStep54, X, E);
    assert_eq!((result, m.events.allocstall), (thp(1), 1));
    let (result, m) = fault(Locality::TwoStep54, S, E);
    assert_eq!((result, m.events.allocstall), (thp(1), 0), "skipped: gives up at once");
    let (result, m) = fault(Locality::TwoStep54, Stuck, X);
    assert_eq!(result, small_page(1));
    assert_eq!(m.events.allocstall, 1, "compaction of the others ran and failed");
}

#[test]
fn zonelist_and_relaxed_differ_without_direct_reclaim() {
    let light = |rule: Locality| {
        let mut m = nodes(rule, C, E);
        Faulting::new(rule, Gfp::TRANSHUGE_LIGHT).run(&mut m).unwrap()
    };
    assert_eq!(light(Locality::Zonelist), thp(1));
    assert_eq!(light(Locality::Relaxed), small_page(0));
}

#[test]
fn a_local_block_between_min_and_low_is_still_taken() {
    // Every attempt walks its own node list at the min mark before it compacts.
    let mut m = naples(&[]);
    m.cache_fill(0, u64::MAX, PageClass::FileClean);
    assert!(m.free(0) == 11_234 && m.empty_blocks(0) > 0);
    assert_eq!(Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE).run(&mut m), Ok(thp(0)));
    assert_eq!(m.free(0), 11_234 - 512);
}

#[test]
fn vector_14_light_flags_stay_local() {
    for rule in [Locality::ThisNode, Locality::Relaxed, Locality::TwoStep54, Locality::TwoStep, Locality::MpolHuge] {
        let mut m = nodes(rule, C, E);
        let result = Faulting::new(rule, Gfp::TRANSHUGE_LIGHT).run(&mut m).unwrap();
        assert_eq!((result, m.events.thp_fault_fallback), (small_page(0), 1), "{rule:?}");
    }
}

#[test]
fn vector_15_two_step_goes_to_the_neighbour() {
    let mut m = nodes(Locality::TwoStep, S, E);
    let low = m.watermarks(0).low;
    assert_eq!(m.free(0), low);
    let mut owner = HugePages::default();
    let f = Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE).with(&mut m, &mut owner, &mut Work::default());
    assert!(matches!(f, Ok(Fault { huge: true, node: 1, .. })));
    assert_eq!(owner.swapped_pages, 0);
    let (d0, d1) = (*m.node_counters(0), *m.node_counters(1));
    assert_eq!((d1.numa_miss, d0.numa_foreign, d1.numa_other), (1, 1, 1));
}

#[test]
fn vector_16_thisnode_reclaims_before_the_second_compaction() {
    let mut m = nodes(Locality::ThisNode, S, E);
    let mut work = Work::default();
    let f = Faulting::new(Locality::ThisNode, Gfp::TRANSHUGE).with(&mut m, &mut NoAnonReclaim, &mut work).unwrap();
    assert_eq!(f.node, 0);
    assert!(work.reclaimed >= 1024, "{work:?}");
    assert_eq!(m.events.allocstall, 1);
    assert!((1..8).all(|n| m.used(n) == 0), "nothing outside D0");
}

#[test]
fn noretry_faults_of_4_1_to_4_7_reclaim_once_unless_deferred() {
    let noretry = Gfp::TRANSHUGE | Gfp::NORETRY;
    let mut m = nodes(Locality::ThisNode, X, E);
    assert_eq!(Faulting::new(Locality::ThisNode, noretry).run(&mut m), Ok(small_page(0)));
    assert_eq!((m.events.allocstall, m.events.compact_stall), (1, 2));
    assert_eq!(m.events.compact_fail, 2, "both asynchronous: nothing is deferred");
}

#[test]
fn huge_faults_never_wake_kswapd_unless_defrag_defers() {
    let mut m = nodes(Locality::TwoStep, S, S);
    let _ = Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE_LIGHT).run(&mut m);
    // The base page that follows finds no node above its low watermark and wakes kswapd, so the huge request is tested
    // alone.
    let mut m = nodes(Locality::TwoStep, C, X);
    let deferred = Gfp::TRANSHUGE_LIGHT | Gfp::KSWAPD_RECLAIM;
    assert_eq!(Faulting::new(Locality::TwoStep, deferred).run(&mut m), Ok(small_page(0)));
    assert!(m.kswapd(0).is_running(), "F9 = 0, so the node is not balanced for order 9");
    assert!((1..8).all(|n| !m.kswapd(n).is_running()), "only D0");
    let mut m = nodes(Locality::TwoStep, C, X);
    assert_eq!(Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE_LIGHT).run(&mut m), Ok(small_page(0)));
    assert!(!m.kswapd(0).is_running());
}
