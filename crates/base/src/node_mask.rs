//! A set of NUMA nodes.

/// Largest number of nodes that a [`NodeMask`] can hold.
pub const MAX_NODES: usize = 1_024;

/// A node, as the tables of pages keep it.
pub type NodeId = u16;

const WORDS: usize = MAX_NODES / 64;

/// A set of nodes.
///
/// Most machines have fewer than 64 nodes, so a set knows how many of its words can be other than zero, and looks at
/// no more than those.
#[derive(Clone, Copy, Debug)]
pub struct NodeMask {
    words: [u64; WORDS],
    /// Words from here on are zero.
    used: u32,
}

impl Default for NodeMask {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl PartialEq for NodeMask {
    fn eq(&self, other: &Self) -> bool {
        let used = self.used.max(other.used) as usize;
        self.words[..used] == other.words[..used]
    }
}

impl Eq for NodeMask {}

impl NodeMask {
    /// No node.
    pub const EMPTY: Self = Self { words: [0; WORDS], used: 0 };
    /// The set of the given nodes. Nodes from [`MAX_NODES`] on are left out.
    pub fn of(nodes: impl IntoIterator<Item = usize>) -> Self {
        let mut mask = Self::EMPTY;
        nodes.into_iter().for_each(|n| mask.insert(n));
        mask
    }
    /// The set that holds node `n`, of the first 128, if bit `n` is set.
    pub const fn from_bits(bits: u128) -> Self {
        let mut mask = Self { words: [0; WORDS], used: 2 };
        (mask.words[0], mask.words[1]) = (bits as u64, (bits >> 64) as u64);
        mask
    }
    /// The words that can be other than zero.
    #[inline]
    fn words(&self) -> &[u64] {
        &self.words[..self.used as usize]
    }
    /// The nodes in both sets.
    #[inline]
    pub fn and(&self, other: &Self) -> Self {
        let mut both = Self { words: [0; WORDS], used: self.used.min(other.used) };
        for (w, word) in both.words[..both.used as usize].iter_mut().enumerate() {
            *word = self.words[w] & other.words[w];
        }
        both
    }
    /// Number of nodes.
    #[inline]
    pub fn len(&self) -> usize {
        self.words().iter().map(|w| w.count_ones() as usize).sum()
    }
    /// Adds a node.
    #[inline]
    pub fn insert(&mut self, node: usize) {
        if node < MAX_NODES {
            self.words[node >> 6] |= 1 << (node & 63);
            self.used = self.used.max((node >> 6) as u32 + 1);
        }
    }
    /// Removes a node.
    #[inline]
    pub fn remove(&mut self, node: usize) {
        if node < MAX_NODES {
            self.words[node >> 6] &= !(1 << (node & 63));
        }
    }
    /// Whether a node is in the set.
    #[inline]
    pub fn contains(&self, node: usize) -> bool {
        node < MAX_NODES && self.words[node >> 6] >> (node & 63) & 1 == 1
    }
    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words().iter().all(|w| *w == 0)
    }
    /// Lowest node of the set.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        let w = self.words().iter().position(|w| *w != 0)?;
        Some((w << 6) + self.words[w].trailing_zeros() as usize)
    }
    /// The nodes in ascending order.
    #[inline]
    pub fn iter(&self) -> Nodes<'_> {
        Nodes { mask: self, next: 0, word: 0 }
    }
}

/// The nodes of a set in ascending order.
#[derive(Clone, Debug)]
pub struct Nodes<'a> {
    mask: &'a NodeMask,
    /// The word that comes after `word`.
    next: u32,
    /// Nodes of the present word that are still to come.
    word: u64,
}

impl Iterator for Nodes<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.word = *self.mask.words().get(self.next as usize)?;
            self.next += 1;
        }
        let node = ((self.next - 1) << 6) + self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some(node as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_masks() {
        let mut m = NodeMask::of([5, 0, 1023, 127, MAX_NODES]);
        assert_eq!(m.iter().collect::<Vec<_>>(), [0, 5, 127, 1023], "ascending; what does not fit is left out");
        assert!(m.contains(1023) && !m.contains(MAX_NODES) && !m.contains(1));
        m.remove(0);
        m.remove(MAX_NODES);
        assert_eq!((m.first(), m.is_empty(), NodeMask::EMPTY.first()), (Some(5), false, None));
        assert_eq!((m.len(), m.and(&NodeMask::of(6..200))), (3, NodeMask::of([127])));
    }

    #[test]
    fn sets_are_equal_if_their_nodes_are() {
        let mut shrunk = NodeMask::of([3, 900]);
        assert_ne!(shrunk, NodeMask::of([3]));
        shrunk.remove(900);
        assert_eq!((shrunk, shrunk.len()), (NodeMask::of([3]), 1));
        assert_eq!(NodeMask::from_bits(8), NodeMask::of([3]));
        shrunk.remove(3);
        assert!(shrunk.is_empty() && shrunk == NodeMask::EMPTY && shrunk.iter().next().is_none());
        assert_eq!(NodeMask::from_bits(1 << 127 | 1).iter().collect::<Vec<_>>(), [0, 127]);
    }

    #[test]
    fn every_node_of_the_largest_machine_fits() {
        let all = NodeMask::of(0..MAX_NODES);
        assert!(all.iter().eq(0..MAX_NODES) && all.len() == MAX_NODES);
    }
}
