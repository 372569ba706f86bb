//! What a release lets a scheme name as destination, and the destination of one scheme.

use super::{one_node, weighted};
use numalab_base::node_weights::NodeWeights;
use numalab_base::words;

words! {
    /// Where DAMON can migrate hot or cold pages to. No release does it unless an administrator sets up a scheme
    /// (`damon.schemes`).
    pub enum Destinations {
        /// Nowhere: no scheme has such an action.
        None = "none" ("up to 6.10"),
        /// To one node for each scheme.
        OneNode = "one_node" ("6.11 to 6.16"),
        /// To one node, or to several by weights: the place of a page in its mapping decides.
        Weighted = "weighted" ("6.17 on"),
    }
}

/// The destination of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The one node.
    pub target_nid: u16,
    /// Nodes with weights, which come before the one node; [`NodeWeights::NONE`] if there are none.
    pub dests: NodeWeights,
}

impl Destination {
    /// Node of a page. `index` is its place in its mapping, in pages of its own size.
    pub fn node(&self, index: u64) -> Option<usize> {
        if self.dests.is_none() {
            return Some(one_node::node(self.target_nid));
        }
        weighted::node(self.dests.as_slice(), index)
    }
    /// Every node that pages may go to.
    pub fn nodes(&self) -> Vec<usize> {
        if self.dests.is_none() {
            return vec![one_node::node(self.target_nid)];
        }
        self.dests.as_slice().iter().map(|d| usize::from(d.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(dests: &str) -> Destination {
        Destination { target_nid: 3, dests: NodeWeights::parse(dests).unwrap() }
    }

    #[test]
    fn one_node_takes_all() {
        assert_eq!([0, 1, 77].map(|i| to("none").node(i)), [Some(3); 3]);
        assert_eq!(to("none").nodes(), [3]);
    }

    #[test]
    fn weights_are_shares_of_neighbours() {
        let d = to("0:3 2:1");
        assert_eq!([0, 1, 2, 3, 4, 7].map(|i| d.node(i)), [0, 0, 0, 2, 0, 2].map(Some));
        assert_eq!((0..1000).filter(|i| d.node(*i) == Some(2)).count(), 250);
        assert_eq!(d.nodes(), [0, 2]);
    }
}
