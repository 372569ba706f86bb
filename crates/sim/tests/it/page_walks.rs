//! What translation costs random accesses in a run, against the closed forms of machines.md section 3.1.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_kernel::hw::tlb::{Accessed, TlbModel, Walk};
use numalab_model::machine::Machine;

const GIB: u64 = 1 << 30;

/// One thread on CPU 0 reads 4 GiB that it has written; their tables lie beside them.
fn reader(pattern: &str, huge: &str) -> String {
    format!(
        r#"
[params]
reads = 1000
[[process]]
name = "p"
threads = 1
affinity = {{ cpus = "0" }}
[[process.region]]
name = "r"
size = "4GiB"
advice = "{huge}"
[[process.prologue]]
access = "r"
write = 1
[[process.phase]]
access = "r"
pattern = "{pattern}"
accesses = "reads"
"#
    )
}

/// Time of a read, ns, in the long run, and the GB/s of all memory in the second half of it.
fn read_ns(m: &Machine, pattern: &str, huge: bool) -> (f64, f64) {
    let text = reader(pattern, if huge { "huge" } else { "nohuge" });
    let once = |reads: &str| {
        let out = run(m, &inline(&text, m, 1, &[("reads", reads)]), &kernel("off"), 1);
        let series = out.series.iter().find(|s| s.name == "dram_bandwidth").unwrap();
        let late = series.time_ns.len() / 2;
        let sum: f64 = series.values.iter().flat_map(|node| &node[late..]).sum();
        (scalar(&out, "elapsed_s"), sum / (series.time_ns.len() - late) as f64)
    };
    let (short, long) = (once("20e6"), once("60e6"));
    ((long.0 - short.0) / 40e6 * 1e9, long.1)
}

fn walk(m: &Machine, huge: bool) -> (TlbModel, Walk) {
    let tlb = TlbModel::new(m, m.tlb.nested);
    let a = Accessed { bytes: 4 * GIB, alpha: 0.0, l2_bytes: m.cache.l2_bytes, llc_bytes: m.llcs[0].size_bytes };
    let walk = tlb.mean_walk(if huge { 1.0 } else { 0.0 }, &a);
    (tlb, walk)
}

/// A chase waits for its translation; the caches answer a few of its lines.
#[test]
fn a_chase_waits_for_its_walks() {
    let mut m = machine("clx-2s");
    for nested in [false, true] {
        m.tlb.nested = nested;
        let ns = |huge: bool| {
            let (tlb, walk) = walk(&m, huge);
            let hit = m.llcs[0].size_bytes as f64 / (4.0 * GIB as f64);
            let local = m.latency_ns[0][0];
            tlb.random_access_ns((1.0 - hit) * local + hit * m.cache.llc_latency_ns, walk, local)
        };
        for huge in [false, true] {
            let (took, wanted) = (read_ns(&m, "chase", huge).0, ns(huge));
            assert!((took / wanted - 1.0).abs() < 0.03, "nested {nested}, huge {huge}: {took}, wanted {wanted}");
        }
    }
}

/// Independent reads overlap, and the walkers of the core limit their walks: huge pages are about twice as fast on
/// Cascade Lake (github.com/evanj/hugepagedemo, README: 4 GiB in a guest). The model was not fitted to it.
#[test]
fn independent_reads_wait_for_the_walkers() {
    let mut m = machine("clx-2s");
    let (small, huge) = (read_ns(&m, "random", false).0, read_ns(&m, "random", true).0);
    let (tlb, walk) = walk(&m, false);
    let wanted = tlb.walkers_ns(walk.walk_ns(m.latency_ns[0][0]), 1);
    assert!((small / wanted - 1.0).abs() < 0.05, "{small} ns, {wanted} by the walkers");
    assert!((1.5..2.5).contains(&(small / huge)), "{small} ns, {huge} with huge pages");
    // With as many walkers as reads in flight they are no limit.
    m.tlb.walker.as_mut().unwrap().walkers = 64;
    assert!(read_ns(&m, "random", false).0 < 0.8 * small);
}

/// Lines of page tables that the caches do not hold are traffic: one beside nearly every line read.
#[test]
fn lines_of_tables_are_traffic() {
    let mut m = machine("clx-2s");
    m.llcs.iter_mut().for_each(|l| l.size_bytes = 1 << 20);
    m.cache.l2_bytes = 256 << 10;
    let (ns, gbps) = read_ns(&m, "chase", false);
    let walk = walk(&m, false).1;
    assert!(walk.leaf_miss > 0.8, "{walk:?}");
    let lines = gbps * ns / 64.0;
    assert!((lines / (1.0 + walk.leaf_miss) - 1.0).abs() < 0.05, "{lines} lines, {walk:?}");
}
