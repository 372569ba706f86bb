//! Demotion: reclaim moves cold pages of a fast tier to the next slower one (thp-and-allocation.md section 4.6).

use numalab_base::node_mask::NodeMask;
use numalab_base::words;
use numalab_nouns::machine::Machine;

words! {
    /// Which of the slower nodes take pages of a node, and what a cpuset says to that.
    pub enum DemotionTargets {
        /// Any preferred node, whatever the cpuset.
        Any = "any" ("up to 6.15"),
        /// Any preferred node, if one drawn at random is in the cpuset (7d709f49babc).
        FirstAllowed = "first_allowed" ("6.16 to 6.19"),
        /// A preferred node of the cpuset, else the nearest slower one of it (1aceed565ff1, 7ec9ecf217f8).
        MaskClosest = "mask_closest" ("7.0 on"),
    }
}

/// Nodes that may take pages of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lower {
    /// The nearest nodes of the next slower tier.
    pub preferred: NodeMask,
    /// All nodes of slower tiers.
    pub all: NodeMask,
}

/// Where a page is demoted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemotionTarget {
    /// The node that is tried first.
    pub node: usize,
    /// Nodes that the allocation may fall back to.
    pub allowed: NodeMask,
}

impl DemotionTargets {
    /// The target of pages of `from`; `None` if they are not demoted. `mems` is `mems_effective` of the memcg's cpuset,
    /// `None` without one. `draw` gives a random number below its argument.
    pub fn target(
        self,
        from: usize,
        lower: Lower,
        mems: Option<NodeMask>,
        distance: impl Fn(usize, usize) -> u8,
        mut draw: impl FnMut(usize) -> usize,
    ) -> Option<DemotionTarget> {
        let mut any_of = |mask: NodeMask| mask.iter().nth(draw(mask.len().max(1)));
        match self {
            Self::Any => Some(DemotionTarget { node: any_of(lower.preferred)?, allowed: lower.all }),
            Self::FirstAllowed => {
                let next = any_of(lower.preferred)?;
                if mems.is_some_and(|m| !m.contains(next)) {
                    return None;
                }
                // The cpuset is not asked again about the node that pages really go to.
                Some(DemotionTarget { node: any_of(lower.preferred)?, allowed: lower.all })
            }
            Self::MaskClosest => {
                let within = |mask: NodeMask| mems.map_or(mask, |m| mask.and(&m));
                let allowed = within(lower.all);
                let node = match any_of(within(lower.preferred)) {
                    Some(node) => node,
                    None => allowed.iter().min_by_key(|n| (distance(from, *n), *n))?,
                };
                Some(DemotionTarget { node, allowed })
            }
        }
    }
}

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
