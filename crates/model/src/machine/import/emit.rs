//! Writes a [`Found`] as a machine file in which every number says where it comes from.
//!
//! Problem: a simulation needs latencies, bandwidths and costs that hardly any source states.
//! Approach: what is missing is taken from a generic modern machine and marked `assumed`. A remote latency is derived
//! from the distance by [`factor`].
//! Invariant: the text is a valid machine file; it is loaded here before it is returned.

use super::found::{CacheSet, Found, Sets};
use super::kind;
use super::origin::Origin;
use super::Wish;
use crate::machine::limits::{GBPS, GHZ};
use crate::machine::matrix::{MAX_LATENCY_NS, MIN_LATENCY_NS};
use crate::machine::shorthand::{GENERIC_LINKS, MAX_LINKED};
use crate::machine::{cpulist, from_toml, size, MemoryKind};
use crate::spec::{clip, is_hidden, SpecError};
use std::fmt::Write;

/// Assumed idle latency of a node's own memory, ns (milan-2s-nps1).
const LOCAL_NS: f64 = 110.0;
/// Assumed idle latency from the nearest CPUs, ns: of an expander (cxl-2s), and of Optane (random reads; Izraelevitz
/// and others, 2019).
const CXL_NS: f64 = 214.0;
const OPTANE_NS: f64 = 305.0;
/// Assumed sustained and peak bandwidth, GB/s: of a node (milan-2s-nps1), of an expander (cxl-2s), of six Optane DIMMs
/// (reads; Izraelevitz and others, 2019).
const DRAM_GBPS: (f64, f64) = (171.5, 204.8);
const CXL_GBPS: (f64, f64) = (24.0, 32.0);
const OPTANE_GBPS: (f64, f64) = (39.4, 48.0);
/// Peak of one stack of HBM2e, GB/s: 1024 bits at 3.2 GT/s. Peak of NVLink-C2C in one direction, GB/s (NVIDIA).
const HBM_PEAK: f64 = 409.6;
const GPU_PEAK: f64 = 450.0;
/// Sustained share of peak where only one is known (machines.md section 1).
const SUSTAINED: f64 = 0.82;
/// Assumed memory of a node, bytes.
const NODE_BYTES: u64 = 64 << 30;
/// Assumed LLC, bytes, and clocks, GHz (milan-2s-nps1).
const LLC_BYTES: u64 = 32 << 20;
const L2_BYTES: u64 = 512 << 10;
const BASE_GHZ: f64 = 2.45;
const SUSTAINED_GHZ: f64 = 2.9;
const SINGLE_GHZ: f64 = 3.5;

