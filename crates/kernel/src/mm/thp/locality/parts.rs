//! What a rule is made of: a function from a huge-page fault as the rules see it to its attempts, and the slow path's
//! rules.

use crate::mm::alloc::gfp::Gfp;
use crate::mm::alloc::slow_rules::SlowRules;
use crate::mm::policy::policy_nodes::PolicyNodes;
use crate::mm::thp::ladders::Ladders;
use numalab_base::node_mask::NodeMask;

/// What a rule consists of.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Attempt with the given number of a fault, counted from 0; `None` after the last.
    pub attempt: fn(&FaultContext<'_>, usize) -> Option<Attempt>,
    /// The ladder from which it takes attempts.
    pub ladder: Ladder,
    /// Rules of the slow path in the kernels with this rule.
    pub slow_rules: SlowRules,
}

/// Which ladder of distances and sizes a rule goes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ladder {
    /// None.
    None,
    /// Every distance and size by predicted latency.
    ByLatency,
    /// The one that is given (`thp.ladder`).
    Given,
}

/// A huge-page fault as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct FaultContext<'a> {
    /// Node of the faulting CPU.
    pub here: usize,
    /// Nodes by the policy of the range for huge pages, if it has one; else by its ordinary policy.
    pub policy_nodes: PolicyNodes,
    /// Rules of the range's policy for huge pages, if it has one (`mpol_huge`).
    pub huge_rules: Option<HugeRules>,
    /// Request flags by settings and advice.
    pub gfp: Gfp,
    /// Memory nodes of the task's cpuset.
    pub mems: NodeMask,
    /// Whether the process spans sockets (`prctl_span`).
    pub span: bool,
    /// Farthest distance class that such a process uses.
    pub span_max_class: u8,
    /// Distance classes and ladders of the machine.
    pub ladders: &'a Ladders,
}

/// Rules of a policy for huge pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HugeRules {
    /// Whether only the preferred node is used.
    pub strict: bool,
    /// Whether requests are without retries, that is without reclaim on the preferred node.
    pub noretry: bool,
}

/// One attempt of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Whether it asks for a huge page; else for a base page.
    pub huge: bool,
    /// Request flags.
    pub gfp: Gfp,
    /// Nodes that it may use.
    pub policy_nodes: PolicyNodes,
    /// Whether it takes only pages that are free above the low watermark, without the slow path.
    pub free_only: bool,
}

impl FaultContext<'_> {
    /// An attempt on all nodes of the policy.
    pub(super) fn anywhere(&self, gfp: Gfp) -> Attempt {
        Attempt { huge: true, gfp, policy_nodes: self.policy_nodes, free_only: false }
    }
    /// An attempt on the preferred node only.
    pub(super) fn local_only(&self, gfp: Gfp) -> Attempt {
        let policy_nodes = PolicyNodes { mask: None, ..self.policy_nodes };
        Attempt { huge: true, gfp: gfp | Gfp::THISNODE, policy_nodes, free_only: false }
    }
    /// Whether an attempt on the preferred node only makes sense: the policy does not interleave, does not prefer
    /// several nodes, and allows the preferred node.
    pub(super) fn has_local_step(&self) -> bool {
        !self.policy_nodes.interleaved && !self.policy_nodes.preferred_many && self.policy_nodes.preferred_allowed()
    }
    pub(super) fn may_reclaim(&self) -> bool {
        self.gfp.has(Gfp::DIRECT_RECLAIM)
    }
    /// The rung of the ladder with this number, limited to the nodes of the policy.
    pub(super) fn rung(&self, number: usize) -> Option<Attempt> {
        let rung = self.ladders.rungs(self.policy_nodes.preferred).get(number)?;
        let nodes = match self.policy_nodes.mask {
            Some(mask) if !self.policy_nodes.preferred_many => rung.nodes.and(&mask),
            _ => rung.nodes,
        };
        let policy_nodes = PolicyNodes { mask: Some(nodes), preferred_many: false, ..self.policy_nodes };
        let gfp = if rung.huge { Gfp::TRANSHUGE_LIGHT } else { Gfp::HIGHUSER_MOVABLE };
        Some(Attempt { huge: rung.huge, gfp, policy_nodes, free_only: true })
    }
}
