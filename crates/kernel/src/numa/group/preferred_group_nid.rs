//! The preferred node of a grouped task (kernel: `preferred_group_nid`).

use crate::numa::balancing::NumaBalancing;
use crate::numa::state::TaskId;
use crate::numa::topology::{TopologyKind, LOCAL_DISTANCE};
use crate::numa::weights::Whose;
use numalab_base::node_mask::NodeMask;

impl NumaBalancing {
    /// The preferred node of a grouped task. `candidate` is the node with most faults of the group.
    pub(in crate::numa) fn preferred_group_nid(&self, task: TaskId, candidate: Option<usize>) -> Option<usize> {
        match self.topo.kind() {
            TopologyKind::Direct => candidate,
            TopologyKind::GluelessMesh => {
                let dist = self.topo.max_distance();
                let mut best = (0, candidate);
                for n in self.topo.cpu_nodes().iter() {
                    let score = self.weight(Whose::Group, task, n, dist);
                    if score > best.0 {
                        best = (score, Some(n));
                    }
                }
                best.1
            }
            TopologyKind::Backplane => self.preferred_backplane_nid(task, candidate),
        }
    }

    /// Descends through the distance levels, and keeps the nodes with most faults at each level.
    fn preferred_backplane_nid(&self, task: TaskId, mut candidate: Option<usize>) -> Option<usize> {
        let mut nodes = self.topo.cpu_nodes();
        for &dist in self.topo.levels().iter().filter(|&&d| d > LOCAL_DISTANCE) {
            let mut max = (0, nodes);
            let mut rest = nodes;
            while let Some(a) = rest.first() {
                let mut near = NodeMask::of(rest.iter().filter(|&b| self.topo.distance(a, b) < dist));
                near.insert(a);
                let sum = near.iter().fold(0u64, |s, b| s.wrapping_add(self.faults_of(Whose::Group, task, b)));
                if sum > max.0 {
                    max = (sum, near);
                    candidate = Some(a);
                }
                near.iter().for_each(|b| rest.remove(b));
            }
            if max.0 == 0 {
                break;
            }
            nodes = max.1;
        }
        candidate
    }
}
