//! sysfs as a source: this host, or a copy of another host's `/sys/devices/system`.
//!
//! Problem: kernels, containers and virtual machines leave out different files, and old ones have masks in place of
//! lists.
//! Approach: only the CPUs are required. Anything else that is missing becomes a note, and so does a file that cannot
//! be understood; contradictory distances are an error. The files are read through a [`Tree`], so copies, archives and
//! tests work as the host does.
//! Units of the files: kB of 1024 bytes, HMAT latency ns, HMAT bandwidth MiB/s, clocks kHz.

use super::found::{Found, FoundNode, Sharing};
use super::tree::Tree;
use crate::machine::{cpulist, MemoryKind, MAX_NODES};
use crate::spec::{clip, SpecError};
use std::collections::{BTreeMap, BTreeSet};

/// Files that say which CPUs a node has, share a core, and share a cache: the newest form first.
const NODE_CPUS: [&str; 2] = ["cpulist", "cpumap"];
const CORE_CPUS: [&str; 4] = ["core_cpus_list", "thread_siblings_list", "core_cpus", "thread_siblings"];
const CACHE_CPUS: [&str; 2] = ["shared_cpu_list", "shared_cpu_map"];

/// Reads the machine of a tree; `file` is for messages.
///
/// # Errors
/// See [`super::sysfs`].
pub(super) fn read(tree: &Tree, file: String) -> Result<Found, SpecError> {
    let mut found = Found { source: "sysfs".into(), file, ..Found::default() };
    let online = online(tree, &mut found);
    let packages: BTreeMap<u32, u32> = online.iter().filter_map(|&c| Some((c, package(tree, c)?))).collect();
    read_nodes(tree, &online, &packages, &mut found)?;
    adopt_lost(&online, &packages, &mut found);
    found.settle_nodes()?;
    totals(tree, &online, &mut found);
    read_distances(tree, &mut found)?;
    for node in 0..found.nodes.len() {
        read_hmat(tree, node, &mut found);
    }
    read_dax(tree, &mut found);
    for n in found.nodes.clone() {
        for cpu in n.cpus {
            let sharing =
                Sharing { package: packages.get(&cpu).copied(), ..read_sharing(tree, cpu, &mut found.l2_bytes) };
            found.sharing.insert(cpu, sharing);
        }
    }
    let first = found.nodes.iter().flat_map(|n| n.cpus.first()).next().copied().unwrap_or(0);
    let ghz = |name: &str| tree.number(&cpu_file(tree, first, &format!("cpufreq/{name}"))).map(|khz| khz as f64 / 1e6);
    found.base_ghz = ghz("base_frequency").filter(|g| *g > 0.0);
    found.single_ghz = ghz("cpuinfo_max_freq").filter(|g| *g > 0.0);
    found.model = model(tree);
    if found.sharing.values().all(|s| s.llc.is_empty()) {
        found.cache_notes.push("one last-level cache for each node (no cache files)".into());
    }
    if found.sharing.values().all(|s| s.core.is_empty()) {
        found.sibling_notes.push("one thread per core (no topology files)".into());
    }
    found.notes.extend(tree.note());
    Ok(found)
}

/// The CPUs that are online: as `cpu/online` lists them, less those whose own file `online` says 0. CPU 0 often has no
/// such file, and copies of trees may lack the list.
fn online(tree: &Tree, found: &mut Found) -> Vec<u32> {
    let list = tree.list(&tree.system("cpu/online"));
    let all = list.clone().unwrap_or_else(|| tree.numbered(&tree.system("cpu"), "cpu"));
    let is_off = |cpu: &u32| tree.text(&cpu_file(tree, *cpu, "online")).is_some_and(|text| text == "0");
    let (off, on): (Vec<u32>, Vec<u32>) = all.into_iter().partition(is_off);
    if !off.is_empty() {
        let which = cpulist::format(&off);
        match list {
            None => found.notes.push(format!("CPU {which} is offline and left out")),
            Some(_) => found.doubt(format!("cpu/online lists CPU {which}, whose own file says offline: left out")),
        }
    }
    on
}

fn cpu_file(tree: &Tree, cpu: u32, file: &str) -> String {
    tree.system(&format!("cpu/cpu{cpu}/{file}"))
}

