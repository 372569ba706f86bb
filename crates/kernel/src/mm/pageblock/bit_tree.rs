//! A set of small integers with fast search for the first member at or after a value, and the last one at or before
//! it.
//!
//! A tree of 64-way bitmaps: a bit says whether the word below it has any bit set. A set of 2^23 pageblocks (16 TiB)
//! takes 1 MiB and four steps.

/// A set of integers below a fixed length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitTree {
    /// Level 0 holds the members; each further level has one bit for each word of the level below.
    levels: Vec<Vec<u64>>,
    len: usize,
    count: usize,
}

impl BitTree {
    /// An empty set of integers below `len`.
    pub fn new(len: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = len.div_ceil(64).max(1);
        loop {
            levels.push(vec![0; words]);
            if words == 1 {
                break;
            }
            words = words.div_ceil(64);
        }
        Self { levels, len, count: 0 }
    }
    /// Memory that it takes in the simulator, bytes.
    pub fn state_bytes(&self) -> usize {
        self.levels.iter().map(|l| l.capacity() * 8).sum()
    }
    /// The set of all integers below `len`.
    pub fn full(len: usize) -> Self {
        let mut out = Self::new(len);
        let mut members = len;
        for level in &mut out.levels {
            for (w, word) in level.iter_mut().enumerate() {
                let here = members.saturating_sub(w * 64).min(64);
                *word = if here == 64 { u64::MAX } else { (1 << here) - 1 };
            }
            members = members.div_ceil(64);
        }
        out.count = len;
        out
    }
    /// Number of members.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }
    /// Whether `i` is a member; false beyond the length.
    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        i < self.len && self.levels[0][i >> 6] >> (i & 63) & 1 != 0
    }
    /// Members `64 * word` to `64 * word + 63`, as bits.
    pub(super) fn word(&self, word: usize) -> u64 {
        self.levels[0].get(word).copied().unwrap_or(0)
    }
    /// Adds `i`, which is below the length. Returns false if it was a member already.
    #[inline]
    pub fn insert(&mut self, i: usize) -> bool {
        debug_assert!(i < self.len);
        if self.contains(i) {
            return false;
        }
        self.count += 1;
        let mut at = i;
        for level in &mut self.levels {
            let word = &mut level[at >> 6];
            let had = *word != 0;
            *word |= 1 << (at & 63);
            if had {
                break;
            }
            at >>= 6;
        }
        true
    }
    /// Removes `i`. Returns false if it was not a member.
    #[inline]
    pub fn remove(&mut self, i: usize) -> bool {
        if !self.contains(i) {
            return false;
        }
        self.count -= 1;
        let mut at = i;
        for level in &mut self.levels {
            let word = &mut level[at >> 6];
            *word &= !(1 << (at & 63));
            if *word != 0 {
                break;
            }
            at >>= 6;
        }
        true
    }
    /// Adds `i`, or removes it.
    #[inline]
    pub fn set(&mut self, i: usize, member: bool) {
        if member {
            self.insert(i);
        } else {
            self.remove(i);
        }
    }
    /// Smallest member.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        self.at_or_after(0)
    }
    /// Largest member.
    pub fn last(&self) -> Option<usize> {
        self.len.checked_sub(1).and_then(|i| self.at_or_before(i))
    }
    /// Smallest member that is at least `from`.
    pub fn at_or_after(&self, from: usize) -> Option<usize> {
        if from >= self.len {
            return None;
        }
        let mut at = from;
        for (l, level) in self.levels.iter().enumerate() {
            let word = level.get(at >> 6).map_or(0, |w| w & u64::MAX << (at & 63));
            if word != 0 {
                return Some(self.descend(l, at >> 6, word.trailing_zeros() as usize, false));
            }
            at = (at >> 6) + 1;
        }
        None
    }
    /// Largest member that is at most `to`.
    pub fn at_or_before(&self, to: usize) -> Option<usize> {
        let mut at = to.min(self.len.checked_sub(1)?);
        for (l, level) in self.levels.iter().enumerate() {
            let word = level[at >> 6] & u64::MAX >> (63 - (at & 63));
            if word != 0 {
                return Some(self.descend(l, at >> 6, 63 - word.leading_zeros() as usize, true));
            }
            at = (at >> 6).checked_sub(1)?;
        }
        None
    }
    /// Smallest or largest member below a set bit of a level.
    fn descend(&self, level: usize, word: usize, bit: usize, greatest: bool) -> usize {
        let mut at = word * 64 + bit;
        for l in (0..level).rev() {
            let w = self.levels[l][at];
            let bit = if greatest { 63 - w.leading_zeros() } else { w.trailing_zeros() };
            at = at * 64 + bit as usize;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use numalab_base::rng::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn behaves_like_an_ordered_set() {
        for len in [1, 63, 64, 65, 4096, 5000, 300_000] {
            let mut rng = Rng::new(len as u64);
            let mut tree = BitTree::new(len);
            let mut set = BTreeSet::new();
            for _ in 0..2000 {
                let i = rng.below(len as u64) as usize;
                if rng.below(3) == 0 {
                    assert_eq!(tree.remove(i), set.remove(&i));
                } else {
                    assert_eq!(tree.insert(i), set.insert(i));
                }
                let probe = rng.below(len as u64) as usize;
                assert_eq!(tree.contains(probe), set.contains(&probe));
                assert_eq!(tree.at_or_after(probe), set.range(probe..).next().copied());
                assert_eq!(tree.at_or_before(probe), set.range(..=probe).next_back().copied());
                assert_eq!(tree.count(), set.len());
            }
            assert_eq!((tree.first(), tree.last()), (set.first().copied(), set.last().copied()));
        }
    }

    #[test]
    fn full_and_empty_sets() {
        for len in [0, 1, 64, 65, 4097] {
            let mut full = BitTree::full(len);
            assert_eq!(full.count(), len);
            let mut one_by_one = BitTree::new(len);
            (0..len).for_each(|i| {
                one_by_one.insert(i);
            });
            assert_eq!(full, one_by_one);
            (0..len).for_each(|i| {
                full.remove(i);
            });
            assert_eq!((full.first(), full.last()), (None, None));
        }
    }
}
