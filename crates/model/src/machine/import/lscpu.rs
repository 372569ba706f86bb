//! `lscpu` as a source: its summary as text or JSON (`lscpu -J`), and its tables of CPUs (`lscpu -e`, `lscpu -p`).
//!
//! Problem: the summary says how many cores, sockets and caches there are, but not which CPUs share them; none of the
//! forms has memory sizes or distances.
//! Approach: a summary becomes fields by name. Threads are assumed to be numbered as in [`super::siblings`], caches to
//! be runs of cores. A table says for each CPU its core, socket, node and caches.
//! Units: cache sizes of 1024 bytes, clocks MHz.

use super::found::{Found, FoundNode, Sharing};
use super::siblings;
use crate::machine::{cpulist, size, MAX_NODES};
use crate::spec::{clip, SpecError};
use std::collections::{BTreeMap, BTreeSet};

const EXPECTED: &str = "the output of `lscpu`";

/// A field of the summary with its line.
struct Field {
    line: usize,
    value: String,
}

type Fields = BTreeMap<String, Field>;

/// Whether a text has lines of the summary.
pub(super) fn is_summary(text: &str) -> bool {
    let has = |key: &str| text.lines().any(|l| l.trim_start().starts_with(key));
    has("CPU(s):") && (has("Thread(s) per core:") || has("On-line CPU(s) list:") || has("NUMA node0 CPU(s):"))
}

/// Whether a text has the head of a table of CPUs.
pub(super) fn is_table(text: &str) -> bool {
    text.lines().any(|l| head(l).is_some())
}

/// Reads the summary.
///
/// # Errors
/// See [`super::lscpu`].
pub(super) fn summary(file: &str, text: &str) -> Result<Found, SpecError> {
    let mut fields = Fields::new();
    for (n, line) in text.lines().enumerate() {
        if let Some((key, value)) = line.split_once(':') {
            let field = Field { line: n + 1, value: value.trim().into() };
            fields.entry(key.trim().into()).or_insert(field);
        }
    }
    read(file, &fields)
}

/// Reads the summary as JSON.
///
/// # Errors
/// See [`super::lscpu`].
pub(super) fn json(file: &str, text: &str) -> Result<Found, SpecError> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|e| SpecError {
        line: e.line(),
        column: e.column(),
        ..SpecError::plain(file, "no JSON", "the output of `lscpu -J`")
    })?;
    let mut fields = Fields::new();
    let mut todo: Vec<&serde_json::Value> = value["lscpu"].as_array().into_iter().flatten().collect();
    while let Some(entry) = todo.pop() {
        todo.extend(entry["children"].as_array().into_iter().flatten());
        if let (Some(key), Some(data)) = (entry["field"].as_str(), entry["data"].as_str()) {
            let field = Field { line: 0, value: data.trim().into() };
            fields.entry(key.trim().trim_end_matches(':').into()).or_insert(field);
        }
    }
    if fields.is_empty() {
        return Err(SpecError::plain(file, "JSON without `lscpu`", "the output of `lscpu -J`"));
    }
    read(file, &fields)
}

/// The machine of the fields.
fn read(file: &str, fields: &Fields) -> Result<Found, SpecError> {
    let get = |key: &str| fields.get(key).filter(|f| f.value != "-" && !f.value.is_empty());
    let refuse = |f: &Field, what: String, expected: &str| {
        let column = usize::from(f.line > 0);
        SpecError { line: f.line, column, ..SpecError::plain(file, what, expected) }
    };
    let number = |key: &str| match get(key) {
        None => Ok(None),
        Some(f) => match f.value.parse::<usize>() {
            Ok(n) if (1..=cpulist::MAX_COUNT).contains(&n) => Ok(Some(n)),
            _ => Err(refuse(f, format!("`{key}` is `{}`", clip(&f.value)), "a whole number from 1 to 4096")),
        },
    };
    let list = |key: &str| match get(key) {
        None => Ok(None),
        Some(f) => cpulist::parse(&f.value).map(Some).map_err(|why| refuse(f, why, "a list such as 0-7,64-71")),
    };
    let mut found = Found { source: "lscpu".into(), file: file.into(), ..Found::default() };
    let online = match (list("On-line CPU(s) list")?, number("CPU(s)")?) {
        (Some(list), _) => list,
        (None, Some(n)) => (0..n as u32).collect(),
        (None, None) => return Err(SpecError::plain(file, "no `CPU(s)`", EXPECTED)),
    };
    for key in fields.keys() {
        let id = key.strip_prefix("NUMA node").and_then(|k| k.strip_suffix(" CPU(s)")).and_then(|n| n.parse().ok());
        if let Some(id) = id {
            let cpus = list(key)?.unwrap_or_default();
            found.nodes.push(FoundNode { id, cpus, ..FoundNode::default() });
        }
        if found.nodes.len() > MAX_NODES {
            return Err(SpecError::plain(file, "too many nodes", format!("at most {MAX_NODES}")));
        }
    }
    if found.nodes.is_empty() {
        found.nodes.push(FoundNode { cpus: online, ..FoundNode::default() });
    }
    found.settle_nodes()?;
    let text = |key: &str| get(key).map(|f| f.value.clone());
    found.model = text("Model name");
    let mhz = text("CPU max MHz").and_then(|t| t.parse::<f64>().ok());
    found.single_ghz = mhz.map(|m| m / 1000.0).filter(|g| *g > 0.0);
    let threads = number("Thread(s) per core")?;
    sockets(&mut found, number("Socket(s)")?);
    siblings::assume(&mut found, threads);
    divide(&mut found);
    let l2 = text("L2 cache").and_then(|t| caches(&t));
    found.l2_bytes = l2.map(|(bytes, instances)| bytes / instances.unwrap_or(1) as u64);
    let last = ["L4 cache", "L3 cache", "L2 cache"].iter().find_map(|k| text(k).and_then(|t| caches(&t)));
    match last {
        Some((bytes, Some(instances))) => runs(&mut found, bytes / instances as u64, instances),
        Some((bytes, None)) => runs(&mut found, bytes, 0),
        None => {}
    }
    Ok(found)
}

