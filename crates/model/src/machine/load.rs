//! A machine file as a [`Machine`].
//!
//! Problem: a file may extend another, and every section of it must be read by the rules of its subject.
//! Approach: [`read`] goes through the file section by section, each in the module of its subject. A closure finds
//! catalog files, so this module needs no folder.
//! Invariant: everything wrong becomes one [`SpecError`], and a returned machine is complete.

use super::background;
use super::class::{self, Class};
use super::layers::{chain, placed, Find, Layers};
use super::limits::{GBPS, GHZ};
use super::{check, layout, links, matrix, size, warning};
use super::{Cache, Clock, Fill, KernelCosts, Machine, Stream, Tlb, Walker, NODE_RECLAIM_DISTANCE};
use crate::spec::{check_title, clip, SpecError, Spot, Table};
use std::ops::RangeInclusive;

/// Cycles per instruction by those of the cost class, where a machine does not state it.
const IPC: f64 = 1.0;

/// Legal latencies of caches, ns or cycles.
const LATENCY: RangeInclusive<f64> = 0.1..=1e4;

/// Legal times to transfer a line between the caches of two cores, ns.
const TRANSFER_NS: RangeInclusive<f64> = 0.01..=1e4;

/// Legal numbers of cache lines in flight.
const LINES: RangeInclusive<f64> = 0.5..=1e4;

/// Legal values of `ipc`, a factor on cycles per instruction.
const SCALE: RangeInclusive<f64> = 0.01..=100.0;

/// Every key and section at the top of a machine file.
const KEYS: [&str; 23] = [
    "assumed",
    "background",
    "cache",
    "class",
    "clock",
    "cores",
    "costs",
    "distance",
    "extends",
    "hop",
    "ipc",
    "latency",
    "layout",
    "link",
    "llc",
    "memory",
    "name",
    "node",
    "node_reclaim_distance",
    "routing",
    "stream",
    "title",
    "tlb",
];

/// Reads a machine file that extends no other.
///
/// # Errors
/// Those of [`from_toml_with`], and a file with `extends`.
pub fn from_toml(file: &str, text: &str) -> Result<Machine, SpecError> {
    from_toml_with(file, text, &|_| None)
}

/// Reads a machine file. `find` returns file name and text of a machine that it extends, and of a cost class as
/// `classes/NAME`; cost classes that come with the program need no `find`.
///
/// # Errors
/// Wrong syntax, an unknown key, name or value, a table of the wrong shape, or nodes without a path. The error has
/// file, line, column, what was expected and the nearest valid name.
pub fn from_toml_with(file: &str, text: &str, find: &Find) -> Result<Machine, SpecError> {
    read(file, text, find, &[])
}

/// As [`from_toml_with`]. `names` are the machines that `find` knows, for the suggestion in an error.
///
/// # Errors
/// Those of [`from_toml_with`].
pub(super) fn read(file: &str, text: &str, find: &Find, names: &[&str]) -> Result<Machine, SpecError> {
    let docs = chain(file, text, find, names)?;
    let root = Layers::roots(&docs);
    // Unknown keys are refused first, so that a misspelt section is not reported as missing.
    root.only(&KEYS)?;
    let (name, title) = identity(&root)?;
    let clock = clock(&root)?;
    let (cache, llc_bytes) = cache(&root)?;
    let (costs, tlb) = costs_and_tlb(&root, &clock, find)?;
    let layout = layout::read(&root, llc_bytes)?;
    let graph = links::read(&root, &layout)?;
    let routes = graph.routes(&layout)?;
    let m = matrix::read(&root, &layout, &graph)?;
    let reclaim = root.opt_int("node_reclaim_distance", 10..=254)?.map_or(NODE_RECLAIM_DISTANCE, |d| d as u8);
    let assumed = root.strs("assumed")?;
    let stream = stream(&root)?;
    let mut machine = Machine {
        name,
        title,
        sockets: layout.sockets,
        nodes: layout.nodes,
        llcs: layout.llcs,
        cores: layout.cores,
        cpus: layout.cpus,
        distance: m.distance,
        hop: m.hop,
        latency_ns: m.latency_ns,
        links: graph.links,
        routes,
        clock,
        cache,
        stream,
        tlb,
        costs,
        background: background::read(&root)?,
        node_reclaim_distance: reclaim,
        warnings: Vec::new(),
    };
    machine.warnings = assumed.into_iter().map(|a| warning::of_assumed(&a.value)).collect();
    machine.warnings.extend(check::open_distances(&machine, &m.open));
    let rejected = check::reject_distances(&mut machine);
    let suspicions = check::suspicions(&machine, rejected.is_some());
    machine.warnings.extend(rejected.into_iter().chain(suspicions));
    Ok(machine)
}

