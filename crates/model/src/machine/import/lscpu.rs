//! The summary of `lscpu` as a source, as text or JSON (`lscpu -J`).
//!
//! Problem: the summary says how many cores, sockets and caches there are, but not which CPUs share them, nor memory
//! sizes or distances. Versions differ in how they write caches, and a terminal gets other names than a file.
//! Approach: a summary becomes fields by name. Threads are assumed to be numbered as in [`super::siblings`], caches to
//! be runs of cores.
//! Units: cache sizes of 1024 bytes, clocks MHz.

use super::found::{Found, FoundNode};
use super::siblings::{self, Numbering};
use crate::machine::{cpulist, size, MAX_NODES};
use crate::spec::{clip, SpecError};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const EXPECTED: &str = "the output of `lscpu`";

/// A field of the summary: its first value with its line, and whether it comes again, as for each kind of core of an
/// Arm machine.
struct Field {
    line: usize,
    value: String,
    again: bool,
}

#[derive(Default)]
struct Fields(BTreeMap<String, Field>);

impl Fields {
    fn add(&mut self, key: &str, line: usize, value: &str) {
        let fresh = || Field { line, value: value.trim().into(), again: false };
        let key = key.trim().trim_end_matches(':');
        self.0.entry(key.into()).and_modify(|f| f.again = true).or_insert_with(fresh);
    }
    fn get(&self, key: &str) -> Option<&Field> {
        self.0.get(key).filter(|f| f.value != "-" && !f.value.is_empty())
    }
    /// The caches of a level: `L3 cache` in a file, `L3` on a terminal, `L2d` where instructions have their own.
    fn caches(&self, level: u8) -> Option<Told> {
        let names = [format!("L{level} cache"), format!("L{level}"), format!("L{level}d cache"), format!("L{level}d")];
        names.iter().find_map(|name| Told::parse(&self.get(name)?.value))
    }
}

/// What a summary says of the caches of a level, bytes.
#[derive(Clone, Copy)]
enum Told {
    /// The size of one: `16384K`.
    One(u64),
    /// The size of all together, and their number: `256 MiB (16 instances)`.
    All(u64, usize),
    /// The size of all together: `256 MiB`, or bytes without a unit.
    Sum(u64),
}

impl Told {
    fn parse(text: &str) -> Option<Self> {
        let (amount, rest) = text.split_once('(').unwrap_or((text, ""));
        let amount = amount.trim();
        let (number, unit) = amount.split_at(amount.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(amount.len()));
        let scale = match unit {
            "" | "B" => 1.0,
            "K" | "KiB" | "KB" => 1024.0,
            "M" | "MiB" | "MB" => 1_048_576.0,
            "G" | "GiB" | "GB" => 1_073_741_824.0,
            _ => return None,
        };
        let bytes = number.trim().parse::<f64>().ok()? * scale;
        if !(1.0..=size::MAX_BYTES as f64).contains(&bytes) {
            return None;
        }
        let bytes = bytes.round() as u64;
        let instances = rest.split_whitespace().next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
        Some(match instances {
            Some(n) => Self::All(bytes, n),
            // One letter right after the number is how one cache is written.
            None if unit.len() == 1 && number.ends_with(|c: char| c.is_ascii_digit()) => Self::One(bytes),
            None => Self::Sum(bytes),
        })
    }
}

/// Fields by which the summary is known.
pub(super) const KEYS: [&str; 3] = ["CPU(s):", "On-line CPU(s) list:", "Thread(s) per core:"];

/// Whether a text has lines of the summary.
pub(super) fn is_summary(text: &str) -> bool {
    let has = |key: &str| text.lines().any(|l| l.trim_start().starts_with(key));
    has("CPU(s):") && (has("Thread(s) per core:") || has("On-line CPU(s) list:") || has("NUMA node0 CPU(s):"))
}

/// Reads the summary.
///
/// # Errors
/// See [`super::lscpu`].
pub(super) fn summary(file: &str, text: &str) -> Result<Found, SpecError> {
    let mut fields = Fields::default();
    for (n, line) in text.lines().enumerate() {
        if let Some((key, value)) = line.split_once(':') {
            fields.add(key, n + 1, value);
        }
    }
    read(file, &fields)
}

/// Reads the summary as JSON, `value` being its list.
///
/// # Errors
/// See [`super::lscpu`].
pub(super) fn json(file: &str, value: &serde_json::Value) -> Result<Found, SpecError> {
    let mut fields = Fields::default();
    // In the order of the text, so that the first of several fields counts here too.
    let mut todo: Vec<&serde_json::Value> = value.as_array().into_iter().flatten().rev().collect();
    while let Some(entry) = todo.pop() {
        if let (Some(key), Some(data)) = (entry["field"].as_str(), entry["data"].as_str()) {
            fields.add(key, 0, data);
        }
        todo.extend(entry["children"].as_array().into_iter().flatten().rev());
    }
    read(file, &fields)
}

