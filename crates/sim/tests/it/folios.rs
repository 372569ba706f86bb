//! Large folios below 2 MiB (multi-size THP): they fault as one, are marked entry by entry, and move as one from 6.10
//! on.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::{counter, inline, kernel_set, machine, run, scalar, REMOTE};
use numalab_nouns::record::Outcome;

/// Pages of 64 MiB.
const PAGES: u64 = 16 << 10;

fn remote(release: &str, sets: &[(&str, &str)]) -> Outcome {
    let m = machine("haswell-2s");
    run(&m, &inline(REMOTE, &m, 1, &[]), &kernel_set(release, sets), 1)
}

const NO_PMD: (&str, &str) = ("system.thp", "never");

/// Faults on 64 MiB of the first touch: one for each folio of the enabled size.
#[test]
fn a_first_touch_maps_a_folio_of_the_largest_enabled_size() {
    let off = ("system.numa_balancing", "0");
    let faults = |sets: &[(&str, &str)]| counter(&remote("6.12", &[&[NO_PMD, off], sets].concat()), "pgfault");
    let base = faults(&[]);
    for (sets, pages) in [
        (vec![("system.thp_64kb", "always")], 16),
        (vec![("system.thp_64kb", "always"), ("system.thp_16kb", "always")], 16),
        (vec![("system.thp_1024kb", "always")], 256),
        (vec![("system.thp_64kb", "madvise")], 1),
        (vec![("system.thp_64kb", "inherit")], 1),
    ] {
        assert_eq!(base - faults(&sets), PAGES - PAGES / pages, "{sets:?}");
    }
}

/// From 6.10 on one fault moves a folio and clears all its marks. Marks and moves count base pages, faults count
/// events.
#[test]
fn one_hint_fault_moves_a_whole_folio_from_6_10_on() {
    let base = remote("6.12", &[NO_PMD]);
    let folios = remote("6.12", &[NO_PMD, ("system.thp_64kb", "always")]);
    for o in [&base, &folios] {
        let moved = counter(o, "numa_pages_migrated");
        assert!((PAGES..PAGES + PAGES / 8).contains(&moved), "{moved} pages of {PAGES} moved");
        assert_eq!(counter(o, "pgmigrate_success"), moved);
        assert!(counter(o, "numa_pte_updates") >= moved);
    }
    let per_fault = |o: &Outcome| counter(o, "numa_pte_updates") as f64 / counter(o, "numa_hint_faults") as f64;
    assert!((per_fault(&base) - 1.0).abs() < 0.1, "{}", per_fault(&base));
    assert!((per_fault(&folios) - 16.0).abs() < 1.6, "{}", per_fault(&folios));
    // Each entry loses its write permission with the move, and takes a write fault of its own, unless another thread's
    // fault on the folio has restored the entries before.
    let others = |o: &Outcome| counter(o, "pgfault") - counter(o, "numa_hint_faults");
    assert!((PAGES / 2..PAGES * 19 / 16).contains(&others(&folios)), "{}", others(&folios));
    assert!(scalar(&folios, "system_s") < scalar(&base, "system_s"), "fewer faults cost less");
}

/// In 6.8 and 6.9 a folio has a reference for each entry, and the filter of that time takes it for shared.
#[test]
fn folios_of_6_8_are_neither_marked_nor_moved() {
    let base = remote("6.8", &[NO_PMD]);
    assert!(counter(&base, "numa_pages_migrated") >= PAGES);
    let folios = remote("6.8", &[NO_PMD, ("system.thp_64kb", "always")]);
    let few = PAGES / 100;
    assert!(counter(&folios, "numa_pages_migrated") < few && counter(&folios, "numa_pte_updates") < few);
    // Where they are marked all the same, the fault on an entry of a folio gives up on it without counting.
    let sets = [NO_PMD, ("system.thp_64kb", "always"), ("page_filter", "none")];
    let marked = remote("6.8", &sets);
    assert!(counter(&marked, "numa_pte_updates") >= PAGES);
    assert!(counter(&marked, "numa_pages_migrated") < few && counter(&marked, "numa_hint_faults") < few);
    assert!(counter(&marked, "pgfault") >= counter(&folios, "pgfault") + PAGES, "each entry takes its own fault");
}

/// A child shares the entries, so folios are base pages after a fork; so they are when a part is unmapped.
#[test]
fn forks_and_partial_unmapping_split_folios() {
    let text = r#"
[[process]]
name = "parent"
[[process.region]]
name = "r"
size = "8MiB"
[[process.prologue]]
access = "r"
write = 1
[[process.phase]]
steps = [{ discard = "r", offset = "20KiB", len = "100KiB" }, { access = "r", write = 1 }]
[[process]]
name = "child"
parent = "parent"
[[process.phase]]
count = 2
access = "r"
write = 1
"#;
    let m = machine("haswell-2s");
    let k = kernel_set("6.12", &[NO_PMD, ("system.thp_64kb", "always")]);
    // The invariants of folios are checked in every second and at the end.
    let o = run(&m, &inline(text, &m, 1, &[]), &k, 1);
    assert!(counter(&o, "pgfault") > 2048, "the child copies page by page");
}

/// A nearly full node has no room for the whole folio, and a smaller one is taken; at last a base page.
#[test]
fn without_room_smaller_sizes_are_taken() {
    use numalab_kernel::mm::alloc::AllocSite;
    use numalab_kernel::mm::policy::MemPolicy;
    use numalab_kernel::mm::PhysicalMemory;
    let m = machine("haswell-2s");
    let mut memory = PhysicalMemory::new(&m);
    let (low, mut frames) = (memory.watermarks(0).low, Vec::new());
    let mut taken = 0;
    while memory.alloc_folio_on(0, 0, 256, &mut frames) {
        taken += frames.len() as u64;
    }
    assert!(taken > 0 && memory.free(0) <= low + 256 && memory.free(0) > low, "{} free", memory.free(0));
    assert!(memory.alloc_folio_on(0, 0, 2, &mut frames) && frames.len() == 2);
    let site = AllocSite { here: 0, policy_nodes: MemPolicy::DEFAULT.policy_nodes(0, 0), mems: memory.memory_nodes() };
    assert_eq!(memory.alloc_folio(&site, 256, &mut frames), Some(1), "the next node has room");
    memory.check().unwrap();
}
