//! Base pages of 16 and 64 KiB: each is a page like any other, only larger.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::{counter, inline, kernel, kernel_set, machine, run, scalar, REMOTE};
use numalab_kernel::registry;
use numalab_model::catalog::Catalog;
use numalab_model::kernel::{self as kernels, Setting};
use numalab_model::spec::Spot;
use numalab_nouns::record::Outcome;
use numalab_nouns::workload::Workload;
use numalab_sim::{SimConfig, SimError};

const NO_THP: (&str, &str) = ("system.thp", "never");
const OFF: (&str, &str) = ("system.numa_balancing", "0");

/// Sizes of base pages, KiB.
const SIZES: [u64; 3] = [4, 16, 64];

/// A kernel with base pages of so many KiB.
fn built_for(kib: u64, release: &str, more: &[(&str, &str)]) -> SimConfig {
    let kib = kib.to_string();
    kernel_set(release, &[&[NO_THP, ("system.base_page_kb", kib.as_str())], more].concat())
}

fn outcome(text: &str, k: &SimConfig) -> Outcome {
    let m = machine("haswell-2s");
    run(&m, &inline(text, &m, 1, &[]), k, 1)
}

/// One thread that touches memory of its own once.
fn touch(mib: u64) -> String {
    format!(
        "[[process]]\nname = \"p\"\naffinity = {{ nodes = \"0\" }}\n\
         [[process.region]]\nname = \"r\"\nsize = \"{mib}MiB\"\n\
         [[process.phase]]\naccess = \"r\"\nwrite = 1\n"
    )
}

/// `N` MiB take 16 faults each with 64 KiB, and clearing them takes as long, whatever the page: fewer ways into the
/// kernel are all that is saved.
#[test]
fn a_first_touch_faults_once_a_page_and_clears_all_of_it() {
    let (small, large) = (touch(16), touch(80));
    let m = machine("haswell-2s");
    for kib in SIZES {
        let k = built_for(kib, "6.12", &[OFF]);
        let (a, b) = (outcome(&small, &k), outcome(&large, &k));
        assert_eq!(counter(&b, "pgfault") - counter(&a, "pgfault"), (64 << 10) / kib, "{kib} KiB");
        let system_ns = (scalar(&b, "system_s") - scalar(&a, "system_s")) * 1e9;
        let clearing_ns = (64 << 20) as f64 / m.costs.zero_local_gbps;
        let way_ns = m.costs.minor_fault_ns - 4096.0 / m.costs.zero_local_gbps;
        let expected_ns = clearing_ns + way_ns * ((64 << 10) / kib) as f64;
        assert!((system_ns / expected_ns - 1.0).abs() < 0.05, "{kib} KiB: {system_ns} ns, expected {expected_ns}");
    }
}

/// Marks, hint faults and moves count pages of the kernel's size, and a move copies all of one.
#[test]
fn marks_faults_and_moves_count_base_pages() {
    let mut system_s = Vec::new();
    for kib in SIZES {
        let o = outcome(REMOTE, &built_for(kib, "6.12", &[]));
        let pages = (64 << 10) / kib;
        let about = |n: u64| (pages..=pages + pages / 8 + 40).contains(&n);
        for name in ["numa_pages_migrated", "pgmigrate_success"] {
            assert!(about(counter(&o, name)), "{kib} KiB: {name} {}", counter(&o, name));
        }
        let (marks, faults) = (counter(&o, "numa_pte_updates"), counter(&o, "numa_hint_faults"));
        assert!(
            marks >= pages && faults >= pages && faults <= marks + marks / 100,
            "{kib} KiB: {marks} marks, {faults} faults"
        );
        assert_eq!(counter(&o, "numa_huge_pte_updates"), 0);
        system_s.push(scalar(&o, "system_s"));
    }
    assert!(system_s[2] < system_s[1] && system_s[1] < system_s[0], "fewer faults cost less: {system_s:?}");
    let m = machine("haswell-2s");
    // One copy at the rate of the machine's copies at least.
    let copying_s = 64e6 * 1.048_576 / 4096.0 * m.costs.copy_4k_remote_ns * 0.9 / 1e9;
    assert!(system_s[2] > copying_s, "{} s, but copying takes {copying_s}", system_s[2]);
}

/// A scan work of 256 MiB covers 4096 entries of 64 KiB, and 16384 of 16 KiB: as much memory as of 4 KiB.
#[test]
fn a_scan_window_is_mebibytes() {
    // One work in each 5 s: a resident set of four windows takes 20 s.
    let text = REMOTE.replace("64MiB", "1GiB").replace("threads = 2\n", "");
    let pace = ("scan.scan_period_min_ms", "20000");
    let marked_mib = |kib: u64, huge: &[(&str, &str)]| {
        let k = built_for(kib, "6.12", &[&[pace], huge].concat());
        counter(&outcome(&text, &k), "numa_pte_updates") * kib / 1024
    };
    assert_eq!(marked_mib(4, &[]), 256);
    // ppc64: 16 MiB with the hash MMU, 2 MiB with the radix MMU.
    assert_eq!(marked_mib(64, &[("system.huge_page_mb", "16")]), 256);
    assert_eq!(marked_mib(64, &[("system.huge_page_mb", "2")]), 256);
    // A work on arm64 goes up to the next multiple of 32 or 512 MiB, wherever the mapping begins.
    let (middle, large) = (marked_mib(16, &[]), marked_mib(64, &[]));
    assert!((256..288).contains(&middle) && (256..768).contains(&large) && large > 288, "{middle} {large}");
}

