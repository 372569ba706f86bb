//! Memory nodes: their CPUs, memory, distances and allocation counters.

use super::{list, read, Roots};
use std::collections::BTreeMap;

/// A memory node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Id, as in `nodeN`.
    pub id: u32,
    /// Online CPUs.
    pub cpus: Vec<u32>,
    /// Memory, bytes.
    pub total_bytes: u64,
    /// Free memory, bytes.
    pub free_bytes: u64,
    /// Memory of files in the page cache, bytes.
    pub file_bytes: u64,
    /// Anonymous memory, bytes.
    pub anon_bytes: u64,
    /// Distances to all nodes in the order of their ids; empty if unknown.
    pub distance: Vec<u8>,
    /// Counters of `numastat` in pages: `numa_hit`, `numa_miss`, `local_node`, `other_node` and so on.
    pub numastat: BTreeMap<String, u64>,
    /// Counters and gauges of the node's `vmstat`.
    pub vmstat: BTreeMap<String, u64>,
}

/// All nodes, ascending by id. One that goes offline meanwhile is left out. A machine without NUMA has one node, made
/// of `/proc`'s figures; empty if nothing can be read.
pub fn all(roots: &Roots) -> Vec<Node> {
    let dir = roots.sys.join("devices/system/node");
    let ids = read(&dir.join("online")).ok().and_then(|t| list(&t)).unwrap_or_default();
    let place = |id: u32| Some(dir.join(format!("node{id}"))).filter(|place| place.is_dir());
    let nodes: Vec<Node> = ids.into_iter().take(1024).filter_map(|id| Some(node(&place(id)?, id))).collect();
    // A list that cannot be read now does not make one node of several.
    if nodes.is_empty() && !dir.exists() {
        return without_numa(roots).into_iter().collect();
    }
    nodes
}

fn node(dir: &std::path::Path, id: u32) -> Node {
    let text = |file: &str| read(&dir.join(file)).unwrap_or_default();
    let memory = meminfo(&text("meminfo"));
    let bytes = |key: &str| memory.get(key).copied().unwrap_or(0);
    Node {
        id,
        cpus: list(&text("cpulist")).unwrap_or_default(),
        total_bytes: bytes("MemTotal"),
        free_bytes: bytes("MemFree"),
        file_bytes: bytes("FilePages"),
        anon_bytes: bytes("AnonPages"),
        distance: text("distance").split_ascii_whitespace().map_while(|w| w.parse().ok()).collect(),
        numastat: counters(&text("numastat")),
        vmstat: counters(&text("vmstat")),
    }
}

fn without_numa(roots: &Roots) -> Option<Node> {
    let memory = meminfo(&read(&roots.proc.join("meminfo")).ok()?);
    let cpus = read(&roots.sys.join("devices/system/cpu/online")).ok().and_then(|t| list(&t)).unwrap_or_default();
    let bytes = |key: &str| memory.get(key).copied().unwrap_or(0);
    Some(Node {
        cpus,
        total_bytes: bytes("MemTotal"),
        free_bytes: bytes("MemFree"),
        file_bytes: bytes("Cached"),
        anon_bytes: bytes("AnonPages"),
        distance: vec![10],
        ..Node::default()
    })
}

/// Figures of a `meminfo`, of a node or of the machine, in bytes.
fn meminfo(text: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (key, value) = line.split_once(':')?;
        let kib: u64 = value.split_ascii_whitespace().next()?.parse().ok()?;
        // `Node 0 MemTotal` or `MemTotal`.
        Some((key.rsplit(' ').next()?.to_string(), kib.saturating_mul(1024)))
    };
    text.lines().filter_map(line).collect()
}

/// Lines of a name and a number.
fn counters(text: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_string(), value.trim().parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn nodes_with_their_figures_and_a_machine_without_numa() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().join("proc"), sys: dir.path().join("sys") };
        assert_eq!(all(&roots), []);
        fs::create_dir_all(&roots.proc).unwrap();
        fs::write(roots.proc.join("meminfo"), "MemTotal:  100 kB\nMemFree: 40 kB\n").unwrap();
        assert_eq!((all(&roots)[0].id, all(&roots)[0].free_bytes), (0, 40 << 10));
        let node = roots.sys.join("devices/system/node/node4");
        fs::create_dir_all(&node).unwrap();
        fs::write(roots.sys.join("devices/system/node/online"), "4\n").unwrap();
        fs::write(node.join("cpulist"), "0-1\n").unwrap();
        fs::write(node.join("meminfo"), "Node 4 MemTotal:   2048 kB\nNode 4 MemFree: x kB\nNode 4 AnonPages: 8 kB\n")
            .unwrap();
        fs::write(node.join("numastat"), "numa_hit 7\nother_node 2\nbogus\n").unwrap();
        fs::write(node.join("distance"), "10 21\n").unwrap();
        let n = &all(&roots)[0];
        assert_eq!((n.id, n.total_bytes, n.free_bytes, n.anon_bytes), (4, 2 << 20, 0, 8 << 10));
        assert_eq!((n.numastat["numa_hit"], n.numastat.len(), n.distance.as_slice()), (7, 2, &[10, 21][..]));
        assert_eq!(n.cpus, [0, 1]);
        // A node that is listed and has gone is none, and a list that cannot be read makes no other machine.
        fs::write(roots.sys.join("devices/system/node/online"), "4,7\n").unwrap();
        assert_eq!(all(&roots).iter().map(|n| n.id).collect::<Vec<_>>(), [4]);
        fs::write(roots.sys.join("devices/system/node/online"), "").unwrap();
        assert_eq!(all(&roots), []);
    }
}
