//! Pageblocks by their number of free pages, in intrusive lists, so that every operation is O(1).

/// No block.
const NONE: u32 = u32::MAX;

/// Neighbours of a block in its list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    prev: u32,
    next: u32,
}

impl Link {
    pub(super) const ALONE: Self = Self { prev: NONE, next: NONE };
}

/// Lists of blocks with 0 to 511 free pages.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    head: Vec<u32>,
    /// Bits of the lists that are not empty.
    used: [u64; 8],
}

impl Buckets {
    pub(super) fn new() -> Self {
        Self { head: vec![NONE; 512], used: [0; 8] }
    }
    /// Inserts a block at the front of the list for `free` free pages.
    #[inline]
    pub(super) fn push(&mut self, links: &mut [Link], block: usize, free: u16) {
        let head = &mut self.head[free as usize];
        links[block] = Link { prev: NONE, next: *head };
        if *head != NONE {
            links[*head as usize].prev = block as u32;
        }
        *head = block as u32;
        self.used[free as usize >> 6] |= 1 << (free & 63);
    }
    /// Removes a block from the list for `free` free pages.
    #[inline]
    pub(super) fn unlink(&mut self, links: &mut [Link], block: usize, free: u16) {
        let Link { prev, next } = links[block];
        if prev == NONE {
            self.head[free as usize] = next;
            if next == NONE {
                self.used[free as usize >> 6] &= !(1 << (free & 63));
            }
        } else {
            links[prev as usize].next = next;
        }
        if next != NONE {
            links[next as usize].prev = prev;
        }
    }
    /// A block with the fewest free pages, but at least one.
    #[inline]
    pub(super) fn fullest(&self) -> Option<usize> {
        let mut mask = !1;
        for (w, word) in self.used.iter().enumerate() {
            let word = word & mask;
            if word != 0 {
                return Some(self.head[w * 64 + word.trailing_zeros() as usize] as usize);
            }
            mask = u64::MAX;
        }
        None
    }
    /// A block with the most free pages, which may be none.
    pub(super) fn emptiest(&self) -> Option<usize> {
        let (w, word) = self.used.iter().enumerate().rev().find(|(_, word)| **word != 0)?;
        Some(self.head[w * 64 + 63 - word.leading_zeros() as usize] as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_fullest_and_the_emptiest() {
        let mut links = vec![Link::ALONE; 4];
        let mut b = Buckets::new();
        assert_eq!((b.fullest(), b.emptiest()), (None, None));
        b.push(&mut links, 0, 0);
        assert_eq!((b.fullest(), b.emptiest()), (None, Some(0)), "a full block has nothing to give");
        b.push(&mut links, 1, 300);
        b.push(&mut links, 2, 300);
        b.push(&mut links, 3, 511);
        assert_eq!((b.fullest(), b.emptiest()), (Some(2), Some(3)), "last in, first out");
        b.unlink(&mut links, 2, 300);
        assert_eq!(b.fullest(), Some(1));
        b.unlink(&mut links, 1, 300);
        b.unlink(&mut links, 3, 511);
        assert_eq!((b.fullest(), b.emptiest()), (None, Some(0)));
    }
}