fn node_file(tree: &Tree, node: u32, file: &str) -> String {
    tree.system(&format!("node/node{node}/{file}"))
}

/// Reads the nodes with their CPUs and memory; one node with all CPUs if there are no node files.
///
/// # Errors
/// The files with the CPUs of a node cannot be understood.
fn read_nodes(tree: &Tree, online: &[u32], packages: &BTreeMap<u32, u32>, found: &mut Found) -> Result<(), SpecError> {
    let folder = tree.system("node");
    let present = tree.numbered(&folder, "node");
    let ids: Vec<u32> = match tree.list(&format!("{folder}/online")) {
        Some(ids) => ids.into_iter().filter(|i| present.contains(i)).collect(),
        None => present,
    };
    let packages_of = |cpus: &[u32]| -> Vec<u32> {
        let ids: BTreeSet<u32> = cpus.iter().filter_map(|c| packages.get(c).copied()).collect();
        ids.into_iter().collect()
    };
    if ids.is_empty() {
        found.notes.push("a single node of all CPUs (no node files)".into());
        let memory_bytes = meminfo(tree, "proc/meminfo");
        let packages = packages_of(online);
        found.nodes.push(FoundNode { packages, cpus: online.to_vec(), memory_bytes, ..FoundNode::default() });
        return Ok(());
    }
    // Too many nodes are refused later, but a million folders need not be read before.
    for id in ids.into_iter().take(MAX_NODES + 1) {
        let mut cpus = node_cpus(tree, id)?;
        cpus.retain(|c| online.binary_search(c).is_ok());
        let memory_bytes = meminfo(tree, &node_file(tree, id, "meminfo"));
        if memory_bytes.is_none() {
            found.notes.push(format!("memory of node {id} (no meminfo)"));
        }
        let tier = tier(tree, id);
        found.nodes.push(FoundNode {
            id,
            packages: packages_of(&cpus),
            cpus,
            memory_bytes,
            tier,
            ..FoundNode::default()
        });
    }
    Ok(())
}

/// Totals of the machine beside its nodes. The kernel keeps up to a tenth of memory out of `MemTotal` of nodes or of
/// the machine, so less than that is no contradiction.
fn totals(tree: &Tree, online: &[u32], found: &mut Found) {
    found.declared.online = Some(online.to_vec());
    if found.nodes.len() > 1 && tree.has("proc/meminfo") {
        found.declared.memory = meminfo(tree, "proc/meminfo").map(|bytes| (bytes, 0.1, "/proc/meminfo"));
    }
    let ids: Vec<u32> = found.nodes.iter().map(|n| n.id).filter(|id| !found.adopted.contains(id)).collect();
    let online_nodes = tree.list(&tree.system("node/online"));
    found.declared.node_ids = online_nodes.filter(|_| ids != [0]);
    for (file, of) in [("has_memory", true), ("has_cpu", false)] {
        let Some(told) = tree.list(&tree.system(&format!("node/{file}"))) else { continue };
        let has = |n: &&FoundNode| if of { n.memory_bytes != Some(0) } else { !n.cpus.is_empty() };
        let own: Vec<u32> = found.nodes.iter().filter(has).map(|n| n.id).filter(|id| ids.contains(id)).collect();
        if told != own {
            let (said, read) = (cpulist::format(&told), cpulist::format(&own));
            found.doubt(format!("node/{file} lists {said}, and the nodes themselves say {read}"));
        }
    }
}

/// CPUs of a node: from its list, its mask, or its links to CPUs.
fn node_cpus(tree: &Tree, id: u32) -> Result<Vec<u32>, SpecError> {
    let folder = tree.system(&format!("node/node{id}"));
    if let Some(cpus) = tree.cpus(&folder, &NODE_CPUS) {
        return Ok(cpus);
    }
    let said = NODE_CPUS.iter().map(|f| format!("{folder}/{f}")).find(|path| tree.text(path).is_some());
    match said {
        Some(path) => {
            let what = format!("`{}` are no CPUs", clip(&tree.text(&path).unwrap_or_default()));
            Err(SpecError::plain(&tree.place(&path), what, "a list such as 0-7,64-71"))
        }
        None => Ok(tree.numbered(&folder, "cpu")),
    }
}

