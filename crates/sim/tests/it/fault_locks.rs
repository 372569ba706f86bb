//! Faults of threads that share an address space queue for its locks, in closed form.
#![allow(clippy::unwrap_used)]

use crate::common::*;
use numalab_model::machine::Machine;
use numalab_model::record::Outcome;

/// Base pages that each thread touches.
const PAGES: u64 = 16384;

/// `count` processes of `threads` threads each, all of which write memory for the first time: a mapping of their own
/// each, or a slice of one.
fn first_touch(threads: u64, processes: u64, one_mapping: bool) -> String {
    let (regions, steps) = if one_mapping {
        let region = format!("[[process.region]]\nname = \"r\"\nsize = \"{} * 4KiB\"\n", PAGES * threads);
        (
            region,
            "[[process.phase]]\naccess = \"r\"\nslice = \"thread\"\n\
             pattern = \"strided\"\nstride = \"4KiB\"\nwrite = 1\n"
                .to_string(),
        )
    } else {
        let region = |i| format!("[[process.region]]\nname = \"r{i}\"\nsize = \"{PAGES} * 4KiB\"\n");
        let step = |i| {
            format!(
                "[[process.phase]]\naccess = \"r{i}\"\n\
                 pattern = \"strided\"\nstride = \"4KiB\"\nwrite = 1\nwhen = \"thread == {i}\"\n"
            )
        };
        ((0..threads).map(region).collect(), (0..threads).map(step).collect())
    };
    format!("[[process]]\nname = \"p\"\ncount = {processes}\nthreads = {threads}\n{regions}{steps}")
}

fn run_first_touch(m: &Machine, kernel: &SimConfig, shape: (u64, u64, bool)) -> Outcome {
    run(m, &inline(&first_touch(shape.0, shape.1, shape.2), m, 1, &[]), kernel, 1)
}

/// 6.12 without balancing and huge pages; faults take the lock of the address space, or of the mapping.
fn kernels() -> [SimConfig; 2] {
    ["true", "false"].map(|one| {
        kernel_set(
            "6.12",
            &[("system.numa_balancing", "0"), ("system.thp", "never"), ("vm.fault_holds_mmap_lock", one)],
        )
    })
}

/// System time for each of so many faults, ns.
fn system_ns(o: &Outcome, faults: u64) -> f64 {
    scalar(o, "system_s") * 1e9 / faults as f64
}

/// A counter, 0 if the run does not have it.
fn waited_ns(o: &Outcome, name: &str) -> u64 {
    o.counters.iter().find(|(n, _)| n == name).map_or(0, |c| c.1)
}

/// n threads that touch mappings of their own for the first time. With locks of mappings a fault takes f. With one lock
/// each fault moves its line twice, from another CPU in (n - 1) of n cases: s = 2 c (n - 1) / n. Below saturation a
/// fault takes f + s. The line serves one at a time, so in saturation a fault takes n s, which grows with n.
#[test]
fn one_lock_serialises_the_faults_of_threads() {
    let m = machine("1x1x64x1");
    let c_ns = m.core_to_core_ns(0, 0);
    let [one, many] = kernels();
    for threads in [2, 8, 16, 32, 48] {
        let [one_ns, many_ns] =
            [&one, &many].map(|k| system_ns(&run_first_touch(&m, k, (threads, 1, false)), PAGES * threads));
        let n = threads as f64;
        let s = 2.0 * c_ns * (n - 1.0) / n;
        let want_ns = (many_ns + s).max(n * s);
        assert!((one_ns / want_ns - 1.0).abs() < 0.07, "{threads} threads: {one_ns} ns a fault, {want_ns} wanted");
        if n * s < many_ns {
            let more = (one_ns - many_ns) / s;
            assert!((more - 1.0).abs() < 0.12, "{threads} threads: the lock took {more} of {s} ns");
        }
    }
}

