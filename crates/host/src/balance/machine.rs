//! The machine as the decisions see it.

use crate::procfs::node::{self, Node};
use crate::procfs::{list, numbers_in, read, Roots};
use numalab_kernel::numa::topology::{NodeParts, NumaTopology};

/// Nodes, CPUs and caches of the machine. Nodes and CPUs of the decisions are dense; here are their ids.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Nodes, CPUs and distances.
    pub topo: NumaTopology,
    /// CPUs that share a last-level cache, for each node.
    pub llc_cpus: Vec<u32>,
    /// Id of each node.
    pub ids: Vec<u32>,
    /// Ids of the CPUs of each node.
    pub cpus: Vec<Vec<u32>>,
}

impl Shape {
    /// Reads the machine.
    ///
    /// # Errors
    /// No node or no CPU can be read, in words.
    pub fn read(roots: &Roots) -> Result<Self, String> {
        let nodes = node::all(roots);
        if nodes.is_empty() || nodes.iter().all(|n| n.cpus.is_empty()) {
            let place = roots.sys.join("devices/system/node");
            return Err(format!("{}: no node with CPUs; expected node0, node1, …", place.display()));
        }
        let parts: Vec<NodeParts> =
            nodes.iter().map(|n| NodeParts { cpus: n.cpus.len(), memory: n.total_bytes > 0, tier: 0 }).collect();
        let topo = NumaTopology::from_parts(&parts, &distances(&nodes)).map_err(|e| e.to_string())?;
        Ok(Self {
            topo,
            llc_cpus: nodes.iter().map(|n| llc_cpus(roots, n)).collect(),
            ids: nodes.iter().map(|n| n.id).collect(),
            cpus: nodes.into_iter().map(|n| n.cpus).collect(),
        })
    }

    /// Whether nodes and CPUs are still those that are online. What cannot be read now counts as unchanged.
    pub fn is_current(&self, roots: &Roots) -> bool {
        let dir = roots.sys.join("devices/system/node");
        let now = |file: std::path::PathBuf| read(&file).ok().and_then(|t| list(&t));
        let same =
            |at: usize| now(dir.join(format!("node{}/cpulist", self.ids[at]))).is_none_or(|c| c == self.cpus[at]);
        let ids = now(dir.join("online")).filter(|ids| !ids.is_empty());
        ids.is_none_or(|ids| ids == self.ids) && (0..self.ids.len()).all(same)
    }

    /// Dense node of a CPU id.
    pub fn node_of(&self, cpu: u32) -> Option<usize> {
        self.cpus.iter().position(|c| c.contains(&cpu))
    }
    /// All online CPU ids, ascending.
    pub fn online(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.cpus.concat();
        all.sort_unstable();
        all
    }
}

/// Distances row after row. Missing or impossible ones are 10 to itself and 20 elsewhere.
fn distances(nodes: &[Node]) -> Vec<u8> {
    let n = nodes.len();
    let at = |i: usize, j: usize| {
        let known = nodes[i].distance.get(j).copied().filter(|d| *d >= 10 && nodes[i].distance.len() == n);
        known.unwrap_or(if i == j { 10 } else { 20 })
    };
    (0..n * n).map(|k| at(k / n, k % n)).collect()
}

/// Number of CPUs of the node that share the last-level cache of its first CPU; all of them if that is unknown.
fn llc_cpus(roots: &Roots, node: &Node) -> u32 {
    let all = node.cpus.len() as u32;
    let Some(first) = node.cpus.first() else { return 0 };
    let dir = roots.sys.join(format!("devices/system/cpu/cpu{first}/cache"));
    let level = |index: u32| {
        let dir = dir.join(format!("index{index}"));
        let level: u32 = read(&dir.join("level")).ok()?.trim().parse().ok()?;
        let shared = list(&read(&dir.join("shared_cpu_list")).ok()?)?;
        Some((level, shared.iter().filter(|c| node.cpus.contains(c)).count() as u32))
    };
    let entries = std::fs::read_dir(&dir).map(|d| d.count() as u32).unwrap_or(0).max(numbers_in(&dir).len() as u32);
    let last = (0..entries.min(16)).filter_map(level).max_by_key(|l| l.0);
    last.filter(|l| l.0 >= 2).map_or(all, |l| l.1.max(1))
}
