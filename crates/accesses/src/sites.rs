//! What the memory of a program is called: the variables of its image, and the places in its source that asked for
//! large blocks.
//!
//! Problem: a mapping has no name, but who reads an advice must find it in the source.
//! Approach: a small library that is loaded into the recorded programs (`plugin/sites.c`) notes who called `malloc` and
//! its like for 1 MiB or more. When the program has ended, `addr2line` and the symbol tables turn addresses into
//! functions and lines, on the machine that recorded: only there are the program's files certain to be the same.
//! Invariant: what cannot be found has a library and an offset for a name. Nothing of this is needed to read a record.

use crate::format::LINE_BYTES;
use numalab_model::files::input;
use object::{elf, Object, ObjectSegment, ObjectSymbol, SegmentFlags, SymbolKind};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// File that the library writes, in the directory of the record.
pub const RAW: &str = "sites";
/// File of the names.
pub const FILE: &str = "sites.json";
/// Smallest block and variable that has a name, bytes.
const LEAST_BYTES: u64 = 1 << 20;
/// Most names that are kept, the largest first.
const MOST: usize = 4096;
/// Largest file that is read, bytes.
const BYTES_MAX: u64 = 16 << 20;
/// Libraries whose functions call for memory on behalf of others.
const ALLOCATORS: [&str; 5] = ["libc.so", "libstdc++", "ld-linux", "libgcc_s", "libpthread"];

/// A name of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Process in which it is.
    pub pid: u32,
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// Name of the variable; empty for a block that was asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variable: String,
    /// Where it comes from, such as `make_tree (tree.c:42)`.
    pub place: String,
}

impl Site {
    /// Bytes that it has in common with a range of addresses.
    pub fn common(&self, begin: u64, end: u64) -> u64 {
        end.min(self.address.saturating_add(self.bytes)).saturating_sub(begin.max(self.address))
    }
}

/// A place in a program or library: path, and address in that file.
type Frame = (String, u64);

/// A line that the library wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Program { pid: u32, bias: u64, path: String },
    Block { pid: u32, address: u64, bytes: u64, frames: Vec<Frame> },
}

fn line(text: &str) -> Option<Line> {
    let mut words = text.split('\t');
    let kind = words.next()?;
    let pid = words.next()?.parse().ok()?;
    let hex = |w: &str| u64::from_str_radix(w, 16).ok();
    let number = hex(words.next()?)?;
    match kind {
        "program" => Some(Line::Program { pid, bias: number, path: words.next()?.to_string() }),
        "block" => {
            let bytes = words.next()?.parse().ok()?;
            let frame = |w: &str| w.split_once(' ').and_then(|(at, path)| Some((path.to_string(), hex(at)?)));
            Some(Line::Block { pid, address: number, bytes, frames: words.filter_map(frame).collect() })
        }
        _ => None,
    }
}

/// Writes the names of a record that has ended. Variables that have one of `written` (processes, and addresses of lines
/// that threads write by turns) are named whatever their size.
///
/// # Errors
/// The file cannot be written.
pub fn write(dir: &Path, written: &BTreeSet<(u32, u64)>) -> std::io::Result<()> {
    let raw = dir.join(RAW);
    let text = input::text(&raw, BYTES_MAX).unwrap_or_default();
    let lines: Vec<Line> = text.lines().filter_map(line).collect();
    let mut sites = blocks(&lines);
    sites.extend(variables(&lines, written));
    sites.sort_by_key(|s| std::cmp::Reverse((s.bytes < LEAST_BYTES, s.bytes)));
    sites.truncate(MOST);
    sites.sort_by_key(|s| (s.pid, s.address));
    let json = serde_json::to_string(&sites).map_err(std::io::Error::other)?;
    std::fs::write(dir.join(FILE), json)?;
    std::fs::remove_file(raw)
}

