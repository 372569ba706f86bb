//! §19.6: page filters.

use super::mock::{mib_pages, settings, system, Content, MockPage, MockSpace, MockVma, PAGE};
use numalab_kernel::numa::page_filter::{PageFilter, PageFilterKind, PageFilterTunables, Verdict};
use numalab_kernel::numa::scan::ScanReport;
use numalab_kernel::numa::{NumaBalancing, PageFacts, ScanArgs};

fn filter(word: &str, limit: u32) -> PageFilter {
    let t = PageFilterTunables { mapcount_limit: limit, ..PageFilterTunables::default() };
    PageFilter::new(PageFilterKind::parse(word).unwrap(), &t)
}

/// A page of a private data segment, in the page cache, mapped by `mapcount` processes.
fn data(mapcount: u32) -> PageFacts {
    let base = PageFacts::private_anon(0);
    PageFacts { mapcount, refcount: mapcount + 1, file_lru: true, dirty: false, writable: false, ..base }
}

/// A page of shared anonymous memory.
fn shared_anon(mapcount: u32) -> PageFacts {
    PageFacts { mapcount, refcount: mapcount + 1, shared_mapping: true, ..PageFacts::private_anon(0) }
}

#[test]
fn f1_to_f6_table() {
    use Verdict::{Mark, Skip, SkipVma};
    let private = PageFacts::private_anon(0);
    let rows = [
        ("F1", data(288), [Mark, Skip, Skip, SkipVma, Skip]),
        ("F2", data(4), [Mark, Skip, Skip, SkipVma, Mark]),
        ("F3", shared_anon(288), [Mark, Skip, Mark, Mark, Skip]),
        ("F4 mc 5", shared_anon(5), [Mark, Skip, Mark, Mark, Mark]),
        ("F4 mc 6", shared_anon(6), [Mark, Skip, Mark, Mark, Skip]),
        ("F5", private, [Mark, Mark, Mark, Mark, Mark]),
    ];
    let words = ["none", "mapcount1_any", "cow_mapcount1", "cow_skip_vma", "mapcount_threshold"];
    for (id, page, verdicts) in rows {
        for (word, verdict) in words.iter().zip(verdicts) {
            assert_eq!(filter(word, 5).verdict(&page), verdict, "{id} {word}");
        }
    }
    assert_eq!(filter("mapcount1_any", 1).verdict(&shared_anon(2)), Skip, "F6");
    assert_eq!(filter("mapcount_threshold", 1).verdict(&shared_anon(2)), Skip, "F6");
    assert_eq!(filter("mapcount_threshold", 1).verdict(&private), Mark, "mc = T is not skipped");
}

#[test]
fn f7_an_extra_reference() {
    let page = PageFacts { refcount: 2, ..PageFacts::private_anon(0) };
    assert_eq!(filter("cow_refcount1", 5).verdict(&page), Verdict::Skip, "F7");
    assert_eq!(filter("cow_mapcount1", 5).verdict(&page), Verdict::Mark, "F7");
}

#[test]
fn f9_page_cache_page_mapped_once() {
    assert_eq!(filter("cow_refcount1", 5).verdict(&data(1)), Verdict::Skip, "F9");
    for word in ["cow_mapcount1", "cow_shared_or_pinned"] {
        assert_eq!(filter(word, 5).verdict(&data(1)), Verdict::Mark, "F9 {word}");
    }
}

