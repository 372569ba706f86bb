//! Runs whose result is known in closed form.

#![allow(clippy::unwrap_used)]

mod common;
use common::*;

/// One thread reads memory of node 0 over and over, pinned to a node.
const STREAM: &str = r#"
name = "stream-one"
title = "t"
about = "a"
source = "test"
[params]
node = 0
passes = 8
write = 0
[[policy]]
name = "near"
mode = "bind"
nodes = 0
[[process]]
name = "p"
affinity = { nodes = "node" }
[[process.region]]
name = "r"
size = "1GiB"
policy = "near"
[[process.prologue]]
access = "r"
write = 1
[[process.phase]]
count = "passes"
access = "r"
write = "write"
"#;

/// machines.md section 8.4 vector 1: one local stream on Milan runs at its cap of 31 GB/s.
#[test]
fn one_local_stream_runs_at_its_cap() {
    let m = machine("milan-2s-nps1");
    let k = kernel("off");
    let elapsed = |passes: &str| scalar(&run(&m, &inline(STREAM, &m, 1, &[("passes", passes)]), &k, 1), "elapsed_s");
    let per_pass = (elapsed("40") - elapsed("8")) / 32.0;
    let gbps = (1u64 << 30) as f64 / 1e9 / per_pass;
    assert!((gbps / 31.0 - 1.0).abs() < 0.02, "{gbps} GB/s");
}

/// Writing a line also reads it first: twice the traffic, so half the rate of a capped stream.
#[test]
fn zeroing_moves_every_line_twice() {
    let m = machine("milan-2s-nps1");
    let k = kernel("off");
    let t = |write: &str, passes: &str| {
        scalar(&run(&m, &inline(STREAM, &m, 1, &[("write", write), ("passes", passes)]), &k, 1), "elapsed_s")
    };
    let ratio = (t("1", "24") - t("1", "8")) / (t("0", "24") - t("0", "8"));
    assert!((ratio - 2.0).abs() < 0.05, "{ratio}");
}

/// Buffers handed out anywhere are written as fast as memory in order, and hide behind work that takes longer.
#[test]
fn blocks_stream_and_hide_behind_work() {
    let m = machine("milan-2s-nps1");
    let k = kernel("off");
    let blocks = STREAM
        .replace(
            "write = \"write\"",
            "write = \"write\"\npattern = \"blocks\"\nblock = \"256KiB\"\naccesses = \"1GiB / 64B\"\ncost = \"cost\"",
        )
        .replace("passes = 8", "passes = 8\ncost = \"0ns\"");
    let t = |text: &str, cost: &str, passes: &str| {
        scalar(&run(&m, &inline(text, &m, 1, &[("cost", cost), ("passes", passes)]), &k, 1), "elapsed_s")
    };
    let pass = |cost: &str| (t(&blocks, cost, "24") - t(&blocks, cost, "8")) / 16.0;
    let gbps = (1u64 << 30) as f64 / 1e9 / pass("0ns");
    assert!((gbps / 31.0 - 1.0).abs() < 0.02, "{gbps} GB/s");
    // 64 bytes take 2.06 ns at 31 GB/s; work is given for the sustained clock and alone on its LLC runs at the single one.
    let boost = m.clock.single_ghz / m.clock.sustained_ghz;
    let worked = pass("8ns") * boost / ((1u64 << 24) as f64 * 8e-9);
    assert!((worked - 1.0).abs() < 0.02, "{worked}");
}

