//! When a forked child of one thread is scanned first, and which of its pages a scan marks
//! (kernel-numa-balancing.md §2.6, §4, §7).
#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_nouns::record::Outcome;

/// Pages of the parent's table, all of which the child copies.
const PAGES: u64 = 2048;

/// A parent on node 0 whose child runs there too. The child writes the parent's table while allocations prefer
/// `copies_on`, so that its copies lie there, and then reads it for `reads`.
fn family(copies_on: u32, reads: &str) -> String {
    format!(
        "[[policy]]\nname = \"there\"\nmode = \"preferred\"\nnodes = {copies_on}\n[[channel]]\nname = \"done\"\n\
         [[process]]\nname = \"parent\"\naffinity = {{ cpus = 0 }}\n\
         [[process.region]]\nname = \"table\"\nsize = \"8MiB\"\nadvice = \"nohuge\"\n\
         [[process.prologue]]\naccess = \"table\"\nwrite = 1\n[[process.phase]]\nwait = \"done\"\n\
         [[process]]\nname = \"child\"\nparent = \"parent\"\naffinity = {{ cpus = 1 }}\n\
         [[process.phase]]\npolicy = \"there\"\naccess = \"table\"\nwrite = 1\n\
         [[process.phase]]\ntime = \"{reads}\"\naccess = \"table\"\n[[process.phase]]\nsignal = \"done\"\n"
    )
}

fn outcome(text: &str, kernel: &SimConfig) -> Outcome {
    let m = machine("2x1x4x1");
    run(&m, &inline(text, &m, 1, &[]), kernel, 1)
}

fn marked(o: &Outcome) -> u64 {
    counter(o, "numa_pte_updates")
}

/// `init_numa_balancing` sets the child's scan period to the scan delay and its stamp to 0, so that its first scan
/// comes after a second of its own CPU time.
#[test]
fn the_first_scan_comes_after_a_second_of_the_childs_own_time() {
    let kernel = kernel("6.12");
    let (short, long) = (outcome(&family(1, "900ms"), &kernel), outcome(&family(1, "1200ms"), &kernel));
    assert!(marked(&short) < 100, "{}", marked(&short));
    assert!(marked(&long) >= PAGES, "{}", marked(&long));
}

/// A single user's pages on the node of the CPU that scans are left alone; those elsewhere are marked, and move.
#[test]
fn a_single_thread_marks_only_what_is_off_its_node() {
    let kernel = kernel("6.12");
    let (near, far) = (outcome(&family(0, "3s"), &kernel), outcome(&family(1, "3s"), &kernel));
    assert!(marked(&near) < 100, "{}", marked(&near));
    assert!(marked(&far) >= PAGES);
    let moved = counter(&far, "numa_pages_migrated");
    assert!(moved >= PAGES, "{moved}");
    // What has moved is near, and later scans leave it alone.
    assert!(marked(&far) < PAGES + 100, "{}", marked(&far));
}

/// A page that parent and child still share is marked by neither, though it lies off the child's node.
#[test]
fn what_a_fork_shares_is_not_marked() {
    let shared = family(1, "3s").replace("affinity = { cpus = 1 }", "affinity = { nodes = 1 }").replace(
        "access = \"table\"\nwrite = 1\n[[process.phase]]\ntime",
        "compute = \"1us\"\n[[process.phase]]\ntime",
    );
    let o = outcome(&shared, &kernel("6.12"));
    assert!(scalar(&o, "elapsed_s") > 2.9);
    assert!(marked(&o) < 100, "{}", marked(&o));
    // The kernel before the filter of shared copy-on-write pages marks them.
    let before = outcome(&shared, &kernel("4.15"));
    assert!(marked(&before) >= PAGES, "{}", marked(&before));
}
