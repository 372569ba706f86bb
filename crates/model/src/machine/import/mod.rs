//! Machines from other tools' descriptions: sysfs, hwloc, `numactl -H`, `lscpu`.
//!
//! Problem: nobody should have to type in a machine that a tool can describe. But no tool reports latencies, bandwidths
//! and costs, and an assumed figure must not look like a measured one.
//! Approach: each source fills a `Found` with what it read. `emit` completes it from a generic modern machine and
//! writes a machine file in which every number says whether it was read or assumed. The file is loaded once before it
//! is returned.
//! Invariant: input is untrusted. Size, nesting and counts are limited before anything is built from them, and
//! everything wrong becomes one [`SpecError`].

mod cross;
mod declared;
mod detect;
mod emit;
mod extra;
mod form;
mod found;
mod hwloc;
mod join;
mod kind;
mod likwid;
mod log;
mod lscpu;
mod lscpu_table;
mod lstopo;
mod mask;
mod memory;
mod numactl;
mod objects;
mod origin;
mod perf_mem;
mod siblings;
#[cfg(feature = "store")]
mod sysfs;
#[cfg(feature = "store")]
mod tree;
mod turbostat;
mod xml;

pub use form::Form;

use super::MemoryKind;
use crate::spec::{clip, SpecError};
use extra::Extra;
use found::Found;
use std::borrow::Cow;
#[cfg(feature = "store")]
use std::path::Path;

/// Largest file that is read, bytes.
#[cfg(feature = "store")]
pub const MAX_ARCHIVE: u64 = 256 << 20;

/// What the user says about a machine to import.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Its catalog name.
    pub name: &'a str,
    /// Kinds of memory by the id of their node, where the user knows better than the source.
    pub kinds: &'a [(u32, MemoryKind)],
}

impl<'a> From<&'a str> for Wish<'a> {
    fn from(name: &'a str) -> Self {
        Self { name, kinds: &[] }
    }
}

/// The machine file of the host whose root folder is `root`. `root` is `/`, or a copy that holds `sys/devices/system`
/// or `devices/system`.
///
/// # Errors
/// No CPUs are found, or the distances are impossible. What is merely missing is assumed, and the file says so.
#[cfg(feature = "store")]
pub fn sysfs<'a>(root: &Path, wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    sysfs::read(&tree::Tree::folder(root)?, root.display().to_string())?.into_toml(&wish.into())
}

/// The machine file of a tarball of `/sys`, which may be compressed by gzip or bzip2. `file` is for messages.
///
/// # Errors
/// A damaged archive, one without `devices/system/cpu`, one that is too large; otherwise as [`sysfs()`].
#[cfg(feature = "store")]
pub fn sysfs_archive<'a>(file: &str, bytes: &[u8], wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    sysfs::read(&tree::Tree::archive(file, bytes)?, file.to_string())?.into_toml(&wish.into())
}

/// The machine file of whatever a path holds: a copy of `/sys` as a folder or a tarball, or a text of any form that
/// [`Form::of`] finds.
///
/// # Errors
/// Those of the form's own function, a path that cannot be read or is neither a folder nor a regular file, or a text of
/// no form.
#[cfg(feature = "store")]
pub fn path<'a>(path: &Path, wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    whole(vec![part_of_path(path)?], &wish.into())
}

/// The machine file of several descriptions of one machine, each as [`path()`] reads it. The first one with CPUs is the
/// machine. The others add what it lacks, and the file says where they disagree.
///
/// # Errors
/// As [`path()`]; none of them has CPUs.
#[cfg(feature = "store")]
pub fn paths<'a>(paths: &[std::path::PathBuf], wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    whole(paths.iter().map(|p| part_of_path(p)).collect::<Result<_, _>>()?, &wish.into())
}

/// What a source is: a machine, or something that adds to one.
enum Part {
    Whole(Box<Found>),
    Extra(Extra),
}

impl From<Found> for Part {
    fn from(found: Found) -> Self {
        Part::Whole(Box::new(found))
    }
}

/// The machine file of all parts together.
fn whole(parts: Vec<Part>, wish: &Wish) -> Result<String, SpecError> {
    let (mut machines, mut extras) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Whole(found) => machines.push(*found),
            Part::Extra(extra) => extras.push(extra),
        }
    }
    let mut machines = machines.into_iter();
    let Some(mut found) = machines.next() else {
        let (file, command) = extras.first().map_or(("", "it"), |e| (&*e.file, e.form.command()));
        let what = format!("the output of `{command}`, which names no CPUs");
        let expected = "it beside the output of `numactl -H`, `lscpu`, `lstopo` or `likwid-topology`";
        return Err(SpecError { line: 1, column: 1, ..SpecError::plain(file, what, expected) });
    };
    machines.for_each(|other| found.join(other));
    extras.iter().for_each(|extra| found.add(extra));
    found.into_toml(wish)
}

