//! Runs whose result is known in closed form.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_sim::SimConfig;

/// One thread reads memory of node 0 over and over, pinned to a node.
const STREAM: &str = r#"
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
    // 64 bytes take 2.06 ns at 31 GB/s; work is given for the sustained clock and alone on its LLC runs at the single
    // one.
    let boost = m.clock.single_ghz / m.clock.sustained_ghz;
    let worked = pass("8ns") * boost / ((1u64 << 24) as f64 * 8e-9);
    assert!((worked - 1.0).abs() < 0.02, "{worked}");
}

/// A buffer that an access does not use up is gone on with by the next one: passes of one page touch as many pages in
/// all as passes of whole buffers, and fill buffers one after the other.
#[test]
fn a_buffer_lasts_over_accesses() {
    let m = machine("milan-2s-nps1");
    let k = kernel("off");
    // 64 MiB of 64 buffers; 32 buffers' worth of lines, by one access or by many.
    let pages = |passes: u32, lines: u32| {
        let text = format!(
            "[[process]]\nname = \"p\"\n\
             [[process.region]]\nname = \"r\"\nsize = \"64MiB\"\nadvice = \"nohuge\"\n[[process.phase]]\n\
             count = {passes}\naccess = \"r\"\nwrite = 1\npattern = \"blocks\"\nblock = \"1MiB\"\naccesses = {lines}\n"
        );
        counter(&run(&m, &inline(&text, &m, 1, &[]), &k, 1), "pgfault")
    };
    let (whole, parts) = (pages(1, 32 * 16384), pages(32 * 256, 64));
    assert!(whole > 20 * 256, "{whole} pages of some 25 buffers");
    assert_eq!(parts, whole);
}

/// kernel-numa-balancing.md scenario E1: one thread, 1 GiB on the wrong node. Every page is marked once,
/// faults once and migrates once; afterwards the single-user shortcut leaves them alone.
#[test]
fn e1_single_thread_moves_its_memory_once() {
    let text = r#"
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
    // Ten pages of stack and data were there from the start.
    assert_eq!(last[1], (pages + 10) as f64, "all memory ends on node 1");
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

/// The oracle's memory is near whoever asks: a far stream takes exactly the time of a near one, and no page moves.
#[test]
fn the_oracle_has_no_remote_memory() {
    let m = machine("milan-2s-nps1");
    let mut oracle = kernel("off");
    oracle.design.oracle = true;
    let one = |k: &SimConfig, node: &str, passes: &str| {
        run(&m, &inline(STREAM, &m, 1, &[("node", node), ("passes", passes)]), k, 1)
    };
    // Without the first touch, which still zeroes pages across the link.
    let sweeps =
        |k: &SimConfig, node: &str| scalar(&one(k, node, "24"), "elapsed_s") - scalar(&one(k, node, "8"), "elapsed_s");
    let (near, far, best) = (sweeps(&kernel("off"), "0"), sweeps(&kernel("off"), "1"), sweeps(&oracle, "1"));
    assert!(far > 1.2 * near, "{far} is not slower than {near}");
    assert!((best / near - 1.0).abs() < 0.01, "{best} and {near}");
    let best = one(&oracle, "1", "8");
    assert_eq!(counter(&best, "numa_pages_migrated"), 0);
}

/// What any kernel gets from the same program is worse than what the oracle gets.
#[test]
fn no_kernel_beats_the_oracle_where_memory_is_local_in_the_end() {
    let m = machine("milan-2s-nps1");
    let w = workload("numa01_THREAD_ALLOC", &m, 1, &[("loops", "200")]);
    let mut oracle = kernel("off");
    oracle.design.oracle = true;
    // User time: threads that all sweep at the speed of near memory meet at each missing page, and queue for its lock.
    let bound = scalar(&run(&m, &w, &oracle, 1), "user_s");
    for name in ["off", "4.15", "6.1", "6.12"] {
        let user = scalar(&run(&m, &w, &kernel(name), 1), "user_s");
        assert!(bound < user, "{name}: {user} s, oracle {bound} s");
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
    for k in ["6.1", "6.4-rc2", "6.12"] {
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

/// Threads run and pages lie where their cpuset says, whatever is nearer; with no page left there the run ends.
#[test]
fn a_cpuset_confines_threads_and_pages() {
    let m = machine("4x1x4x1");
    let text = r#"
[params]
size = "64MiB"
[[process]]
name = "p"
threads = 8
cpuset = { nodes = "1..2", mems = "2..3" }
[[process.region]]
name = "r"
size = "size"
[[process.phase]]
time = "3s"
access = "r"
slice = "thread"
write = 1
"#;
    let k = kernel("6.1");
    let o = run(&m, &inline(text, &m, 1, &[]), &k, 1);
    let pages: Vec<f64> = (0..4).map(|n| *o.series[0].values[n].last().unwrap()).collect();
    assert_eq!((pages[0], pages[1]), (0.0, 0.0), "neither at first touch nor by migration: {pages:?}");
    assert!(pages[2] >= 16384.0, "the nearest of the allowed ones: {pages:?}");
    assert!(counter(&o, "numa_hint_faults") > 0 && counter(&o, "pgmigrate_fail") > 0, "node 1 asks for them in vain");
    let large = text.replace("size = \"size\"", "size = \"size\"\nadvice = \"huge\"");
    let size = format!("{}B", m.memory_bytes() / 2 + (1 << 30));
    let o = numalab_sim::run(&m, &inline(&large, &m, 1, &[("size", &size)]), &k, 1, true).unwrap();
    let numalab_model::record::Status::Failed(why) = o.status else { panic!("{:?}", o.status) };
    assert!(why.contains("none of the nodes that its cpuset allows"), "{why}");
}

/// A process in the background takes CPU time from the others and does not keep the run alive.
#[test]
fn the_background_ends_with_the_others() {
    let m = machine("2x1x2x1");
    let text = "[[process]]\nname = \"p\"\nthreads = 4\n[[process.phase]]\ncompute = \"2s\"\n\
                [[process]]\nname = \"watch\"\n[[process.phase]]\ntime = \"1000s\"\n\
                steps = [{ sleep = \"90ms\" }, { compute = \"10ms\" }]\n";
    let w = inline(text, &m, 1, &[]);
    let elapsed = |background| scalar(&run(&m, &w, &kernel("off").with_background(background), 1), "elapsed_s");
    let both = elapsed(1);
    assert!((2.0..2.4).contains(&both), "{both} s for 2 s of work beside a tenth of a CPU");
    assert!(elapsed(0) > 900.0, "in the foreground it keeps the run alive");
}
