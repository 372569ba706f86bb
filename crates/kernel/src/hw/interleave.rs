//! Interleave weights in proportion to bandwidth (machines.md section M8).

use numalab_model::machine::Machine;

/// Weight of each of `nodes` (dense): its sustained bandwidth over that of the slowest of them, rounded,
/// 1..=255. `out` is cleared first. A node without a stated bandwidth weighs 1.
pub fn weights_by_bandwidth(machine: &Machine, nodes: &[usize], out: &mut Vec<u8>) {
    let gbps = |n: &usize| machine.nodes[*n].dram_sustained_gbps;
    let slowest = nodes.iter().map(gbps).filter(|b| *b > 0.0).fold(f64::INFINITY, f64::min);
    out.clear();
    out.extend(nodes.iter().map(|n| (gbps(n) / slowest + 0.5).clamp(1.0, 255.0) as u8));
}

/// Position in `weights` of the page with interleave index `index`: runs of `weight` pages in order.
/// 0 if all weights are 0.
pub fn position_of_page(weights: &[u8], index: u64) -> usize {
    let total: u64 = weights.iter().map(|w| u64::from(*w)).sum();
    let mut left = index % total.max(1);
    for (position, weight) in weights.iter().enumerate() {
        let weight = u64::from(*weight);
        if left < weight {
            return position;
        }
        left -= weight;
    }
    0
}
