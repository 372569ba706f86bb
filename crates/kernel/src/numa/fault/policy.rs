//! Memory policy at the fault: whether and where a page is misplaced (kernel-numa-balancing.md §9.3).

use super::FaultSite;
use crate::numa::migrate::ZoneInfo;
use crate::numa::page::PageFacts;
use crate::numa::NumaBalancing;
use numalab_base::node_mask::NodeMask;

/// Mode of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyMode {
    /// Built-in default of the current node.
    Default,
    /// The current node, set by the user.
    Local,
    /// Preferred nodes.
    Preferred(NodeMask),
    /// Bound to nodes.
    Bind(NodeMask),
    /// Several preferred nodes.
    PreferredMany(NodeMask),
    /// Interleaved (also weighted); the node the address belongs to.
    Interleave(usize),
}

/// The policy that applies to a page: the VMA's, else the faulting task's, else the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectivePolicy {
    /// Mode.
    pub mode: PolicyMode,
    /// Migrate on fault; user policies lack it unless set with the NUMA-balancing flag.
    pub migrate_on_fault: bool,
    /// Migrate towards the faulting node.
    pub to_faulting_node: bool,
}

impl EffectivePolicy {
    /// The built-in policy of a task without one.
    pub const DEFAULT: Self = Self { mode: PolicyMode::Default, migrate_on_fault: true, to_faulting_node: true };
    /// A policy set by a user; `balancing` is the NUMA-balancing flag, legal for bind and preferred-many only.
    pub fn user(mode: PolicyMode, balancing: bool) -> Self {
        Self { mode, migrate_on_fault: balancing, to_faulting_node: balancing }
    }
}

impl NumaBalancing {
    /// Where a page should be instead, `None` if it may stay (`mpol_misplaced`).
    pub(super) fn mpol_misplaced<M: ZoneInfo>(
        &mut self,
        at: FaultSite,
        page: &mut PageFacts,
        policy: &EffectivePolicy,
        memory: &M,
    ) -> Option<usize> {
        if !policy.migrate_on_fault {
            return None;
        }
        let here = self.topo.node_of(at.cpu);
        // The exit of the unified node mask: since about 5.15 a page on a preferred node is not looked at further.
        let exits = !self.cfg.switches.local_fault_updates_cpupid;
        let mut wanted = match policy.mode {
            PolicyMode::Default if exits && page.nid == here => return None,
            PolicyMode::Default | PolicyMode::Local => here,
            PolicyMode::Interleave(node) => node,
            PolicyMode::Preferred(nodes) if exits && nodes.contains(page.nid) => return None,
            PolicyMode::Preferred(nodes) => nodes.first()?,
            PolicyMode::Bind(nodes) | PolicyMode::PreferredMany(nodes) if policy.to_faulting_node => {
                if !nodes.contains(here) {
                    return None;
                }
                here
            }
            PolicyMode::Bind(nodes) | PolicyMode::PreferredMany(nodes) => {
                if nodes.contains(page.nid) {
                    return None;
                }
                self.nearest_of(nodes, here)?
            }
        };
        if policy.to_faulting_node {
            wanted = here;
            if let Err(denial) = self.should_numa_migrate_memory(at, page, here, memory) {
                if page.nid != here {
                    self.reasons.denied[denial as usize] += 1;
                }
                return None;
            }
        }
        (page.nid != wanted).then_some(wanted)
    }

    /// Nearest node of a set, lowest id on ties.
    fn nearest_of(&self, nodes: NodeMask, from: usize) -> Option<usize> {
        nodes.iter().min_by_key(|&n| (self.topo.distance(from, n), n))
    }
}
