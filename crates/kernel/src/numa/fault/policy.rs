//! The memory policy that applies at a fault (kernel-numa-balancing.md §9.3).

use numalab_base::node_mask::NodeMask;

/// Mode of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyMode {
    /// The built-in default: the current node.
    Default,
    /// The current node, as set by the user.
    Local,
    /// Preferred nodes.
    Preferred(NodeMask),
    /// Nodes that the memory is bound to.
    Bind(NodeMask),
    /// Several preferred nodes.
    PreferredMany(NodeMask),
    /// Interleaved, also weighted: the node that the address belongs to.
    Interleave(usize),
}

/// The policy that applies to a page: the VMA's, else the faulting task's, else the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectivePolicy {
    /// Mode of the policy.
    pub mode: PolicyMode,
    /// Pages migrate on fault. User policies lack this unless set with the NUMA-balancing flag.
    pub migrate_on_fault: bool,
    /// Pages migrate towards the faulting node.
    pub to_faulting_node: bool,
}

impl EffectivePolicy {
    /// The built-in policy, for a task without one.
    pub const DEFAULT: Self = Self { mode: PolicyMode::Default, migrate_on_fault: true, to_faulting_node: true };
    /// A policy set by a user. `balancing` is the NUMA-balancing flag, which only bind and preferred-many may have.
    pub fn user(mode: PolicyMode, balancing: bool) -> Self {
        Self { mode, migrate_on_fault: balancing, to_faulting_node: balancing }
    }
}
