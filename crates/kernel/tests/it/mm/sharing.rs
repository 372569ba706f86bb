//! Vectors 25 and 26: migrating and forking huge pages.

use crate::mm::setup::{naples, small_naples};
use numalab_kernel::mm::{
    AddressSpace, Backing, CopiedEntries, Mapper, PageClass, PageState, PhysicalMemory, SharedMemory, Vma, VmaKind,
    CHUNK_BYTES,
};
use numalab_kernel::numa::migrate::{nearly_full, ZoneInfo as _};

#[test]
fn vector_25_room_for_a_hint_migration() {
    let mut m = naples(&[]);
    let high = m.watermarks(3).high;
    let down_to = |m: &mut PhysicalMemory, free: u64| {
        while m.free(3) > free + 512 {
            m.alloc_on(3, 3, 512).unwrap();
        }
        while m.free(3) > free {
            m.alloc_on(3, 3, 1).unwrap();
        }
    };
    down_to(&mut m, high + 513);
    assert!(!nearly_full(m.zones(3), 512) && m.empty_blocks(3) > 0, "strictly more than high + 512");
    down_to(&mut m, high + 512);
    assert!(nearly_full(m.zones(3), 512) && !nearly_full(m.zones(3), 1));
    assert!(m.alloc_on(0, 3, 512).is_some(), "the allocator itself has a page: the check comes first");
}

/// Pages of a range are the same counted one by one and from those around it.
#[test]
fn pages_of_a_range_are_counted_from_either_side() {
    let mut m = naples(&[]);
    let store = SharedMemory::default();
    let mut vma = Vma::new(0, CHUNK_BYTES, VmaKind::PrivateAnon, true, 8);
    for page in (0..512).filter(|page| page % 5 != 0) {
        let node = page / 100;
        vma.populate(0, page, node, m.alloc_on(node, node, 1).unwrap());
    }
    for (from, to) in [(0, 512), (1, 512), (0, 511), (90, 480), (3, 7), (200, 456), (200, 457)] {
        let (mut one_by_one, mut range) = ([0; 8], [7; 8]);
        let present = vma.count_pages(0, from..to, &store, &mut one_by_one);
        assert_eq!(vma.count_range(0, from..to, &store, &mut range), present, "{from}..{to}");
        assert_eq!(range, one_by_one, "{from}..{to}");
    }
}

/// Pages of a chunk that is full, exclusive or forked, are counted where an access finds them.
#[test]
fn pages_of_a_full_chunk_are_counted() {
    let mut m = naples(&[]);
    let mut vma = Vma::new(0, CHUNK_BYTES, VmaKind::PrivateAnon, true, 8);
    for page in 0..512 {
        let node = page % 3;
        vma.populate(0, page, node, m.alloc_on(node, node, 1).unwrap());
    }
    let count = |vma: &Vma, store: &SharedMemory| {
        let mut out = [7; 8];
        assert_eq!(vma.count_pages(0, 10..20, store, &mut out), 10);
        let mut found = [0; 8];
        for page in 10..20 {
            match vma.page(0, page, store) {
                PageState::Ready { node } | PageState::ReadOnly { node, .. } => found[usize::from(node)] += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(out, found);
        out
    };
    let (mut parent, mut child, mut store) =
        (AddressSpace::default(), AddressSpace::default(), SharedMemory::default());
    assert_eq!(count(&vma, &store), [3, 4, 3, 0, 0, 0, 0, 0]);
    parent.insert(vma);
    child.dup_mmap(&[0], &mut parent, (0, 1), (&mut m, &mut store));
    assert_eq!(count(child.vma(0), &store), [3, 4, 3, 0, 0, 0, 0, 0]);
    // A copy of the child's own is on another node.
    let frame = m.alloc_on(5, 5, 1).unwrap();
    child.vma_mut(0).break_cow(0, 12, 0, (5, frame));
    assert_eq!(count(child.vma(0), &store), [2, 4, 3, 0, 0, 1, 0, 0]);
}

/// A parent with `chunks` huge pages, and its forked child.
fn forked(m: &mut PhysicalMemory, chunks: u64) -> (AddressSpace, AddressSpace, SharedMemory, CopiedEntries) {
    let (mut parent, mut child, mut store) =
        (AddressSpace::default(), AddressSpace::default(), SharedMemory::default());
    let mut vma = Vma::new(0, chunks * CHUNK_BYTES, VmaKind::PrivateAnon, true, 8);
    for chunk in 0..chunks as usize {
        vma.populate_huge(chunk, 0, m.alloc_on(0, 0, 512).unwrap());
    }
    parent.insert(vma);
    let copied = child.dup_mmap(&[0], &mut parent, (0, 1), (m, &mut store));
    (parent, child, store, copied)
}

#[test]
fn vector_26_fork_of_a_gib_of_huge_pages() {
    let mut m = naples(&[]);
    let (mut parent, mut child, mut store, copied) = forked(&mut m, 512);
    assert_eq!((copied, m.used(0)), (CopiedEntries { ptes: 0, pmds: 512 }, 512 * 512), "no page");
    // From 5.8 on the child's writes split its huge pages and copy one base page each.
    for chunk in 0..512 {
        let at = child.vma(0).page_ref(chunk, 7).unwrap();
        let b = store.block_of(at);
        let frame = b.frame[0];
        b.split();
        assert!(m.split_frame(0, frame));
        for space in [&mut parent, &mut child] {
            space.vma_mut(0).split_shared_huge(chunk);
        }
        let at = child.vma(0).page_ref(chunk, 7).unwrap();
        let copy = m.alloc_on(0, 0, 1).unwrap();
        child.vma_mut(0).break_cow(chunk, 7, 0, (0, copy));
        store.unmap(at, &mut |gone| m.free_unmapped(gone));
    }
    assert_eq!(m.used(0), 512 * 512 + 512, "512 base pages more");
    child.exit_mmap(1, &mut m, &mut store);
    assert_eq!(m.used(0), 512 * 512);
    parent.exit_mmap(0, &mut m, &mut store);
    assert_eq!(m.used(0), 0);
    m.check().unwrap();
}

#[test]
fn vector_26_before_5_8_the_copy_is_a_huge_page() {
    let mut m = small_naples(&[]);
    let (parent, mut child, mut store, _) = forked(&mut m, 2);
    for chunk in 0..2 {
        let at = child.vma(0).page_ref(chunk, 0).unwrap();
        assert_eq!(store.object(at.object).backing, Backing::Anon);
        let copy = m.alloc_on(0, 1, 512).unwrap();
        child.vma_mut(0).break_cow_huge(chunk, 0, (1, copy));
        store.unmap(at, &mut |gone| m.free_unmapped(gone));
    }
    assert_eq!((m.used(0), m.used(1), child.vma(0).pages_on_node()[1]), (1024, 1024, 1024));
    assert!(!child.vma(0).maps(numalab_kernel::mm::PageRef { object: 0, chunk: 0, page: 0 }));
    child.vma(0).check().unwrap();
    assert_eq!(m.account(0).pages(PageClass::AnonHuge), 1024);
    drop(parent);
    assert_eq!(store.object(0).mappers, [0, 1].map(|process| Mapper { process, vma: 0 }));
}