/// kernel-numa-balancing.md scenario E1: one thread, 1 GiB on the wrong node. Every page is marked once,
/// faults once and migrates once; afterwards the single-user shortcut leaves them alone.
#[test]
fn e1_single_thread_moves_its_memory_once() {
    let text = r#"
name = "e1"
title = "t"
about = "a"
source = "test"
[[policy]]
name = "far"
mode = "bind"
nodes = 0
[[process]]
name = "p"
affinity = { nodes = 1 }
[[process.region]]
name = "r"
size = "1GiB"
[[process.prologue]]
policy = "far"
access = "r"
write = 1
[[process.phase]]
time = "12s"
access = "r"
write = 1
"#;
    let m = machine("2x1x4x1");
    let o = run(&m, &inline(text, &m, 1, &[]), &kernel("6.12"), 1);
    let pages = 262_144;
    assert_eq!(counter(&o, "numa_pte_updates"), pages);
    assert_eq!(counter(&o, "numa_hint_faults"), pages);
    assert_eq!(counter(&o, "numa_hint_faults_local"), 0);
    assert_eq!(counter(&o, "numa_pages_migrated"), pages);
    let last: Vec<f64> = o.series[0].values.iter().map(|c| c.iter().copied().fold(0.0, f64::max)).collect();
    assert_eq!(last[1], pages as f64, "all memory ends on node 1");
}

/// A private local process of one thread takes no hint fault at all.
#[test]
fn single_user_local_memory_is_never_marked() {
    let m = machine("milan-2s-nps1");
    let w = inline(STREAM, &m, 1, &[("passes", "400")]);
    let o = run(&m, &w, &kernel("6.1"), 1);
    assert_eq!(counter(&o, "numa_pte_updates"), 0);
}

/// With balancing off nothing is scanned, faulted on or migrated, whatever the placement.
#[test]
fn off_is_off() {
    let m = machine("milan-2s-nps1");
    let w = workload("numa01_THREAD_ALLOC", &m, 1, &[("loops", "20")]);
    let o = run(&m, &w, &kernel("off"), 1);
    for name in ["numa_pte_updates", "numa_hint_faults", "numa_pages_migrated"] {
        assert_eq!(counter(&o, name), 0, "{name}");
    }
}

/// Threads of a process that hold still end with their memory local, and twice the nodes give about twice
/// the bandwidth of one hot node.
#[test]
fn thread_local_slices_converge() {
    let m = machine("milan-2s-nps1");
    let w = workload("numa01_THREAD_ALLOC", &m, 1, &[("loops", "600")]);
    let o = run(&m, &w, &kernel("6.1"), 1);
    let bandwidth = o.series.iter().find(|s| s.name == "dram_bandwidth").unwrap();
    let peak = |c: usize| bandwidth.values[c].iter().copied().fold(0.0, f64::max);
    assert!(peak(0) > 130.0 && peak(1) > 130.0, "{} {}", peak(0), peak(1));
    assert!(counter(&o, "numa_pages_migrated") > 600_000);
}

/// Runtime is conserved: user and system time never exceed elapsed time times CPUs.
#[test]
fn cpu_time_fits_the_machine() {
    let m = machine("milan-2s-nps1");
    for k in ["6.1", "6.4", "6.12"] {
        let w = workload("numa01_THREAD_ALLOC", &m, 3, &[("loops", "100")]);
        let o = run(&m, &w, &kernel(k), 3);
        let used = scalar(&o, "user_s") + scalar(&o, "system_s");
        assert!(used <= scalar(&o, "elapsed_s") * 256.0 * 1.0001, "{k}");
    }
}

/// Reading at a given pace with a known scan period: a process whose only work is to run marks 256 MiB per
/// scan period at the fastest pace, i.e. at most its whole memory once per second (1 GiB: four windows of 250 ms).
#[test]
fn scanning_never_exceeds_the_pace_of_its_period() {
    let text = r#"
name = "pace"
title = "t"
about = "a"
source = "test"
[[process]]
name = "p"
threads = 8
[[process.region]]
name = "r"
size = "1GiB"
[[process.prologue]]
access = "r"
write = 1
[[process.phase]]
time = "20s"
access = "r"
write = 0
"#;
    let m = machine("2x1x4x1");
    let o = run(&m, &inline(text, &m, 1, &[]), &kernel("6.1"), 1);
    let elapsed = scalar(&o, "elapsed_s");
    let updates = counter(&o, "numa_pte_updates") as f64;
    assert!(updates > 262_144.0, "scanned at least once: {updates}");
    assert!(updates <= 262_144.0 * elapsed, "{updates} in {elapsed} s");
}
