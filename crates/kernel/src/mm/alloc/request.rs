//! A request for one page, and its result.

use super::gfp::Gfp;
use crate::mm::account::PageClass;
use crate::mm::pageblock::frame::Frame;
use crate::mm::policy::placement::PolicyNodes;
use crate::mm::units::CHUNK_PAGES;
use numalab_base::node_mask::NodeMask;

/// A request for one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it may do.
    pub gfp: Gfp,
    /// A huge page (order 9) instead of a base page.
    pub huge: bool,
    /// Node of the CPU that asks.
    pub here: usize,
    /// Whose fallback order is walked.
    pub preferred: usize,
    /// Nodes that policy and cpuset allow.
    pub allowed: NodeMask,
    /// What the page will be used for.
    pub class: PageClass,
    /// Who limits `allowed`, for the OOM killer.
    pub constraint: Constraint,
    /// An interleave policy chose `preferred`.
    pub interleaved: bool,
}

/// What limits the nodes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// Nothing.
    None,
    /// The cpuset.
    Cpuset,
    /// A memory policy.
    Mempolicy,
}

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatedPage {
    /// Its node.
    pub node: usize,
    /// Its pageblock.
    pub frame: Frame,
}

/// Why there is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocError {
    /// The request may fail, and did.
    NoPage,
    /// Memory is exhausted: a task under this constraint has to be killed, then the request is to be repeated.
    Oom(Constraint),
}

impl Request {
    /// An anonymous page under a placement, for a task whose cpuset allows the memory nodes `mems` out of `all`.
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
            allowed: policy_nodes.mask.map_or(mems, |m| m.and(mems)),
            class: if huge { PageClass::AnonHuge } else { PageClass::Anon },
            constraint,
            interleaved: policy_nodes.interleaved,
        }
    }
    /// Pages asked for.
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
