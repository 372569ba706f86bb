//! Memory policies in the form the fault paths need.

use numalab_kernel::numa::fault::policy::{EffectivePolicy, PolicyMode as FaultMode};
use numalab_kernel::numa::topology::NodeMask;
use numalab_model::workload::{Policy, PolicyMode};

/// A task's policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPolicy {
    mode: PolicyMode,
    /// Nodes as a bit mask.
    mask: u64,
    nodes: Vec<u32>,
    weights: Vec<u8>,
    numa_balancing: bool,
}

impl TaskPolicy {
    /// Compiles a policy of the workload.
    pub fn new(policy: &Policy) -> Self {
        Self {
            mode: policy.mode,
            mask: policy.nodes.iter().fold(0u64, |m, &n| m | 1 << n),
            nodes: policy.nodes.clone(),
            weights: policy.weights.clone(),
            numa_balancing: policy.numa_balancing,
        }
    }
    /// The system default.
    pub fn system() -> Self {
        Self { mode: PolicyMode::Default, mask: 0, nodes: Vec::new(), weights: Vec::new(), numa_balancing: false }
    }
    /// Migrate-on-fault: the default policy has it, user policies only with the NUMA-balancing flag.
    pub fn migrate_on_fault(&self) -> bool {
        self.mode == PolicyMode::Default || self.numa_balancing
    }
    /// The policy as a hint fault on page `index` of a mapping sees it (kernel-numa-balancing.md section 9.3).
    pub fn effective(&self, index: u64) -> EffectivePolicy {
        let mask = || NodeMask::of(self.nodes.iter().map(|&n| n as usize));
        let mode = match self.mode {
            PolicyMode::Default => return EffectivePolicy::DEFAULT,
            PolicyMode::Local => FaultMode::Local,
            PolicyMode::Preferred => FaultMode::Preferred(mask()),
            PolicyMode::PreferredMany => FaultMode::PreferredMany(mask()),
            PolicyMode::Bind => FaultMode::Bind(mask()),
            PolicyMode::Interleave | PolicyMode::WeightedInterleave => FaultMode::Interleave(self.interleave(index, 0)),
        };
        EffectivePolicy::user(mode, self.numa_balancing)
    }
    /// Node to try first for page `index`, and the nodes allowed as a bit mask, for a CPU of node `here`
    /// (thp-and-allocation.md section 6).
    pub fn first_choice(&self, here: usize, index: u64, nodes: usize) -> (usize, u64) {
        let all = if nodes >= 64 { u64::MAX } else { (1 << nodes) - 1 };
        let first = self.nodes.first().map_or(here, |&n| n as usize);
        match self.mode {
            PolicyMode::Default | PolicyMode::Local => (here, all),
            PolicyMode::Preferred => (first, all),
            PolicyMode::PreferredMany if self.mask >> here & 1 != 0 => (here, all),
            PolicyMode::PreferredMany => (first, all),
            PolicyMode::Bind => (here, self.mask),
            PolicyMode::Interleave | PolicyMode::WeightedInterleave => (self.interleave(index, here), all),
        }
    }
    fn interleave(&self, index: u64, otherwise: usize) -> usize {
        let weight = |i: usize| u64::from(self.weights.get(i).copied().unwrap_or(1));
        let total: u64 = (0..self.nodes.len()).map(weight).sum();
        if total == 0 {
            return otherwise;
        }
        let mut at = index % total;
        for (i, &node) in self.nodes.iter().enumerate() {
            if at < weight(i) {
                return node as usize;
            }
            at -= weight(i);
        }
        otherwise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(mode: PolicyMode, nodes: &[u32], weights: &[u8]) -> TaskPolicy {
        TaskPolicy::new(&Policy { mode, nodes: nodes.to_vec(), weights: weights.to_vec(), numa_balancing: false })
    }

    #[test]
    fn first_choice_follows_the_policy() {
        assert_eq!(TaskPolicy::system().first_choice(1, 0, 2), (1, 3));
        assert_eq!(policy(PolicyMode::Bind, &[0], &[]).first_choice(1, 0, 2), (1, 1));
        assert_eq!(policy(PolicyMode::Preferred, &[2], &[]).first_choice(1, 0, 4), (2, 15));
        let spread = policy(PolicyMode::Interleave, &[0, 2], &[]);
        assert_eq!((0..4).map(|i| spread.first_choice(1, i, 4).0).collect::<Vec<_>>(), [0, 2, 0, 2]);
    }

    #[test]
    fn machines_8_4_vector_11_weighted_interleave() {
        let weighted = policy(PolicyMode::WeightedInterleave, &[0, 2], &[9, 1]);
        let nodes: Vec<_> = (0..10).map(|i| weighted.first_choice(0, i, 4).0).collect();
        assert_eq!(nodes.iter().filter(|&&n| n == 0).count(), 9);
        assert_eq!(nodes.iter().filter(|&&n| n == 2).count(), 1);
    }

    #[test]
    fn only_the_default_or_the_flag_migrates_on_fault() {
        assert!(TaskPolicy::system().migrate_on_fault());
        assert!(!policy(PolicyMode::Bind, &[0], &[]).migrate_on_fault());
        assert!(!policy(PolicyMode::Local, &[], &[]).migrate_on_fault());
    }
}
