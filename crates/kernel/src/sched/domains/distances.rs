//! Node distances: checked, listed and classified (`sched_init_numa`, `init_numa_topology_type`).

use crate::sched::error::SchedError;
use numalab_nouns::machine::Machine;

/// Class of the distances between nodes. Only NUMA balancing uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumaTopology {
    /// There is at most one remote distance.
    Direct,
    /// The most distant nodes have a common nearer node.
    GluelessMesh,
    /// The most distant nodes have no common nearer node.
    Backplane,
}

/// The distances between nodes that have CPUs, checked.
pub(super) struct Distances {
    /// Distinct distances, ascending.
    pub values: Vec<u32>,
    /// Nodes that have CPUs.
    pub nodes: Vec<usize>,
    /// Class for NUMA balancing.
    pub class: NumaTopology,
    /// The distances that levels are built from, if they are not the machine's.
    pub table: Option<Vec<Vec<u8>>>,
}

impl Distances {
    /// Reads and checks the distances of `machine`.
    pub fn new(machine: &Machine) -> Result<Self, SchedError> {
        Self::of(machine, None)
    }
    /// As [`Self::new`], with another table for the levels. The class stays that of the machine's own distances.
    pub fn with_table(machine: &Machine, table: Vec<Vec<u8>>) -> Result<Self, SchedError> {
        let class = Self::new(machine)?.class;
        Ok(Self { class, ..Self::of(machine, Some(table))? })
    }
    /// Distance from node `a` to node `b` as levels see it.
    pub fn at(&self, machine: &Machine, a: usize, b: usize) -> u32 {
        u32::from(self.table.as_ref().unwrap_or(&machine.distance)[a][b])
    }
    fn of(machine: &Machine, table: Option<Vec<Vec<u8>>>) -> Result<Self, SchedError> {
        let bad = |what: String, expected: &str| SchedError::Distances { what, expected: expected.to_string() };
        let n = machine.node_count();
        if machine.distance.len() != n || machine.distance.iter().any(|r| r.len() != n) {
            return Err(bad(
                "the distance table is not square".into(),
                &format!("{n} rows of {n} distances, one per node"),
            ));
        }
        let nodes: Vec<usize> = machine.cpu_nodes().collect();
        let rows = table.as_ref().unwrap_or(&machine.distance);
        let dist = |a: usize, b: usize| u32::from(rows[a][b]);
        let mut values = Vec::new();
        for &a in &nodes {
            for &b in &nodes {
                if dist(a, b) < 10 {
                    let what = format!("distance from node {} to node {} is {}", a, b, dist(a, b));
                    return Err(bad(what, "10 (local) to 254"));
                }
                if a != b && dist(a, b) < dist(a, a) {
                    let what = format!("node {b} is nearer to node {a} ({}) than node {a} itself", dist(a, b));
                    return Err(bad(what, "the local distance to be the smallest of its row"));
                }
                values.push(dist(a, b));
            }
        }
        values.sort_unstable();
        values.dedup();
        let class = classify(&nodes, &values, &dist);
        Ok(Self { values, nodes, class, table })
    }
}

fn classify(nodes: &[usize], values: &[u32], dist: &dyn Fn(usize, usize) -> u32) -> NumaTopology {
    let max = match values.last() {
        Some(m) if values.len() > 2 => *m,
        _ => return NumaTopology::Direct,
    };
    for &a in nodes {
        for &b in nodes {
            if dist(a, b) >= max {
                let between = nodes.iter().any(|&c| dist(a, c) < max && dist(b, c) < max);
                return if between { NumaTopology::GluelessMesh } else { NumaTopology::Backplane };
            }
        }
    }
    NumaTopology::Direct
}
