//! The policy of a task or a VMA (`struct mempolicy`).

use super::interleave::node_of_index;
use super::policy_nodes::PolicyNodes;
use crate::numa::fault::policy::{EffectivePolicy, PolicyMode as FaultMode};
use numalab_base::node_mask::{NodeId, NodeMask, MAX_NODES};
use numalab_nouns::workload::PolicyMode;

/// A policy of a task or a VMA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemPolicy {
    mode: PolicyMode,
    nodes: NodeMask,
    /// The nodes in ascending order.
    list: Vec<NodeId>,
    /// One weight for each node of `list`.
    weights: Vec<u8>,
    numa_balancing: bool,
}

/// Why a policy cannot be set (`set_mempolicy` returns EINVAL).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The mode needs at least one node of the cpuset.
    #[error("the policy needs at least one node that the cpuset allows")]
    NoNodes,
    /// The NUMA-balancing flag needs the mode bind or preferred-many.
    #[error("the NUMA-balancing flag goes with bind and preferred-many only")]
    FlagWithoutMode,
}

impl MemPolicy {
    /// The system default: the node of the running CPU, and hint faults migrate pages.
    pub const DEFAULT: Self = Self::plain(PolicyMode::Default);

    const fn plain(mode: PolicyMode) -> Self {
        Self { mode, nodes: NodeMask::EMPTY, list: Vec::new(), weights: Vec::new(), numa_balancing: false }
    }
    /// A policy over `nodes`, limited to the memory nodes `mems` of the task's cpuset (`mpol_set_nodemask`).
    ///
    /// # Errors
    /// [`PolicyError`] if no node is left.
    pub fn new(mode: PolicyMode, nodes: NodeMask, mems: NodeMask) -> Result<Self, PolicyError> {
        let list: Vec<NodeId> = nodes.iter().filter(|n| mems.contains(*n)).map(|n| n as NodeId).collect();
        let needs_nodes = !matches!(mode, PolicyMode::Default | PolicyMode::Local | PolicyMode::Preferred);
        if needs_nodes && list.is_empty() || mode == PolicyMode::Preferred && !nodes.is_empty() && list.is_empty() {
            return Err(PolicyError::NoNodes);
        }
        let nodes = NodeMask::of(list.iter().map(|n| usize::from(*n)));
        Ok(Self { mode, nodes, weights: vec![1; list.len()], list, numa_balancing: false })
    }
    /// Sets the weights for weighted interleave, in ascending order of the nodes. A weight of 0 counts as 1.
    pub fn with_weights(mut self, weights: &[u8]) -> Self {
        for (mine, given) in self.weights.iter_mut().zip(weights) {
            *mine = (*given).max(1);
        }
        self
    }
    /// Sets `MPOL_F_NUMA_BALANCING`.
    ///
    /// # Errors
    /// [`PolicyError::FlagWithoutMode`] for modes other than bind and preferred-many.
    pub fn with_numa_balancing(mut self) -> Result<Self, PolicyError> {
        if !matches!(self.mode, PolicyMode::Bind | PolicyMode::PreferredMany) {
            return Err(PolicyError::FlagWithoutMode);
        }
        self.numa_balancing = true;
        Ok(self)
    }
    /// Mode of the policy.
    pub fn mode(&self) -> PolicyMode {
        self.mode
    }
    /// Nodes of the policy.
    pub fn nodes(&self) -> NodeMask {
        self.nodes
    }
    /// A static reference to [`Self::DEFAULT`].
    pub fn system() -> &'static Self {
        const SYSTEM: &MemPolicy = &MemPolicy::DEFAULT;
        SYSTEM
    }
    /// Nodes for a page with interleave index `ilx`, for a CPU of node `here`.
    #[inline]
    pub fn policy_nodes(&self, here: usize, ilx: u64) -> PolicyNodes {
        let local = PolicyNodes::local(here);
        match self.mode {
            PolicyMode::Default | PolicyMode::Local => local,
            PolicyMode::Preferred => PolicyNodes::local(self.nodes.first().unwrap_or(here)),
            PolicyMode::PreferredMany => {
                PolicyNodes { preferred: here, mask: Some(self.nodes), preferred_many: true, ..local }
            }
            PolicyMode::Bind => PolicyNodes { preferred: here, mask: Some(self.nodes), ..local },
            PolicyMode::Interleave | PolicyMode::WeightedInterleave => {
                PolicyNodes { preferred: self.node_of(ilx).unwrap_or(here), interleaved: true, ..local }
            }
        }
    }
    fn node_of(&self, ilx: u64) -> Option<usize> {
        let weighted = self.mode == PolicyMode::WeightedInterleave;
        node_of_index(&self.list, weighted.then_some(&self.weights[..]), ilx)
    }
    /// Whether hint faults may migrate pages: under the default policy, or with the flag.
    pub fn migrates_on_fault(&self) -> bool {
        self.mode == PolicyMode::Default || self.numa_balancing
    }
    /// The policy for a hint fault on a page with interleave index `ilx`.
    pub fn at_hint_fault(&self, ilx: u64) -> EffectivePolicy {
        let mode = match self.mode {
            PolicyMode::Default => return EffectivePolicy::DEFAULT,
            PolicyMode::Local => FaultMode::Local,
            PolicyMode::Preferred => FaultMode::Preferred(self.nodes),
            PolicyMode::PreferredMany => FaultMode::PreferredMany(self.nodes),
            PolicyMode::Bind => FaultMode::Bind(self.nodes),
            PolicyMode::Interleave | PolicyMode::WeightedInterleave => {
                FaultMode::Interleave(self.node_of(ilx).unwrap_or(0))
            }
        };
        EffectivePolicy::user(mode, self.numa_balancing)
    }
}

