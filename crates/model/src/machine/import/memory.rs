//! Sizes of nodes and memory modules: `numastat -m`, `numastat -p`, `/proc/zoneinfo`, `dmidecode -t memory`.
//!
//! Problem: each is a text for people, and tables of numastat are wrapped at the width of the terminal.
//! Approach: lines are known by their first words; a head of `Node 0  Node 1` says which columns follow.
//! Units of the texts: MB of 2^20 bytes, pages, MB or GB of 1024, MT/s.

use super::extra::{Dimms, Extra};
use super::form::Form;
use crate::machine::{cpulist, size, MAX_NODES};
use crate::spec::{clip, SpecError};
use std::collections::BTreeSet;

/// Base pages of most kernels, bytes; the text does not tell.
const PAGE_BYTES: u64 = 4096;
/// Most memory modules that are read.
const MAX_MODULES: usize = 4096;

/// Whether a line is the title of `numastat -m` or `numastat -p`.
pub(super) fn is_numastat(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("Per-node system memory usage") || line.starts_with("Per-node process memory usage")
}

/// Whether a line begins a zone of `/proc/zoneinfo`.
pub(super) fn is_zone(line: &str) -> bool {
    zone(line).is_some()
}

/// Whether a line is one of `dmidecode`.
pub(super) fn is_dmi(line: &str) -> bool {
    matches!(line.trim(), "Memory Device" | "Physical Memory Array") || line.starts_with("# dmidecode ")
}

/// The node of a line such as `Node 0, zone   Normal`.
fn zone(line: &str) -> Option<u32> {
    let (id, rest) = line.trim().strip_prefix("Node ")?.split_once(',')?;
    rest.trim_start().strip_prefix("zone ")?;
    id.trim().parse().ok().filter(|id| *id <= cpulist::MAX_ID)
}

/// Reads `numastat -m` or `numastat -p`.
///
/// # Errors
/// There is no node, there are too many, or a size is no number.
pub(super) fn numastat(file: &str, text: &str) -> Result<Extra, SpecError> {
    const EXPECTED: &str = "the output of `numastat -m` or `numastat -p`";
    let of_process = text.lines().any(|l| l.trim().starts_with("Per-node process memory usage"));
    let form = if of_process { Form::NumastatProcess } else { Form::NumastatMemory };
    let mut extra = Extra::new(form, file);
    let mut columns: Vec<Option<u32>> = Vec::new();
    let row = if of_process { "Total" } else { "MemTotal" };
    for (n, line) in text.lines().enumerate() {
        if let Some(head) = heads(line) {
            columns = head;
            columns.iter().flatten().for_each(|id| {
                extra.nodes.entry(*id).or_insert(None);
            });
        }
        let mut words = line.split_whitespace();
        // The head of a process begins with its id, and one of several processes has no sizes in the row of totals.
        if words.next() != Some(row) {
            continue;
        }
        for (column, word) in columns.iter().zip(words) {
            let mb = word.parse::<f64>().ok().map(|mb| mb * 1_048_576.0);
            let bytes = mb.filter(|b| (0.0..=size::MAX_BYTES as f64).contains(b)).ok_or_else(|| {
                let what = format!("`{}` is no size in MB", clip(word));
                SpecError { line: n + 1, column: 1, ..SpecError::plain(file, what, EXPECTED) }
            })?;
            let bytes = bytes.round() as u64;
            match column {
                Some(id) if of_process => {
                    *extra.used.entry(*id).or_default() += bytes;
                }
                Some(id) => {
                    extra.nodes.insert(*id, Some(bytes));
                }
                None if !of_process => extra.total_bytes = Some(bytes),
                None => {}
            }
        }
    }
    if extra.nodes.is_empty() || extra.nodes.len() > MAX_NODES {
        let what = format!("{} nodes", extra.nodes.len());
        return Err(SpecError { line: 1, column: 1, ..SpecError::plain(file, what, EXPECTED) });
    }
    Ok(extra)
}

/// The columns of a head such as `PID   Node 0   Node 1   Total`: nodes, and `None` for the total.
fn heads(line: &str) -> Option<Vec<Option<u32>>> {
    let mut words = line.split_whitespace().skip_while(|w| *w != "Node").peekable();
    words.peek()?;
    let mut out = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "Node" => out.push(Some(words.next()?.parse().ok().filter(|id| *id <= cpulist::MAX_ID)?)),
            "Total" => out.push(None),
            _ => return None,
        }
    }
    Some(out)
}

