//! A set of NUMA nodes in one word.

/// Largest number of nodes that a [`NodeMask`] can hold.
pub const MAX_NODES: usize = 128;

/// A set of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeMask(u128);

impl NodeMask {
    /// No node.
    pub const EMPTY: Self = Self(0);
    /// The set of the given nodes. Nodes from [`MAX_NODES`] on are left out.
    pub fn of(nodes: impl IntoIterator<Item = usize>) -> Self {
        let mut mask = Self::EMPTY;
        nodes.into_iter().for_each(|n| mask.insert(n));
        mask
    }
    /// The set that holds node `n` if bit `n` is set.
    #[inline]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }
    /// The nodes in both sets.
    #[inline]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// Number of nodes.
    #[inline]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }
    /// Adds a node.
    #[inline]
    pub fn insert(&mut self, node: usize) {
        if node < MAX_NODES {
            self.0 |= 1 << node;
        }
    }
    /// Removes a node.
    #[inline]
    pub fn remove(&mut self, node: usize) {
        if node < MAX_NODES {
            self.0 &= !(1 << node);
        }
    }
    /// Whether a node is in the set.
    #[inline]
    pub fn contains(self, node: usize) -> bool {
        node < MAX_NODES && self.0 >> node & 1 == 1
    }
    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Lowest node of the set.
    #[inline]
    pub fn first(self) -> Option<usize> {
        (self.0 != 0).then(|| self.0.trailing_zeros() as usize)
    }
    /// The nodes in ascending order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let n = rest.first()?;
            rest.remove(n);
            Some(n)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_masks() {
        let mut m = NodeMask::of([5, 0, 127, MAX_NODES]);
        assert_eq!(m.iter().collect::<Vec<_>>(), [0, 5, 127], "ascending; what does not fit is left out");
        assert!(m.contains(127) && !m.contains(MAX_NODES) && !m.contains(1));
        m.remove(0);
        m.remove(MAX_NODES);
        assert_eq!((m.first(), m.is_empty(), NodeMask::EMPTY.first()), (Some(5), false, None));
    }
}