/// A scan work over a VMA of 977 pages (the reproducer's data segment), of which some are shared, and over the next
/// VMA.
fn scan_data_segment(word: &str, shared: &[usize]) -> (NumaBalancing, MockSpace, ScanReport) {
    let mut s = settings("4.16");
    s.roles.page_filter = PageFilterKind::parse(word).unwrap();
    let mut n = NumaBalancing::new(s.resolve(1000).unwrap(), super::mock::direct(2, 2));
    n.start(0, Some(0), 1000);
    n.mms[0].numa_next_scan = 10_000;
    let exclusive = MockPage::new(PageFacts::private_anon(0));
    let mut pages = vec![exclusive; 977];
    shared.iter().for_each(|&i| pages[i].facts = data(288));
    let first = MockVma::anon(0x4000_0000, 977 * PAGE).with(Content::Pages(pages));
    let mut space = MockSpace::of(vec![first, MockVma::anon(0x5000_0000, PAGE)]);
    let report = n.task_numa_work(0, ScanArgs { now: 10_000, this_node: 1, rss_pages: mib_pages(1) }, &mut space);
    (n, space, report)
}

#[test]
fn f8_the_first_shared_page_ends_the_vma() {
    // The next VMA has one page, which is marked and charged in either case.
    let (_, space, r) = scan_data_segment("cow_skip_vma", &[100, 101, 500]);
    assert_eq!((r.updates, r.pages_charged, r.pages_walked), (100 + 1, 101 + 1, 101 + 1), "F8");
    assert_eq!(space.calls.last().unwrap().0, 1, "F8: the scan goes on with the next VMA");
    let (_, _, r) = scan_data_segment("cow_mapcount1", &[100]);
    assert_eq!((r.updates, r.pages_charged), (976 + 1, 977 + 1), "F8 cow_mapcount1");
}

#[test]
fn f8_nothing_marked_charges_the_virtual_budget_only() {
    let (_, _, r) = scan_data_segment("cow_skip_vma", &[0]);
    assert_eq!((r.updates, r.pages_charged, r.pages_walked), (1, 1, 1 + 1), "the hit page itself is walked");
}

#[test]
fn f8_a_skipped_vma_counts_as_completed() {
    let mut s = settings("6.12");
    s.roles.page_filter = PageFilterKind::CowSkipVma;
    let mut n = NumaBalancing::new(s.resolve(1000).unwrap(), super::mock::direct(2, 2));
    n.start(0, Some(0), 1000);
    n.mms[0].numa_next_scan = 10_000;
    let vma = MockVma::anon(0x4000_0000, 16 * PAGE).with(Content::Unmarked(data(2)));
    let mut space = MockSpace::of(vec![vma]);
    n.task_numa_work(0, ScanArgs { now: 10_000, this_node: 1, rss_pages: 0 }, &mut space);
    assert_eq!(space.vmas[0].state.unwrap().prev_scan_seq, 0);
    assert_eq!(n.mms[0].numa_scan_seq, 1);
}

#[test]
fn only_mapcount1_any_looks_at_huge_entries() {
    let huge = PageFacts { mapcount: 2, ..PageFacts::private_anon_huge(0) };
    for kind in PageFilterKind::ALL {
        let expected = if *kind == PageFilterKind::Mapcount1Any { Verdict::Skip } else { Verdict::Mark };
        assert_eq!(filter(kind.word(), 5).verdict_huge(&huge), expected, "{}", kind.word());
    }
}

#[test]
fn shared_or_pinned_by_kind_of_page() {
    let f = filter("cow_shared_or_pinned", 5);
    let small = PageFacts::private_anon(0);
    let folio = PageFacts { pages: 16, mapcount: 16, refcount: 16, first_mapcount: 1, ..small };
    let rows = [
        ("small, 1023 references", PageFacts { refcount: 1023, ..small }, Verdict::Mark),
        ("small, 1024 references", PageFacts { refcount: 1024, ..small }, Verdict::Skip),
        ("small, two mappings", PageFacts { mapcount: 2, ..small }, Verdict::Skip),
        ("folio, each page mapped once", folio, Verdict::Mark),
        ("folio, more mappings than pages", PageFacts { mapcount: 17, ..folio }, Verdict::Skip),
        ("folio, first page mapped twice", PageFacts { mapcount: 10, first_mapcount: 2, ..folio }, Verdict::Skip),
        ("folio, another page mapped twice", PageFacts { mapcount: 10, ..folio }, Verdict::Mark),
        ("folio, one mapping", PageFacts { mapcount: 1, entire_mapcount: 1, ..folio }, Verdict::Mark),
        ("folio, mapped whole and in part", PageFacts { mapcount: 2, entire_mapcount: 1, ..folio }, Verdict::Skip),
        ("folio, pinned", PageFacts { pincount: 1, ..folio }, Verdict::Skip),
        ("folio, 2000 references", PageFacts { refcount: 2000, ..folio }, Verdict::Mark),
        ("read-only mapping without may-write", PageFacts { mapcount: 9, may_write: false, ..small }, Verdict::Mark),
    ];
    for (name, page, verdict) in rows {
        assert_eq!(f.verdict(&page), verdict, "{name}");
    }
}

