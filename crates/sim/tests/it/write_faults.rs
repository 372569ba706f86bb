//! Stores in random order meet read-only entries as those in address order do.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_model::record::Outcome;

const PAGES: u64 = 4096;

/// A parent fills 16 MiB and forks a child, which then goes over them once, as the last line says.
fn forked(step: &str) -> Outcome {
    forked_on("6.12", "never", step)
}

fn forked_on(kernel: &str, thp: &str, step: &str) -> Outcome {
    let text = format!(
        "[[channel]]\nname = \"done\"\n\
        [[process]]\nname = \"parent\"\n[[process.region]]\nname = \"data\"\nsize = \"16MiB\"\n\
        [[process.prologue]]\naccess = \"data\"\nwrite = 1\n\
        [[process.phase]]\nwait = \"done\"\n\
        [[process]]\nname = \"child\"\nparent = \"parent\"\nfork = \"after\"\n\
        [[process.phase]]\n{step}\n[[process.phase]]\nsignal = \"done\"\n"
    );
    let m = machine("2x1x1x1");
    let w = inline(&text, &m, 1, &[]);
    run(&m, &w, &kernel_set(kernel, &[("system.numa_balancing", "0"), ("system.thp", thp)]), 1)
}

/// Copies made for the child's stores.
fn copies(step: &str) -> u64 {
    let read = counter(&forked("access = \"data\""), "pgfault");
    counter(&forked(step), "pgfault") - read
}

#[test]
fn random_stores_break_copy_on_write() {
    assert_eq!(copies("access = \"data\"\nwrite = 1"), PAGES);
    // Enough accesses to find every page.
    assert_eq!(copies("access = \"data\"\npattern = \"random\"\naccesses = 100_000\nwrite = 1"), PAGES);
    assert_eq!(copies("access = \"data\"\npattern = \"random\"\naccesses = 100_000"), 0);
}

#[test]
fn only_the_share_that_writes_takes_the_fault() {
    // A store finds a page that is still read-only with 1 - e^-(accesses that write / pages).
    let share = |write: f64| {
        let step = format!("access = \"data\"\npattern = \"random\"\naccesses = {PAGES}\nwrite = {write}");
        copies(&step) as f64 / PAGES as f64
    };
    for write in [1.0_f64, 0.5, 0.1] {
        let (got, want) = (share(write), 1.0 - (-write).exp());
        assert!((got - want).abs() < 0.03, "{write}: {got}, expected {want}");
    }
}

/// thp-and-allocation.md, vector 26, with 16 MiB.
#[test]
fn vector_26_a_store_to_a_huge_page_shared_by_a_fork() {
    let stores = "steps = [{ for = \"block\", in = \"0..7\", steps = [\
        { access = \"data\", offset = \"block * 2MiB\", len = \"4KiB\", write = 1 }] }]";
    let events = ["thp_fault_alloc", "thp_split_pmd", "pgfault", "numa_hit"];
    for (kernel, more) in [
        // Eight entries split, and eight base pages.
        ("6.1", [0, 8, 8, 8]),
        ("6.12", [0, 8, 8, 8]),
        // Before 5.8 eight huge copies.
        ("4.15", [8, 0, 8, 8]),
    ] {
        let (read, wrote) = (forked_on(kernel, "always", "access = \"data\""), forked_on(kernel, "always", stores));
        assert_eq!((counter(&read, "thp_fault_alloc"), counter(&read, "thp_split_pmd")), (8, 0), "{kernel}");
        assert_eq!(events.map(|e| counter(&wrote, e) - counter(&read, e)), more, "{kernel}");
    }
}

/// A thread on node 0 fills a buffer; another on node 1 reads it just until it has
/// moved there, then comes to it once more.
fn moved(step: &str) -> u64 {
    counter(&moved_on("6.7", "never", step), "pgreuse")
}

