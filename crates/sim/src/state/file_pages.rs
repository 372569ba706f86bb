//! Pages of a file that a call of `read(2)` has found, on their way to be copied.

use numalab_base::node_mask::NodeId;

/// Pages of one call that go from one node to one other, or to the same.
#[derive(Debug)]
pub struct PagesOfPair {
    /// Their node.
    pub node: usize,
    /// The node of the pages that they are copied to; `None` if they are not copied.
    pub target: Option<NodeId>,
    /// How many.
    pub pages: u64,
    /// Time to copy one of them if all pipes let it through, ns.
    pub copy_ns: f64,
    /// Base pages among them that were cleared.
    pub cleared: u64,
    /// Time in which they were cleared, ns.
    pub cleared_ns: u64,
}

/// The pages of a call by pairs of nodes. Kept from call to call, so that a call allocates nothing.
#[derive(Debug, Default)]
pub struct FilePages {
    /// Nodes of the pages of the file.
    pub sources: Vec<NodeId>,
    /// Nodes of the pages of the buffer.
    pub targets: Vec<NodeId>,
    /// Pairs in the order in which they were met.
    pub pairs: Vec<PagesOfPair>,
    /// Sources and targets that `pairs` were counted from; empty if they were added one by one.
    counted: (Vec<NodeId>, Vec<NodeId>),
}

impl FilePages {
    /// Forgets the pages that are to be copied; the nodes of the buffer stay.
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.counted.0.clear();
    }
    /// Adds a page on `node` that goes to `target`.
    #[inline]
    pub fn add(&mut self, node: usize, target: Option<NodeId>) -> &mut PagesOfPair {
        let known = self.pairs.iter().position(|p| (p.node, p.target) == (node, target));
        let pair = known.unwrap_or_else(|| {
            self.pairs.push(PagesOfPair { node, target, pages: 0, copy_ns: 0.0, cleared: 0, cleared_ns: 0 });
            self.pairs.len() - 1
        });
        let pair = &mut self.pairs[pair];
        pair.pages += 1;
        pair
    }
    /// Adds each page of `sources`, which goes to that of `targets`, and no others. Calls mostly have the nodes of the
    /// call before, and then the same pairs.
    pub fn count(&mut self) {
        if self.counted.0 == self.sources && self.counted.1 == self.targets {
            return;
        }
        self.clear();
        for page in 0..self.sources.len() {
            self.add(usize::from(self.sources[page]), self.targets.get(page).copied());
        }
        self.counted.0.clone_from(&self.sources);
        self.counted.1.clone_from(&self.targets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_by_pairs() {
        let mut found = FilePages { sources: vec![0, 1, 0, 1], targets: vec![0, 0, 0, 1], ..FilePages::default() };
        let pairs = |found: &FilePages| found.pairs.iter().map(|p| (p.node, p.target, p.pages)).collect::<Vec<_>>();
        for _ in 0..2 {
            found.count();
            assert_eq!(pairs(&found), [(0, Some(0), 2), (1, Some(0), 1), (1, Some(1), 1)]);
        }
        found.targets[3] = 0;
        found.count();
        assert_eq!(pairs(&found), [(0, Some(0), 2), (1, Some(0), 2)]);
        found.clear();
        found.add(2, None);
        assert_eq!(pairs(&found), [(2, None, 1)]);
        found.count();
        assert_eq!(pairs(&found), [(0, Some(0), 2), (1, Some(0), 2)], "what was added alone is no count");
    }
}