/// Gives CPUs that no node lists a node of their own, one for each package.
fn adopt_lost(online: &[u32], packages: &BTreeMap<u32, u32>, found: &mut Found) {
    let listed: BTreeSet<u32> = found.nodes.iter().flat_map(|n| n.cpus.iter().copied()).collect();
    let mut lost: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
    for cpu in online.iter().filter(|c| !listed.contains(c)) {
        lost.entry(packages.get(cpu).copied()).or_default().push(*cpu);
    }
    if listed.is_empty() && found.nodes.len() == 1 {
        found.nodes[0].cpus = online.to_vec();
        return;
    }
    found.adopt(lost.into_iter().map(|(package, cpus)| (cpus, package)).collect(), &[]);
}

fn package(tree: &Tree, cpu: u32) -> Option<u32> {
    let path = cpu_file(tree, cpu, "topology/physical_package_id");
    // Kernels that do not know the package write -1.
    if tree.text(&path)? == "-1" {
        return None;
    }
    tree.number(&path).and_then(|id| u32::try_from(id).ok()).filter(|i| *i <= cpulist::MAX_ID)
}

/// `MemTotal` of a meminfo file, bytes.
fn meminfo(tree: &Tree, path: &str) -> Option<u64> {
    let text = tree.text(path)?;
    let total = || {
        let line = text.lines().find(|l| l.contains("MemTotal:"))?;
        let kb: u64 = line.split_whitespace().rev().nth(1)?.parse().ok()?;
        kb.checked_mul(1024).filter(|b| *b <= crate::machine::size::MAX_BYTES)
    };
    let total = total();
    if total.is_none() {
        tree.problem(path, "no `MemTotal: N kB`");
    }
    total
}

/// Rank of the memory tier of a node; 0 is the fastest.
fn tier(tree: &Tree, node: u32) -> Option<u8> {
    let folder = tree.sys("devices/virtual/memory_tiering");
    let tiers = tree.numbered(&folder, "memory_tier");
    let lists = tiers.iter().map(|t| tree.list(&format!("{folder}/memory_tier{t}/nodelist")).unwrap_or_default());
    let rank = lists.filter(|l| !l.is_empty()).position(|l| l.contains(&node))?;
    u8::try_from(rank).ok()
}

fn read_distances(tree: &Tree, found: &mut Found) -> Result<(), SpecError> {
    let ids: Vec<u32> = found.nodes.iter().map(|n| n.id).collect();
    // A node that was made for CPUs outside any node has no files and no column.
    let columns: Vec<u32> = ids.iter().copied().filter(|id| !found.adopted.contains(id)).collect();
    let mut rows = Vec::new();
    for &from in &ids {
        let path = node_file(tree, from, "distance");
        let Some(text) = tree.text(&path) else {
            rows.push(vec![None; ids.len()]);
            continue;
        };
        let file = tree.place(&path);
        let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c == '\0').filter(|w| !w.is_empty()).collect();
        if words.len() != columns.len() {
            let what = format!("{} distances for {} nodes", words.len(), columns.len());
            return Err(SpecError::plain(&file, what, "one distance for each online node"));
        }
        let mut row = vec![None; ids.len()];
        for (word, to) in words.iter().zip(&columns) {
            let value = word.parse().map_err(|_| format!("`{}` is not a distance", clip(word)));
            let distance = value.and_then(|v| Found::distance_value(v, from, *to));
            let at = |why| SpecError { line: 1, column: 1, ..SpecError::plain(&file, why, "10 to 254") };
            if let Ok(place) = ids.binary_search(to) {
                row[place] = distance.map_err(at)?;
            }
        }
        rows.push(row);
    }
    if rows.iter().flatten().any(Option::is_some) {
        found.distance = Some(rows);
    }
    Ok(())
}

