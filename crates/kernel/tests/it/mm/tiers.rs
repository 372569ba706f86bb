//! Demotion (section 4.6): DRAM nodes and CPU-less expanders.

use crate::mm::machines;
use crate::mm::setup::{config, run_kswapd};
use numalab_kernel::mm::reclaim::{demotion_targets, NoAnonReclaim};
use numalab_kernel::mm::{PageClass, PhysicalMemory, Work};
use numalab_model::machine::Machine;

/// A machine with two DRAM nodes and an expander on each socket.
fn cxl() -> Machine {
    let mut m = crate::mm::setup::small(machines::naples());
    m.nodes.truncate(4);
    for n in &mut m.nodes[2..] {
        n.cpus.clear();
        n.tier = 1;
    }
    m.distance = vec![vec![10, 21, 14, 24], vec![21, 10, 24, 14], vec![14, 24, 10, 34], vec![24, 14, 34, 10]];
    m
}

#[test]
fn cold_pages_go_to_the_nearest_node_of_the_next_tier() {
    assert_eq!(demotion_targets(&cxl()), [Some(2), Some(3), None, None]);
    let mut three = cxl();
    three.nodes[3].tier = 2;
    assert_eq!(demotion_targets(&three), [Some(2), Some(2), Some(3), None], "one tier at a time");
    assert_eq!(demotion_targets(&machines::naples()), [None; 8]);
}

#[test]
fn kswapd_demotes_page_cache_instead_of_dropping_it() {
    let mut m = PhysicalMemory::with_config(&cxl(), &config(&["vm.demotion=true"]), 0);
    assert!(m.can_reclaim_anon(0) && !m.can_reclaim_anon(2), "without swap, demotion makes it true");
    m.fragment(0, 500, 0);
    m.cache_fill(0, u64::MAX, PageClass::FileClean);
    m.wake_kswapd(0, false, true);
    let mut work = Work::default();
    run_kswapd(&mut m, 0, &mut NoAnonReclaim, &mut work);
    assert!(work.demoted > 0 && work.demoted == m.account(2).pages(PageClass::FileClean));
    assert_eq!(m.events.pgdemote_kswapd, work.demoted);
    m.check().unwrap();
    let mut off = PhysicalMemory::with_config(&cxl(), &config(&[]), 0);
    assert!(!off.can_reclaim_anon(0));
    off.cache_fill(0, u64::MAX, PageClass::FileClean);
    off.wake_kswapd(0, false, true);
    run_kswapd(&mut off, 0, &mut NoAnonReclaim, &mut Work::default());
    assert_eq!(off.account(2).used(), 0);
}