/// Name and title; every file of a chain must have its own.
fn identity(root: &Layers) -> Result<(String, String), SpecError> {
    let mut first = None;
    for t in root.each() {
        t.opt_str("extends")?;
        let own = (text_of(t, "name")?, text_of(t, "title")?);
        check_name(&own.0)?;
        first = first.or(Some(own));
    }
    let (name, title) = first.ok_or_else(|| root.missing("name", "a name"))?;
    check_title(&title)?;
    Ok((name.value, title.value))
}

/// A string that the file itself must have.
fn text_of(t: &Table, key: &str) -> Result<Spot<String>, SpecError> {
    t.opt_str(key)?.ok_or_else(|| placed(t.missing(key, "a string in each file, also in one that extends another")))
}

/// Refuses a text that cannot be the name of a machine, which is also a file name.
///
/// # Errors
/// The text is not 1 to 64 lower-case letters, digits, `.`, `_`, `+` or `-`, or begins with `.` or `-`.
pub fn check_name(name: &Spot<String>) -> Result<(), SpecError> {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._+-".contains(c);
    let n = &name.value;
    if n.is_empty() || n.len() > 64 || !n.chars().all(good) || n.starts_with(['.', '-']) {
        let expected = "1 to 64 of a-z 0-9 . _ + -, starting with a letter or digit";
        return Err(name.error(format!("name `{}`", clip(n)), expected));
    }
    Ok(())
}

fn clock(root: &Layers) -> Result<Clock, SpecError> {
    let t = root.need("clock", "`base_ghz`, `sustained_ghz` and `single_ghz`")?;
    let clock = Clock {
        base_ghz: t.within("base_ghz", &GHZ)?,
        sustained_ghz: t.within("sustained_ghz", &GHZ)?,
        single_ghz: t.within("single_ghz", &GHZ)?,
    };
    if clock.sustained_ghz > clock.single_ghz {
        let what = format!(
            "all cores sustain {} GHz, above the {} GHz of a single one",
            clock.sustained_ghz, clock.single_ghz
        );
        return Err(t.error(what, "`sustained_ghz` at most `single_ghz`"));
    }
    t.finish()?;
    Ok(clock)
}

/// Whether `key`, which has one of two words, has the second. The first is its default.
fn is_set(t: &Layers, key: &'static str, (default, other): (&'static str, &'static str)) -> Result<bool, SpecError> {
    match t.opt_str(key)? {
        None => Ok(false),
        Some(word) if word.value == default => Ok(false),
        Some(word) if word.value == other => Ok(true),
        Some(word) => {
            let e = word.error(format!("no {key} `{}`", clip(&word.value)), format!("`{default}` or `{other}`"));
            Err(e.near(&word.value, [default, other]))
        }
    }
}

/// Reads `[cache]`: the caches, and the size of an LLC in bytes.
fn cache(root: &Layers) -> Result<(Cache, u64), SpecError> {
    let t = root.need("cache", "the caches of the machine")?;
    let llc_bytes = t.size("llc")?;
    let cache = Cache {
        l2_bytes: t.size("l2")?,
        l2_cycles: t.within("l2_cycles", &LATENCY)?,
        llc_latency_ns: t.within("llc_ns", &LATENCY)?,
        llc_stream_gbps: t.within("llc_stream_gbps", &GBPS)?,
        llc_port_gbps: t.opt_within("llc_port_gbps", &GBPS)?,
        source_snoop: is_set(&t, "snoop", ("filtered", "source"))?,
        memory_directory: is_set(&t, "directory", ("none", "memory"))?,
        transfer_ns: t.opt_within("transfer_ns", &TRANSFER_NS)?,
        core_to_core_ns: [
            t.opt_within("same_llc_ns", &LATENCY)?,
            t.opt_within("other_llc_ns", &LATENCY)?,
            t.opt_within("other_socket_ns", &LATENCY)?,
        ],
        writes_back: true,
        fill: fill(&t)?,
    };
    if llc_bytes == 0 {
        return Err(t.error("the LLC has no capacity", size::EXPECTED));
    }
    t.finish()?;
    Ok((cache, llc_bytes))
}

