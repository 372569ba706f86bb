//! The nodes of 512 pages.
//!
//! Problem: a machine may have 1,024 nodes, and the state of a page is a few bytes. Nearly all machines have at most
//! 256.
//! Approach: a byte for each page, and a second one only once a page lies on a node with a number above 255.

use super::read_ahead::prefetch;
use numalab_base::node_mask::NodeId;
use std::ops::Range;

/// Pages of a block.
const PAGES: usize = 512;

/// The nodes of 512 pages.
#[derive(Clone, Debug)]
pub struct PageNodes {
    low: [u8; PAGES],
    /// What is above the low byte; `None` until a page needs it.
    high: Option<Box<[u8; PAGES]>>,
}

impl PageNodes {
    /// All pages on node 0.
    pub const ZERO: Self = Self { low: [0; PAGES], high: None };

    /// All pages on one node.
    pub fn all(node: NodeId) -> Self {
        let [low, high] = node.to_le_bytes();
        Self { low: [low; PAGES], high: (high > 0).then(|| Box::new([high; PAGES])) }
    }
    /// Node of a page.
    #[inline]
    pub fn get(&self, page: usize) -> NodeId {
        let low = self.low[page];
        match &self.high {
            None => NodeId::from(low),
            Some(high) => NodeId::from_le_bytes([low, high[page]]),
        }
    }
    /// Sets the node of a page.
    #[inline]
    pub fn set(&mut self, page: usize, node: NodeId) {
        let [low, high] = node.to_le_bytes();
        self.low[page] = low;
        if high > 0 || self.high.is_some() {
            self.high_mut()[page] = high;
        }
    }
    /// Sets the node of a page, and returns the one before.
    #[inline]
    pub fn replace(&mut self, page: usize, node: NodeId) -> NodeId {
        let was = self.get(page);
        self.set(page, node);
        was
    }
    /// Sets the node of all `pages`.
    #[inline]
    pub fn fill(&mut self, pages: Range<usize>, node: NodeId) {
        let [low, high] = node.to_le_bytes();
        self.low[pages.clone()].fill(low);
        if high > 0 || self.high.is_some() {
            self.high_mut()[pages].fill(high);
        }
    }
    /// Calls `f` with nodes and numbers of `pages`: once if all lie on one node, else once per page.
    #[inline]
    pub fn each(&self, pages: Range<usize>, mut f: impl FnMut(usize, u64)) {
        let Some(first) = self.low[pages.clone()].first() else { return };
        let alike = |bytes: &[u8], first: u8| bytes[pages.clone()].iter().all(|n| *n == first);
        if alike(&self.low, *first) && self.high.as_ref().is_none_or(|h| alike(&h[..], h[pages.start])) {
            f(usize::from(self.get(pages.start)), pages.len() as u64);
        } else {
            pages.for_each(|page| f(usize::from(self.get(page)), 1));
        }
    }
    /// Appends the nodes of `pages` to `out`.
    #[inline]
    pub fn append_to(&self, pages: Range<usize>, out: &mut Vec<NodeId>) {
        match &self.high {
            None => out.extend(self.low[pages].iter().map(|low| NodeId::from(*low))),
            Some(_) => out.extend(pages.map(|page| self.get(page))),
        }
    }
    /// Reads ahead the node of a page.
    #[inline]
    pub fn read_ahead(&self, page: usize) {
        prefetch(&self.low[page]);
    }
    /// Bytes beside the structure itself.
    pub fn more_bytes(&self) -> usize {
        self.high.as_ref().map_or(0, |_| PAGES)
    }
    #[cold]
    fn high_mut(&mut self) -> &mut [u8; PAGES] {
        self.high.get_or_insert_with(|| Box::new([0; PAGES]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_above_255_are_kept_and_forgotten() {
        let mut nodes = PageNodes::ZERO;
        nodes.set(3, 255);
        assert_eq!((nodes.get(3), nodes.get(4), nodes.more_bytes()), (255, 0, 0));
        assert_eq!((nodes.replace(3, 1023), nodes.get(3), nodes.get(2)), (255, 1023, 0));
        assert_eq!(nodes.more_bytes(), 512);
        let mut listed = vec![9];
        nodes.append_to(2..5, &mut listed);
        assert_eq!(listed, [9, 0, 1023, 0]);
        nodes.set(3, 7);
        assert_eq!(nodes.get(3), 7);
        nodes.fill(1..9, 300);
        assert_eq!([0, 1, 8, 9].map(|p| nodes.get(p)), [0, 300, 300, 0]);
        let all = PageNodes::all(300);
        assert_eq!((all.get(0), all.get(511), PageNodes::all(44).more_bytes()), (300, 300, 0));
        nodes.fill(1..9, 44);
        assert_eq!([0, 1, 8, 9].map(|p| nodes.get(p)), [0, 44, 44, 0], "300 is 44 and a high byte");
    }

    #[test]
    fn runs_of_one_node_are_reported_at_once() {
        let each = |nodes: &PageNodes, pages: Range<usize>| {
            let mut out = Vec::new();
            nodes.each(pages, |node, pages| out.push((node, pages)));
            out
        };
        let mut nodes = PageNodes::ZERO;
        nodes.fill(0..8, 5);
        assert_eq!(each(&nodes, 0..8), [(5, 8)]);
        assert_eq!(each(&nodes, 7..9), [(5, 1), (0, 1)]);
        assert_eq!(each(&nodes, 3..3), []);
        // The low bytes of 261 and 5 are the same.
        nodes.fill(2..4, 261);
        assert_eq!(each(&nodes, 2..4), [(261, 2)]);
        assert_eq!(each(&nodes, 1..4), [(5, 1), (261, 1), (261, 1)]);
    }
}
