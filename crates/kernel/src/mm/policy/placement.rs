//! What a policy says about one allocation.

use numalab_base::node_mask::NodeMask;

/// Where one allocation may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyNodes {
    /// The walk follows the fallback order of this node.
    pub preferred: usize,
    /// Nodes the policy allows; `None` allows all.
    pub mask: Option<NodeMask>,
    /// Interleaved: no attempt is limited to one node, and landing on `preferred` counts as `interleave_hit`.
    pub interleaved: bool,
    /// `mask` is only a wish: without direct reclaim first, then anywhere (preferred-many).
    pub preferred_many: bool,
}

impl PolicyNodes {
    /// The system default for a CPU of this node.
    pub fn local(node: usize) -> Self {
        Self { preferred: node, mask: None, interleaved: false, preferred_many: false }
    }
    /// Whether the preferred node is allowed by the mask.
    pub fn preferred_allowed(&self) -> bool {
        self.mask.is_none_or(|m| m.contains(self.preferred))
    }
}