/// Memory at random within the reach of a TLB of pages of 64 KiB is as fast as with huge pages; with 4 KiB each access
/// walks.
#[test]
fn a_tlb_reaches_as_far_as_its_pages_are_large() {
    let m = machine("haswell-2s");
    let reach_mib = u64::from(m.tlb.entries_4k) * 64 / 1024;
    let text = format!(
        "[[process]]\nname = \"p\"\naffinity = {{ cpus = \"0\" }}\n[[process.region]]\nname = \"r\"\nsize = \"{}MiB\"\n\
         [[process.prologue]]\naccess = \"r\"\nwrite = 1\n\
         [[process.phase]]\naccess = \"r\"\npattern = \"random\"\naccesses = 20_000_000\n",
        reach_mib / 2
    );
    let user = |k: &SimConfig| scalar(&outcome(&text, k), "user_s");
    let [small, middle, large] = SIZES.map(|kib| user(&built_for(kib, "6.12", &[OFF])));
    let huge = user(&kernel_set("6.12", &[OFF, ("system.thp", "always")]));
    assert!(small > middle && middle > large, "{small} {middle} {large}");
    assert!((large / huge - 1.0).abs() < 0.03, "{large} s with 64 KiB, {huge} s with huge pages");
}

/// Shared memory, forks, swap, page cache, reclaim: all parts of the kernel work with larger pages, and their
/// invariants hold in every second.
#[test]
fn all_kinds_of_memory_are_in_larger_pages() {
    let text = r#"
[[process]]
name = "parent"
threads = 2
[[process.region]]
name = "common"
kind = "shared"
size = "1000KiB"
[[process.region]]
name = "file"
kind = "file"
size = "8MiB"
[[process.region]]
name = "own"
size = "8MiB"
[[process.prologue]]
steps = [{ access = "common", write = 1 }, { access = "own", write = 1 }]
[[process.phase]]
time = "3s"
steps = [
    { access = "file" },
    { access = "common", write = 0.5 },
    { access = "own", pattern = "random", accesses = 10_000, write = 1 },
    { discard = "own", offset = "20KiB", len = "3MiB" },
]
[[process]]
name = "child"
parent = "parent"
fork = "after"
[[process.phase]]
time = "3s"
steps = [{ access = "common", write = 1 }, { access = "own", write = 1 }]
"#;
    let cow = |kib: u64| {
        let o = outcome(text, &built_for(kib, "6.12", &[]));
        counter(&o, "pgfault")
    };
    let faults = SIZES.map(cow);
    assert!(faults[0] > 3 * faults[1] && faults[1] > 2 * faults[2], "{faults:?}");
}

/// Resolves a kernel as the command does, and hands on the simulator's refusal.
fn refusal(sets: &[(&str, &str)]) -> String {
    let spot = |value: &str| Spot { value: value.into(), file: "test".into(), line: 0, column: 0 };
    let all = [&[("system.base_page_kb", "64")], sets].concat();
    let all: Vec<_> = all.iter().map(|(k, v)| Setting { name: spot(k), value: (*v).into() }).collect();
    let kernels = kernels::resolve(&[spot("6.12")], &Catalog::embedded(), &registry::vocabulary(), &all).unwrap();
    SimConfig::of(&kernels[0]).unwrap_err()
}

#[test]
fn what_is_not_modelled_with_larger_pages_is_refused() {
    assert!(refusal(&[]).contains("set system.thp=never"), "{}", refusal(&[]));
    for (set, says) in [
        (("system.thp_64kb", "always"), "large folios"),
        (("vm.zones", "z2"), "vm.zones=z1"),
        (("damon.schemes", "hot"), "damon.schemes=none"),
        (("userspace_balance.interval_ms", "1000"), "userspace_balance.interval_ms=0"),
        (("system.huge_page_mb", "100"), "power of two"),
    ] {
        let why = refusal(&[NO_THP, set]);
        assert!(why.contains("system.base_page_kb = 64") && why.contains(says), "{set:?}: {why}");
    }
    let m = machine("haswell-2s");
    let refused = |w: &Workload| {
        let e = numalab_sim::run(&m, w, &built_for(64, "6.12", &[]), 1, true).unwrap_err();
        let SimError::Unsupported(why) = e else { panic!("{e}") };
        assert!(numalab_sim::run(&m, w, &kernel("6.12"), 1, true).is_ok());
        why
    };
    let hugetlb = touch(8).replace("size =", "kind = \"hugetlb\"\nsize =");
    let why = refused(&inline(&hugetlb, &m, 1, &[]));
    assert!(why.contains("process p") && why.contains("hugetlb"), "{why}");
}

/// A mapping begins and ends with whole pages, as `mmap` makes it.
#[test]
fn a_mapping_is_of_whole_pages() {
    let text = touch(8).replace("size = \"8MiB\"", "misalign = \"4KiB\"\nsize = \"8200KiB\"");
    let faults = |kib: u64, text: &str| counter(&outcome(text, &built_for(kib, "6.12", &[OFF])), "pgfault");
    for (kib, more) in [(4, 2), (16, 1), (64, 1)] {
        assert_eq!(faults(kib, &text) - faults(kib, &touch(8)), more, "{kib} KiB");
    }
}

/// Limits of the kernel that are given in bytes stay what they are: promotions a second, and the old rate of moves.
#[test]
fn limits_in_bytes_are_as_many_bytes() {
    let moved_mib = |kib: u64| {
        let text = REMOTE.replace("64MiB", "1GiB").replace("6s", "3s");
        let o = outcome(&text, &built_for(kib, "4.4", &[]));
        counter(&o, "numa_pages_migrated") * kib / 1024
    };
    let [small, _, large] = SIZES.map(moved_mib);
    assert!(small > 500 && large.abs_diff(small) < 300, "{small} MiB with 4 KiB, {large} MiB with 64 KiB");
}
