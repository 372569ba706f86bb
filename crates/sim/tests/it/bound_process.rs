//! What balancing costs a process that it has nothing to do for.

use crate::common;

use common::{counter, inline, kernel, machine, run, scalar};

/// A probe that reads at random, bound to node 0, beside eight bound threads that sweep.
const BOUND: &str = r#"
[[policy]]
name = "there"
mode = "bind"
nodes = "0"
[[score]]
name = "reads"
unit = "Mreads/s"
better = "higher"
per_second = true
[[process]]
name = "probe"
affinity = { nodes = "0" }
policy = "there"
[[process.region]]
name = "r"
size = "256MiB"
advice = "nohuge"
[[process.prologue]]
steps = [{ access = "r", write = 1 }]
[[process.phase]]
time = "6s"
timed = "reads"
steps = [{ access = "r", pattern = "random", accesses = "100_000" }, { score = "reads", amount = "0.1" }]
[[process]]
name = "load"
threads = 8
affinity = { nodes = "0" }
policy = "there"
[[process.region]]
name = "l"
size = "1GiB"
[[process.phase]]
time = "8s"
steps = [{ access = "l", slice = "thread", write = 0.3 }]
"#;

/// A process that is bound to its node gets no balancing, so it pays nothing for it: not on an idle machine, and not
/// under load.
#[test]
fn a_bound_process_pays_nothing_for_balancing() {
    let m = machine("haswell-2s");
    let w = inline(BOUND, &m, 1, &[]);
    let (off, on) = (run(&m, &w, &kernel("off"), 1), run(&m, &w, &kernel("6.12"), 1));
    assert_eq!(counter(&on, "numa_pte_updates"), 0, "bound memory is not marked");
    let ratio = scalar(&on, "reads") / scalar(&off, "reads");
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio:.5} of the reads without balancing");
}
