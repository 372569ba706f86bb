//! What threads that share caches do to each other, where it is known in closed form.

#![allow(clippy::unwrap_used)]

use crate::common;
use common::*;
use numalab_kernel::hw::reuse_window::{reuse_miss, AccessMix};
use numalab_model::machine::Machine;

/// Threads, each pinned to the CPU that `cpu` says, sweep or use one region, each the whole of it.
fn shared(cpu: &str, threads: usize, access: &str) -> String {
    format!(
        r#"
[params]
passes = 8
[[process]]
name = "p"
threads = {threads}
affinity = {{ cpus = "{cpu}" }}
[[process.region]]
name = "r"
size = "1GiB"
[[process.prologue]]
access = "r"
write = 1
[[process.phase]]
count = "passes"
access = "r"
{access}
"#
    )
}

/// Time of a pass, in the long run.
fn pass_s(m: &Machine, text: &str) -> f64 {
    let k = kernel("off");
    let elapsed = |passes: &str| scalar(&run(m, &inline(text, m, 1, &[("passes", passes)]), &k, 1), "elapsed_s");
    (elapsed("24") - elapsed("8")) / 16.0
}

const LINES: f64 = ((1u64 << 30) / 64) as f64;

/// A line that `n` cores of an LLC write in step is handed on `n` times before anybody goes on.
#[test]
fn threads_that_write_one_buffer_wait_for_their_turn() {
    let m = machine("milan-2s-nps1");
    let transfer_s = m.cache.transfer_ns.unwrap() * 1e-9;
    let alone = pass_s(&m, &shared("thread", 1, "write = 1"));
    for cores in [2, 4, 8] {
        let turns = LINES * cores as f64 * transfer_s;
        let pass = pass_s(&m, &shared("thread", cores, "write = 1"));
        assert!((pass / (alone + turns) - 1.0).abs() < 0.03, "{cores} cores: {pass} s, {alone} alone, {turns} turns");
    }
}

/// Each on an LLC of its own nobody waits; nor where a machine's file says nothing of transfers, and then two threads
/// are as fast as with a buffer each.
#[test]
fn nobody_waits_for_a_turn_without_a_cache_in_common() {
    let mut m = machine("milan-2s-nps1");
    let alone = pass_s(&m, &shared("thread", 1, "write = 1"));
    let apart = pass_s(&m, &shared("8 * thread", 2, "write = 1"));
    assert!((apart / alone - 1.0).abs() < 0.03, "{apart} s, {alone} alone");
    let own = pass_s(&m, &shared("thread", 2, "slice = \"thread\"\nwrite = 1").replace("1GiB", "2GiB"));
    m.cache.transfer_ns = None;
    let unknown = pass_s(&m, &shared("thread", 2, "write = 1"));
    assert!((unknown / own - 1.0).abs() < 0.03, "{unknown} s, {own} with a buffer each");
}

/// While pages are missing the faults of whoever leads decide: the first pass is the same without transfers.
#[test]
fn nobody_is_in_step_while_pages_are_missing() {
    let mut m = machine("milan-2s-nps1");
    let text = shared("thread", 8, "write = 1").replace("[[process.prologue]]\naccess = \"r\"\nwrite = 1\n", "");
    let first = |m: &Machine| scalar(&run(m, &inline(&text, m, 1, &[("passes", "1")]), &kernel("off"), 1), "elapsed_s");
    let (with, turns) = (first(&m), LINES * 8.0 * m.cache.transfer_ns.unwrap() * 1e-9);
    m.cache.transfer_ns = None;
    let without = first(&m);
    assert!(with < without + turns / 10.0, "{with} s, {without} without transfers, which would take {turns}");
}

/// Eight threads in step ask memory for every line once.
#[test]
fn a_buffer_written_in_step_is_fetched_once() {
    let m = machine("milan-2s-nps1");
    let traffic_gb = |threads| {
        let w = inline(&shared("thread", threads, "write = 1"), &m, 1, &[("passes", "40")]);
        let out = run(&m, &w, &kernel("off"), 1);
        let series = out.series.iter().find(|s| s.name == "dram_bandwidth").unwrap();
        let gbps = series.values.iter().flatten().sum::<f64>() / series.time_ns.len() as f64;
        gbps * scalar(&out, "elapsed_s")
    };
    let (one, eight) = (traffic_gb(1), traffic_gb(8));
    assert!((eight / one - 1.0).abs() < 0.15, "{eight} GB, {one} by one thread");
}

/// One long fill goes past the caches: lines are written and not read, as fast as the machine's file says, and nobody
/// who fills the same buffer waits for a turn. Fills shorter than the file says are stores like all others.
#[test]
fn a_long_fill_goes_past_the_caches() {
    let m = machine("milan-2s-nps1");
    let fill = m.cache.fill.unwrap();
    let near = |is: f64, wanted: f64| assert!((is / wanted - 1.0).abs() < 0.03, "{is} s, {wanted} wanted");
    let bytes = (1u64 << 30) as f64;
    near(pass_s(&m, &shared("thread", 1, "pattern = \"fill\"")), bytes / fill.gbps * 1e-9);
    let own = shared("thread", 2, "slice = \"thread\"\npattern = \"fill\"").replace("1GiB", "2GiB");
    near(pass_s(&m, &shared("thread", 2, "pattern = \"fill\"")), pass_s(&m, &own));
    let piece = |pattern: &str, len: &str| shared("thread", 1, &format!("{pattern}\nlen = \"{len}\""));
    let (fills, stores) = ("pattern = \"fill\"", "write = 1");
    assert!(pass_s(&m, &piece(fills, "32MiB")) < 0.8 * pass_s(&m, &piece(stores, "32MiB")));
    near(pass_s(&m, &piece(fills, "31MiB")), pass_s(&m, &piece(stores, "31MiB")));
    let mut unknown = m.clone();
    unknown.cache.fill = None;
    near(pass_s(&unknown, &shared("thread", 1, fills)), pass_s(&m, &shared("thread", 1, stores)));
}

/// Accesses with reuse take what the power law and the window say: one thread, whose caches nobody else uses.
#[test]
fn reuse_hits_by_the_power_law() {
    let mut m = machine("milan-2s-nps1");
    m.tlb.walker = None;
    m.tlb.walk_4k_ns = 0.0;
    m.tlb.leaf_miss = 0.0;
    let n = 2_000_000.0;
    let access = format!("pattern = \"reuse\"\nalpha = 0.5\naccesses = {n}");
    let ns = pass_s(&m, &shared("thread", 1, &access)) * 1e9 / n;
    let held = |bytes: u64| {
        // Alone in a cache a set holds what it touches until the cache is full, whatever its rate.
        let mut mix = AccessMix::default();
        mix.declare(0.5);
        mix.change(0.5, 0, 10_000);
        numalab_kernel::hw::reuse_window::touched_bytes(0.5, 10_000, mix.window_ms(bytes)) as u64
    };
    let miss = |bytes: u64| reuse_miss(0.5, held(bytes), 1 << 30);
    let (l2, llc) = (miss(m.cache.l2_bytes), miss(m.llcs[0].size_bytes));
    let l2_ns = m.cache.l2_cycles / m.clock.sustained_ghz;
    let memory_ns = m.latency_ns[0][0] + m.tlb.base_ns;
    let expected = (1.0 - l2) * l2_ns + (l2 - llc) * m.cache.llc_latency_ns + llc * memory_ns;
    assert!((ns / expected - 1.0).abs() < 0.05, "{ns} ns, expected {expected}");
}
