//! Runs of base pages: what one CPU allocates one after the other, taken at once.

use crate::mm::setup::small_naples;
use numalab_base::node_mask::NodeMask;
use numalab_kernel::mm::alloc::AllocSite;
use numalab_kernel::mm::policy::PolicyNodes;
use numalab_kernel::mm::reclaim::NoAnonReclaim;
use numalab_kernel::mm::{Gfp, PageClass, Work};
use std::collections::BTreeSet;

/// Runs leave the machine as single allocations do, from one node to the next, up to the low watermarks of all.
#[test]
fn runs_are_what_single_allocations_are() {
    let (mut runs, mut single) = (small_naples(&[]), small_naples(&[]));
    let at = AllocSite { here: 1, policy_nodes: PolicyNodes::local(1), mems: NodeMask::of(0..8) };
    let (mut all, mut most, mut nodes) = (0, 1, BTreeSet::new());
    while let Some(source) = runs.run_source(&at) {
        most = most % 97 + 1;
        let (page, pages) = runs.take_run(&source, most.min(source.most)).unwrap();
        for _ in 0..pages {
            let (gfp, mut work) = (Gfp::HIGHUSER_MOVABLE, Work::default());
            assert_eq!(single.alloc_class(gfp, PageClass::Anon, &at, &mut NoAnonReclaim, &mut work), Ok(page));
        }
        nodes.insert(page.node);
        all += pages;
        assert_eq!((runs.counters, runs.free(page.node)), (single.counters, single.free(page.node)));
    }
    assert!(all > 2_000_000 && nodes.len() == 8, "{all} pages on {nodes:?}");
    assert_eq!(runs.check(), Ok(()));
}

/// A policy that chooses a node for each page gives no run, and node reclaim may reclaim before any page.
#[test]
fn interleaving_and_node_reclaim_have_no_runs() {
    let at = |policy_nodes| AllocSite { here: 1, policy_nodes, mems: NodeMask::of(0..8) };
    let local = PolicyNodes::local(1);
    let m = small_naples(&[]);
    assert!(m.run_source(&at(local)).is_some());
    assert!(m.run_source(&at(PolicyNodes { interleaved: true, ..local })).is_none());
    assert!(m.run_source(&at(PolicyNodes { preferred_many: true, ..local })).is_none());
    assert!(small_naples(&["vm.zone_reclaim_mode=1"]).run_source(&at(local)).is_none());
}
