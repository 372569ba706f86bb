//! kswapd, kcompactd, proactive compaction (sections 4.1 and 10.3).

use crate::mm::setup::{naples, put, run_kswapd, small_naples, State};
use numalab_kernel::mm::reclaim::{KswapdStep, NoAnonReclaim};
use numalab_kernel::mm::{PageClass, PhysicalMemory, Work};

#[test]
fn kswapd_reclaims_to_high_and_sleeps() {
    let mut m = naples(&[]);
    put(&mut m, 0, State::S);
    m.wake_kswapd(0, false, true);
    let mut work = Work::default();
    run_kswapd(&mut m, 0, &mut NoAnonReclaim, &mut work);
    let w = m.watermarks(0);
    assert!(m.free(0) > w.high && m.free(0) < w.high + 20_000, "{}", m.free(0));
    assert!(!m.kswapd(0).is_running());
    assert_eq!((m.events.pgsteal_kswapd, m.events.pgsteal_direct), (work.reclaimed, 0));
    assert_eq!(m.events.pageoutrun, 1);
    m.check().unwrap();
}

#[test]
fn kswapd_reclaims_to_promo_with_tiering() {
    let mut m = naples(&["vm.tiering=true"]);
    put(&mut m, 0, State::S);
    m.wake_kswapd(0, false, true);
    run_kswapd(&mut m, 0, &mut NoAnonReclaim, &mut Work::default());
    assert!(m.free(0) > m.watermarks(0).promo);
}

#[test]
fn a_balanced_node_does_not_run_but_wakes_kcompactd_for_others() {
    let mut m = naples(&[]);
    m.wake_kswapd(0, false, true);
    assert!(!m.kswapd(0).is_running() && !m.kcompactd(0).is_woken());
    m.wake_kswapd(0, true, false);
    assert!(!m.kswapd(0).is_running() && m.kcompactd(0).is_woken());
}

#[test]
fn sixteen_fruitless_runs_make_a_node_hopeless() {
    let mut m = small_naples(&[]);
    put(&mut m, 0, State::Stuck);
    for run in 0..16 {
        m.wake_kswapd(0, false, true);
        assert!(m.kswapd(0).is_running(), "run {run}");
        let mut steps = 0;
        while m.kswapd_step(0, &mut NoAnonReclaim, &mut Work::default()) == KswapdStep::Running {
            steps += 1;
        }
        assert_eq!(steps, 11, "priorities 12 to 1");
    }
    m.wake_kswapd(0, false, true);
    assert!(!m.kswapd(0).is_running());
}

#[test]
fn woken_for_a_huge_page_it_leaves_the_rest_to_kcompactd() {
    let mut m = naples(&[]);
    put(&mut m, 0, State::S);
    m.wake_kswapd(0, true, false);
    run_kswapd(&mut m, 0, &mut NoAnonReclaim, &mut Work::default());
    assert!(m.events.pgsteal_kswapd >= 1024);
    assert!(m.kcompactd(0).is_woken());
    let mut work = Work::default();
    m.run_kcompactd(0, &mut work);
    assert_eq!((m.empty_blocks(0), m.events.compact_daemon_wake), (1, 1));
    assert!(work.compact_moved > 0 && m.events.compact_stall == 0);
    m.run_kcompactd(0, &mut work);
    assert_eq!(m.events.compact_daemon_wake, 1, "once per wake-up");
}

#[test]
fn vector_34_proactive_compaction_starts_above_90_and_stops_at_80() {
    let mut m = small_naples(&[]);
    put(&mut m, 0, State::C);
    assert_eq!(m.fragmentation_score(0), 100);
    let look = |m: &mut PhysicalMemory| {
        m.start_proactive(0);
        let mut in_vain = false;
        while m.kcompactd(0).is_proactive() {
            in_vain = m.proactive_step(0, &mut Work::default());
        }
        (m.fragmentation_score(0), in_vain)
    };
    assert_eq!(look(&mut m), (80, false));
    let moved = m.events.pgmigrate_success;
    assert_eq!(look(&mut m), (80, false), "not above 90: it waits");
    assert_eq!(m.events.pgmigrate_success, moved);
    let mut never = small_naples(&["compact.proactiveness=0"]);
    put(&mut never, 0, State::C);
    assert_eq!((look(&mut never), never.events.pgmigrate_success), ((100, false), 0));
}

#[test]
fn a_step_of_proactive_compaction_is_one_block_and_gives_way_to_kswapd() {
    let mut m = small_naples(&[]);
    put(&mut m, 0, State::C);
    m.start_proactive(0);
    assert!(!m.proactive_step(0, &mut Work::default()) && m.kcompactd(0).is_proactive());
    assert!((81..100).contains(&m.fragmentation_score(0)), "{}", m.fragmentation_score(0));
    let before = m.events.pgmigrate_success;
    put(&mut m, 0, State::S);
    m.wake_kswapd(0, false, true);
    m.proactive_step(0, &mut Work::default());
    assert!(!m.kcompactd(0).is_proactive() && m.events.pgmigrate_success == before);
    m.start_proactive(0);
    assert!(!m.kcompactd(0).is_proactive(), "kswapd runs");
}

/// Where nothing can be freed the score stays, and kcompactd looks again after 32 s only.
#[test]
fn proactive_compaction_among_unmovable_pages_is_in_vain() {
    let mut m = small_naples(&[]);
    put(&mut m, 0, State::X);
    m.start_proactive(0);
    assert!(m.kcompactd(0).is_proactive(), "{}", m.fragmentation_score(0));
    assert!(m.proactive_step(0, &mut Work::default()) && !m.kcompactd(0).is_proactive());
}

#[test]
fn dirty_pages_are_written_by_kswapd_under_pressure_only() {
    let mut m = small_naples(&[]);
    m.fragment(0, 400, 0);
    m.cache_fill(0, u64::MAX, PageClass::FileDirty);
    let mut work = Work::default();
    m.wake_kswapd(0, false, true);
    run_kswapd(&mut m, 0, &mut NoAnonReclaim, &mut work);
    assert!(work.written > 0 && work.written == work.reclaimed);
    m.check().unwrap();
}