/// Reads `fill_bypass` and `fill_gbps`, of which a file has both or neither.
fn fill(t: &Layers) -> Result<Option<Fill>, SpecError> {
    match (t.opt_size("fill_bypass")?, t.opt_within("fill_gbps", &GBPS)?) {
        (None, None) => Ok(None),
        (Some(bypass_bytes), Some(gbps)) => Ok(Some(Fill { bypass_bytes, gbps })),
        (Some(_), None) => Err(t.missing("fill_gbps", "what one thread fills beside its memory, beside `fill_bypass`")),
        (None, Some(_)) => {
            Err(t.missing("fill_bypass", "the shortest fill that bypasses the caches, beside `fill_gbps`"))
        }
    }
}

fn stream(root: &Layers) -> Result<Stream, SpecError> {
    let t = root.need("stream", "`lines_sequential`, `lines_random` and `cap_gbps` of one thread")?;
    let stream = Stream {
        lines_sequential: t.within("lines_sequential", &LINES)?,
        lines_random: t.within("lines_random", &LINES)?,
        cap_gbps: t.within("cap_gbps", &GBPS)?,
    };
    t.finish()?;
    Ok(stream)
}

/// Kernel costs and page-walk model of the cost class, with the values that the machine states itself.
fn costs_and_tlb(root: &Layers, clock: &Clock, find: &Find) -> Result<(KernelCosts, Tlb), SpecError> {
    let name =
        root.opt_str("class")?.ok_or_else(|| root.missing("class", "a cost class: \"modern\" or \"2012-15\""))?;
    let ipc = root.opt_within("ipc", &SCALE)?.unwrap_or(IPC);
    let (mut costs, mut tlb) = Class::find(&name, find)?.on(clock.sustained_ghz, ipc)?;
    class::replace(&mut costs, root.sub("costs")?)?;
    let t = root.need("tlb", "at least `entries_4k` and `entries_2m`")?;
    tlb.entries_4k = t.int("entries_4k", 1..=1 << 24)? as u32;
    tlb.entries_2m = t.int("entries_2m", 1..=1 << 24)? as u32;
    tlb.base_ns = t.opt_up_to("base_ns", 1e6)?.unwrap_or(tlb.base_ns);
    tlb.walk_4k_ns = t.opt_up_to("walk_4k_ns", 1e6)?.unwrap_or(tlb.walk_4k_ns);
    tlb.walk_4k_guest_ns = t.opt_up_to("walk_4k_guest_ns", 1e6)?.unwrap_or(tlb.walk_4k_guest_ns);
    tlb.leaf_miss = t.opt_up_to("leaf_miss", 4.0)?.unwrap_or(tlb.leaf_miss);
    tlb.leaf_miss_guest = t.opt_up_to("leaf_miss_guest", 4.0)?.unwrap_or(tlb.leaf_miss_guest);
    tlb.nested = t.opt_bool("nested")?.unwrap_or(tlb.nested);
    tlb.walker = walker(&t)?;
    t.finish()?;
    Ok((costs, tlb))
}

/// Reads the keys of the page walker, of which a file has all or none; `host_pages` may be left out.
fn walker(t: &Layers) -> Result<Option<Walker>, SpecError> {
    let entries = 1..=1 << 24;
    let (l1_4k, l1_2m) = (t.opt_int("l1_4k", entries.clone())?, t.opt_int("l1_2m", entries.clone())?);
    let (l2_cycles, pdes) = (t.opt_within("l2_cycles", &LATENCY)?, t.opt_int("pde_entries", entries)?);
    let host_huge = is_set(t, "host_pages", ("4 KiB", "2 MiB"))?;
    let Some(walkers) = t.opt_int("walkers", 1..=64)? else {
        if l1_4k.is_some() || l1_2m.is_some() || l2_cycles.is_some() || pdes.is_some() || host_huge {
            return Err(t.missing("walkers", "page walks that a core has under way, beside the other keys of them"));
        }
        return Ok(None);
    };
    let whole = |key: &str, n: Option<i64>| match n {
        Some(n) => Ok(n as u32),
        None => Err(t.missing(key, "a whole number of entries, beside `walkers`")),
    };
    Ok(Some(Walker {
        walkers: walkers as u32,
        l1_4k: whole("l1_4k", l1_4k)?,
        l1_2m: whole("l1_2m", l1_2m)?,
        l2_cycles: l2_cycles
            .ok_or_else(|| t.missing("l2_cycles", "cycles of a hit in the second level, beside `walkers`"))?,
        pde_entries: whole("pde_entries", pdes)?,
        host_huge,
    }))
}