/// A lock of the mapping does not help threads that fault in one mapping.
#[test]
fn threads_in_one_mapping_meet_at_its_lock() {
    let m = machine("1x1x64x1");
    let [one, many] = kernels();
    let elapsed = |k| scalar(&run_first_touch(&m, k, (32, 1, true)), "elapsed_s");
    let ratio = elapsed(&many) / elapsed(&one);
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
    let o = run_first_touch(&m, &many, (32, 1, true));
    assert!(
        waited_ns(&o, "vma_lock_wait_ns") > 100_000_000 && waited_ns(&o, "mmap_lock_wait_ns") == 0,
        "{:?}",
        o.counters
    );
}

/// Processes of one thread have a lock each, so which lock it is does not matter, and nobody waits for it.
#[test]
fn processes_do_not_meet_at_locks_of_address_spaces() {
    let m = machine("1x1x64x1");
    let of = |k: &SimConfig| {
        let o = run_first_touch(&m, k, (1, 32, false));
        assert_eq!(waited_ns(&o, "mmap_lock_wait_ns") + waited_ns(&o, "vma_lock_wait_ns"), 0);
        scalar(&o, "system_s")
    };
    let [one, many] = kernels().map(|k| of(&k));
    assert_eq!(one, many);
}

/// Two threads far below saturation: every second time the line comes from the other one, across sockets or not.
#[test]
fn a_lock_costs_what_its_line_takes() {
    let m = machine("2x1x32x1");
    let group = |n: u32, node: u32| {
        format!(
            "[[process.group]]\nname = \"g{n}\"\naffinity = {{ nodes = {node} }}\n[[process.group.phase]]\n\
             access = \"r{n}\"\npattern = \"strided\"\nstride = \"4KiB\"\nwrite = 1\n"
        )
    };
    let region = |n: u32| format!("[[process.region]]\nname = \"r{n}\"\nsize = \"{PAGES} * 4KiB\"\n");
    let [one, many] = kernels();
    for (node, way_ns) in [(0, m.core_to_core_ns(0, 0)), (1, m.core_to_core_ns(0, 1))] {
        let regions: String = [0, 1].map(region).concat();
        let text = format!("[[process]]\nname = \"p\"\n{regions}{}{}", group(0, 0), group(1, node));
        let fault_ns = |k| system_ns(&run(&m, &inline(&text, &m, 1, &[]), k, 1), 2 * PAGES);
        let (took_ns, want_ns) = (fault_ns(&one) - fault_ns(&many), 2.0 * way_ns / 2.0);
        assert!((took_ns / want_ns - 1.0).abs() < 0.12, "node {node}: {took_ns} ns, {want_ns} by the latencies");
    }
}

/// Releases: 6.4 brought locks of single mappings.
#[test]
fn threads_with_mappings_of_their_own_gain_from_6_4() {
    let m = machine("1x1x64x1");
    let run_on = |release: &str| {
        let k = kernel_set(release, &[("system.numa_balancing", "0"), ("system.thp", "never")]);
        run_first_touch(&m, &k, (32, 1, false))
    };
    let (old, new) = (run_on("6.3"), run_on("6.4"));
    assert!(waited_ns(&old, "mmap_lock_wait_ns") > 100_000_000 && waited_ns(&new, "vma_lock_wait_ns") == 0);
    assert!(scalar(&old, "elapsed_s") > 1.3 * scalar(&new, "elapsed_s"));
}

/// A CPU refills its list under the lock of the zone and its batch goes to the LRU under that of the list: with n CPUs
/// each batch pays a transfer of the line or more, and a lone CPU pays none.
#[test]
fn cpus_meet_at_zones_and_lru_lists() {
    let m = machine("1x1x64x1");
    let [_, k] = kernels();
    let (lone, all) = (run_first_touch(&m, &k, (1, 1, false)), run_first_touch(&m, &k, (1, 32, false)));
    let batches = 32.0 * PAGES as f64 / f64::from(k.mm.vm.lru_batch);
    let least_ns = batches * m.core_to_core_ns(0, 0) * 31.0 / 32.0;
    let waited = waited_ns(&all, "lru_lock_wait_ns") as f64;
    assert!(waited > 0.9 * least_ns, "{waited} ns of {least_ns}");
    assert!(waited_ns(&all, "zone_lock_wait_ns") > 0);
    assert_eq!(waited_ns(&lone, "lru_lock_wait_ns") + waited_ns(&lone, "zone_lock_wait_ns"), 0);
}