/// Size and number of instances of caches: `256 MiB (16 instances)` is all of them together, `16384K` is one.
fn caches(text: &str) -> Option<(u64, Option<usize>)> {
    let (amount, rest) = text.split_once('(').unwrap_or((text, ""));
    let split = amount.find(|c: char| c.is_ascii_alphabetic())?;
    let unit = match amount[split..].trim() {
        "B" => 1.0,
        "K" | "KiB" | "KB" => 1024.0,
        "M" | "MiB" | "MB" => 1_048_576.0,
        "G" | "GiB" | "GB" => 1_073_741_824.0,
        _ => return None,
    };
    let bytes = amount[..split].trim().parse::<f64>().ok()? * unit;
    let instances = rest.split_whitespace().next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
    (bytes >= 1.0 && bytes <= size::MAX_BYTES as f64).then_some((bytes.round() as u64, instances))
}

/// Cores of a node in order of their first CPU.
fn cores(found: &Found, node: usize) -> Vec<Vec<u32>> {
    let mut cores: Vec<Vec<u32>> = Vec::new();
    for cpu in &found.nodes[node].cpus {
        let core = found.sharing.get(cpu).map(|s| s.core.clone()).filter(|c| !c.is_empty());
        let core = core.unwrap_or_else(|| vec![*cpu]);
        if core.first() == Some(cpu) {
            cores.push(core);
        }
    }
    cores
}

/// Gives each CPU of a node with several packages its own: runs of cores.
fn divide(found: &mut Found) {
    for n in 0..found.nodes.len() {
        let packages = found.nodes[n].packages.clone();
        if packages.len() < 2 {
            continue;
        }
        let cores = cores(found, n);
        let each = cores.len().div_ceil(packages.len()).max(1);
        for (i, cpu) in cores.iter().enumerate().flat_map(|(i, c)| c.iter().map(move |cpu| (i, *cpu))) {
            found.sharing.entry(cpu).or_default().package = packages.get(i / each).copied();
        }
        found.packages_assumed = true;
    }
    if found.packages_assumed {
        found.notes.push("which cores are in which package (the source does not tell): runs of cores".into());
    }
}

/// Gives each node its socket: nodes and sockets are in the same order.
fn sockets(found: &mut Found, sockets: Option<usize>) {
    let with: Vec<usize> = (0..found.nodes.len()).filter(|&n| !found.nodes[n].cpus.is_empty()).collect();
    let Some(sockets) = sockets.filter(|s| *s > 0 && !with.is_empty()) else { return };
    if with.len() >= sockets && with.len().is_multiple_of(sockets) {
        let each = with.len() / sockets;
        for (i, &n) in with.iter().enumerate() {
            found.nodes[n].packages = vec![(i / each) as u32];
        }
    } else if sockets % with.len() == 0 {
        let each = sockets / with.len();
        for (i, &n) in with.iter().enumerate() {
            found.nodes[n].packages = (i * each..(i + 1) * each).map(|p| p as u32).collect();
        }
    } else {
        let what = format!("{sockets} sockets do not divide among {} nodes: one socket for each node", with.len());
        found.notes.push(what);
    }
}

