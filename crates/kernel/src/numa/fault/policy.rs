//! Memory policy at the fault: whether and where a page is misplaced (kernel-numa-balancing.md §9.3).

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
