//! The groups of a domain in ring order, the CPU's own group first (kernel: `sched_domain.groups`, a circular list).
//!
//! Problem: a cache of n CPUs without siblings has n domains with n groups each. A list for each domain took memory
//! that grew with the square of the CPUs.
//! Approach: as in the kernel, domains of the same CPUs share one ring, and each begins at its own group.

use std::ops::Index;
use std::sync::Arc;

/// Index of a group in [`Domains::group`](super::Domains::group).
pub type GroupId = u32;

/// Groups in ring order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ring {
    groups: Arc<[GroupId]>,
    /// Place of the first group.
    start: u32,
}

impl Ring {
    /// A ring that begins at place `start` of `groups`.
    pub(super) fn new(groups: Arc<[GroupId]>, start: usize) -> Self {
        Self { groups, start: start as u32 }
    }
    /// Number of groups.
    pub fn len(&self) -> usize {
        self.groups.len()
    }
    /// Whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
    /// The CPU's own group.
    pub fn first(&self) -> Option<&GroupId> {
        self.groups.get(self.start as usize)
    }
    /// All groups, the CPU's own first.
    pub fn iter(&self) -> impl Iterator<Item = &GroupId> {
        let (before, from) = self.groups.split_at(self.start as usize);
        from.iter().chain(before)
    }
}

impl Index<usize> for Ring {
    type Output = GroupId;
    #[inline]
    fn index(&self, i: usize) -> &GroupId {
        let at = i + self.start as usize;
        &self.groups[if at < self.groups.len() { at } else { at - self.groups.len() }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_begins_at_its_own_group_and_comes_round() {
        let all: Arc<[GroupId]> = Arc::from([7, 8, 9]);
        let ring = Ring::new(all.clone(), 1);
        assert_eq!(ring.iter().copied().collect::<Vec<_>>(), [8, 9, 7]);
        assert_eq!(([ring[0], ring[1], ring[2]], ring.first(), ring.len()), ([8, 9, 7], Some(&8), 3));
        assert_eq!(Arc::strong_count(&all), 2, "the groups are not copied");
        assert!(Ring::default().is_empty() && Ring::default().first().is_none());
    }
}
