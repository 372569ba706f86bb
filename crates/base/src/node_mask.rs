//! A set of NUMA nodes.

use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Largest number of nodes that a [`NodeMask`] can hold.
pub const MAX_NODES: usize = 1_024;

/// A node, as the tables of pages keep it.
pub type NodeId = u16;

const WORDS: usize = MAX_NODES / 64;

/// The words of a set behind the first.
type High = [u64; WORDS - 1];

/// No node from 64 on.
static NO_HIGH: High = [0; WORDS - 1];

/// The high words of all sets that have nodes from 64 on, each once and in order. They live as long as the program.
static HIGHS: Mutex<Vec<&'static High>> = Mutex::new(Vec::new());

/// A set of nodes.
///
/// Most machines have fewer than 64 nodes, and sets are copied with every page that is allocated. So a set is one word,
/// and a reference to the others, which sets with the same nodes share. Changing a node from 64 on looks for those
/// words among all that there are.
#[derive(Clone, Copy, Debug)]
pub struct NodeMask {
    low: u64,
    high: &'static High,
}

impl Default for NodeMask {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl PartialEq for NodeMask {
    fn eq(&self, other: &Self) -> bool {
        self.low == other.low && (ptr::eq(self.high, other.high) || self.high == other.high)
    }
}

impl Eq for NodeMask {}

/// The one copy of these words.
#[cold]
fn shared(high: &High) -> &'static High {
    if *high == NO_HIGH {
        return &NO_HIGH;
    }
    // The list is whole at any time, so one that a thread left behind is too.
    let mut all = HIGHS.lock().unwrap_or_else(PoisonError::into_inner);
    match all.binary_search_by(|known| (*known).cmp(high)) {
        Ok(known) => all[known],
        Err(place) => {
            let kept: &'static High = Box::leak(Box::new(*high));
            all.insert(place, kept);
            kept
        }
    }
}

impl NodeMask {
    /// No node.
    pub const EMPTY: Self = Self { low: 0, high: &NO_HIGH };
    /// The set of the given nodes. Nodes from [`MAX_NODES`] on are left out.
    pub fn of(nodes: impl IntoIterator<Item = usize>) -> Self {
        let mut words = [0; WORDS];
        for node in nodes.into_iter().filter(|n| *n < MAX_NODES) {
            words[node >> 6] |= 1 << (node & 63);
        }
        Self::of_words(&words)
    }
    /// The set that holds node `n`, of the first 128, if bit `n` is set.
    pub fn from_bits(bits: u128) -> Self {
        let mut words = [0; WORDS];
        (words[0], words[1]) = (bits as u64, (bits >> 64) as u64);
        Self::of_words(&words)
    }
    fn of_words(words: &[u64; WORDS]) -> Self {
        let mut high = NO_HIGH;
        high.copy_from_slice(&words[1..]);
        Self { low: words[0], high: shared(&high) }
    }
    /// Whether no node from 64 on is in the set.
    #[inline]
    fn is_low(&self) -> bool {
        ptr::eq(self.high, &NO_HIGH)
    }
    /// The words that can be other than zero.
    #[inline]
    fn words(&self) -> impl Iterator<Item = u64> + Clone + use<> {
        let high: &'static [u64] = if self.is_low() { &[] } else { self.high };
        std::iter::once(self.low).chain(high.iter().copied())
    }
    /// The nodes in both sets.
    #[inline]
    pub fn and(&self, other: &Self) -> Self {
        self.combined(other, |a, b| a & b)
    }
    /// The nodes in one set or both.
    #[inline]
    pub fn or(&self, other: &Self) -> Self {
        self.combined(other, |a, b| a | b)
    }
    /// Both sets word by word. `combine` of a word with itself is that word.
    #[inline]
    fn combined(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let low = combine(self.low, other.low);
        if ptr::eq(self.high, other.high) {
            return Self { low, high: self.high };
        }
        let mut high = *self.high;
        high.iter_mut().zip(other.high).for_each(|(w, o)| *w = combine(*w, *o));
        Self { low, high: shared(&high) }
    }
    /// Number of nodes.
    #[inline]
    pub fn len(&self) -> usize {
        self.words().map(|w| w.count_ones() as usize).sum()
    }
    /// Adds a node.
    #[inline]
    pub fn insert(&mut self, node: usize) {
        self.change(node, |word, bit| *word |= bit);
    }
    /// Removes a node.
    #[inline]
    pub fn remove(&mut self, node: usize) {
        self.change(node, |word, bit| *word &= !bit);
    }
    /// Changes the bit of a node in its word; nothing from [`MAX_NODES`] on.
    #[inline]
    fn change(&mut self, node: usize, change: impl Fn(&mut u64, u64)) {
        let bit = 1 << (node & 63);
        match node >> 6 {
            0 => change(&mut self.low, bit),
            word if word < WORDS => {
                let mut high = *self.high;
                change(&mut high[word - 1], bit);
                self.high = shared(&high);
            }
            _ => {}
        }
    }
    /// Whether a node is in the set.
    #[inline]
    pub fn contains(&self, node: usize) -> bool {
        match node >> 6 {
            0 => self.low >> node & 1 == 1,
            word => word < WORDS && self.high[word - 1] >> (node & 63) & 1 == 1,
        }
    }
    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.low == 0 && self.is_low()
    }
    /// Lowest node of the set.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        self.iter().next()
    }
    /// The nodes in ascending order.
    #[inline]
    pub fn iter(&self) -> Nodes<'_> {
        Nodes { mask: self, next: 0, word: 0 }
    }
    /// A word, if it can be other than zero.
    #[inline]
    fn word(&self, number: usize) -> Option<u64> {
        match number {
            0 => Some(self.low),
            _ if self.is_low() => None,
            _ => self.high.get(number - 1).copied(),
        }
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
            self.word = self.mask.word(self.next as usize)?;
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
        assert_eq!(m.or(&NodeMask::of([5, 70])), NodeMask::of([5, 70, 127, 1023]));
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
