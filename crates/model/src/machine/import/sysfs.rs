//! sysfs as a source: this host, or a copy of another host's `/sys/devices/system`.
//!
//! Problem: kernels, containers and virtual machines leave out different files.
//! Approach: only the CPUs are required. Anything else that is missing or unreadable becomes a note; contradictory
//! distances are an error. The files are read below a root folder, so copies and tests work as the host does.
//! Units of the files: kB of 1024 bytes, HMAT latency ns, HMAT bandwidth MiB/s, clocks kHz.

use super::found::{Found, FoundNode, Sharing};
use crate::machine::{cpulist, MAX_NODES};
use crate::spec::{clip, SpecError};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest file read, bytes; sysfs files are at most a page or two.
const MAX_BYTES: u64 = 1 << 20;

/// The files below a root folder.
struct Tree {
    root: PathBuf,
    system: PathBuf,
}

impl Tree {
    /// The text of a file, trimmed; `None` if it is missing, unreadable, empty or not text.
    fn text(&self, path: &Path) -> Option<String> {
        let mut text = String::new();
        std::fs::File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        let text = text.trim().to_string();
        (!text.is_empty()).then_some(text)
    }
    fn number(&self, path: &Path) -> Option<u64> {
        self.text(path)?.parse().ok()
    }
    fn list(&self, path: &Path) -> Option<Vec<u32>> {
        cpulist::parse(&self.text(path)?).ok()
    }
    /// Numbers N of the entries `prefixN` of a folder, ascending.
    fn numbered(&self, folder: &Path, prefix: &str) -> Vec<u32> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|e| e.file_name().into_string().ok());
        let mut ids: Vec<u32> = names.filter_map(|n| n.strip_prefix(prefix)?.parse().ok()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
    fn cpu(&self, cpu: u32) -> PathBuf {
        self.system.join(format!("cpu/cpu{cpu}"))
    }
    fn node(&self, node: u32) -> PathBuf {
        self.system.join(format!("node/node{node}"))
    }
}

/// Reads the machine below a root folder.
///
/// # Errors
/// See [`super::sysfs`].
pub(super) fn read(root: &Path) -> Result<Found, SpecError> {
    let file = root.display().to_string();
    let system = ["sys/devices/system", "devices/system"].map(|p| root.join(p)).into_iter().find(|p| p.is_dir());
    let Some(system) = system else {
        return Err(SpecError::plain(&file, "no `sys/devices/system` below it", "`/` or a copy of its sysfs"));
    };
    let tree = Tree { root: root.to_path_buf(), system };
    let mut found = Found { source: "sysfs".into(), file, ..Found::default() };
    let online = match tree.list(&tree.system.join("cpu/online")) {
        Some(list) => list,
        None => tree.numbered(&tree.system.join("cpu"), "cpu"),
    };
    read_nodes(&tree, &online, &mut found);
    found.settle_nodes()?;
    read_distances(&tree, &mut found)?;
    for node in 0..found.nodes.len() {
        read_hmat(&tree, node, &mut found);
    }
    for n in found.nodes.clone() {
        for cpu in n.cpus {
            let sharing = read_sharing(&tree, cpu, &mut found.l2_bytes);
            found.sharing.insert(cpu, sharing);
        }
    }
    let first = found.nodes.iter().flat_map(|n| n.cpus.first()).next().copied().unwrap_or(0);
    let ghz = |name: &str| tree.number(&tree.cpu(first).join("cpufreq").join(name)).map(|khz| khz as f64 / 1e6);
    found.base_ghz = ghz("base_frequency").filter(|g| *g > 0.0 && *g <= 20.0);
    found.single_ghz = ghz("cpuinfo_max_freq").filter(|g| *g > 0.0 && *g <= 20.0);
    found.model = model(&tree);
    if found.sharing.values().all(|s| s.llc.is_empty()) {
        found.notes.push("one last-level cache for each node (no cache files)".into());
    }
    if found.sharing.values().all(|s| s.core.is_empty()) {
        found.notes.push("one thread per core (no topology files)".into());
    }
    Ok(found)
}

/// Reads the nodes with their CPUs and memory; one node with all CPUs if there are no node files.
fn read_nodes(tree: &Tree, online: &[u32], found: &mut Found) {
    let folder = tree.system.join("node");
    let present = tree.numbered(&folder, "node");
    let ids: Vec<u32> = match tree.list(&folder.join("online")) {
        Some(ids) => ids.into_iter().filter(|i| present.contains(i)).collect(),
        None => present,
    };
    if ids.is_empty() {
        found.notes.push("a single node of all CPUs (no node files)".into());
        let memory = meminfo(tree, &tree.root.join("proc/meminfo"));
        let socket = online.first().and_then(|&c| package(tree, c));
        found.nodes.push(FoundNode { socket, cpus: online.to_vec(), memory_bytes: memory, ..FoundNode::default() });
        return;
    }
    // Too many nodes are refused later, but a million folders need not be read before.
    for id in ids.into_iter().take(MAX_NODES + 1) {
        let path = tree.node(id);
        let mut cpus = tree.list(&path.join("cpulist")).unwrap_or_default();
        cpus.retain(|c| online.binary_search(c).is_ok());
        let memory_bytes = meminfo(tree, &path.join("meminfo"));
        if memory_bytes.is_none() {
            found.notes.push(format!("memory of node {id} (no meminfo)"));
        }
        let socket = cpus.first().and_then(|&c| package(tree, c));
        let tier = tier(tree, id);
        found.nodes.push(FoundNode { id, socket, cpus, memory_bytes, tier, ..FoundNode::default() });
    }
}