/// All nodes: the memory nodes of a cpuset without limits.
pub fn all_nodes() -> NodeMask {
    NodeMask::of(0..MAX_NODES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(mode: PolicyMode, nodes: &[usize]) -> MemPolicy {
        MemPolicy::new(mode, NodeMask::of(nodes.iter().copied()), all_nodes()).unwrap()
    }

    #[test]
    fn table_of_section_6() {
        let m = Some(NodeMask::of([1, 2]));
        let local = PolicyNodes::local(0);
        assert_eq!(MemPolicy::DEFAULT.policy_nodes(0, 7), local);
        assert_eq!(policy(PolicyMode::Local, &[]).policy_nodes(0, 7), local);
        assert_eq!(policy(PolicyMode::Preferred, &[3, 5]).policy_nodes(0, 7), PolicyNodes::local(3));
        assert_eq!(policy(PolicyMode::Preferred, &[]).policy_nodes(0, 7), local, "no node: local");
        assert_eq!(
            policy(PolicyMode::PreferredMany, &[1, 2]).policy_nodes(0, 7),
            PolicyNodes { mask: m, preferred_many: true, ..local }
        );
        let bind = policy(PolicyMode::Bind, &[1, 2]);
        assert_eq!(bind.policy_nodes(0, 7), PolicyNodes { mask: m, ..local });
        assert!(!bind.policy_nodes(0, 7).preferred_allowed() && bind.policy_nodes(2, 7).preferred_allowed());
        let interleaved = policy(PolicyMode::Interleave, &[0, 2, 5]).policy_nodes(1, 4);
        assert_eq!(interleaved, PolicyNodes { preferred: 2, mask: None, interleaved: true, preferred_many: false });
    }

    #[test]
    fn vector_13_weighted_interleave() {
        let p = policy(PolicyMode::WeightedInterleave, &[0, 1, 2]).with_weights(&[3, 1, 2]);
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|i| p.policy_nodes(9, i).preferred), [0, 0, 0, 1, 2, 2, 0]);
        let zero = policy(PolicyMode::WeightedInterleave, &[4, 6]).with_weights(&[0, 1]);
        assert_eq!([0, 1, 2].map(|i| zero.policy_nodes(9, i).preferred), [4, 6, 4], "0 counts as 1");
    }

    #[test]
    fn cpusets_limit_policies() {
        let mems = NodeMask::of([0, 1]);
        let new = |mode, nodes: &[usize]| MemPolicy::new(mode, NodeMask::of(nodes.iter().copied()), mems);
        assert_eq!(new(PolicyMode::Bind, &[1, 2]).unwrap().nodes(), NodeMask::of([1]));
        for mode in [PolicyMode::Bind, PolicyMode::Interleave, PolicyMode::PreferredMany, PolicyMode::Preferred] {
            assert_eq!(new(mode, &[2]), Err(PolicyError::NoNodes), "{mode:?}");
        }
        assert!(new(PolicyMode::Preferred, &[]).is_ok());
    }

    #[test]
    fn numa_balancing_flag() {
        assert!(policy(PolicyMode::Bind, &[1]).with_numa_balancing().unwrap().migrates_on_fault());
        let e = policy(PolicyMode::Interleave, &[1]).with_numa_balancing();
        assert_eq!(e, Err(PolicyError::FlagWithoutMode));
        assert!(MemPolicy::DEFAULT.migrates_on_fault() && !policy(PolicyMode::Local, &[]).migrates_on_fault());
        assert_eq!(MemPolicy::DEFAULT.at_hint_fault(3), EffectivePolicy::DEFAULT);
        let at = policy(PolicyMode::Interleave, &[4, 6]).at_hint_fault(3);
        assert_eq!((at.mode, at.migrate_on_fault), (FaultMode::Interleave(6), false));
    }
}
