//! Active nodes of a group.

use crate::numa::balancing::NumaBalancing;

impl NumaBalancing {
    /// Whether a node is one of the group's active nodes, by the last count.
    pub(in crate::numa) fn is_active(&self, group: u32, nid: usize) -> bool {
        let g = self.groups.get(group);
        match self.cfg.switches.active_node_mask {
            true => g.in_active_mask(nid),
            false => g.is_active(self.topo.nodes(), nid),
        }
    }
}
