//! kcompactd has the CPUs of its node alone, and shares them with the tasks there.

use crate::common;

use common::{counter, inline, kernel, machine, run, SimConfig};
use numalab_base::tunable::Group;
use numalab_kernel::mm::MmConfig;

/// Fragments most of node 0, then computes there until kcompactd has looked once more, and not much longer.
const FRAGMENTS: &str = r#"
[[policy]]
name = "first"
mode = "bind"
nodes = 0
[[process]]
name = "p"
affinity = { nodes = 0 }
[[process.region]]
name = "r"
size = "3GiB"
advice = "nohuge"
policy = "first"
[[process.phase]]
steps = [
    { access = "r", write = 1 },
    { for = "block", in = "0..1535", steps = [{ discard = "r", offset = "block * 2MiB", len = "256 * 4KiB" }] },
    { compute = "520ms" },
]
"#;

fn moved_on(cpus: &str) -> u64 {
    let mut m = machine(cpus);
    m.nodes.iter_mut().for_each(|n| n.memory_bytes = 4 << 30);
    let mut mm = MmConfig::default();
    mm.compact.set("proactiveness", "100").unwrap();
    counter(&run(&m, &inline(FRAGMENTS, &m, 1, &[]), &SimConfig { mm, ..kernel("6.12") }, 1), "compact_isolated")
}

#[test]
fn beside_a_busy_task_it_gets_half_of_the_only_cpu() {
    let (alone, beside) = (moved_on("2x1x2x1"), moved_on("2x1x1x1"));
    assert!(alone > 10_000 && beside > 1_000, "{alone} {beside}");
    let share = beside as f64 / alone as f64;
    assert!((0.4..0.6).contains(&share), "{alone} {beside}");
}
