//! Table 16.2: a fault for a base page under the default policy.

use crate::mm::setup::{alloc_near, base_on_0, naples, put, small_naples, State};
use numalab_kernel::mm::alloc::{AllocError, AllocSite, Constraint};
use numalab_kernel::mm::policy::PolicyNodes;
use numalab_kernel::mm::reclaim::NoAnonReclaim;
use numalab_kernel::mm::{Gfp, PageClass, PhysicalMemory, Work};

fn kswapds(m: &PhysicalMemory) -> usize {
    (0..m.nodes()).filter(|n| m.kswapd(*n).is_running()).count()
}

#[test]
fn row_1_local_above_low() {
    let mut m = naples(&["vm.zone_reclaim_mode=1"]);
    m.cache_fill(0, 4_000_000, PageClass::FileClean);
    assert_eq!(base_on_0(&mut m), Ok(0));
    assert_eq!((m.events.pgscan_direct, kswapds(&m)), (0, 0));
}

#[test]
fn row_2_another_node_above_low_and_nothing_wakes() {
    let mut m = naples(&[]);
    put(&mut m, 0, State::S);
    for _ in 0..1000 {
        assert_eq!(base_on_0(&mut m), Ok(1));
    }
    assert_eq!((m.events.pgscan_direct, kswapds(&m), m.free(0)), (0, 0, 11_234), "the cache stays for ever");
}

#[test]
fn row_3_node_reclaim_makes_room_first() {
    let mut m = naples(&["vm.zone_reclaim_mode=1"]);
    put(&mut m, 0, State::S);
    assert_eq!(base_on_0(&mut m), Ok(0));
    assert!(m.events.pgsteal_direct >= 32 && m.events.zone_reclaim_success == 1, "{:?}", m.events);
}

#[test]
fn row_4_all_below_low_takes_locally_down_to_min_and_wakes_every_kswapd() {
    let mut m = small_naples(&[]);
    for node in 0..8 {
        put(&mut m, node, State::S);
    }
    assert_eq!(base_on_0(&mut m), Ok(0));
    assert_eq!((kswapds(&m), m.events.allocstall), (8, 0));
}

/// A machine whose nodes are all at their min watermark and full of pages of this class.
fn exhausted(class: PageClass) -> PhysicalMemory {
    let mut m = small_naples(&[]);
    for node in 0..8 {
        m.cache_fill(node, u64::MAX, class);
        while m.free(node) > m.watermarks(node).min {
            assert_eq!(alloc_near(&mut m, node, 1 << node, 1), Some(node));
        }
    }
    m
}

#[test]
fn row_5_direct_reclaim_over_all_nodes() {
    let mut m = exhausted(PageClass::FileClean);
    assert_eq!(base_on_0(&mut m), Ok(0), "the nearest that recovers");
    assert_eq!(m.events.allocstall, 1);
    let nodes_with_more = (0..8).filter(|n| m.free(*n) > m.watermarks(*n).min).count();
    assert_eq!(nodes_with_more, 8, "every node of the walk was reclaimed");
    m.check().unwrap();
}

#[test]
fn exhausted_memory_ends_in_the_oom_killer() {
    let mut m = exhausted(PageClass::FileMapped);
    assert_eq!(base_on_0(&mut m), Err(AllocError::Oom(Constraint::None)));
    assert_eq!(m.events.oom_kill, 1);
}

#[test]
fn a_request_for_one_node_never_kills() {
    let mut m = exhausted(PageClass::FileMapped);
    assert_eq!(m.alloc_on(0, 3, 1), None);
    assert_eq!(m.events.oom_kill, 0);
}

/// A page that is given back at once leaves everything as an allocation and a free do, in whatever state the nodes are.
#[test]
fn a_page_given_back_at_once_leaves_what_an_allocation_and_a_free_leave() {
    for settings in [&[][..], &["vm.zone_reclaim_mode=1"]] {
        for state in [State::E, State::C, State::S, State::X] {
            for node in 0..8 {
                let mut m = small_naples(settings);
                (0..=node).for_each(|n| put(&mut m, n, state));
                let mut other = m.clone();
                let at = AllocSite { here: 0, policy_nodes: PolicyNodes::local(0), mems: m.memory_nodes() };
                let (mut work, mut other_work) = (Work::default(), Work::default());
                let (gfp, class, anon) = (Gfp::HIGHUSER_MOVABLE, PageClass::Anon, &mut NoAnonReclaim);
                let got = m.alloc_class(gfp, class, &at, anon, &mut work).unwrap();
                m.free_page(got.node, got.frame, class);
                assert_eq!(other.alloc_and_free(gfp, class, &at, anon, &mut other_work), Ok(got.node));
                assert_eq!((format!("{m:?}"), work), (format!("{other:?}"), other_work), "{state:?} up to {node}");
            }
        }
    }
}
