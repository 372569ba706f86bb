//! kcompactd has the CPUs of its node alone, and shares them with the tasks there.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::{counter, inline, kernel, machine, run, scalar, SimConfig};
use numalab_base::tunable::Group;
use numalab_kernel::mm::MmConfig;

/// Fragments most of node 0, then computes there.
fn fragments(compute_ms: u64) -> String {
    format!(
        r#"
[[policy]]
name = "first"
mode = "bind"
nodes = 0
[[process]]
name = "p"
affinity = {{ nodes = 0 }}
[[process.region]]
name = "r"
size = "3GiB"
advice = "nohuge"
policy = "first"
[[process.phase]]
steps = [
    {{ access = "r", write = 1 }},
    {{ for = "block", in = "0..1535", steps = [{{ discard = "r", offset = "block * 2MiB", len = "256 * 4KiB" }}] }},
    {{ compute = "{compute_ms}ms" }},
]
"#
    )
}

/// Pages that compaction moved, and the end of the run, s.
fn fragmented(cpus: &str, proactiveness: &str, compute_ms: u64) -> (f64, f64) {
    let mut m = machine(cpus);
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 4 << 30);
    let mut mm = MmConfig::default();
    mm.compact.set("proactiveness", proactiveness).unwrap();
    let o = run(&m, &inline(&fragments(compute_ms), &m, 1, &[]), &SimConfig { mm, ..kernel("6.12") }, 1);
    (counter(&o, "compact_isolated") as f64, scalar(&o, "elapsed_s"))
}

/// How much longer the program takes for kcompactd, s, and the pages that are moved. kcompactd looks every 500 ms: for
/// the only time between the last discard and the end 100 ms before the program would end.
fn lost(cpus: &str) -> (f64, f64) {
    let discarded = fragmented(cpus, "0", 600).1 - 0.6;
    let compute_ms = ((0.6 - discarded % 0.5) * 1e3) as u64;
    let (_, quiet) = fragmented(cpus, "0", compute_ms);
    let (moved, end) = fragmented(cpus, "100", compute_ms);
    (end - quiet, moved)
}

#[test]
fn beside_a_busy_task_it_gets_half_of_the_only_cpu() {
    let (alone, beside) = (lost("2x1x2x1"), lost("2x1x1x1"));
    assert!(alone.1 > 10_000.0 && beside.1 > 10_000.0, "{alone:?} {beside:?}");
    assert!(alone.0 < 0.02, "on an idle CPU: {alone:?}");
    // The program has 100 ms left and takes 200.
    assert!((0.08..0.12).contains(&beside.0), "{beside:?}");
}