/// The names of a record; none if it has no such file, or a damaged one.
pub fn read(dir: &Path) -> Vec<Site> {
    let text = input::text(&dir.join(FILE), BYTES_MAX).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Blocks with the places that asked for them.
fn blocks(lines: &[Line]) -> Vec<Site> {
    let own = |frames: &[Frame]| -> Vec<Frame> {
        let first = frames.iter().position(|f| !ALLOCATORS.iter().any(|a| file_name(&f.0).starts_with(a)));
        frames.iter().skip(first.unwrap_or(0)).take(2).cloned().collect()
    };
    let mut wanted: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for line in lines {
        if let Line::Block { frames, .. } = line {
            for (path, at) in own(frames) {
                wanted.entry(path).or_default().insert(at);
            }
        }
    }
    let mut names: BTreeMap<Frame, String> = BTreeMap::new();
    for (path, addresses) in &wanted {
        for (at, name) in addresses.iter().zip(places(path, addresses)) {
            names.insert((path.clone(), *at), name);
        }
    }
    let site = |line: &Line| match line {
        Line::Block { pid, address, bytes, frames } if *bytes >= LEAST_BYTES => {
            let mut places: Vec<&str> = own(frames).iter().filter_map(|f| names.get(f)).map(String::as_str).collect();
            // The caller of the first function of a program is the C library. It also seems to be that of a function
            // into which `main` was folded.
            let is_first = places.first().is_some_and(|p| p.starts_with("main "))
                || places.get(1).is_some_and(|p| p.starts_with("__libc_start"));
            places.truncate(if is_first { 1 } else { 2 });
            let place = if places.is_empty() { "an unknown place".into() } else { places.join(", called by ") };
            Some(Site { pid: *pid, address: *address, bytes: *bytes, variable: String::new(), place })
        }
        _ => None,
    };
    lines.iter().filter_map(site).collect()
}

/// The names of addresses of a file: `function (source:line)`, or what is known of that.
fn places(path: &str, addresses: &BTreeSet<u64>) -> Vec<String> {
    let mut command = Command::new("addr2line");
    // An address behind a call may belong to the next line, or to the next function.
    command.args(["-f", "-C", "-e", path]).args(addresses.iter().map(|at| format!("{:#x}", at.saturating_sub(1))));
    let said = command.output().map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let said: Vec<&str> = said.lines().collect();
    let name = |(n, at): (usize, &u64)| {
        let known = |i: usize| said.get(i).copied().filter(|s| !s.starts_with("??"));
        let source = known(2 * n + 1).map(|s| s.split(" (").next().unwrap_or(s)).filter(|s| !s.ends_with(":?"));
        let place = source.map_or_else(|| format!("{}+{at:#x}", file_name(path)), |s| file_name(s).to_string());
        match known(2 * n) {
            Some(function) => format!("{} ({place})", function.chars().take(60).collect::<String>()),
            None => place,
        }
    };
    addresses.iter().enumerate().map(name).collect()
}

/// Large variables of the programs, and those with one of the lines that are `written` by turns.
fn variables(lines: &[Line], written: &BTreeSet<(u32, u64)>) -> Vec<Site> {
    let mut out = Vec::new();
    let mut known: BTreeMap<&str, Vec<(String, u64, u64)>> = BTreeMap::new();
    for line in lines {
        let Line::Program { pid, bias, path } = line else { continue };
        for (name, address, bytes) in known.entry(path).or_insert_with(|| symbols(Path::new(path))) {
            let address = bias.wrapping_add(*address);
            let (first, end) = (address & !(LINE_BYTES - 1), address.saturating_add(*bytes));
            if *bytes < LEAST_BYTES && (first >= end || written.range((*pid, first)..(*pid, end)).next().is_none()) {
                continue;
            }
            let place = format!("a variable of {}", file_name(path));
            out.push(Site { pid: *pid, address, bytes: *bytes, variable: name.clone(), place });
        }
    }
    out
}

/// Name, address and bytes of the variables of a file.
fn symbols(path: &Path) -> Vec<(String, u64, u64)> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let Ok(file) = object::File::parse(bytes.as_slice()) else { return Vec::new() };
    let is_data = |s: &object::Symbol<'_, '_>| s.kind() == SymbolKind::Data && s.size() > 0;
    let of = |s: object::Symbol<'_, '_>| Some((s.name().ok()?.to_string(), s.address(), s.size()));
    file.symbols().filter(is_data).filter_map(of).collect()
}

/// Address of a program's code in its own file.
pub(crate) fn code_address(bytes: &[u8]) -> Option<u64> {
    let file = object::File::parse(bytes).ok()?;
    let is_code = |s: &object::Segment<'_, '_>| match s.flags() {
        SegmentFlags::Elf { p_flags, .. } => p_flags.0 & elf::PF_X.0 != 0,
        _ => false,
    };
    file.segments().find(is_code).map(|s| s.address())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_library_are_read_and_others_left_out() {
        let text = "block\t7\t4000\t1048576\t10f /a b/p\t20 /lib/libc.so.6";
        let frames = vec![("/a b/p".to_string(), 0x10f), ("/lib/libc.so.6".to_string(), 0x20)];
        assert_eq!(line(text), Some(Line::Block { pid: 7, address: 0x4000, bytes: 1 << 20, frames }));
        assert_eq!(line("program\t7\t0\t/p"), Some(Line::Program { pid: 7, bias: 0, path: "/p".into() }));
        for other in ["", "block", "block\tx\t1\t1", "program\t1\tzz\t/p", "else\t1\t1\t1"] {
            assert_eq!(line(other), None, "{other}");
        }
    }

    #[test]
    fn what_has_no_source_is_a_file_and_an_offset() {
        let frames = vec![("/lib/libstdc++.so.6".to_string(), 1), ("/no/such/libx.so".to_string(), 0x1234)];
        let found = blocks(&[Line::Block { pid: 1, address: 2, bytes: 4 << 20, frames }]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "libx.so+0x1234");
        assert_eq!((found[0].common(0, 1 << 20), found[0].common(8 << 20, 9 << 20)), ((1 << 20) - 2, 0));
    }
}
