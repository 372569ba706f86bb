//! The memory nodes of this machine.

use super::{file_error, Error};
use numalab_model::machine::cpulist;
use std::path::Path;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub id: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Free memory now, bytes.
    pub free_bytes: u64,
    /// Its CPUs.
    pub cpus: Vec<u32>,
}

/// The nodes below `root` that have memory, in the order of their ids. A kernel without NUMA has none.
///
/// # Errors
/// A file of a node cannot be read or understood.
pub fn with_memory(root: &Path) -> Result<Vec<Node>, Error> {
    let dir = root.join("sys/devices/system/node");
    let Ok(entries) = std::fs::read_dir(&dir) else { return Ok(Vec::new()) };
    let id = |name: std::ffi::OsString| name.to_str()?.strip_prefix("node")?.parse::<u32>().ok();
    let mut ids: Vec<u32> = entries.flatten().filter_map(|e| id(e.file_name())).collect();
    ids.sort_unstable();
    let nodes = ids.into_iter().map(|id| read(&dir.join(format!("node{id}")), id)).collect::<Result<Vec<_>, _>>()?;
    Ok(nodes.into_iter().filter(|n| n.memory_bytes > 0).collect())
}

fn read(dir: &Path, id: u32) -> Result<Node, Error> {
    let text = |name: &str| {
        let file = dir.join(name);
        std::fs::read_to_string(&file).map_err(|e| file_error(&file, e))
    };
    let meminfo = text("meminfo")?;
    let bytes = |key: &str| {
        let line = meminfo.lines().find(|l| l.split_whitespace().nth(2) == Some(key));
        line.and_then(|l| l.split_whitespace().nth(3)?.parse::<u64>().ok()).map_or(0, |kib| kib << 10)
    };
    let cpus =
        cpulist::parse(&text("cpulist")?).map_err(|e| Error::Machine(format!("{}/cpulist: {e}", dir.display())))?;
    Ok(Node { id, memory_bytes: bytes("MemTotal:"), free_bytes: bytes("MemFree:"), cpus })
}

/// The node with most free memory on which a program of that size fits, with a tenth of the node to spare.
pub fn roomiest(nodes: &[Node], memory_bytes: u64, threads: usize) -> Option<&Node> {
    let fits = |n: &&Node| memory_bytes <= n.free_bytes.saturating_sub(n.memory_bytes / 10) && threads <= n.cpus.len();
    nodes.iter().filter(fits).max_by_key(|n| n.free_bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn nodes_without_memory_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        for (id, kib, cpus) in [(0, 1 << 20, "0-1"), (1, 2 << 20, "2"), (2, 0, "3")] {
            let node = dir.path().join(format!("sys/devices/system/node/node{id}"));
            std::fs::create_dir_all(&node).unwrap();
            let text = format!("Node {id} MemTotal:  {kib} kB\nNode {id} MemFree: {kib} kB\n");
            std::fs::write(node.join("meminfo"), text).unwrap();
            std::fs::write(node.join("cpulist"), format!("{cpus}\n")).unwrap();
        }
        let nodes = with_memory(dir.path()).unwrap();
        assert_eq!(nodes.iter().map(|n| n.id).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(roomiest(&nodes, 1 << 29, 1).unwrap().id, 1);
        assert_eq!(roomiest(&nodes, 1 << 29, 2).unwrap().id, 0, "node 1 has one CPU");
        assert_eq!(roomiest(&nodes, 4 << 30, 1), None);
        assert_eq!(with_memory(&dir.path().join("absent")).unwrap(), []);
    }
}