/// Divides the cores of each node into last-level caches of `bytes` each: `instances` in all, or one for each package of
/// each node.
fn runs(found: &mut Found, bytes: u64, instances: usize) {
    let with = found.nodes.iter().filter(|n| !n.cpus.is_empty()).count().max(1);
    let packages = found.nodes.iter().map(|n| n.packages.len()).max().unwrap_or(1).max(1);
    let each = match instances / with {
        0 => packages,
        n if n * with == instances => n,
        _ => {
            found.notes.push(format!("{instances} last-level caches do not divide among {with} nodes: one for each"));
            1
        }
    };
    if each > 1 {
        found.notes.push("which cores share a last-level cache (the source does not tell): runs of cores".into());
    }
    for n in 0..found.nodes.len() {
        let cores = cores(found, n);
        let size = cores.len().div_ceil(each).max(1);
        for run in cores.chunks(size) {
            let mut llc: Vec<u32> = run.concat();
            llc.sort_unstable();
            for cpu in &llc {
                let s = found.sharing.entry(*cpu).or_default();
                (s.llc, s.llc_bytes) = (llc.clone(), Some(bytes).filter(|b| *b > 0));
            }
        }
    }
}

/// The columns of a table of CPUs, in lower case; caches are in one column (`L1d:L1i:L2:L3`) or at the end.
fn head(line: &str) -> Option<Vec<String>> {
    let line = line.trim().trim_start_matches('#').trim();
    let columns: Vec<String> = line.split([',', ' ']).filter(|c| !c.is_empty()).map(str::to_ascii_lowercase).collect();
    let named = |name: &str| columns.iter().any(|c| c == name);
    (columns.first().is_some_and(|c| c == "cpu") && named("core")).then_some(columns)
}

/// Reads a table of CPUs.
///
/// # Errors
/// See [`super::lscpu`].
pub(super) fn table(file: &str, text: &str) -> Result<Found, SpecError> {
    let mut found = Found { source: "lscpu".into(), file: file.into(), ..Found::default() };
    let mut columns = Vec::new();
    let mut nodes: BTreeMap<u32, (Vec<u32>, BTreeSet<u32>)> = BTreeMap::new();
    let (mut cores, mut caches): (BTreeMap<u32, Vec<u32>>, BTreeMap<u32, Vec<u32>>) = Default::default();
    let mut package_of: BTreeMap<u32, u32> = BTreeMap::new();
    for (n, line) in text.lines().enumerate() {
        if let Some(head) = head(line) {
            columns = head;
            continue;
        }
        let words: Vec<&str> = line.trim().split([',', ' ']).filter(|w| !w.is_empty()).collect();
        let row = words.first().is_some_and(|w| w.bytes().all(|b| b.is_ascii_digit()));
        if columns.is_empty() || !row || line.trim_start().starts_with('#') {
            continue;
        }
        let wrong = |word: &str| SpecError {
            line: n + 1,
            column: 1,
            ..SpecError::plain(file, format!("`{}` in a table of CPUs", clip(word)), EXPECTED)
        };
        let word = |name: &str| columns.iter().position(|c| c == name).and_then(|i| words.get(i).copied());
        let id = |word: Option<&str>| match word {
            None | Some("-" | "") => Ok(None),
            Some(w) => w.parse().ok().filter(|i| *i <= cpulist::MAX_ID).map(Some).ok_or_else(|| wrong(w)),
        };
        if word("online") == Some("no") {
            continue;
        }
        let Some(cpu) = id(word("cpu"))? else { continue };
        let node = nodes.entry(id(word("node"))?.unwrap_or(0)).or_default();
        node.0.push(cpu);
        let package = id(word("socket"))?;
        node.1.extend(package);
        package_of.extend(package.map(|p| (cpu, p)));
        id(word("core"))?.into_iter().for_each(|c| cores.entry(c).or_default().push(cpu));
        // The last column of caches is the outermost: of `L1d:L1i:L2:L3` in one column, or of several columns.
        let joined = columns.iter().position(|c| c.contains(':')).and_then(|i| words.get(i).copied());
        let last = joined.and_then(|j| j.rsplit(':').next()).or_else(|| word("l3")).or_else(|| word("l2"));
        id(last)?.into_iter().for_each(|c| caches.entry(c).or_default().push(cpu));
        if nodes.len() > MAX_NODES {
            return Err(wrong("too many nodes"));
        }
    }
    let shared = |sets: &BTreeMap<u32, Vec<u32>>| -> BTreeMap<u32, Vec<u32>> {
        let sorted = |s: &Vec<u32>| {
            let mut s = s.clone();
            s.sort_unstable();
            s
        };
        sets.values().flat_map(|s| s.iter().map(|c| (*c, sorted(s))).collect::<Vec<_>>()).collect()
    };
    let (core_of, cache_of) = (shared(&cores), shared(&caches));
    for (id, (cpus, packages)) in nodes {
        let of = |map: &BTreeMap<u32, Vec<u32>>, c: &u32| map.get(c).cloned().unwrap_or_default();
        for c in &cpus {
            let sharing = Sharing {
                core: of(&core_of, c),
                llc: of(&cache_of, c),
                llc_bytes: None,
                package: package_of.get(c).copied(),
            };
            found.sharing.insert(*c, sharing);
        }
        found.nodes.push(FoundNode { id, cpus, packages: packages.into_iter().collect(), ..FoundNode::default() });
    }
    found.settle_nodes()?;
    Ok(found)
}
