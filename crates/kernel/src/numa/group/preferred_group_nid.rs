//! The preferred node of a grouped task (kernel: `preferred_group_nid`).

use crate::numa::balancing::NumaBalancing;
use crate::numa::state::TaskId;
use crate::numa::topology::{NumaTopology, TopologyKind, LOCAL_DISTANCE};
use crate::numa::weights::Whose;

impl NumaBalancing {
    /// The preferred node of a grouped task. `candidate` is the node with most faults of the group.
    pub(in crate::numa) fn preferred_group_nid(&self, task: TaskId, candidate: Option<usize>) -> Option<usize> {
        let far = self.topo.max_distance();
        let weight = |nid| self.weight(Whose::Group, task, nid, far);
        preferred_group_nid(&self.topo, candidate, weight, |nid| self.faults_of(Whose::Group, task, nid))
    }
}

/// The preferred node of a group on a machine. `candidate` is the node with most faults; `weight` is the weight of a
/// node at the largest distance, `faults` its faults.
pub fn preferred_group_nid(
    topo: &NumaTopology,
    candidate: Option<usize>,
    weight: impl Fn(usize) -> u64,
    faults: impl Fn(usize) -> u64,
) -> Option<usize> {
    match topo.kind() {
        TopologyKind::Direct => candidate,
        TopologyKind::GluelessMesh => {
            let mut best = (0, candidate);
            for n in topo.cpu_nodes().iter() {
                let score = weight(n);
                if score > best.0 {
                    best = (score, Some(n));
                }
            }
            best.1
        }
        TopologyKind::Backplane => preferred_backplane_nid(topo, candidate, faults),
    }
}

/// Descends through the distance levels, and keeps the nodes with most faults at each level.
fn preferred_backplane_nid(
    topo: &NumaTopology,
    mut candidate: Option<usize>,
    faults: impl Fn(usize) -> u64,
) -> Option<usize> {
    let mut nodes: Vec<usize> = topo.cpu_nodes().iter().collect();
    for &dist in topo.levels().iter().filter(|&&d| d > LOCAL_DISTANCE) {
        let mut most = 0;
        let mut rest = nodes.clone();
        while let Some(&a) = rest.first() {
            let (near, far): (Vec<_>, Vec<_>) = rest.into_iter().partition(|&b| b == a || topo.distance(a, b) < dist);
            let sum = near.iter().fold(0u64, |s, &b| s.wrapping_add(faults(b)));
            if sum > most {
                (most, candidate, nodes) = (sum, Some(a), near);
            }
            rest = far;
        }
        if most == 0 {
            break;
        }
    }
    candidate
}
