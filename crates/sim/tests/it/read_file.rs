//! `read(2)`: file pages come to the page cache by the policy of the reader, are copied to its buffer, and stay.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_nouns::machine::Machine;
use numalab_nouns::record::Outcome;

/// A reader on node 0 reads a file of 16 MiB `passes` times, 64 KiB at a time; then `others` come.
fn text(passes: u32, others: &str) -> String {
    format!(
        "[[barrier]]\nname = \"then\"\n[[process]]\nname = \"p\"\n\
         [[process.region]]\nname = \"f\"\nsize = \"16MiB\"\nkind = \"file\"\n\
         [[process.region]]\nname = \"b\"\nsize = \"64KiB\"\nover = \"0..1\"\nadvice = \"nohuge\"\n\
         [[process.group]]\nname = \"first\"\naffinity = {{ nodes = 0 }}\n\
         [[process.group.phase]]\ncount = {passes}\nread = \"f\"\ninto = \"b[0]\"\n\
         [[process.group.phase]]\nbarrier = \"then\"\n\
         [[process.group]]\nname = \"second\"\naffinity = {{ nodes = 1 }}\n\
         [[process.group.phase]]\nbarrier = \"then\"\n{others}"
    )
}

fn outcome(m: &Machine, text: &str) -> Outcome {
    run(m, &inline(text, m, 1, &[]), &kernel("6.12"), 1)
}

const FILE_PAGES: u64 = 4096;
const BUFFER_PAGES: u64 = 16;

#[test]
fn the_reader_allocates_each_page_once_and_maps_none() {
    let m = machine("2x1x4x1");
    let [none, once, often] = [0, 1, 5].map(|n| outcome(&m, &text(n, "")));
    let of = |o: &Outcome, name| counter(o, name);
    assert_eq!(of(&once, "numa_hit") - of(&none, "numa_hit"), FILE_PAGES + BUFFER_PAGES + 1, "and a page table");
    assert_eq!(of(&often, "numa_hit"), of(&once, "numa_hit"), "later passes find them in the page cache");
    assert_eq!(of(&once, "pgfault") - of(&none, "pgfault"), BUFFER_PAGES, "a file page takes no fault");
    let (first, next) = (scalar(&once, "system_s"), scalar(&often, "system_s") - scalar(&once, "system_s"));
    assert!(next > 0.0 && next / 4.0 < first, "a pass that allocates takes longer: {first} {next}");
}

/// A reader of another node finds the pages where the first one brought them, and reads them from afar.
#[test]
fn pages_stay_where_they_were_first_read() {
    let m = machine("2x1x4x1");
    let read = "[[process.group.phase]]\ncount = 200\nread = \"f\"\ninto = \"b[1]\"\n";
    let (alone, far) = (outcome(&m, &text(1, "")), outcome(&m, &text(1, read)));
    assert_eq!(counter(&far, "numa_hit") - counter(&alone, "numa_hit"), BUFFER_PAGES + 1, "the buffer and its table");
    assert_eq!(counter(&far, "numa_pages_migrated"), 0);
    let near = outcome(&m, &text(201, ""));
    let time = |o: &Outcome| scalar(o, "system_s") - scalar(&alone, "system_s");
    assert!(time(&far) > 1.1 * time(&near), "{} {}", time(&far), time(&near));
}

/// Balancing never marks a file page that is only read, in a run that is long enough for many scans.
#[test]
fn balancing_has_no_entry_to_mark() {
    let m = machine("2x1x4x1");
    let read = "[[process.group.phase]]\ntime = \"8s\"\nread = \"f\"\ninto = \"b[1]\"\n";
    let o = outcome(&m, &text(1, read));
    assert!(scalar(&o, "elapsed_s") > 7.9);
    assert!(counter(&o, "numa_pte_updates") < 600, "{}", counter(&o, "numa_pte_updates"));
    // The same file, mapped and read by loads, is marked where it may be written.
    let mapped = text(1, "[[process.group.phase]]\ntime = \"8s\"\naccess = \"f\"\n").replace("\"file\"", "\"data\"");
    assert!(counter(&outcome(&m, &mapped), "numa_pte_updates") > 4000);
}

/// A call copies what lies on one node at once. Page by page (`exact`) it takes the same time and the same is counted.
#[test]
fn a_call_takes_as_long_as_its_pages() {
    let m = machine("2x1x4x1");
    let second = "[[process.group.phase]]\ncount = 40\nread = \"f\"\ninto = \"b[1]\"\n";
    let w = inline(&text(3, second), &m, 1, &[]);
    let [runs, exact] = [false, true].map(|exact| run(&m, &w, &kernel("6.12").with_exact_pages(exact), 1));
    for name in ["pgfault", "numa_hit", "numa_local", "numa_other"] {
        assert_eq!(counter(&runs, name), counter(&exact, name), "{name}");
    }
    for name in ["elapsed_s", "system_s"] {
        let (a, b) = (scalar(&runs, name), scalar(&exact, name));
        assert!((a - b).abs() <= 2e-3 * b, "{name}: {a} in calls, {b} page by page");
    }
}
