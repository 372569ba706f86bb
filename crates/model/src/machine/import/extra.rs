//! Sources that have no CPUs, and add to one that has: sizes of nodes, DIMMs, loads that perf sampled.
//!
//! Problem: `numastat`, `/proc/zoneinfo`, `dmidecode` and `perf mem report` each know a part of a machine that topology
//! tools leave out, and none is a machine alone.
//! Approach: each fills an [`Extra`]. [`Found::add`] takes from it what the machine does not have yet, says so, and
//! doubts where the two disagree.
//! Units: bytes, GB/s; ratios of latencies have none.

use super::form::Form;
use super::found::Found;
use crate::machine::{cpulist, size};
use std::collections::BTreeMap;

/// Share by which sizes of one node may differ between sources: they round, and count the kernel's own memory or not.
const SIZE_SHARE: f64 = 0.03;
/// Least share of the DIMMs that the system sees; the rest is the firmware's and the kernel's.
const DIMM_SHARE: f64 = 0.85;
/// Factor by which the ratio of remote to local latency may differ before it is doubted: loads under load wait longer.
pub(super) const RATIO_FACTOR: f64 = 1.3;

/// What such a source states; what it does not state is `None` or empty.
#[derive(Debug)]
pub(super) struct Extra {
    pub form: Form,
    pub file: String,
    /// Nodes that the source lists, and their sizes if it has them.
    pub nodes: BTreeMap<u32, Option<u64>>,
    /// Memory of all nodes together, as the source adds it up.
    pub total_bytes: Option<u64>,
    /// Memory that a program has on each node.
    pub used: BTreeMap<u32, u64>,
    pub dimms: Option<Dimms>,
    /// Latency of loads from remote memory by that from local memory, as sampled.
    pub remote_ratio: Option<f64>,
    pub notes: Vec<String>,
}

/// The DIMMs of a machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dimms {
    pub bytes: u64,
    pub channels: usize,
    /// Sum of the peaks of all channels, GB/s.
    pub peak_gbps: f64,
}

impl Extra {
    pub(super) fn new(form: Form, file: &str) -> Self {
        let file = file.to_string();
        let (nodes, used) = (BTreeMap::new(), BTreeMap::new());
        Self { form, file, nodes, total_bytes: None, used, dimms: None, remote_ratio: None, notes: Vec::new() }
    }
    /// Its name in sentences.
    fn name(&self) -> String {
        format!("`{}` ({})", self.form.command(), self.file)
    }
}

impl Found {
    /// Takes what the machine lacks from another source, and doubts where both disagree.
    pub(super) fn add(&mut self, extra: &Extra) {
        let name = extra.name();
        self.add_sizes(extra, &name);
        for (id, used) in &extra.used {
            let has = self.nodes.iter().find(|n| n.id == *id).and_then(|n| n.memory_bytes);
            if let Some(has) = has.filter(|has| used > has) {
                let (used, has) = (size::short(*used), size::short(has));
                self.doubt(format!("{name} has a program with {used} on node {id}, which has {has}"));
            }
        }
        if let Some(dimms) = extra.dimms {
            self.add_dimms(dimms, &name);
        }
        self.remote_ratio = self.remote_ratio.or(extra.remote_ratio);
        self.notes.extend(extra.notes.iter().cloned());
    }

