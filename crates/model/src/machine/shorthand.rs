//! The shorthand `NODESxLLCSxCORESxTHREADS`: `2x8x8x2` is two nodes of eight LLCs of eight cores of two threads.
//!
//! Problem: a simple machine should not need a file.
//! Approach: the four numbers become the `[layout]` of a generic modern machine ([`GENERIC`]). Every assumption is
//! listed in [`Machine::warnings`].

use super::layers::Find;
use super::limits::{MAX_CPUS, MAX_NODES};
use super::load::from_toml_with;
use super::Machine;
use crate::spec::{clip, SpecError};

/// Figures of a generic modern machine, each with its origin; imported machines use them too.
pub(super) const GENERIC: &str = include_str!("generic.toml");

/// Most sockets that are joined by a full mesh; a larger mesh would have more links than a machine may have.
pub(super) const MAX_LINKED: u32 = 128;

/// Most cores of an LLC of the generic machine that has a port of its own to the fabric, as a Zen 3 chiplet has. A
/// larger LLC is assumed to lie on a mesh, where no port limits it.
const CHIPLET_CORES: u32 = 8;
/// The line about that port in [`GENERIC`].
const PORT: &str = "llc_port_gbps = 51.2\n";

/// Place of a shorthand, for messages.
const PLACE: &str = "command line";
const EXPECTED: &str = "NODESxLLCSxCORESxTHREADS: LLCs per node, cores per LLC, threads per core, such as 2x8x8x2";

/// Whether a text is meant as a shorthand: it has digits and at least one `x`, and nothing else.
pub(super) fn is_one(text: &str) -> bool {
    text.contains('x')
        && text.bytes().all(|b| b == b'x' || b.is_ascii_digit())
        && text.bytes().any(|b| b.is_ascii_digit())
}

/// A generic modern machine from `NODESxLLCSxCORESxTHREADS`, each node a socket of its own.
///
/// # Errors
/// The text is not four numbers above 0, or has more CPUs or nodes than a machine may have.
pub fn from_shorthand(text: &str) -> Result<Machine, SpecError> {
    load(text, &|_| None)
}

/// As [`from_shorthand`], with the cost classes that `find` knows.
///
/// # Errors
/// As [`from_shorthand`], and anything wrong in the class.
pub(super) fn load(text: &str, find: &Find) -> Result<Machine, SpecError> {
    from_toml_with(PLACE, &toml(text)?, find).map_err(|e| match e.file == PLACE {
        // Lines and columns of the generated text mean nothing to the user.
        true => SpecError { line: 0, column: 0, ..e },
        false => e,
    })
}

/// The machine file behind a shorthand.
fn toml(text: &str) -> Result<String, SpecError> {
    let wrong = |what: String| SpecError::plain(PLACE, what, EXPECTED);
    let shown = clip(text);
    let numbers: Vec<u32> = text.split('x').filter_map(|n| n.parse().ok()).collect();
    let [nodes, llcs, cores, threads] = numbers[..] else {
        return Err(wrong(format!("`{shown}` is not four numbers")));
    };
    if text.split('x').count() != 4 || [nodes, llcs, cores, threads].contains(&0) {
        return Err(wrong(format!("`{shown}` is not four numbers above 0")));
    }
    if threads > 8 {
        return Err(wrong(format!("`{shown}` has {threads} threads per core, at most 8 are possible")));
    }
    let per_node = u64::from(llcs).saturating_mul(u64::from(cores));
    let cpus = per_node.saturating_mul(u64::from(nodes)).saturating_mul(u64::from(threads));
    if cpus > MAX_CPUS as u64 || nodes as usize > MAX_NODES {
        let limits = format!("at most {} nodes and {} CPUs are possible", MAX_NODES, MAX_CPUS);
        return Err(wrong(format!("`{shown}` is too large: {limits}")));
    }
    // A single node has one hop class only.
    let (far, far_ns) = if nodes == 1 { ("", "") } else { (", 21", ", 200") };
    let (remote, links) = match nodes {
        1 => ("", ""),
        2..=MAX_LINKED => (", every other node one hop away over a link of its own", GENERIC_LINKS),
        _ => (", every other node one hop away without any limit on links", ""),
    };
    let (generic, port) = match cores {
        ..=CHIPLET_CORES => (GENERIC.to_string(), ""),
        _ => (GENERIC.replace(PORT, ""), "; large caches read as fast as memory delivers"),
    };
    Ok(format!(
        "name = \"{nodes}x{llcs}x{cores}x{threads}\"
title = \"generic modern machine {nodes}x{llcs}x{cores}x{threads} (nodes x LLCs x cores x threads)\"
class = \"modern\"
assumed = [
  \"clocks, caches and costs of a Zen 3 server; 110 ns and 171.5 GB/s local, 200 ns remote{port}\",
  \"64 GiB per node, distances 10/21{remote}\",
]

[layout]
sockets = {nodes}
cores_per_node = {per_node}
threads_per_core = {threads}
llcs_per_node = {llcs}

[memory]
per_node = \"64 GiB\"
peak_gbps = 204.8
sustained_gbps = 171.5

[distance]
by_hop = [10{far}]

[latency]
by_hop_ns = [110{far_ns}]
{links}
{generic}"
    ))
}

/// Links between all sockets, with the figures of the xGMI links of milan-2s-nps1.
pub(super) const GENERIC_LINKS: &str = "
[[link]]
kind = \"sockets\"
scope = \"all\"
peak_gbps = 96
sustained_gbps = 85
hop_ns = 90
";
