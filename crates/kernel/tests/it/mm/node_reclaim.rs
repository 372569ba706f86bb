//! `zone_reclaim_mode` (section 4.3) and vectors 10 and 11.

use crate::mm::setup::{alloc_near, base_on_0, naples, put, small_naples, Faulting, State};
use numalab_kernel::mm::alloc::Request;
use numalab_kernel::mm::policy::PolicyNodes;
use numalab_kernel::mm::reclaim::{NoAnonReclaim, NodeReclaim};
use numalab_kernel::mm::thp::Locality;
use numalab_kernel::mm::{Gfp, PageClass, PhysicalMemory, Work};

fn with_cache(mode: u8, clean: u64, dirty: u64) -> PhysicalMemory {
    let mut m = naples(&[&format!("vm.zone_reclaim_mode={mode}")]);
    m.cache_fill(0, clean, PageClass::FileClean);
    m.cache_fill(0, dirty, PageClass::FileDirty);
    m
}

fn request(gfp: Gfp, huge: bool, here: usize, m: &PhysicalMemory) -> Request {
    let all = m.memory_nodes();
    Request::anon(gfp, huge, here, &PolicyNodes::local(here), all, all)
}

fn reclaim(m: &mut PhysicalMemory, gfp: Gfp, huge: bool, here: usize) -> NodeReclaim {
    let req = request(gfp, huge, here, m);
    m.node_reclaim(0, &req, &mut NoAnonReclaim, &mut Work::default())
}

#[test]
fn vector_10_candidates_and_threshold() {
    let base = Gfp::HIGHUSER_MOVABLE;
    let mut one = with_cache(1, 40_000, 10_000);
    assert_eq!(one.node_reclaim_candidates(0), 40_000);
    assert_eq!(reclaim(&mut one, base, false, 0), NodeReclaim::Full, "40000 <= 41943");
    let mut three = with_cache(3, 40_000, 10_000);
    assert_eq!(three.node_reclaim_candidates(0), 50_000);
    assert_eq!(reclaim(&mut three, base, false, 0), NodeReclaim::Success);
    let mut just = with_cache(1, 41_943, 0);
    assert_eq!(reclaim(&mut just, base, false, 0), NodeReclaim::Full);
    let mut above = with_cache(1, 41_944, 0);
    assert_eq!(reclaim(&mut above, base, false, 0), NodeReclaim::Success);
}

#[test]
fn vector_11_huge_pages() {
    let mut m = with_cache(1, 1_000_000, 0);
    assert_eq!(reclaim(&mut m, Gfp::TRANSHUGE_LIGHT, true, 0), NodeReclaim::NoScan);
    assert_eq!(m.events.pgscan_direct, 0);
    assert_eq!(reclaim(&mut m, Gfp::TRANSHUGE, true, 0), NodeReclaim::Success);
    assert!(m.events.pgsteal_direct >= 512, "target 512 pages");
    // Success needs 512 freed pages. A 16th of 2700 pages takes this node below its floor of 2621 after 168.
    let mut few = small_naples(&["vm.zone_reclaim_mode=1"]);
    few.cache_fill(0, 2700, PageClass::FileClean);
    assert_eq!(reclaim(&mut few, Gfp::TRANSHUGE, true, 0), NodeReclaim::Some);
    assert_eq!((few.events.zone_reclaim_failed, few.events.pgsteal_direct), (1, 168));
}

#[test]
fn only_the_cpus_own_node_is_reclaimed() {
    let mut m = with_cache(1, 1_000_000, 0);
    assert_eq!(reclaim(&mut m, Gfp::HIGHUSER_MOVABLE, false, 3), NodeReclaim::NoScan);
    m.check().unwrap();
}

#[test]
fn dirty_and_mapped_pages_need_their_bits() {
    let freed = |mode: u8, class| {
        let mut m = naples(&[&format!("vm.zone_reclaim_mode={mode}")]);
        m.cache_fill(0, 1_000_000, class);
        reclaim(&mut m, Gfp::HIGHUSER_MOVABLE, false, 0)
    };
    assert_eq!(freed(1, PageClass::FileDirty), NodeReclaim::Full);
    assert_eq!(freed(2, PageClass::FileDirty), NodeReclaim::Success);
    assert_eq!(freed(3, PageClass::FileMapped), NodeReclaim::Full);
    // Bit 4 counts mapped pages, but this test unmaps none.
    assert_eq!(freed(4, PageClass::FileMapped), NodeReclaim::Some);
}

#[test]
fn the_walk_stays_local_while_there_is_cache_above_the_floor() {
    let mut m = naples(&["vm.zone_reclaim_mode=1"]);
    m.fragment(0, 200, 0);
    m.cache_fill(0, u64::MAX, PageClass::FileClean);
    let cache = m.account(0).pages(PageClass::FileClean);
    let mut local = 0;
    while base_on_0(&mut m) == Ok(0) {
        local += 1;
    }
    let floor = m.account(0).pages(PageClass::FileClean);
    assert!(floor.abs_diff(41_943) < 64, "{floor} pages left of {cache}, about 0.16 GiB");
    assert!(local >= cache - floor - 64, "{local}");
    m.check().unwrap();
}

#[test]
fn mode_1_gives_huge_faults_the_same_rule() {
    let mut m = naples(&["vm.zone_reclaim_mode=1"]);
    put(&mut m, 0, State::S);
    let (huge, node) = Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE).run(&mut m).unwrap();
    assert_eq!(node, if huge { 1 } else { 0 }, "cache was reclaimed, but no block became free");
    assert!(m.events.pgsteal_direct >= 512);
    // The page cache is in whole blocks, so reclaiming it makes huge pages.
    let mut m = naples(&["vm.zone_reclaim_mode=1"]);
    m.cache_fill(0, 1 << 19, PageClass::FileClean);
    while m.free(0) > 8000 {
        m.alloc_on(0, 0, 512).unwrap();
    }
    assert_eq!(Faulting::new(Locality::TwoStep, Gfp::TRANSHUGE).run(&mut m), Ok((true, 0)));
    assert!(m.events.zone_reclaim_success > 0);
}

#[test]
fn the_other_socket_counts_only_within_the_reclaim_distance() {
    // CPUs of any node may reclaim a CPU-less node on another socket, if it is near enough.
    let run = |limit: u8| {
        let mut machine = crate::mm::machines::naples();
        machine.nodes[4].cpus.clear();
        machine.node_reclaim_distance = limit;
        let cfg = crate::mm::setup::config(&["vm.zone_reclaim_mode=1"]);
        let mut m = PhysicalMemory::with_config(&machine, &cfg, 0);
        put(&mut m, 4, State::S);
        let bind = alloc_near(&mut m, 0, 1 << 4, 1);
        (bind, m.events.zone_reclaim_success)
    };
    assert_eq!(run(30), (Some(4), 0), "distance 32: taken at the min mark");
    assert_eq!(run(32), (Some(4), 1));
}