#[cfg(feature = "store")]
fn part_of_path(path: &Path) -> Result<Part, SpecError> {
    if path.is_dir() {
        return Ok(sysfs::read(&tree::Tree::folder(path)?, path.display().to_string())?.into());
    }
    part_of_bytes(&path.display().to_string(), &crate::files::stream_bytes(path, MAX_ARCHIVE)?)
}

#[cfg(feature = "store")]
fn part_of_bytes(file: &str, bytes: &[u8]) -> Result<Part, SpecError> {
    if tree::is_archive(bytes) {
        return Ok(sysfs::read(&tree::Tree::archive(file, bytes)?, file.to_string())?.into());
    }
    part_of_text(file, &decoded(file, bytes)?)
}

/// The machine file of what standard input gives, at most [`MAX_ARCHIVE`] bytes: see [`bytes()`].
///
/// # Errors
/// As [`path()`].
#[cfg(feature = "store")]
pub fn standard_input<'a>(wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    bytes("standard input", &crate::files::standard_input(MAX_ARCHIVE)?, wish)
}

/// The machine file of the contents of a file: a tarball of `/sys`, or a text of any form that [`Form::of`] finds, in
/// UTF-8 or UTF-16. `file` is for messages.
///
/// # Errors
/// As [`path()`].
#[cfg(feature = "store")]
pub fn bytes<'a>(file: &str, bytes: &[u8], wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    whole(vec![part_of_bytes(file, bytes)?], &wish.into())
}

/// The text of UTF-8 or, with a byte order mark, UTF-16 as Windows' shells write it.
#[cfg(feature = "store")]
fn decoded(file: &str, bytes: &[u8]) -> Result<String, SpecError> {
    let pairs = |of: fn([u8; 2]) -> u16| bytes[2..].chunks_exact(2).map(|p| of([p[0], p[1]])).collect::<Vec<u16>>();
    let text = match bytes {
        [0xff, 0xfe, ..] => String::from_utf16(&pairs(u16::from_le_bytes)).ok(),
        [0xfe, 0xff, ..] => String::from_utf16(&pairs(u16::from_be_bytes)).ok(),
        _ => std::str::from_utf8(bytes).ok().map(str::to_string),
    };
    text.ok_or_else(|| SpecError::plain(file, "not a text", "a text, or a tarball of /sys"))
}

/// The machine file of an hwloc XML export (version 2 or 3). `file` is for messages.
///
/// # Errors
/// The text is not well-formed or not hwloc 2 or 3, declares entities, has nesting or counts beyond any machine, or has
/// no CPUs or memory nodes. The error has line and column.
pub fn hwloc_xml<'a>(file: &str, text: &str, wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    hwloc::read(file, &blanks(text))?.into_toml(&wish.into())
}

/// The machine file of the output of `numactl -H`, with whatever was pasted around it. `file` is for messages.
///
/// # Errors
/// Wrong lines of that output, or nodes and distances that contradict each other. The error has line and column.
pub fn numactl<'a>(file: &str, text: &str, wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    numactl::read(file, &blanks(text))?.into_toml(&wish.into())
}

/// The machine file of the output of `lscpu`, `lscpu -J`, `lscpu -e`, `lscpu -p` or `lscpu -e -J`. `file` is for
/// messages.
///
/// # Errors
/// A text without CPUs, a field of the wrong kind, or a CPU in two nodes. The error has line and column.
pub fn lscpu<'a>(file: &str, text: &str, wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    found_lscpu(file, &blanks(text))?.into_toml(&wish.into())
}

fn found_lscpu(file: &str, text: &str) -> Result<Found, SpecError> {
    match detect::of(text) {
        Some(Form::LscpuJson) => lscpu_json(file, text),
        Some(Form::LscpuTable) => lscpu_table::text(file, text),
        _ => lscpu::summary(file, text),
    }
}

