//! Flows for the solver's tests and its benchmark.

use numalab_kernel::hw::contention::Flow;
use numalab_model::machine::Machine;

/// Uneven flows from all nodes to all nodes, as in a workload that has not yet converged.
pub fn all_to_all(m: &Machine, threads_per_node: f64) -> Vec<Flow> {
    let n = m.cpu_nodes().count() as u32;
    let pair = |i: u32, j: u32| {
        let weight = if i == j { 0.3 } else { 0.7 / f64::from(n - 1) * (0.5 + f64::from((3 * i + 5 * j) % 7) / 6.0) };
        Flow { write: 0.3, ..Flow::stream(m, i, j, threads_per_node * weight) }
    };
    (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| pair(i, j)).collect()
}
