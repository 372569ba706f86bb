//! Interleaving of allocations that belong to no VMA: each task goes round the nodes (`interleave_nodes`).

use super::{MemPolicy, Placement};
use numalab_model::workload::PolicyMode;

/// Position of a task in its own policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotor(u64);

impl Rotor {
    /// Placement of the task's next allocation outside any VMA.
    pub fn next(&mut self, policy: &MemPolicy, here: usize) -> Placement {
        let placement = policy.placement(here, self.0);
        if matches!(policy.mode(), PolicyMode::Interleave | PolicyMode::WeightedInterleave) {
            self.0 += 1;
        }
        placement
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::policy::all_nodes;
    use crate::numa::topology::NodeMask;

    #[test]
    fn goes_round_and_stands_still_for_other_modes() {
        let p = MemPolicy::new(PolicyMode::Interleave, NodeMask::of([1, 3]), all_nodes()).unwrap();
        let mut r = Rotor::default();
        assert_eq!([0; 4].map(|_| r.next(&p, 0).preferred), [1, 3, 1, 3]);
        assert_eq!([0; 2].map(|_| r.next(&MemPolicy::DEFAULT, 2).preferred), [2, 2]);
        assert_eq!(r, Rotor(4));
    }
}