/// Latency at a distance by that at distance 10: 6.5 % more for each point, at most five-fold. The presets lie within a
/// third of it (16: 1.5, 21: 1.45 to 1.83, 31: 2.6 to 2.7, 32: 1.8 to 2.4).
fn factor(distance: u8) -> f64 {
    (1.0 + 0.065 * (f64::from(distance) - 10.0)).min(5.0)
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let clean: String = text.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect();
    format!("\"{}\"", clean.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Found {
    /// The machine file.
    ///
    /// `wish` names the machine and the kinds of memory that the user knows.
    ///
    /// # Errors
    /// The name is not a catalog name, a kind is named for a node that is not there, or the source makes no machine,
    /// such as one without memory.
    pub(super) fn into_toml(mut self, wish: &Wish) -> Result<String, SpecError> {
        self.cross_check();
        let guesses = [std::mem::take(&mut self.cache_notes), std::mem::take(&mut self.sibling_notes)];
        self.notes.splice(0..0, guesses.concat());
        let Sets { cores, llcs } = self.partition();
        let sockets = self.sockets();
        let distance = self.distances(&sockets);
        kind::settle(&mut self, &distance, wish)?;
        self.drop_implausible();
        let latency = self.latencies(&distance);
        self.check_ratio(&latency);
        self.note_memory();
        self.note_sockets();
        self.note_packages(&llcs);
        let mut out = String::new();
        self.head(wish.name, &cores, &mut out);
        self.nodes(&sockets, &mut out);
        self.caches(&llcs, &sockets, &mut out);
        matrices(&distance, &latency, self.distance.is_some(), !self.latency_ns.is_empty(), &mut out);
        self.links(&sockets, &latency, &mut out);
        self.rest(&mut out);
        match from_toml(&self.file, &out) {
            Ok(_) => Ok(out),
            // Lines and columns of the generated text mean nothing to the user.
            Err(e) => Err(SpecError { line: 0, column: 0, what: format!("makes no machine: {}", e.what), ..e }),
        }
    }

    fn head(&self, name: &str, cores: &[Vec<u32>], out: &mut String) {
        let model = self.model.as_ref().map_or(String::new(), |m| format!(", {}", clip(m.trim())));
        let title = format!("imported from {}{model}", self.source);
        let _ = writeln!(
            out,
            "# Imported from {}. Numbers are marked `read` (from the source) or `assumed` (from a",
            self.source
        );
        out.push_str("# generic modern server): replace what you can measure.\n");
        let _ = writeln!(out, "name = {}\ntitle = {}", quoted(name), quoted(&title));
        line(out, "class = \"modern\"", false, ": \"2012-15\" for older Xeons");
        let mut assumed = self.notes.clone();
        assumed.push("kernel costs, streaming and cache latencies of a modern server".into());
        out.push_str("assumed = [\n");
        assumed.iter().for_each(|a| {
            let _ = writeln!(out, "  {},", quoted(a));
        });
        out.push_str("]\n");
        if cores.is_empty() {
            return;
        }
        line(out, "cores = [", !self.siblings_assumed, "");
        for row in cores.chunks(8) {
            let row: Vec<String> = row.iter().map(|c| quoted(&cpulist::format(c))).collect();
            let _ = writeln!(out, "  {},", row.join(", "));
        }
        out.push_str("]\n");
    }

    fn nodes(&self, sockets: &[u32], out: &mut String) {
        for (n, socket) in self.nodes.iter().zip(sockets) {
            let _ = writeln!(out, "\n[[node]]\nid = {}", n.id);
            line(out, &format!("socket = {socket}"), !n.packages.is_empty(), "");
            if !n.cpus.is_empty() {
                line(out, &format!("cpus = {}", quoted(&cpulist::format(&n.cpus))), true, "");
            }
            let memory = quoted(&size::exact(n.memory_bytes.unwrap_or(NODE_BYTES)));
            line(out, &format!("memory = {memory}"), n.memory_bytes.is_some(), "");
            let (kind, origin) = n.settled.unwrap_or((MemoryKind::Dram, Origin::Read));
            if kind != MemoryKind::Dram || origin == Origin::Given {
                let text = format!("kind = {}", quoted(kind.word()));
                let _ = match origin {
                    Origin::Read => writeln!(out, "{text:<31} # read"),
                    Origin::Given => writeln!(out, "{text:<31} # given"),
                    Origin::Concluded(why) => writeln!(out, "{text:<31} # assumed: {why}"),
                    Origin::Unknown => writeln!(out, "{text:<31} # assumed: memory without CPUs"),
                };
            }
            if let Some(tier) = n.tier.or(Some(kind.usual_tier()).filter(|t| *t > 0)) {
                line(out, &format!("tier = {tier}"), n.tier.is_some(), "");
            }
            let (sustained, peak) = match (n.gbps, kind) {
                (Some(g), _) => (g, n.peak_gbps.unwrap_or(g / SUSTAINED).max(g)),
                (None, MemoryKind::Dram) if n.peak_gbps.is_some() => {
                    n.peak_gbps.map_or(DRAM_GBPS, |peak| (peak * SUSTAINED, peak))
                }
                (None, MemoryKind::Cxl) => CXL_GBPS,
                (None, MemoryKind::Optane) => OPTANE_GBPS,
                (None, MemoryKind::Hbm) => (HBM_PEAK * SUSTAINED, HBM_PEAK),
                (None, MemoryKind::Gpu) => (GPU_PEAK * SUSTAINED, GPU_PEAK),
                (None, MemoryKind::Dram) => DRAM_GBPS,
            };
            line(out, &format!("peak_gbps = {}", rate(peak)), n.peak_gbps == Some(peak), "");
            line(out, &format!("sustained_gbps = {}", rate(sustained)), n.gbps.is_some(), "");
        }
    }

    fn caches(&self, llcs: &[CacheSet], sockets: &[u32], out: &mut String) {
        for CacheSet { cpus, bytes, package } in llcs {
            out.push_str("\n[[llc]]\n");
            line(out, &format!("cpus = {}", quoted(&cpulist::format(cpus))), true, "");
            let home = self.nodes.iter().position(|n| cpus.first().is_some_and(|c| n.cpus.binary_search(c).is_ok()));
            if let Some(package) = package.filter(|p| home.is_some_and(|n| sockets[n] != *p)) {
                line(out, &format!("socket = {package}"), !self.packages_assumed, "");
            }
            if let Some(b) = bytes.filter(|b| *b > 0) {
                line(out, &format!("size = {}", quoted(&size::exact(b))), !self.caches_assumed, "");
            }
        }
        let llc = llcs.iter().filter_map(|l| l.bytes).find(|b| *b > 0);
        let l2 = self.l2_bytes.filter(|b| *b > 0);
        let told = !self.caches_assumed;
        out.push_str("\n[cache]\n");
        line(out, &format!("l2 = {}", quoted(&size::exact(l2.unwrap_or(L2_BYTES)))), l2.is_some() && told, "");
        line(out, "l2_cycles = 12", false, "");
        line(out, &format!("llc = {}", quoted(&size::exact(llc.unwrap_or(LLC_BYTES)))), llc.is_some() && told, "");
        line(out, "llc_ns = 13.5", false, "");
        line(out, "llc_stream_gbps = 38", false, "");
    }

    /// Drops figures of the source that no machine file takes, and says so.
    fn drop_implausible(&mut self) {
        let mut notes = Vec::new();
        for n in &mut self.nodes {
            if n.gbps.is_some_and(|g| !GBPS.contains(&g) || !GBPS.contains(&(g / SUSTAINED))) {
                notes.push(format!("bandwidth of node {} in the source is out of range, so it is assumed", n.id));
                n.gbps = None;
            }
            if n.peak_gbps.is_some_and(|g| !GBPS.contains(&g) || !GBPS.contains(&(g * SUSTAINED))) {
                notes.push(format!("bandwidth of modules of node {} is out of range, so it is assumed", n.id));
                n.peak_gbps = None;
            }
        }
        for (what, ghz) in [("base", &mut self.base_ghz), ("highest", &mut self.single_ghz)] {
            if let Some(g) = ghz.filter(|g| !GHZ.contains(g)) {
                notes.push(format!("the {what} clock of {g} GHz in the source is out of range, so it is assumed"));
                *ghz = None;
            }
        }
        self.notes.extend(notes);
    }

    /// Notes which nodes get an assumed size.
    fn note_memory(&mut self) {
        let unsized_nodes = self.nodes.iter().filter(|n| n.memory_bytes.is_none()).map(|n| n.id);
        let ids: Vec<u32> = unsized_nodes.collect();
        if !ids.is_empty() {
            let (which, size) = (cpulist::format(&ids), size::exact(NODE_BYTES));
            self.notes.push(format!("no size in the source for node {which}: {size} of memory each"));
        }
    }

    /// Latencies as read, and estimates for those that are missing.
    ///
    /// An estimate is the latency of the target at distance 10 times [`factor`] of the distance. The latency at
    /// distance 10 comes from a latency read from another node, or else is the least local latency read, or else
    /// [`LOCAL_NS`]. An expander of which nothing is known is at least [`CXL_NS`] from its nearest CPUs, Optane
    /// [`OPTANE_NS`].
    fn latencies(&mut self, distance: &[Vec<u8>]) -> Vec<Vec<f64>> {
        let n = self.nodes.len();
        let read = &self.latency_ns;
        let has_cpus = |i: &usize| !self.nodes[*i].cpus.is_empty();
        let own = (0..n).filter_map(|i| read.get(&(i, i)).copied());
        let local = own.min_by(f64::total_cmp).unwrap_or(LOCAL_NS);
        let at_ten = |j: usize| match (0..n).filter(has_cpus).map(|i| distance[i][j]).min() {
            Some(nearest) => match self.nodes[j].memory_kind() {
                MemoryKind::Cxl => (CXL_NS / factor(nearest)).max(local),
                MemoryKind::Optane => (OPTANE_NS / factor(nearest)).max(local),
                MemoryKind::Dram | MemoryKind::Hbm | MemoryKind::Gpu => local,
            },
            None => local,
        };
        let mut base: Vec<f64> = (0..n).map(at_ten).collect();
        for (&(i, j), ns) in read.iter().rev() {
            base[j] = ns / factor(distance[i][j]);
        }
        let value = |i: usize, j: usize| {
            let ns = read.get(&(i, j)).copied().unwrap_or_else(|| base[j] * factor(distance[i][j]));
            (ns.clamp(MIN_LATENCY_NS, MAX_LATENCY_NS) * 10.0).round() / 10.0
        };
        let mut out: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| value(i, j)).collect()).collect();
        for j in (0..n).filter(|j| !has_cpus(j)) {
            // By convention the diagonal of memory without CPUs is the latency from the nearest CPU.
            out[j][j] = (0..n).filter(has_cpus).map(|i| out[i][j]).min_by(f64::total_cmp).unwrap_or(local);
        }
        let missing = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|p| !read.contains_key(p)).count();
        if missing > 0 {
            let what = if missing == n * n { "latencies" } else { "latencies the source does not state" };
            self.notes.push(format!("{what}: {local} ns local and 6.5 % more for each point of distance above 10"));
        }
        out
    }

    fn links(&self, sockets: &[u32], latency: &[Vec<f64>], out: &mut String) {
        let mut distinct = sockets.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() < 2 || distinct.len() > MAX_LINKED as usize {
            return;
        }
        let n = self.nodes.len();
        let extra = |i: usize, j: usize| latency[i][j] - latency[i][i];
        let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let cross = pairs.filter(|&(i, j)| {
            sockets[i] != sockets[j] && !self.nodes[i].cpus.is_empty() && !self.nodes[j].cpus.is_empty()
        });
        let least = cross.map(|(i, j)| extra(i, j)).min_by(f64::total_cmp).unwrap_or(0.0).max(0.0);
        let text = GENERIC_LINKS.replace("hop_ns = 90", &format!("hop_ns = {least:.1}"));
        let _ = write!(out, "\n# assumed: every two sockets joined by a link as in a 2-socket Milan{text}");
    }

    fn rest(&self, out: &mut String) {
        let (base, single) = (self.base_ghz, self.single_ghz);
        let known = base.is_some() || single.is_some();
        let low = base.unwrap_or(single.map_or(BASE_GHZ, |s| s.min(BASE_GHZ)));
        let high = single.unwrap_or(base.map_or(SINGLE_GHZ, |b| b.max(SINGLE_GHZ)));
        let sustained = if known { (low + high) / 2.0 } else { SUSTAINED_GHZ };
        out.push_str("\n[clock]\n");
        line(out, &format!("base_ghz = {low:.3}"), base.is_some(), "");
        line(out, &format!("sustained_ghz = {sustained:.3}"), false, if known { ": midway" } else { "" });
        line(out, &format!("single_ghz = {high:.3}"), single.is_some(), "");
        out.push('\n');
        line(out, "[stream]", false, "");
        out.push_str("lines_sequential = 64\nlines_random = 16\ncap_gbps = 31\n\n");
        line(out, "[tlb]", false, "");
        out.push_str("entries_4k = 2048\nentries_2m = 2048\n");
    }
}

