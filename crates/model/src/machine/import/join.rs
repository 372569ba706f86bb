//! Two descriptions of one machine as one.
//!
//! Problem: `lscpu` knows caches and no memory, `numactl -H` memory and distances and no caches. People have both.
//! Approach: the first source is the machine. What it lacks or has guessed comes from the second, if both have the same
//! nodes and CPUs. Where both know something and disagree, the first stands and the doubt is said.

use super::found::Found;
use crate::machine::{cpulist, size};
use std::collections::BTreeSet;

/// Share by which sizes may differ: tools round, and a running kernel keeps some memory back.
const SIZE_SHARE: f64 = 0.03;

impl Found {
    /// Adds a second description of the same machine.
    pub(super) fn join(&mut self, mut other: Found) {
        other.cross_check();
        let name = format!("`{}` ({})", other.source, other.file);
        other.notes.iter().filter_map(|n| n.strip_prefix(crate::machine::DOUBT)).for_each(|doubt| {
            self.doubt(format!("in {name}, {doubt}"));
        });
        if !self.same_places(&other, &name) {
            return;
        }
        self.join_memory(&other, &name);
        self.join_sharing(&other, &name);
        match (&self.distance, &other.distance) {
            (None, Some(_)) => {
                self.distance = other.distance;
                self.notes.push(format!("distances from {name}"));
            }
            (Some(own), Some(others)) if own != others => self.doubt(format!("distances differ from those of {name}")),
            _ => {}
        }
        if self.latency_ns.is_empty() {
            self.latency_ns = other.latency_ns;
        }
        self.model = self.model.take().or(other.model);
        self.l2_bytes = self.l2_bytes.or(other.l2_bytes);
        self.base_ghz = self.base_ghz.or(other.base_ghz);
        self.single_ghz = self.single_ghz.or(other.single_ghz);
    }

    /// Whether both have the same nodes with the same CPUs. If not, nothing else can be taken.
    fn same_places(&mut self, other: &Found, name: &str) -> bool {
        let ids = |f: &Found| f.nodes.iter().map(|n| n.id).collect::<Vec<u32>>();
        let (own, others) = (ids(self), ids(other));
        if own != others {
            let (own, others) = (cpulist::format(&own), cpulist::format(&others));
            self.doubt(format!("{name} has nodes {others} and {} has {own}: nothing is taken from it", self.source));
            return false;
        }
        let differs = self.nodes.iter().zip(&other.nodes).find(|(a, b)| a.cpus != b.cpus);
        if let Some((a, b)) = differs {
            let (id, own, others) = (a.id, cpulist::format(&a.cpus), cpulist::format(&b.cpus));
            self.doubt(format!("node {id} has CPUs `{own}`, and `{others}` by {name}: nothing is taken from it"));
            return false;
        }
        true
    }

    fn join_memory(&mut self, other: &Found, name: &str) {
        let (mut taken, mut doubts) = (Vec::new(), Vec::new());
        for (node, theirs) in self.nodes.iter_mut().zip(&other.nodes) {
            match (node.memory_bytes, theirs.memory_bytes) {
                (None, Some(bytes)) => {
                    node.memory_bytes = Some(bytes);
                    taken.push(node.id);
                }
                (Some(a), Some(b)) if a.abs_diff(b) as f64 > SIZE_SHARE * a.max(b) as f64 => {
                    doubts.push(format!("node {} has {}, and {} by {name}", node.id, size::short(a), size::short(b)));
                }
                _ => {}
            }
            node.gbps = node.gbps.or(theirs.gbps);
            node.write_gbps = node.write_gbps.or(theirs.write_gbps);
            node.peak_gbps = node.peak_gbps.or(theirs.peak_gbps);
            node.kind = node.kind.or(theirs.kind);
            node.tier = node.tier.or(theirs.tier);
        }
        if !taken.is_empty() {
            self.notes.push(format!("memory of node {} from {name}", cpulist::format(&taken)));
        }
        doubts.into_iter().for_each(|what| self.doubt(what));
    }

    /// Packages, cores and caches.
    fn join_sharing(&mut self, other: &Found, name: &str) {
        let packages = |f: &Found| f.nodes.iter().flat_map(|n| n.packages.iter().copied()).collect::<BTreeSet<u32>>();
        let (own, others) = (packages(self), packages(other));
        if own.is_empty() || (self.packages_assumed && !other.packages_assumed) {
            for (node, theirs) in self.nodes.iter_mut().zip(&other.nodes) {
                node.packages.clone_from(&theirs.packages);
            }
            self.packages_assumed = other.packages_assumed;
        } else if !others.is_empty() && own.len() != others.len() {
            self.doubt(format!("{} has {} sockets, and {name} has {}", self.source, own.len(), others.len()));
        }
        let knows = |f: &Found| f.sibling_notes.is_empty() && f.sharing.values().any(|s| !s.core.is_empty());
        let take_cores = knows(other) && !knows(self);
        let differ = |(cpu, s): (&u32, &super::found::Sharing)| {
            other.sharing.get(cpu).is_some_and(|theirs| !theirs.core.is_empty() && theirs.core != s.core)
        };
        if knows(other) && knows(self) && self.sharing.iter().any(differ) {
            self.doubt(format!("cores differ from those of {name}"));
        }
        let has_llc = |f: &Found| f.cache_notes.is_empty() && f.sharing.values().any(|s| !s.llc.is_empty());
        let take_llc = has_llc(other) && !has_llc(self);
        for (cpu, theirs) in &other.sharing {
            let own = self.sharing.entry(*cpu).or_default();
            own.package = own.package.or(theirs.package);
            if take_cores {
                own.core.clone_from(&theirs.core);
            }
            if take_llc {
                (own.llc, own.llc_bytes) = (theirs.llc.clone(), own.llc_bytes.or(theirs.llc_bytes));
            } else if own.llc.len() == theirs.llc.len() {
                own.llc_bytes = own.llc_bytes.or(theirs.llc_bytes);
            }
        }
        if take_cores {
            self.sibling_notes.clear();
            self.siblings_assumed = false;
        }
        if take_llc {
            self.cache_notes.clear();
        }
        self.caches_assumed &= other.caches_assumed || !has_llc(other);
    }
}
