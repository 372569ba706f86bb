//! What a source declares as totals, against what it lists.
//!
//! Problem: a pasted text may be cut, taken from two machines, or from a container that shows a part. Its totals tell,
//! if somebody adds up the rest.
//! Approach: each source notes its totals as [`Declared`]. [`Found::cross_check`] adds up CPUs, nodes, memory and
//! packages and says where two disagree. It changes nothing.
//! Units: bytes.

use super::found::Found;
use crate::machine::{cpulist, size};
use std::collections::{BTreeMap, BTreeSet};

/// Counts with their noun: `1 node`, `3 nodes`.
fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

impl Found {
    /// Says where totals and lists of the source disagree.
    pub(super) fn cross_check(&mut self) {
        if std::mem::replace(&mut self.is_checked, true) {
            return;
        }
        let said = [self.cpus_against_totals(), self.nodes_against_totals(), self.memory_against_total()];
        let said: Vec<String> = said.into_iter().flatten().chain(self.cores_in_packages()).collect();
        said.into_iter().for_each(|what| self.doubt(what));
    }

    /// CPUs by their number, by the list of those online, by the nodes, and by sockets x cores x threads.
    fn cpus_against_totals(&self) -> Vec<String> {
        let d = &self.declared;
        let listed: BTreeSet<u32> = self.nodes.iter().flat_map(|n| n.cpus.iter().copied()).collect();
        let mut out = Vec::new();
        let online = d.online.as_ref().map_or(listed.len(), Vec::len);
        let all = online + d.offline.len();
        if let Some(cpus) = d.cpus.filter(|c| *c != online && *c != all) {
            out.push(format!("the source says {}, and lists {online} online", count(cpus, "CPU")));
        }
        if let Some(on) = &d.online {
            let lost: Vec<u32> = on.iter().copied().filter(|c| !listed.contains(c)).collect();
            let more: Vec<u32> = listed.iter().copied().filter(|c| on.binary_search(c).is_err()).collect();
            if !lost.is_empty() {
                out.push(format!("CPU {} is online and in no node", cpulist::format(&lost)));
            }
            if !more.is_empty() {
                out.push(format!("CPU {} is in a node and not online", cpulist::format(&more)));
            }
        }
        let parts = (d.packages, d.cores_per_package, d.threads_per_core);
        if let ((Some(sockets), Some(cores), Some(threads)), false) = (parts, d.hybrid) {
            let product = sockets.saturating_mul(cores).saturating_mul(threads);
            let total = d.cpus.unwrap_or(all);
            if ![online, all, total].contains(&product) {
                let (s, c, t) = (count(sockets, "socket"), count(cores, "core"), count(threads, "thread"));
                out.push(format!("{s} x {c} x {t} are {}, and {total} are listed", count(product, "CPU")));
            }
        }
        out
    }

    /// Nodes that are declared against those that are listed.
    fn nodes_against_totals(&self) -> Vec<String> {
        let own: Vec<u32> = self.nodes.iter().map(|n| n.id).filter(|id| !self.adopted.contains(id)).collect();
        let mut out = Vec::new();
        if let Some(nodes) = self.declared.nodes.filter(|n| *n != own.len()) {
            out.push(format!("the source says {}, and lists {}", count(nodes, "node"), own.len()));
        }
        if let Some(ids) = self.declared.node_ids.as_ref().filter(|ids| **ids != own) {
            let (said, listed) = (cpulist::format(ids), cpulist::format(&own));
            out.push(format!("the source says nodes {said}, and lists {listed}"));
        }
        out
    }

    /// Memory of the machine against the sum of its nodes.
    fn memory_against_total(&self) -> Vec<String> {
        let Some((total, share, who)) = self.declared.memory else { return Vec::new() };
        let sizes: Option<Vec<u64>> = self.nodes.iter().map(|n| n.memory_bytes).collect();
        let Some(sum) = sizes.map(|s| s.iter().sum::<u64>()) else { return Vec::new() };
        let off = (sum as f64 - total as f64).abs();
        match off > share * total as f64 {
            true => {
                let (sum, total) = (size::short(sum), size::short(total));
                vec![format!("the nodes have {sum} of memory together, and {who} says {total}")]
            }
            false => Vec::new(),
        }
    }

    /// Cores whose CPUs are in several packages, and packages of a number that differs from the declared one.
    fn cores_in_packages(&self) -> Vec<String> {
        let mut out = Vec::new();
        let package = |cpu: &u32| self.sharing.get(cpu).and_then(|s| s.package);
        let split = self.sharing.values().filter(|_| !self.siblings_assumed).find(|s| {
            let of: BTreeSet<u32> = s.core.iter().filter_map(package).collect();
            of.len() > 1
        });
        if let Some(s) = split {
            out.push(format!("CPUs {} share a core, and are in several packages", cpulist::format(&s.core)));
        }
        let named: BTreeMap<u32, ()> =
            self.nodes.iter().flat_map(|n| &n.packages).map(|p| (*p, ())).chain(self.known_packages()).collect();
        let told = self.declared.packages.filter(|p| !named.is_empty() && *p != named.len());
        if let Some(packages) = told.filter(|_| !self.packages_assumed) {
            out.push(format!("the source says {}, and lists {}", count(packages, "socket"), named.len()));
        }
        out
    }

    /// Packages that CPUs name.
    fn known_packages(&self) -> impl Iterator<Item = (u32, ())> + '_ {
        self.sharing.values().filter_map(|s| s.package).map(|p| (p, ()))
    }
}
