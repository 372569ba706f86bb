//! The LRU lists: which pages count as used, which are read back too soon, and the counters of both.

use crate::mm::setup::{base_on_0, run_kswapd, small_naples};
use numalab_kernel::mm::reclaim::NoAnonReclaim;
use numalab_kernel::mm::{AllocatedPage, Frame, PageClass, PhysicalMemory, Work};

fn page(m: &mut PhysicalMemory) -> AllocatedPage {
    AllocatedPage { node: 0, frame: m.alloc_on(0, 0, 1).unwrap() }
}

#[test]
fn pages_change_lists_and_are_freed_from_the_right_one() {
    let mut m = small_naples(&[]);
    let (a, b) = (page(&mut m), page(&mut m));
    assert_eq!((m.account(0).lru.inactive_anon, m.account(0).lru.active_anon), (2, 0));
    let a = m.set_active(0, a.frame, 1, true);
    assert_eq!(m.set_active(0, a, 1, true), a, "once is enough");
    assert_eq!((m.account(0).lru.inactive_anon, m.account(0).lru.active_anon), (1, 1));
    m.free_page(0, a, PageClass::Anon);
    m.free_page(0, b.frame, PageClass::Anon);
    assert_eq!((m.account(0).lru.anon(), m.used(0)), (0, 0));
    m.check().unwrap();
    // Before 5.9 new pages start active.
    let mut old = small_naples(&["vm.anon_workingset=false"]);
    base_on_0(&mut old).unwrap();
    assert_eq!((old.account(0).lru.inactive_anon, old.account(0).lru.active_anon), (0, 1));
}

#[test]
fn a_page_takes_its_flags_to_another_node() {
    let mut m = small_naples(&[]);
    let old = page(&mut m).frame;
    let old = m.set_active(0, old, 1, true).with(Frame::REFERENCED | Frame::WORKINGSET, true);
    let new = m.alloc_on(0, 3, 1).unwrap();
    let new = m.carry_flags(old, 3, new, 1);
    m.free_page(0, old, PageClass::Anon);
    assert!([Frame::ACTIVE, Frame::REFERENCED, Frame::WORKINGSET].iter().all(|f| new.has(*f)));
    assert_eq!((m.account(0).lru.anon(), m.account(3).lru.active_anon), (0, 1));
    m.check().unwrap();
}

/// Evicts a page and then `others` more, and reads it back while `active` pages are on the active list.
fn refault(active: u64, others: u32, worked: bool) -> (PhysicalMemory, Frame) {
    let mut m = small_naples(&["swap.size_mb=16"]);
    for _ in 0..active {
        let p = page(&mut m);
        m.set_active(0, p.frame, 1, true);
    }
    let slot = m.swap.take().unwrap();
    m.note_eviction(0, Frame(1).with(Frame::WORKINGSET, worked), slot);
    for _ in 0..others {
        let other = m.swap.take().unwrap();
        m.note_eviction(0, Frame(1), other);
    }
    let got = page(&mut m);
    let frame = m.refault(slot, got);
    (m, frame)
}

#[test]
fn a_page_that_comes_back_too_soon_is_activated() {
    // The eviction of the page itself counts: with n others its distance is n + 1.
    for (active, others, activated) in [(10, 9, true), (10, 10, false), (0, 0, false), (500, 20, true)] {
        let (m, frame) = refault(active, others, false);
        assert_eq!(frame.has(Frame::ACTIVE), activated, "{active} active, {others} others");
        assert_eq!(m.account(0).lru.active_anon, active + u64::from(activated));
        let e = &m.events;
        let counts = (e.workingset_refault_anon, e.workingset_activate_anon, e.workingset_restore_anon);
        assert_eq!(counts, (1, u64::from(activated), 0));
    }
    let (m, frame) = refault(10, 0, true);
    assert!(frame.has(Frame::WORKINGSET) && m.events.workingset_restore_anon == 1);
}

#[test]
fn a_freed_slot_remembers_nothing() {
    let mut m = small_naples(&["swap.size_mb=16"]);
    let slot = m.swap.take().unwrap();
    m.note_eviction(0, Frame(1), slot);
    assert!(m.swap.put(slot) && m.swap.take() == Some(slot));
    let got = page(&mut m);
    assert_eq!((m.refault(slot, got), m.events.workingset_refault_anon), (got.frame, 0));
}

#[test]
fn page_cache_used_again_outlives_a_stream_of_reads() {
    let mut m = small_naples(&[]);
    let hot = 20_000;
    assert_eq!(m.cache_fill(0, hot, PageClass::FileClean), hot);
    m.cache_reference(0, hot);
    let activated = m.events.pgactivate;
    assert!((hot..hot + 512).contains(&activated) && m.account(0).lru.active_file == activated);
    let all: u64 = (0..8).map(|n| m.free(n)).sum();
    m.cache_read(0, 2 * all, PageClass::FileClean, &mut NoAnonReclaim, &mut Work::default()).unwrap();
    (0..8).for_each(|node| run_kswapd(&mut m, node, &mut NoAnonReclaim, &mut Work::default()));
    assert!(m.events.pgsteal_kswapd + m.events.pgsteal_direct > 0, "reclaim ran");
    assert_eq!(m.account(0).lru.active_file, activated, "the inactive list was long enough");
    assert_eq!((m.events.pgrefill, m.events.pgdeactivate), (0, 0));
    m.check().unwrap();
}