fn moved_on(kernel: &str, thp: &str, step: &str) -> Outcome {
    let text = format!(
        "[[barrier]]\nname = \"filled\"\n\
        [[process]]\nname = \"main\"\nthreads = 2\naffinity = {{ nodes = \"thread\" }}\n\
        [[process.region]]\nname = \"data\"\nsize = \"16MiB\"\n\
        [[process.phase]]\nwhen = \"thread == 0\"\naccess = \"data\"\nwrite = 1\n\
        [[process.phase]]\nbarrier = \"filled\"\n\
        [[process.phase]]\nwhen = \"thread == 1\"\ntime = \"3s\"\naccess = \"data\"\n\
        [[process.phase]]\nwhen = \"thread == 1\"\n{step}\n"
    );
    let m = machine("2x1x1x1");
    let w = inline(&text, &m, 1, &[]);
    let o = run(&m, &w, &kernel_set(kernel, &[("system.thp", thp)]), 1);
    assert!(counter(&o, "numa_pages_migrated") >= PAGES / 2);
    o
}

#[test]
fn random_stores_find_what_migration_left_read_only() {
    let read = moved("access = \"data\"");
    let in_order = moved("access = \"data\"\nwrite = 1");
    let at_random = moved("access = \"data\"\npattern = \"random\"\naccesses = 100_000\nwrite = 1");
    assert!(in_order > read + PAGES / 2, "{in_order} with stores, {read} without");
    assert!(at_random.abs_diff(in_order) <= PAGES / 50, "{at_random} at random, {in_order} in order");
}

/// A huge page that has moved is read-only from 6.2 on as well; its write fault (`do_huge_pmd_wp_page`) is no reuse.
#[test]
fn huge_pages_that_moved_take_a_write_fault_from_6_2_on() {
    for (kernel, more) in [("6.1", 0), ("6.3", PAGES / 512), ("6.12", PAGES / 512)] {
        let (read, wrote) = (
            moved_on(kernel, "always", "access = \"data\""),
            moved_on(kernel, "always", "access = \"data\"\nwrite = 1"),
        );
        let huge = |o: &Outcome| counter(o, "thp_migration_success");
        assert_eq!((huge(&read), huge(&wrote)), (PAGES / 512, PAGES / 512), "{kernel}");
        assert_eq!(counter(&wrote, "pgfault") - counter(&read, "pgfault"), more, "{kernel}");
        assert_eq!(counter(&wrote, "pgreuse"), counter(&read, "pgreuse"), "{kernel}");
    }
}

/// A thread that writes memory on its own node, beside another one, so that local pages are marked too. Up to
/// b191f9b106ea every hint fault, also one that leaves the page, takes the write permission, and the next store faults
/// again.
#[test]
fn local_hint_faults_of_4_0_rc1_lose_the_write_permission() {
    let text = "[[process]]\nname = \"p\"\nthreads = 2\naffinity = { nodes = 0 }\n\
        [[process.region]]\nname = \"r\"\nsize = \"32MiB\"\n\
        [[process.phase]]\ntime = \"8s\"\naccess = \"r\"\nslice = \"thread\"\nwrite = 1\n";
    let m = machine("2x1x2x1");
    let go = |kernel: &str| run(&m, &inline(text, &m, 1, &[]), &kernel_set(kernel, &[("system.thp", "never")]), 1);
    let (before, during) = (go("3.19"), go("4.0-rc1"));
    for o in [&before, &during] {
        assert!(counter(o, "numa_hint_faults") > 2 * PAGES && counter(o, "numa_pages_migrated") == 0);
    }
    let others = |o: &Outcome| counter(o, "pgfault") - counter(o, "numa_hint_faults");
    let (touched, lost) = (others(&before), others(&during) - others(&before));
    assert!(touched < 2 * PAGES + 100, "{touched} first touches of {} pages", 2 * PAGES);
    let faults = counter(&during, "numa_hint_faults");
    assert!(lost > faults * 9 / 10 && lost <= faults, "{lost} write faults after {faults} hint faults");
}
