//! Which nodes a policy gives one allocation.

use numalab_base::node_mask::NodeMask;

/// Which nodes one allocation may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyNodes {
    /// Node whose fallback order is used.
    pub preferred: usize,
    /// Nodes that the policy allows; `None` allows all.
    pub mask: Option<NodeMask>,
    /// The policy interleaves. No attempt is limited to one node, and an allocation on `preferred` counts as
    /// `interleave_hit`.
    pub interleaved: bool,
    /// The policy is preferred-many: `mask` is tried first without direct reclaim, then all nodes are allowed.
    pub preferred_many: bool,
}

impl PolicyNodes {
    /// The default policy for a CPU of this node.
    pub fn local(node: usize) -> Self {
        Self { preferred: node, mask: None, interleaved: false, preferred_many: false }
    }
    /// Whether the mask allows the preferred node.
    pub fn preferred_allowed(&self) -> bool {
        self.mask.is_none_or(|m| m.contains(self.preferred))
    }
}