/// The machine of the fields.
fn read(file: &str, fields: &Fields) -> Result<Found, SpecError> {
    let get = |key: &str| fields.get(key);
    let refuse = |f: &Field, what: String, expected: &str| {
        let column = usize::from(f.line > 0);
        SpecError { line: f.line, column, ..SpecError::plain(file, what, expected) }
    };
    let number = |key: &str| match get(key) {
        None => Ok(None),
        Some(f) => match f.value.parse::<usize>() {
            Ok(n) if (1..=cpulist::MAX_COUNT).contains(&n) => Ok(Some(n)),
            _ => Err(refuse(f, format!("`{key}` is `{}`", clip(&f.value)), &counts())),
        },
    };
    let list = |key: &str| match get(key) {
        None => Ok(None),
        Some(f) => cpulist::parse(&f.value).map(Some).map_err(|why| refuse(f, why, "a list such as 0-7,64-71")),
    };
    let mut found = Found { source: "lscpu".into(), file: file.into(), ..Found::default() };
    let (told, cpus) = (list("On-line CPU(s) list")?, number("CPU(s)")?);
    let online = match (&told, cpus) {
        (Some(list), _) => list.clone(),
        (None, Some(n)) => (0..n as u32).collect(),
        (None, None) => return Err(SpecError::plain(file, "no `CPU(s)`", EXPECTED)),
    };
    let offline = list("Off-line CPU(s) list")?.unwrap_or_default();
    for key in fields.0.keys() {
        let id = key.strip_prefix("NUMA node").and_then(|k| k.strip_suffix(" CPU(s)")).and_then(|n| n.parse().ok());
        if let Some(id) = id {
            let cpus = list(key)?.unwrap_or_default();
            found.nodes.push(FoundNode { id, cpus, ..FoundNode::default() });
        }
        if found.nodes.len() > MAX_NODES {
            return Err(SpecError::plain(file, "too many nodes", format!("at most {MAX_NODES}")));
        }
    }
    let mut listed = None;
    if found.nodes.is_empty() {
        found.nodes.push(FoundNode { cpus: online, ..FoundNode::default() });
    } else {
        found.declared.nodes = number("NUMA node(s)")?;
        found.nodes.sort_by_key(|n| n.id);
        let with_offline: Vec<Vec<u32>> = found.nodes.iter().map(|n| n.cpus.clone()).collect();
        listed = leave_out(&mut found, &offline).then_some(with_offline);
        let lost = outside(&found, told.as_deref().unwrap_or_default());
        found.adopt(lost.into_iter().map(|cpus| (cpus, None)).collect(), &[]);
    }
    found.settle_nodes()?;
    (found.declared.cpus, found.declared.online, found.declared.offline) = (cpus, told, offline.clone());
    let text = |key: &str| get(key).map(|f| f.value.clone());
    found.model = text("Model name");
    let mhz = text("CPU max MHz").and_then(|t| t.parse::<f64>().ok());
    found.single_ghz = mhz.map(|m| m / 1000.0).filter(|g| *g > 0.0);
    let threads = number("Thread(s) per core")?;
    let books = [number("Socket(s) per book")?, number("Book(s) per drawer")?, number("Drawer(s)")?];
    let packages = number("Socket(s)")?.or_else(|| sockets_of_books(books));
    sockets(&mut found, packages);
    let several = ["Core(s) per socket", "Socket(s)"].iter().any(|k| get(k).is_some_and(|f| f.again));
    let cores = number("Core(s) per socket")?.zip(packages).map(|(each, sockets)| each * sockets);
    let near = text("Architecture").is_some_and(|a| a.starts_with("ppc64") || a.starts_with("s390"));
    let numbering = if near { Numbering::Near } else { Numbering::Unknown };
    found.declared.packages = packages;
    found.declared.cores_per_package = number("Core(s) per socket")?;
    found.declared.threads_per_core = threads;
    let own = (threads, cores.filter(|_| !several), numbering);
    found.declared.hybrid = several || found.is_hybrid(own.1);
    siblings::assume_with_offline(&mut found, own, &offline, listed);
    divide(&mut found);
    shared_caches(&mut found, fields);
    Ok(found)
}

/// What a number of CPUs or of what has them may be.
fn counts() -> String {
    format!("a whole number from 1 to {}", cpulist::MAX_COUNT)
}

