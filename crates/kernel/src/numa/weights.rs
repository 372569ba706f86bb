//! Weights of nodes for a task or its group, in thousandths of their faults (kernel: `task_weight`, `group_weight`,
//! kernel-numa-balancing.md §11.3).

use super::balancing::NumaBalancing;
use super::state::TaskId;
use super::topology::{NumaTopology, TopologyKind, LOCAL_DISTANCE};

/// Whose faults are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The faults of the task.
    Task,
    /// The faults of its group.
    Group,
}

impl NumaBalancing {
    /// Memory faults on a node, both types; 0 without an array or a group.
    pub fn faults_of(&self, whose: Whose, task: TaskId, nid: usize) -> u64 {
        let t = &self.tasks[task as usize];
        match whose {
            Whose::Task => t.task_faults(self.topo.nodes(), nid),
            Whose::Group => t.numa_group.map_or(0, |g| self.groups.get(g).mem(self.topo.nodes(), nid)),
        }
    }

    /// Weight of a node in thousandths: faults on it and, on topologies with several distances, on nodes near it. 0
    /// without faults.
    pub fn weight(&self, whose: Whose, task: TaskId, nid: usize, dist: u8) -> u64 {
        let t = &self.tasks[task as usize];
        let total = match whose {
            _ if t.faults.is_empty() => 0,
            Whose::Task => t.total_numa_faults,
            Whose::Group => t.numa_group.map_or(0, |g| self.groups.get(g).total_faults),
        };
        if total == 0 {
            return 0;
        }
        let faults = self.faults_of(whose, task, nid).wrapping_add(self.score_nearby_nodes(whose, task, nid, dist));
        faults.wrapping_mul(1000) / total
    }

    /// The weight that the load balancer compares: the group's for a grouped task, else the task's own.
    pub fn locality_weight(&self, task: TaskId, nid: usize, dist: u8) -> u64 {
        let whose = if self.tasks[task as usize].numa_group.is_some() { Whose::Group } else { Whose::Task };
        self.weight(whose, task, nid, dist)
    }

    /// Faults on nodes near `nid`, weighted by distance.
    fn score_nearby_nodes(&self, whose: Whose, task: TaskId, nid: usize, lim_dist: u8) -> u64 {
        nearby_faults(&self.topo, nid, lim_dist, |node| self.faults_of(whose, task, node))
    }
}

/// Faults on nodes near `nid`, weighted by distance (kernel: `score_nearby_nodes`). `faults` gives those of a node.
#[inline]
pub fn nearby_faults(topo: &NumaTopology, nid: usize, lim_dist: u8, faults: impl Fn(usize) -> u64) -> u64 {
    let kind = topo.kind();
    if kind == TopologyKind::Direct {
        return 0;
    }
    let max = topo.max_distance();
    let mut score = 0u64;
    for node in 0..topo.nodes() {
        let dist = topo.distance(nid, node);
        if node == nid || dist >= max || (kind == TopologyKind::Backplane && dist >= lim_dist) {
            continue;
        }
        let mut faults = faults(node);
        if kind == TopologyKind::GluelessMesh {
            faults = faults.wrapping_mul(u64::from(max - dist)) / u64::from(max - LOCAL_DISTANCE);
        }
        score = score.wrapping_add(faults);
    }
    score
}
