//! Shadow entries: what a swap slot records of the page in it (`mm/workingset.c`).

/// Shadow entry of a swapped page: its node, `PG_workingset`, and the age of the node at its eviction, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shadow(u64);

const AGE_BITS: u32 = 48;
pub(super) const AGE: u64 = (1 << AGE_BITS) - 1;
const WORKINGSET: u64 = 1 << 63;

impl Shadow {
    /// The entry of a page evicted from `node` at age `age`.
    pub fn new(node: usize, age: u64, workingset: bool) -> Self {
        // The node is stored plus one, so that no entry is zero.
        Self((node as u64 + 1) << AGE_BITS | age & AGE | if workingset { WORKINGSET } else { 0 })
    }
    /// Node, age, and whether the page had been active before; `None` for an empty entry.
    pub fn unpack(self) -> Option<(usize, u64, bool)> {
        let node = (self.0 & !WORKINGSET) >> AGE_BITS;
        (node > 0).then(|| (node as usize - 1, self.0 & AGE, self.0 & WORKINGSET != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shadows_keep_what_they_are_told() {
        assert_eq!(Shadow::default().unpack(), None);
        for (node, age, workingset) in [(0, 0, false), (31, 1 << 47, true), (127, AGE, true)] {
            assert_eq!(Shadow::new(node, age, workingset).unpack(), Some((node, age, workingset)));
        }
    }
}
