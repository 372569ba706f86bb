//! A huge-page fault as the rules see it, and one attempt to serve it.

use crate::mm::alloc::gfp::Gfp;
use crate::mm::policy::placement::Placement;
use crate::mm::thp::ladders::Ladders;
use numalab_base::node_mask::NodeMask;

/// A huge-page fault as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct FaultContext<'a> {
    /// Node of the faulting CPU.
    pub here: usize,
    /// What the policy says: that for huge pages if the range has one, else the policy of everything.
    pub place: Placement,
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
    pub place: Placement,
    /// Only what is free above the low mark, no slow path.
    pub free_only: bool,
}

impl FaultContext<'_> {
    /// An attempt over the whole list of the placement.
    pub(super) fn anywhere(&self, gfp: Gfp) -> Attempt {
        Attempt { huge: true, gfp, place: self.place, free_only: false }
    }
    /// An attempt on the preferred node alone.
    pub(super) fn local_only(&self, gfp: Gfp) -> Attempt {
        let place = Placement { mask: None, ..self.place };
        Attempt { huge: true, gfp: gfp | Gfp::THISNODE, place, free_only: false }
    }
    /// Whether the policy leaves room for a local-only attempt: not interleaved, not several preferred nodes, and the
    /// preferred node is allowed.
    pub(super) fn has_local_step(&self) -> bool {
        !self.place.spread && !self.place.soft && self.place.preferred_allowed()
    }
    pub(super) fn may_reclaim(&self) -> bool {
        self.gfp.has(Gfp::DIRECT_RECLAIM)
    }
    /// The rung of the ladder with this number, limited to what the policy allows.
    pub(super) fn rung(&self, number: usize) -> Option<Attempt> {
        let rung = self.ladders.rungs(self.place.preferred).get(number)?;
        let nodes = match self.place.mask {
            Some(mask) if !self.place.soft => rung.nodes.and(mask),
            _ => rung.nodes,
        };
        let place = Placement { mask: Some(nodes), soft: false, ..self.place };
        let gfp = if rung.huge { Gfp::TRANSHUGE_LIGHT } else { Gfp::HIGHUSER_MOVABLE };
        Some(Attempt { huge: rung.huge, gfp, place, free_only: true })
    }
}
