//! §7: which entries are marked.

use super::mock::{config, direct, settings};
use numalab_kernel::numa::page_filter::Verdict;
use numalab_kernel::numa::topology::NodeParts;
use numalab_kernel::numa::{MarkRules, NumaConfig, NumaTopology, PageFacts};

fn mode(mode: u8) -> NumaConfig {
    let mut s = settings("6.12");
    s.scan.numa_balancing = mode;
    s.resolve(1000).unwrap()
}

/// Node 0 is fast and has CPUs; node 1 is slow and has none.
pub fn tiers() -> NumaTopology {
    let fast = NodeParts { cpus: 2, memory: true, tier: 0 };
    let slow = NodeParts { cpus: 0, memory: true, tier: 1 };
    NumaTopology::from_parts(&[fast, slow], &[10, 20, 20, 10]).unwrap()
}

fn marked(rules: &MarkRules, page: PageFacts) -> bool {
    rules.pte(&page) == Verdict::Mark
}

#[test]
fn single_user_shortcut_spares_local_private_base_pages() {
    let cfg = config("6.12", 1000);
    let topo = direct(2, 2);
    for (users, shared, local_marked) in [(1, false, false), (2, false, true), (1, true, true)] {
        let rules = MarkRules::new(&cfg, &topo, 0, users, shared, 0);
        assert_eq!(marked(&rules, PageFacts::private_anon(0)), local_marked, "users {users} shared {shared}");
        assert!(marked(&rules, PageFacts::private_anon(1)), "pages of the other node always");
        assert_eq!(rules.huge(&PageFacts::private_anon_huge(0)), Verdict::Mark, "huge pages have no such check");
        assert_eq!(rules.marks_exclusive_anon(0), local_marked);
    }
}

#[test]
fn special_and_dirty_file_pages_stay_unmarked() {
    let topo = direct(2, 2);
    let rules = MarkRules::new(&config("6.12", 1000), &topo, 0, 2, false, 0);
    let page = PageFacts::private_anon(0);
    assert!(!marked(&rules, PageFacts { special: true, ..page }));
    assert!(!marked(&rules, PageFacts { file_lru: true, dirty: true, ..page }));
    assert!(marked(&rules, PageFacts { file_lru: true, dirty: false, ..page }));
    assert!(marked(&rules, PageFacts { dirty: true, ..page }), "dirty anonymous pages are ordinary");
    let huge = PageFacts { file_lru: true, dirty: true, mapcount: 3, ..PageFacts::private_anon_huge(0) };
    assert_eq!(rules.huge(&huge), Verdict::Mark, "neither the COW nor the dirty check exists for huge entries");
    assert_eq!(rules.huge(&PageFacts { special: true, ..huge }), Verdict::Skip, "huge zero page");
}

#[test]
fn without_the_normal_bit_only_slow_pages_are_marked() {
    let topo = tiers();
    for (m, top, slow) in [(1, true, true), (2, false, true), (3, true, true), (4, false, true)] {
        let rules = MarkRules::new(&mode(m), &topo, 0, 2, false, 0);
        assert_eq!(marked(&rules, PageFacts::private_anon(0)), top, "mode {m} top tier");
        assert_eq!(marked(&rules, PageFacts::private_anon(1)), slow, "mode {m} slow tier");
        assert_eq!(rules.huge(&PageFacts::private_anon_huge(0)) == Verdict::Mark, top, "mode {m} huge");
    }
    let one_tier = MarkRules::new(&mode(4), &direct(2, 2), 0, 2, false, 0);
    assert!((0..2).all(|n| !marked(&one_tier, PageFacts::private_anon(n))), "with one tier, nothing");
}

#[test]
fn slow_pages_are_stamped_with_the_scan_time_in_tiering_mode() {
    let topo = tiers();
    let rules = MarkRules::new(&mode(2), &topo, 0, 2, false, 5000);
    assert!(rules.stamp_nodes.contains(1) && !rules.stamp_nodes.contains(0));
    assert_eq!(rules.stamp.raw(), 5000);
    assert!(MarkRules::new(&mode(1), &topo, 0, 2, false, 5000).stamp_nodes.is_empty());
}