/// A rate with one decimal, or with three digits if it is less than 1, so that it never becomes 0.
fn rate(gbps: f64) -> String {
    if gbps >= 1.0 {
        return format!("{gbps:.1}");
    }
    let digits = (2.0 - gbps.log10().floor()).clamp(1.0, 9.0) as usize;
    format!("{gbps:.digits$}")
}

/// Writes a line with its remark: `read`, or `assumed` with the reason.
fn line(out: &mut String, text: &str, read: bool, why: &str) {
    let _ = match read {
        true => writeln!(out, "{text:<31} # read"),
        false => writeln!(out, "{text:<31} # assumed{why}"),
    };
}

fn matrices(distance: &[Vec<u8>], latency: &[Vec<f64>], read: bool, some_read: bool, out: &mut String) {
    out.push_str("\n[distance]\n");
    line(out, "matrix = [", read, "");
    for row in distance {
        let row: Vec<String> = row.iter().map(u8::to_string).collect();
        let _ = writeln!(out, "  [{}],", row.join(", "));
    }
    out.push_str("]\n\n[latency]\n");
    line(out, "matrix_ns = [", false, if some_read { " where the source does not state it" } else { "" });
    for row in latency {
        let row: Vec<String> = row.iter().map(f64::to_string).collect();
        let _ = writeln!(out, "  [{}],", row.join(", "));
    }
    out.push_str("]\n");
}
