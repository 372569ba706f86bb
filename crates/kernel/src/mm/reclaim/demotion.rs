//! Demotion: reclaim moves cold pages of a fast tier to the next slower one (thp-and-allocation.md section 4.6).

use numalab_model::machine::Machine;

/// Demotion target of each node: the nearest node of the next slower tier, with the lowest id on ties.
pub fn demotion_targets(machine: &Machine) -> Vec<Option<usize>> {
    let nodes = &machine.nodes;
    let has_memory = |n: &usize| nodes[*n].memory_bytes > 0;
    (0..nodes.len())
        .map(|from| {
            let slower = (0..nodes.len()).filter(has_memory).map(|n| nodes[n].tier).filter(|t| *t > nodes[from].tier);
            let next = slower.min()?;
            (0..nodes.len())
                .filter(has_memory)
                .filter(|n| nodes[*n].tier == next)
                .min_by_key(|n| (machine.distance[from][*n], *n))
        })
        .collect()
}