    fn add_sizes(&mut self, extra: &Extra, name: &str) {
        let own: Vec<u32> = self.nodes.iter().map(|n| n.id).collect();
        let told: Vec<u32> = extra.nodes.keys().copied().collect();
        let missing: Vec<u32> = told.iter().copied().filter(|id| !own.contains(id)).collect();
        if !missing.is_empty() {
            self.doubt(format!("{name} has node {}, which {} has not", cpulist::format(&missing), self.source));
        }
        // Sources leave out nodes without memory, but not others.
        let with_memory = |id: &&u32| self.nodes.iter().any(|n| n.id == **id && n.memory_bytes != Some(0));
        let lost: Vec<u32> = own.iter().filter(with_memory).copied().filter(|id| !told.contains(id)).collect();
        if !lost.is_empty() && !told.is_empty() {
            self.doubt(format!("{name} does not have node {}", cpulist::format(&lost)));
        }
        let mut taken = Vec::new();
        let mut doubts = Vec::new();
        for node in &mut self.nodes {
            let Some(bytes) = extra.nodes.get(&node.id).copied().flatten() else { continue };
            match node.memory_bytes {
                None => {
                    node.memory_bytes = Some(bytes);
                    taken.push(node.id);
                }
                Some(own) if own.abs_diff(bytes) as f64 > SIZE_SHARE * own.max(bytes) as f64 => {
                    let (own, bytes) = (size::short(own), size::short(bytes));
                    doubts.push(format!("node {} has {own} by {}, and {bytes} by {name}", node.id, self.source));
                }
                Some(_) => {}
            }
        }
        if !taken.is_empty() {
            self.notes.push(format!("memory of node {} from {name}", cpulist::format(&taken)));
        }
        doubts.into_iter().for_each(|what| self.doubt(what));
        let sizes: Option<u64> = extra.nodes.values().copied().sum();
        if let (Some(total), Some(sum)) = (extra.total_bytes, sizes) {
            if total.abs_diff(sum) as f64 > SIZE_SHARE * total as f64 {
                let (sum, total) = (size::short(sum), size::short(total));
                self.doubt(format!("the nodes of {name} have {sum} together, and its total is {total}"));
            }
        }
    }

    /// Divides the bandwidth of the DIMMs evenly among the nodes with CPUs and memory.
    fn add_dimms(&mut self, dimms: Dimms, name: &str) {
        let own = |n: &&mut super::found::FoundNode| !n.cpus.is_empty() && n.memory_bytes != Some(0);
        let sizes: Option<u64> =
            self.nodes.iter().filter(|n| !n.cpus.is_empty()).map(|n| n.memory_bytes).sum::<Option<u64>>();
        if let Some(sum) = sizes {
            let share = sum as f64 / (dimms.bytes as f64).max(1.0);
            if !(DIMM_SHARE..=1.0).contains(&share) {
                let (sum, all) = (size::short(sum), size::short(dimms.bytes));
                self.doubt(format!("the nodes have {sum} of memory, and {name} has modules of {all}"));
            }
        }
        let nodes = self.nodes.iter_mut().filter(own).count();
        if nodes == 0 || dimms.peak_gbps <= 0.0 {
            return;
        }
        if !dimms.channels.is_multiple_of(nodes) {
            self.doubt(format!("{} channels of {name} do not divide among {nodes} nodes", dimms.channels));
        }
        for node in self.nodes.iter_mut().filter(own) {
            node.peak_gbps = node.peak_gbps.or(Some(dimms.peak_gbps / nodes as f64));
        }
        self.notes.push(format!("{} channels from {name}, as many for each of {nodes} nodes", dimms.channels));
    }

    /// Doubts latencies whose ratio of remote to local is not what perf sampled. `latency` in ns.
    pub(super) fn check_ratio(&mut self, latency: &[Vec<f64>]) {
        let Some(sampled) = self.remote_ratio else { return };
        let with: Vec<usize> = (0..self.nodes.len()).filter(|&n| !self.nodes[n].cpus.is_empty()).collect();
        let mean = |own: bool| {
            let of = with.iter().flat_map(|&i| with.iter().map(move |&j| (i, j))).filter(|(i, j)| (i == j) == own);
            let all: Vec<f64> = of.map(|(i, j)| latency[i][j]).collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        };
        let (Some(local), Some(remote)) = (mean(true), mean(false)) else { return };
        let here = remote / local;
        if !(1.0 / RATIO_FACTOR..=RATIO_FACTOR).contains(&(sampled / here)) {
            self.doubt(format!(
                "remote loads took {sampled:.2} times local ones where perf sampled them, and {here:.2} times by the \
                 latencies of this file"
            ));
        }
    }
}
