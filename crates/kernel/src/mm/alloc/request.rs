//! A request for one page, and its result.

use super::gfp::Gfp;
use crate::mm::account::PageClass;
use crate::mm::pageblock::frame::Frame;
use crate::mm::policy::policy_nodes::PolicyNodes;
use crate::mm::units::CHUNK_PAGES;
use numalab_base::node_mask::NodeMask;

/// A request for one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What the allocation may do.
    pub gfp: Gfp,
    /// Whether it is a huge page (order 9); else a base page.
    pub huge: bool,
    /// Node of the CPU that allocates.
    pub here: usize,
    /// Node whose fallback order is used.
    pub preferred: usize,
    /// Nodes that policy and cpuset allow.
    pub allowed: NodeMask,
    /// Use of the page.
    pub class: PageClass,
    /// What limits `allowed`, for the OOM killer.
    pub constraint: Constraint,
    /// Whether an interleave policy chose `preferred`.
    pub interleaved: bool,
}

/// What limits the nodes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// No limit.
    None,
    /// The cpuset.
    Cpuset,
    /// A memory policy.
    Mempolicy,
}

/// An allocated page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatedPage {
    /// Node of the page.
    pub node: usize,
    /// Pageblock of the page.
    pub frame: Frame,
}

/// Why an allocation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocError {
    /// The request may fail, and there is no page for it.
    NoPage,
    /// Memory is exhausted. A task under this constraint has to be killed before the request is repeated.
    Oom(Constraint),
}

impl Request {
    /// A request for an anonymous page under a policy. The cpuset of the task allows the memory nodes `mems` out of
    /// `all`.
    #[inline]
    pub fn anon(gfp: Gfp, huge: bool, here: usize, policy_nodes: &PolicyNodes, mems: NodeMask, all: NodeMask) -> Self {
        let masked = policy_nodes.mask.filter(|_| !policy_nodes.preferred_many);
        let constraint = match masked {
            Some(_) => Constraint::Mempolicy,
            None if mems != all => Constraint::Cpuset,
            None => Constraint::None,
        };
        Self {
            gfp,
            huge,
            here,
            preferred: policy_nodes.preferred,
            allowed: policy_nodes.mask.map_or(mems, |m| m.and(&mems)),
            class: if huge { PageClass::AnonHuge } else { PageClass::Anon },
            constraint,
            interleaved: policy_nodes.interleaved,
        }
    }
    /// Number of base pages.
    #[inline]
    pub fn pages(&self) -> u64 {
        if self.huge {
            CHUNK_PAGES
        } else {
            1
        }
    }
    /// Whether the request may use this node.
    #[inline]
    pub fn allows(&self, node: usize) -> bool {
        self.allowed.contains(node) && (node == self.preferred || !self.gfp.has(Gfp::THISNODE))
    }
}
