//! A huge-page fault as the rules see it, and one attempt to serve it.

use crate::mm::alloc::gfp::Gfp;
use crate::mm::policy::placement::PolicyNodes;
use crate::mm::thp::ladders::Ladders;
use numalab_base::node_mask::NodeMask;

/// A huge-page fault as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct FaultContext<'a> {
    /// Node of the faulting CPU.
    pub here: usize,
    /// What the policy says: that for huge pages if the range has one, else the policy of everything.
    pub policy_nodes: PolicyNodes,
    /// The range has a policy for huge pages, with these rules (`mpol_huge`).
    pub huge_rules: Option<HugeRules>,
    /// Request flags by settings and advice.
    pub gfp: Gfp,
    /// Memory nodes of the task's cpuset.
    pub mems: NodeMask,
    /// The process spans sockets (`prctl_span`).
    pub span: bool,
    /// Farthest class for that.
    pub span_max_class: u8,
    /// Classes and ladders of the machine.
    pub ladders: &'a Ladders,
}

/// Rules of a policy for huge pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HugeRules {
    /// Only the preferred node.
    pub strict: bool,
    /// Without retries: no reclaim on the preferred node.
    pub noretry: bool,
}

/// One attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// A huge page, else a base page.
    pub huge: bool,
    /// Request flags.
    pub gfp: Gfp,
    /// Nodes.
    pub policy_nodes: PolicyNodes,
    /// Only what is free above the low mark, no slow path.
    pub free_only: bool,
}

impl FaultContext<'_> {
    /// An attempt over the whole list of the placement.
    pub(super) fn anywhere(&self, gfp: Gfp) -> Attempt {
        Attempt { huge: true, gfp, policy_nodes: self.policy_nodes, free_only: false }
    }
    /// An attempt on the preferred node alone.
    pub(super) fn local_only(&self, gfp: Gfp) -> Attempt {
        let policy_nodes = PolicyNodes { mask: None, ..self.policy_nodes };
        Attempt { huge: true, gfp: gfp | Gfp::THISNODE, policy_nodes, free_only: false }
    }
    /// Whether the policy leaves room for a local-only attempt: not interleaved, not several preferred nodes, and the
    /// preferred node is allowed.
    pub(super) fn has_local_step(&self) -> bool {
        !self.policy_nodes.interleaved && !self.policy_nodes.preferred_many && self.policy_nodes.preferred_allowed()
    }
    pub(super) fn may_reclaim(&self) -> bool {
        self.gfp.has(Gfp::DIRECT_RECLAIM)
    }
    /// The rung of the ladder with this number, limited to what the policy allows.
    pub(super) fn rung(&self, number: usize) -> Option<Attempt> {
        let rung = self.ladders.rungs(self.policy_nodes.preferred).get(number)?;
        let nodes = match self.policy_nodes.mask {
            Some(mask) if !self.policy_nodes.preferred_many => rung.nodes.and(mask),
            _ => rung.nodes,
        };
        let policy_nodes = PolicyNodes { mask: Some(nodes), preferred_many: false, ..self.policy_nodes };
        let gfp = if rung.huge { Gfp::TRANSHUGE_LIGHT } else { Gfp::HIGHUSER_MOVABLE };
        Some(Attempt { huge: rung.huge, gfp, policy_nodes, free_only: true })
    }
}
