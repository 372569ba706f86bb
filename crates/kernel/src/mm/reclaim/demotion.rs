//! Demotion: cold pages of a fast tier move to the next slower one instead of leaving memory
//! (thp-and-allocation.md section 4.6).

use crate::mm::node_memory::NodeMemory;
use numalab_model::machine::Machine;

/// Where each node's cold pages go: the nearest node of the next slower tier, lowest id on ties.
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

impl NodeMemory {
    /// Where reclaim of a node moves pages to, if demotion is on and there is a slower tier.
    pub fn demotion_target(&self, node: usize) -> Option<usize> {
        self.cfg.vm.demotion.then(|| self.demotion[node]).flatten()
    }
    /// Whether anonymous pages of a node can go somewhere.
    pub fn can_reclaim_anon(&self, node: usize) -> bool {
        self.swap.free_slots() > 0 || self.demotion_target(node).is_some()
    }
}