/// Reads latency and bandwidth of a node for its nearest CPUs as the HMAT states them. Access class 1 has CPUs only;
/// class 0, the fallback, has other initiators too.
fn read_hmat(tree: &Tree, node: usize, found: &mut Found) {
    let id = found.nodes[node].id;
    let access = ["access1/initiators", "access0/initiators"].map(|a| node_file(tree, id, a));
    let latency = |a: &String| tree.number(&format!("{a}/read_latency")).is_some_and(|n| n > 0);
    let Some(access) = access.into_iter().find(latency) else {
        return;
    };
    let positive = |name: &str| tree.number(&format!("{access}/{name}")).filter(|n| *n > 0);
    let gbps = |name: &str| positive(name).map(|mib| mib as f64 * 1_048_576.0 / 1e9);
    found.nodes[node].gbps = gbps("read_bandwidth");
    found.nodes[node].write_gbps = gbps("write_bandwidth");
    let initiators = tree.numbered(&access, "node");
    let Some(ns) = positive("read_latency").filter(|ns| *ns <= 1_000_000) else { return };
    for (i, n) in found.nodes.iter().enumerate() {
        if initiators.contains(&n.id) && !n.cpus.is_empty() {
            found.latency_ns.insert((i, node), ns as f64);
        }
    }
}

/// Reads what the drivers of memory devices say: memory behind a CXL bus, or on an NVDIMM bus.
fn read_dax(tree: &Tree, found: &mut Found) {
    let folder = tree.sys("bus/dax/devices");
    for device in tree.entries(&folder).into_iter().take(MAX_NODES) {
        let path = format!("{folder}/{device}");
        let Some(node) = tree.number(&format!("{path}/target_node")) else { continue };
        let to = tree.link(&path);
        let kind = match () {
            () if to.contains("cxl") => MemoryKind::Cxl,
            () if to.contains("ndbus") || to.contains("nfit") => MemoryKind::Optane,
            () => continue,
        };
        if let Some(n) = found.nodes.iter_mut().find(|n| u64::from(n.id) == node && n.cpus.is_empty()) {
            n.kind = Some(kind);
        }
    }
}

/// Siblings and last-level cache of a CPU. It also sets `l2_bytes` if that is not known yet.
fn read_sharing(tree: &Tree, cpu: u32, l2_bytes: &mut Option<u64>) -> Sharing {
    let core = tree.cpus(&cpu_file(tree, cpu, "topology"), &CORE_CPUS).unwrap_or_default().into();
    let folder = cpu_file(tree, cpu, "cache");
    let mut last: Option<(u64, String)> = None;
    for index in tree.numbered(&folder, "index").into_iter().take(16) {
        let path = format!("{folder}/index{index}");
        let data = tree.text(&format!("{path}/type")).is_none_or(|t| t != "Instruction");
        let Some(level) = tree.number(&format!("{path}/level")).filter(|_| data) else { continue };
        if level == 2 && l2_bytes.is_none() {
            *l2_bytes = cache_size(tree, &path);
        }
        if level >= 2 && last.as_ref().is_none_or(|(l, _)| level > *l) {
            last = Some((level, path));
        }
    }
    let Some((_, path)) = last else { return Sharing { core, ..Sharing::default() } };
    let llc = tree.cpus(&path, &CACHE_CPUS).unwrap_or_default().into();
    Sharing { core, llc, llc_bytes: cache_size(tree, &path), package: None }
}

/// Size of a cache, such as `32768K`, in bytes.
fn cache_size(tree: &Tree, path: &str) -> Option<u64> {
    let path = format!("{path}/size");
    let text = tree.text(&path)?;
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit {
        "" => Some(1),
        "K" => Some(1 << 10),
        "M" => Some(1 << 20),
        _ => None,
    };
    let bytes = unit.and_then(|u: u64| number.parse::<u64>().ok()?.checked_mul(u));
    let bytes = bytes.filter(|b| *b <= crate::machine::size::MAX_BYTES);
    if bytes.is_none() {
        tree.problem(&path, format!("`{}` is no size", clip(&text)));
    }
    bytes
}

/// CPU model from `proc/cpuinfo`, if the root has that file.
fn model(tree: &Tree) -> Option<String> {
    if !tree.has("proc/cpuinfo") {
        return None;
    }
    let text = tree.text("proc/cpuinfo")?;
    let line = text.lines().find(|l| l.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_string())
}