/// Sockets of a machine that counts them by book and drawer; `None` if it does not.
fn sockets_of_books(levels: [Option<usize>; 3]) -> Option<usize> {
    let all: usize = levels.iter().map(|l| l.unwrap_or(1)).product();
    levels.iter().any(Option::is_some).then_some(all).filter(|n| *n <= cpulist::MAX_COUNT)
}

/// Takes CPUs that are offline out of the nodes. Returns whether the nodes list all of them.
fn leave_out(found: &mut Found, offline: &[u32]) -> bool {
    let mut gone: Vec<u32> = Vec::new();
    for node in &mut found.nodes {
        gone.extend(node.cpus.iter().filter(|c| offline.contains(c)));
        node.cpus.retain(|c| !offline.contains(c));
    }
    if !gone.is_empty() {
        gone.sort_unstable();
        found.doubt(format!("nodes list CPU {}, which is offline: left out", cpulist::format(&gone)));
    }
    !gone.is_empty() && gone.len() == offline.len()
}

/// The CPUs that no node lists, as one group, if there are any.
fn outside(found: &Found, online: &[u32]) -> Option<Vec<u32>> {
    let listed = |c: &u32| found.nodes.iter().any(|n| n.cpus.contains(c));
    let lost: Vec<u32> = online.iter().copied().filter(|c| !listed(c)).collect();
    let some = found.nodes.iter().any(|n| !n.cpus.is_empty());
    (some && !lost.is_empty()).then_some(lost)
}

/// Sets the size of an L2 and the last-level caches, if the fields have any.
fn shared_caches(found: &mut Found, fields: &Fields) {
    let count = (0..found.nodes.len()).map(|n| cores(found, n).len()).sum::<usize>().max(1);
    let l2 = fields.caches(2);
    found.l2_bytes = l2.map(|told| match told {
        Told::One(bytes) => bytes,
        Told::All(bytes, instances) => bytes / instances as u64,
        Told::Sum(bytes) => bytes / count as u64,
    });
    if let Some(last) = [4, 3, 2].into_iter().find_map(|level| fields.caches(level)) {
        runs(found, last);
        let sum = |told: Option<Told>| matches!(told, Some(Told::Sum(_)));
        if sum(l2) || sum(Some(last)) {
            found.caches_assumed = true;
            found.notes.push(
                "sizes of caches: the source has the sum of each level alone; one L2 for each core, one last-level cache \
                 for each socket of a node"
                    .into(),
            );
        }
    }
}

/// Cores of a node in order of their first CPU.
fn cores(found: &Found, node: usize) -> Vec<Vec<u32>> {
    let mut cores: Vec<Vec<u32>> = Vec::new();
    for cpu in &found.nodes[node].cpus {
        let core = found.sharing.get(cpu).map(|s| s.core.to_vec()).filter(|c| !c.is_empty());
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
        let what = format!("{sockets} sockets do not divide among {} nodes", with.len());
        found.notes.push(what);
    }
}

/// Divides the cores of each node into last-level caches: as many as are told, or one for each package of each node.
fn runs(found: &mut Found, told: Told) {
    let with = found.nodes.iter().filter(|n| !n.cpus.is_empty()).count().max(1);
    let packages = found.nodes.iter().map(|n| n.packages.len()).max().unwrap_or(1).max(1);
    let (each, bytes) = match told {
        Told::One(bytes) => (packages, bytes),
        Told::Sum(bytes) => (packages, bytes / (packages * with) as u64),
        Told::All(bytes, instances) if instances.is_multiple_of(with) => (instances / with, bytes / instances as u64),
        Told::All(bytes, instances) if with.is_multiple_of(instances) => {
            found.cache_notes.push("last-level caches across nodes, cut at the border of nodes".into());
            (1, bytes / with as u64)
        }
        Told::All(bytes, instances) => {
            found
                .cache_notes
                .push(format!("{instances} last-level caches do not divide among {with} nodes: one for each"));
            (1, bytes / instances as u64)
        }
    };
    if each > 1 {
        found.cache_notes.push("which cores share a last-level cache (the source does not tell): runs of cores".into());
    }
    for n in 0..found.nodes.len() {
        let cores = cores(found, n);
        let size = cores.len().div_ceil(each).max(1);
        for run in cores.chunks(size) {
            let mut llc: Vec<u32> = run.concat();
            llc.sort_unstable();
            let llc = Arc::new(llc);
            for cpu in llc.iter() {
                let s = found.sharing.entry(*cpu).or_default();
                (s.llc, s.llc_bytes) = (llc.clone(), Some(bytes).filter(|b| *b > 0));
            }
        }
    }
}