#[test]
fn the_limit_can_be_confined_to_cow_mappings() {
    let t = PageFilterTunables { mapcount_limit_cow_only: true, ..PageFilterTunables::default() };
    let f = PageFilter::new(PageFilterKind::MapcountThreshold, &t);
    assert_eq!(f.verdict(&data(6)), Verdict::Skip);
    assert_eq!(f.verdict(&shared_anon(6)), Verdict::Mark);
}

#[test]
fn bulk_marking_agrees_with_page_by_page() {
    for kind in PageFilterKind::ALL {
        for limit in [0, 1, 5] {
            let f = filter(kind.word(), limit);
            let marked = f.verdict(&PageFacts::private_anon(0)) == Verdict::Mark;
            assert_eq!(f.marks_all_exclusive_anon(), marked, "{} {limit}", kind.word());
        }
    }
}

#[test]
fn shared_pages_of_a_filtered_kernel_yield_no_update() {
    let mut n = system("4.16", 1000);
    n.mms[0].numa_next_scan = 10_000;
    let vma = MockVma::anon(0x4000_0000, 977 * PAGE).with(Content::Unmarked(data(288)));
    let mut space = MockSpace::of(vec![vma]);
    let r = n.task_numa_work(0, ScanArgs { now: 10_000, this_node: 1, rss_pages: 0 }, &mut space);
    assert_eq!((r.updates, n.counters.numa_pte_updates), (0, 0));
    n.cfg.page_filter = filter("none", 5);
    n.mms[0].numa_next_scan = 20_000;
    let r = n.task_numa_work(0, ScanArgs { now: 20_000, this_node: 1, rss_pages: 0 }, &mut space);
    assert_eq!((r.updates, n.counters.numa_pte_updates), (977, 977), "4.15 marks them");
}

#[test]
fn f8_a_skipped_vma_may_use_up_the_budget() {
    let mut s = settings("6.12");
    s.roles.page_filter = PageFilterKind::CowSkipVma;
    s.set("scan", "scan_size_mb", "1").unwrap();
    let mut n = NumaBalancing::new(s.resolve(1000).unwrap(), super::mock::direct(2, 2));
    n.start(0, Some(0), 1000);
    n.mms[0].numa_next_scan = 10_000;
    let mut pages = vec![MockPage::new(PageFacts::private_anon(0)); 512];
    pages[255].facts = data(2);
    let first = MockVma::anon(0x4000_0000, 512 * PAGE).with(Content::Pages(pages));
    let mut space = MockSpace::of(vec![first, MockVma::anon(0x5000_0000, PAGE)]);
    let r = n.task_numa_work(0, ScanArgs { now: 10_000, this_node: 1, rss_pages: 0 }, &mut space);
    assert_eq!((r.updates, r.pages_charged), (255, 256), "255 marked and the hit page");
    assert_eq!(space.calls.len(), 1, "nothing is left for the next VMA");
    assert_eq!(n.mms[0].numa_scan_offset, 0x4000_0000 + 512 * PAGE);
    assert_eq!(space.vmas[0].state.unwrap().prev_scan_seq, 0, "complete nevertheless");
}