/// Reads `/proc/zoneinfo`.
///
/// # Errors
/// A number of pages is none, or there are too many nodes.
pub(super) fn zoneinfo(file: &str, text: &str) -> Result<Extra, SpecError> {
    let mut extra = Extra::new(Form::Zoneinfo, file);
    let mut node = None;
    for (n, line) in text.lines().enumerate() {
        let wrong = |what: String| SpecError {
            line: n + 1,
            column: 1,
            ..SpecError::plain(file, what, "the contents of /proc/zoneinfo")
        };
        node = zone(line).or(node);
        let mut words = line.split_whitespace();
        if words.next() != Some("managed") {
            continue;
        }
        let (Some(id), Some(word)) = (node, words.next()) else { continue };
        let bytes = word.parse::<u64>().ok().and_then(|pages| pages.checked_mul(PAGE_BYTES));
        let bytes = bytes.filter(|b| *b <= size::MAX_BYTES).ok_or_else(|| wrong(format!("`{}` pages", clip(word))))?;
        let own = extra.nodes.entry(id).or_insert(Some(0));
        *own = own.and_then(|o| o.checked_add(bytes));
        if extra.nodes.len() > MAX_NODES {
            return Err(wrong(format!("more than {MAX_NODES} nodes")));
        }
    }
    if extra.nodes.is_empty() {
        let what = "no zone with managed pages";
        return Err(SpecError { line: 1, column: 1, ..SpecError::plain(file, what, "the contents of /proc/zoneinfo") });
    }
    extra.notes.push("pages of 4 KiB in /proc/zoneinfo (it does not tell)".into());
    Ok(extra)
}

/// A memory module.
#[derive(Default)]
struct Module {
    bytes: Option<u64>,
    /// Transfers a second, millions: as configured, else the greatest.
    configured_mts: Option<f64>,
    mts: Option<f64>,
    data_bits: Option<f64>,
    locator: String,
    bank: String,
}

/// Reads `dmidecode -t memory`.
///
/// # Errors
/// No module is described, or there are too many.
pub(super) fn dmidecode(file: &str, text: &str) -> Result<Extra, SpecError> {
    const EXPECTED: &str = "the output of `dmidecode -t memory`, as root";
    let mut modules: Vec<Module> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed == "Memory Device" {
            inside = true;
            modules.push(Module::default());
        } else if trimmed.is_empty() || trimmed.starts_with("Handle ") {
            inside = false;
        }
        let Some(module) = modules.last_mut().filter(|_| inside) else { continue };
        let Some((key, value)) = trimmed.split_once(':') else { continue };
        let value = value.trim();
        let first = || value.split_whitespace().next().and_then(|n| n.parse::<f64>().ok()).filter(|n| *n > 0.0);
        match key {
            "Size" => module.bytes = module_bytes(value),
            "Speed" => module.mts = first(),
            "Configured Memory Speed" | "Configured Clock Speed" => module.configured_mts = first(),
            "Data Width" => module.data_bits = first(),
            "Locator" => module.locator = value.to_string(),
            "Bank Locator" => module.bank = value.to_string(),
            _ => {}
        }
        if modules.len() > MAX_MODULES {
            return Err(SpecError::plain(file, format!("more than {MAX_MODULES} modules"), EXPECTED));
        }
    }
    modules.retain(|m| m.bytes.is_some_and(|b| b > 0));
    if modules.is_empty() {
        return Err(SpecError { line: 1, column: 1, ..SpecError::plain(file, "no memory module", EXPECTED) });
    }
    let mut extra = Extra::new(Form::Dmidecode, file);
    let places: Option<BTreeSet<String>> = modules.iter().map(channel).collect();
    let channels = places.filter(|p| modules.len().is_multiple_of(p.len())).map(|p| p.len());
    if channels.is_none() {
        extra.notes.push("one channel for each memory module (their names do not tell)".into());
    }
    let channels = channels.unwrap_or(modules.len());
    let speeds: Option<Vec<f64>> = modules.iter().map(|m| m.configured_mts.or(m.mts)).collect();
    if speeds.is_none() {
        extra.notes.push("no speed of a memory module: bandwidths stay assumed".into());
    }
    let width = modules.iter().find_map(|m| m.data_bits).unwrap_or(64.0) / 8.0;
    let slowest = speeds.and_then(|s| s.into_iter().min_by(f64::total_cmp)).unwrap_or(0.0);
    let bytes = modules.iter().filter_map(|m| m.bytes).fold(0, u64::saturating_add);
    extra.dimms = Some(Dimms { bytes, channels, peak_gbps: channels as f64 * slowest * width / 1000.0 });
    Ok(extra)
}

/// A size such as `32 GB`; `None` for `No Module Installed`.
fn module_bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let shift = match unit.trim() {
        "kB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|b| *b <= size::MAX_BYTES)
}

/// The channel of a module by its names: socket and channel of `P0 CHANNEL A`, or all but the last digits of
/// `CPU1_DIMM_A1` and `DIMM_A1`. `None` if neither says so.
fn channel(module: &Module) -> Option<String> {
    let bank = module.bank.to_ascii_uppercase();
    if bank.contains("CHANNEL") {
        return Some(bank);
    }
    let locator = module.locator.to_ascii_uppercase();
    if let Some(at) = locator.find("CHANNEL") {
        let rest = &locator[at..];
        let end = rest[7..].find(['-', '/', ',']).map_or(rest.len(), |e| 7 + e);
        return Some(locator[..at + end].to_string());
    }
    let stem = locator.trim_end_matches(|c: char| c.is_ascii_digit());
    let letter = stem.ends_with(|c: char| c.is_ascii_uppercase());
    let lettered = letter && stem.len() < locator.len() && !stem.ends_with("DIMM");
    lettered.then(|| stem.to_string())
}