fn package(tree: &Tree, cpu: u32) -> Option<u32> {
    let id = tree.number(&tree.cpu(cpu).join("topology/physical_package_id"))?;
    u32::try_from(id).ok().filter(|i| *i <= cpulist::MAX_ID)
}

/// `MemTotal` of a meminfo file, bytes.
fn meminfo(tree: &Tree, path: &Path) -> Option<u64> {
    let text = tree.text(path)?;
    let line = text.lines().find(|l| l.contains("MemTotal:"))?;
    let kb: u64 = line.split_whitespace().rev().nth(1)?.parse().ok()?;
    kb.checked_mul(1024).filter(|b| *b <= crate::machine::size::MAX_BYTES)
}

/// Rank of the memory tier of a node; 0 is the fastest.
fn tier(tree: &Tree, node: u32) -> Option<u8> {
    let folder = tree.system.parent()?.join("virtual/memory_tiering");
    let tiers = tree.numbered(&folder, "memory_tier");
    let lists = tiers.iter().map(|t| tree.list(&folder.join(format!("memory_tier{t}/nodelist"))).unwrap_or_default());
    let rank = lists.filter(|l| !l.is_empty()).position(|l| l.contains(&node))?;
    u8::try_from(rank).ok()
}

fn read_distances(tree: &Tree, found: &mut Found) -> Result<(), SpecError> {
    let ids: Vec<u32> = found.nodes.iter().map(|n| n.id).collect();
    let mut rows = Vec::new();
    for &from in &ids {
        let path = tree.node(from).join("distance");
        let Some(text) = tree.text(&path) else { return Ok(()) };
        let file = path.display().to_string();
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() != ids.len() {
            let what = format!("{} distances for {} nodes", words.len(), ids.len());
            return Err(SpecError::plain(&file, what, "one distance for each online node"));
        }
        let mut row = Vec::new();
        for (word, &to) in words.iter().zip(&ids) {
            let value = word.parse().map_err(|_| format!("`{}` is not a distance", clip(word)));
            let distance = value.and_then(|v| Found::distance_value(v, from, to));
            row.push(distance.map_err(|why| SpecError {
                line: 1,
                column: 1,
                ..SpecError::plain(&file, why, "10 to 254")
            })?);
        }
        rows.push(row);
    }
    found.distance = Some(rows);
    Ok(())
}

/// Reads latency and bandwidth of a node for its nearest CPUs as the HMAT states them. Access class 1 has CPUs only;
/// class 0, the fallback, has other initiators too.
fn read_hmat(tree: &Tree, node: usize, found: &mut Found) {
    let folder = tree.node(found.nodes[node].id);
    let access = ["access1/initiators", "access0/initiators"].map(|a| folder.join(a));
    let Some(access) = access.into_iter().find(|a| tree.number(&a.join("read_latency")).is_some_and(|n| n > 0)) else {
        return;
    };
    let positive = |name: &str| tree.number(&access.join(name)).filter(|n| *n > 0);
    if let Some(mib) = positive("read_bandwidth") {
        found.nodes[node].gbps = Some(mib as f64 * 1_048_576.0 / 1e9).filter(|g| *g < 1e5);
    }
    let initiators = tree.numbered(&access, "node");
    let Some(ns) = positive("read_latency").filter(|ns| *ns <= 1_000_000) else { return };
    for (i, n) in found.nodes.iter().enumerate() {
        if initiators.contains(&n.id) && !n.cpus.is_empty() {
            found.latency_ns.insert((i, node), ns as f64);
        }
    }
}

/// Siblings and last-level cache of a CPU. It also sets `l2_bytes` if that is not known yet.
fn read_sharing(tree: &Tree, cpu: u32, l2_bytes: &mut Option<u64>) -> Sharing {
    let folder = tree.cpu(cpu);
    let siblings = ["topology/core_cpus_list", "topology/thread_siblings_list"];
    let core = siblings.iter().find_map(|p| tree.list(&folder.join(p))).unwrap_or_default();
    let mut last: Option<(u64, PathBuf)> = None;
    for index in tree.numbered(&folder.join("cache"), "index").into_iter().take(16) {
        let path = folder.join(format!("cache/index{index}"));
        let data = tree.text(&path.join("type")).is_none_or(|t| t != "Instruction");
        let Some(level) = tree.number(&path.join("level")).filter(|_| data) else { continue };
        if level == 2 && l2_bytes.is_none() {
            *l2_bytes = cache_size(tree, &path);
        }
        if level >= 2 && last.as_ref().is_none_or(|(l, _)| level > *l) {
            last = Some((level, path));
        }
    }
    let Some((_, path)) = last else { return Sharing { core, ..Sharing::default() } };
    let llc = tree.list(&path.join("shared_cpu_list")).unwrap_or_default();
    Sharing { core, llc, llc_bytes: cache_size(tree, &path) }
}

/// Size of a cache, such as `32768K`, in bytes.
fn cache_size(tree: &Tree, path: &Path) -> Option<u64> {
    let text = tree.text(&path.join("size"))?;
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    let bytes = number.parse::<u64>().ok()?.checked_mul(unit)?;
    (bytes <= crate::machine::size::MAX_BYTES).then_some(bytes)
}

/// CPU model from `proc/cpuinfo`, if the root folder has that file.
fn model(tree: &Tree) -> Option<String> {
    let text = tree.text(&tree.root.join("proc/cpuinfo"))?;
    let line = text.lines().find(|l| l.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}