/// What the JSON of `lscpu` describes: its summary, or a table of CPUs.
fn lscpu_json(file: &str, text: &str) -> Result<Found, SpecError> {
    const EXPECTED: &str = "the output of `lscpu -J`";
    let (above, json) = detect::json_part(text).unwrap_or((0, text));
    let value: serde_json::Value = serde_json::from_str(json).map_err(|e| {
        let at = SpecError::plain(file, "no JSON", EXPECTED);
        SpecError { line: above + e.line(), column: e.column(), ..at }
    })?;
    match (&value["lscpu"], &value["cpus"]) {
        (serde_json::Value::Array(list), _) if !list.is_empty() => lscpu::json(file, &value["lscpu"]),
        (_, serde_json::Value::Array(list)) if !list.is_empty() => lscpu_table::json(file, &value["cpus"]),
        _ => Err(SpecError::plain(file, "JSON without a list `lscpu` or `cpus`", EXPECTED)),
    }
}

/// A text whose no-break spaces, as web pages have them, are blanks, and so is what a log puts before each line.
fn blanks(text: &str) -> Cow<'_, str> {
    let text: Cow<'_, str> = match text.contains('\u{a0}') {
        true => text.replace('\u{a0}', " ").into(),
        false => text.into(),
    };
    match detect::of(&text) {
        Some(_) => text,
        None => log::without_prefixes(&text).map_or(text, Cow::from),
    }
}

/// The machine file of the text of `lstopo`, or of `lstopo --of synthetic`. `file` is for messages.
///
/// # Errors
/// A text without CPUs, too many objects, or a level of a synthetic description that is not understood. The error has
/// line and column.
pub fn lstopo<'a>(file: &str, text: &str, wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    found_lstopo(file, &blanks(text))?.into_toml(&wish.into())
}

fn found_lstopo(file: &str, text: &str) -> Result<Found, SpecError> {
    match detect::of(text) {
        Some(Form::Synthetic) => lstopo::synthetic(file, text),
        _ => lstopo::text(file, text),
    }
}

/// The machine file of a text of any form that [`Form::of`] finds.
///
/// # Errors
/// Those of the form's own function, or a text of no form.
pub fn text<'a>(file: &str, text: &str, wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    whole(vec![part_of_text(file, text)?], &wish.into())
}

/// The machine file of several texts, each with its file for messages: see [`paths`].
///
/// # Errors
/// As [`text()`]; none of them has CPUs.
pub fn texts<'a>(texts: &[(&str, &str)], wish: impl Into<Wish<'a>>) -> Result<String, SpecError> {
    whole(texts.iter().map(|(file, text)| part_of_text(file, text)).collect::<Result<_, _>>()?, &wish.into())
}

fn part_of_text(file: &str, text: &str) -> Result<Part, SpecError> {
    let text = &blanks(text);
    match detect::of(text) {
        Some(Form::HwlocXml) => hwloc::read(file, text).map(Part::from),
        Some(Form::Numactl) => numactl::read(file, text).map(Part::from),
        Some(Form::Lscpu | Form::LscpuJson | Form::LscpuTable) => found_lscpu(file, text).map(Part::from),
        Some(Form::Lstopo | Form::Synthetic) => found_lstopo(file, text).map(Part::from),
        Some(Form::Likwid) => likwid::read(file, text).map(Part::from),
        Some(Form::Turbostat) => turbostat::read(file, text).map(Part::from),
        Some(Form::NumastatMemory | Form::NumastatProcess) => memory::numastat(file, text).map(Part::Extra),
        Some(Form::Zoneinfo) => memory::zoneinfo(file, text).map(Part::Extra),
        Some(Form::Dmidecode) => memory::dmidecode(file, text).map(Part::Extra),
        Some(Form::PerfMem) => perf_mem::read(file, text).map(Part::Extra),
        None => Err(no_form(file, text)),
    }
}

/// The error for a text of no form.
fn no_form(file: &str, text: &str) -> SpecError {
    let (what, expected) = match text.contains("No NUMA available") {
        true => ("`numactl` found no NUMA there", "the output of `lscpu`, which describes machines of one node too"),
        false => (
            "no description of a machine that is known here",
            "hwloc XML, or the output of `numactl -H`, `lscpu` or `lstopo`, in English (`LC_ALL=C lscpu`)",
        ),
    };
    SpecError { line: 1, column: 1, ..SpecError::plain(file, what, expected) }
}

/// Why a text is no machine file, if it is a description that [`text()`] imports.
pub(super) fn not_yet(file: &str, text: &str) -> Option<SpecError> {
    let is_toml = |line: &str| line.trim_start().strip_prefix("name").is_some_and(|l| l.trim_start().starts_with('='));
    let form = Form::of(&blanks(text)).filter(|_| !text.lines().any(is_toml))?;
    let what = format!("the output of `{}`, which is no machine file", form.command());
    let expected = format!("a machine file: `numalab machine import {} > mine.toml` writes it", clip(file));
    Some(SpecError { line: 1, column: 1, ..SpecError::plain(file, what, expected) })
}
