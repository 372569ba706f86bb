//! Memory traffic of last-level caches, as resctrl tells it (Documentation/filesystems/resctrl.rst): Intel RDT and AMD
//! QoS count the bytes that each cache exchanged with memory, and those of them with memory of its own node.
//!
//! The counts need the filesystem `resctrl` to be mounted, and `mbm_total_bytes` among its events. A group's count
//! includes its monitoring groups, so the sum over the root and all control groups is that of the machine.

use super::{list, read, Roots};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Bytes that the caches of a node have exchanged with memory since the counts began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// With any memory (`mbm_total_bytes`).
    pub total_bytes: u64,
    /// With memory of their own node (`mbm_local_bytes`); `None` if the processor does not count it.
    pub local_bytes: Option<u64>,
}

/// Traffic of the caches of each node, by the CPUs of the nodes.
///
/// # Errors
/// Why there are no counts, in a sentence.
pub fn traffic(roots: &Roots, cpus_of_nodes: &[&[u32]]) -> Result<Vec<Traffic>, String> {
    let root = roots.sys.join("fs/resctrl");
    if !root.join("mon_data").is_dir() {
        return Err(match root.join("schemata").exists() || root.join("info").exists() {
            true => "this processor counts none (no mon_data in resctrl)".into(),
            false => {
                "resctrl is not mounted (mount -t resctrl resctrl /sys/fs/resctrl, where the processor has it)".into()
            }
        });
    }
    let node_of = nodes_of_caches(roots, cpus_of_nodes);
    let lacks = |(n, cpus): (usize, &&[u32])| !cpus.is_empty() && !node_of.values().any(|&of| of == n);
    if cpus_of_nodes.iter().enumerate().any(lacks) {
        return Err("which cache is on which node cannot be told: nodes share one, or caches have no id".into());
    }
    let mut out = vec![Traffic { total_bytes: 0, local_bytes: Some(0) }; cpus_of_nodes.len()];
    let mut counted = false;
    for group in groups(&root) {
        for (cache, dir) in domains(&group.join("mon_data")) {
            let Some(of) = node_of.get(&cache).and_then(|&n| out.get_mut(n)) else { continue };
            let Some(total) = count(&dir.join("mbm_total_bytes")) else { continue };
            counted = true;
            of.total_bytes = of.total_bytes.saturating_add(total);
            let local = count(&dir.join("mbm_local_bytes"));
            of.local_bytes = of.local_bytes.zip(local).map(|(sum, more)| sum.saturating_add(more));
        }
    }
    match counted {
        true => Ok(out),
        false => Err("resctrl has no mbm_total_bytes that can be read".into()),
    }
}

/// The root group and all control groups.
fn groups(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten().map(|e| e.path());
    let mut out: Vec<PathBuf> =
        entries.filter(|p| p.join("mon_data").is_dir() && p.join("schemata").exists()).collect();
    out.sort();
    out.insert(0, root.to_path_buf());
    out
}

/// Caches of a group with their directories, `mon_L3_00` and so on.
fn domains(mon_data: &Path) -> Vec<(u32, PathBuf)> {
    let entries = std::fs::read_dir(mon_data).into_iter().flatten().flatten();
    let cache = |name: &str| name.strip_prefix("mon_L3_")?.parse().ok();
    let mut out: Vec<_> = entries.filter_map(|e| Some((cache(e.file_name().to_str()?)?, e.path()))).collect();
    out.sort();
    out
}

/// Place of the node of each L3 cache, by the cache's id.
fn nodes_of_caches(roots: &Roots, cpus_of_nodes: &[&[u32]]) -> BTreeMap<u32, usize> {
    let mut out = BTreeMap::new();
    for (node, cpus) in cpus_of_nodes.iter().enumerate() {
        for cpu in *cpus {
            let id = roots.sys.join(format!("devices/system/cpu/cpu{cpu}/cache/index3/id"));
            // A list of one number.
            if let Some(&[id]) = read(&id).ok().and_then(|t| list(&t)).as_deref() {
                out.entry(id).or_insert(node);
            }
        }
    }
    out
}

/// A count; `None` for `Unavailable`, `Error` and files that cannot be read.
fn count(path: &Path) -> Option<u64> {
    read(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn traffic_of_all_groups_by_node() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().join("proc"), sys: dir.path().join("sys") };
        let nodes: [&[u32]; 2] = [&[0, 1], &[2]];
        assert!(traffic(&roots, &nodes).unwrap_err().contains("not mounted"));
        let resctrl = roots.sys.join("fs/resctrl");
        write(resctrl.join("schemata"), "L3:0=fff;1=fff\n");
        assert!(traffic(&roots, &nodes).unwrap_err().contains("counts none"));
        for (cpu, cache) in [(0, 0), (1, 0), (2, 5)] {
            let id = format!("devices/system/cpu/cpu{cpu}/cache/index3/id");
            write(roots.sys.join(id), &format!("{cache}\n"));
        }
        let all_in_one: [&[u32]; 3] = [&[0], &[1], &[2]];
        write(resctrl.join("mon_data/mon_L3_00/llc_occupancy"), "7\n");
        assert!(traffic(&roots, &all_in_one).unwrap_err().contains("nodes share one"));
        let event = |group: &str, cache: u32, name: &str| {
            resctrl.join(group).join(format!("mon_data/mon_L3_{cache:02}/{name}"))
        };
        write(event("", 0, "mbm_total_bytes"), "Unavailable\n");
        assert!(traffic(&roots, &nodes).unwrap_err().contains("mbm_total_bytes"));
        write(event("", 0, "mbm_total_bytes"), "1000\n");
        write(event("", 0, "mbm_local_bytes"), "700\n");
        write(event("", 5, "mbm_total_bytes"), "50\n");
        // A control group counts for itself, its monitoring groups are in its count.
        write(resctrl.join("db/schemata"), "L3:0=f;1=f\n");
        write(event("db", 0, "mbm_total_bytes"), "10\n");
        write(event("db", 0, "mbm_local_bytes"), "1\n");
        write(event("db/mon_groups/x", 0, "mbm_total_bytes"), "9\n");
        // Caches of CPUs that belong to no node are left out.
        write(event("", 9, "mbm_total_bytes"), "99999\n");
        let got = traffic(&roots, &nodes).unwrap();
        assert_eq!(got[0], Traffic { total_bytes: 1010, local_bytes: Some(701) });
        assert_eq!(got[1], Traffic { total_bytes: 50, local_bytes: None });
    }
}
