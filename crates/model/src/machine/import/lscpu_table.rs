//! Tables of CPUs as a source: `lscpu -e`, `lscpu -p`, and `lscpu -e -J`.
//!
//! Problem: columns are chosen by the user, are left empty (`-p`) or have a dash (`-e`), and the caches are in one
//! column or at the end. Rows of offline CPUs tell nothing.
//! Approach: a head names the columns, and each row is read by those names: core, socket, node and caches of a CPU.

use super::found::{Found, FoundNode, Sharing};
use super::lscpu::EXPECTED;
use crate::machine::{cpulist, MAX_CPUS, MAX_NODES};
use crate::spec::{clip, SpecError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Whether a text has the head of a table.
pub(super) fn is_table(text: &str) -> bool {
    text.lines().any(|l| head(l).is_some())
}

/// The columns of a table, in lower case, if a line is its head.
fn head(line: &str) -> Option<Vec<String>> {
    let line = line.trim().trim_start_matches('#').trim();
    let columns: Vec<String> = cells(line).map(str::to_ascii_lowercase).collect();
    let named = |name: &str| columns.iter().any(|c| c == name);
    (columns.first().is_some_and(|c| c == "cpu") && named("core")).then_some(columns)
}

/// The cells of a line. Between commas they may be empty.
fn cells(line: &str) -> impl Iterator<Item = &str> {
    let commas = line.contains(',');
    line.split(move |c: char| if commas { c == ',' } else { c.is_whitespace() })
        .map(str::trim)
        .filter(move |c| commas || !c.is_empty())
}

/// A row with its line, 0 if it has none.
struct Row {
    line: usize,
    cells: Vec<String>,
}

/// Reads a table.
///
/// # Errors
/// See [`super::lscpu`].
pub(super) fn text(file: &str, text: &str) -> Result<Found, SpecError> {
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    for (n, line) in text.lines().enumerate() {
        if let Some(head) = head(line) {
            columns = head;
            continue;
        }
        let line = line.trim();
        let cells: Vec<String> = cells(line).map(str::to_string).collect();
        let row = cells.first().is_some_and(|w| !w.is_empty() && w.bytes().all(|b| b.is_ascii_digit()));
        if !columns.is_empty() && row {
            rows.push(Row { line: n + 1, cells });
        }
    }
    read(file, &columns, &rows)
}

/// Reads a table as JSON, `value` being its list.
///
/// # Errors
/// See [`super::lscpu`].
pub(super) fn json(file: &str, value: &serde_json::Value) -> Result<Found, SpecError> {
    let list = value.as_array().map_or(&[][..], |l| l);
    let columns: BTreeSet<&String> = list.iter().filter_map(|r| r.as_object()).flat_map(|r| r.keys()).collect();
    let cell = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    };
    let row = |entry: &serde_json::Value| Row { line: 0, cells: columns.iter().map(|c| cell(&entry[c])).collect() };
    let rows: Vec<Row> = list.iter().map(row).collect();
    let columns: Vec<String> = columns.into_iter().map(|c| c.to_ascii_lowercase()).collect();
    read(file, &columns, &rows)
}

/// What the rows say.
#[derive(Default)]
struct Cpus {
    /// CPUs and packages of each node.
    nodes: BTreeMap<u32, (Vec<u32>, BTreeSet<u32>)>,
    /// CPUs of each core, by its package and number, and of each last-level cache. Physical numbers of cores (`-y`) are
    /// those inside a package.
    cores: BTreeMap<(Option<u32>, u32), Vec<u32>>,
    caches: BTreeMap<(Option<u32>, u32), Vec<u32>>,
    packages: BTreeMap<u32, u32>,
    offline: Vec<u32>,
}

fn read(file: &str, columns: &[String], rows: &[Row]) -> Result<Found, SpecError> {
    if rows.len() > MAX_CPUS {
        let what = format!("a table of {} CPUs", rows.len());
        return Err(SpecError::plain(file, what, format!("at most {MAX_CPUS}")));
    }
    let mut all = Cpus::default();
    for row in rows {
        all.row(file, columns, row)?;
    }
    let mut found = Found { source: "lscpu".into(), file: file.into(), ..Found::default() };
    let (core_of, cache_of) = (shared(&all.cores), shared(&all.caches));
    for (id, (cpus, packages)) in all.nodes {
        let of = |map: &BTreeMap<u32, Arc<Vec<u32>>>, c: &u32| map.get(c).cloned().unwrap_or_default();
        for c in &cpus {
            let package = all.packages.get(c).copied();
            let sharing = Sharing { core: of(&core_of, c), llc: of(&cache_of, c), llc_bytes: None, package };
            found.sharing.insert(*c, sharing);
        }
        found.nodes.push(FoundNode { id, cpus, packages: packages.into_iter().collect(), ..FoundNode::default() });
    }
    found.settle_nodes()?;
    if !all.offline.is_empty() {
        all.offline.sort_unstable();
        found.notes.push(format!("CPU {} is offline and left out", cpulist::format(&all.offline)));
    }
    Ok(found)
}

impl Cpus {
    fn row(&mut self, file: &str, columns: &[String], row: &Row) -> Result<(), SpecError> {
        let wrong = |word: &str| SpecError {
            line: row.line,
            column: usize::from(row.line > 0),
            ..SpecError::plain(file, format!("`{}` in a table of CPUs", clip(word)), EXPECTED)
        };
        let word =
            |name: &str| columns.iter().position(|c| c == name).and_then(|i| row.cells.get(i)).map(String::as_str);
        let id = |word: Option<&str>| match word {
            None | Some("-" | "") => Ok(None),
            Some(w) => w.parse().ok().filter(|i| *i <= cpulist::MAX_ID).map(Some).ok_or_else(|| wrong(w)),
        };
        let Some(cpu) = id(word("cpu"))? else { return Ok(()) };
        let off = word("online").is_some_and(|w| ["no", "n", "false"].contains(&w.to_ascii_lowercase().as_str()));
        let Some(core) = id(word("core"))?.filter(|_| !off) else {
            self.offline.push(cpu);
            return Ok(());
        };
        let node = self.nodes.entry(id(word("node"))?.unwrap_or(0)).or_default();
        node.0.push(cpu);
        let package = id(word("socket"))?;
        node.1.extend(package);
        self.packages.extend(package.map(|p| (cpu, p)));
        self.cores.entry((package, core)).or_default().push(cpu);
        // The last column of caches is the outermost: of `L1d:L1i:L2:L3` in one column, or of several columns.
        let joined = columns.iter().position(|c| c.contains(':')).and_then(|i| row.cells.get(i));
        let last = joined.and_then(|j| j.rsplit(':').next()).or_else(|| word("l3")).or_else(|| word("l2"));
        id(last)?.into_iter().for_each(|c| self.caches.entry((package, c)).or_default().push(cpu));
        match self.nodes.len() > MAX_NODES {
            true => Err(wrong("too many nodes")),
            false => Ok(()),
        }
    }
}

/// The set of each CPU, ascending.
fn shared<K>(sets: &BTreeMap<K, Vec<u32>>) -> BTreeMap<u32, Arc<Vec<u32>>> {
    let mut out = BTreeMap::new();
    for set in sets.values() {
        let mut sorted = set.clone();
        sorted.sort_unstable();
        let all = Arc::new(sorted);
        out.extend(set.iter().map(|c| (*c, all.clone())));
    }
    out
}
