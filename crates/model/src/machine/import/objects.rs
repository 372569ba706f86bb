//! The tree of objects by which hwloc describes a machine, and the machine that it makes.
//!
//! Problem: hwloc's XML, text and synthetic forms write the same tree. In it, NUMA nodes stand beside the CPUs, several
//! may have the same CPUs, nodes without memory are left out, and a container hides CPUs.
//! Approach: each form fills [`Objects`]. [`Objects::into_found`] gives each CPU the node with the smallest set that
//! has it, where nodes of ordinary memory come first. CPUs of no node are those of nodes without memory.
//! Invariant: an object's parent has a smaller index.

use super::found::{Found, FoundNode, Lost, Sharing};
use super::mask::Mask;
use crate::machine::{cpulist, MemoryKind};
use crate::spec::{clip, SpecError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Most objects of a file.
pub(super) const MAX_OBJECTS: usize = 65_536;

/// Kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Package,
    Core,
    /// A data cache of level 2 or more, with its level.
    Cache(u8),
    Node,
    Pu,
    /// Whatever else contains others: the machine, groups, dies.
    Other,
}

/// An object of the tree.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub kind: Kind,
    pub parent: Option<usize>,
    /// Number of the operating system; needed for packages, nodes and CPUs.
    pub id: u32,
    /// Size of a cache or memory of a node, bytes.
    pub bytes: Option<u64>,
    /// Memory of all nodes below the object, if the form states it, bytes.
    pub total_bytes: Option<u64>,
    /// CPUs of a node, if the form states them, and all of them, if some are hidden.
    pub cpus: Option<Mask>,
    pub complete_cpus: Option<Mask>,
    /// Nodes around or below the object, with those that the tree leaves out.
    pub complete_nodes: Option<Mask>,
    pub subtype: String,
    pub tier: Option<u8>,
    pub gp_index: Option<u64>,
}

impl Object {
    pub(super) fn new(kind: Kind, parent: Option<usize>, id: u32) -> Self {
        Self {
            kind,
            parent,
            id,
            bytes: None,
            total_bytes: None,
            cpus: None,
            complete_cpus: None,
            complete_nodes: None,
            subtype: String::new(),
            tier: None,
            gp_index: None,
        }
    }
    /// Technology of a node's memory by hwloc's subtype; `None` if that says nothing.
    fn memory_kind(&self) -> Option<MemoryKind> {
        match self.subtype.as_str() {
            "DRAM" => Some(MemoryKind::Dram),
            "HBM" | "MCDRAM" => Some(MemoryKind::Hbm),
            "GPUMemory" => Some(MemoryKind::Gpu),
            "NVM" => Some(MemoryKind::Optane),
            s if s.starts_with("CXL") => Some(MemoryKind::Cxl),
            _ => None,
        }
    }
}

/// The tree.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub all: Vec<Object>,
    pub model: Option<String>,
}

/// Where a CPU is: its package, its core and its outermost cache.
#[derive(Clone, Copy, Default)]
struct Around {
    package: Option<u32>,
    core: Option<usize>,
    llc: Option<usize>,
}

impl Objects {
    /// Adds an object and returns its index.
    pub(super) fn push(&mut self, object: Object) -> usize {
        self.all.push(object);
        self.all.len() - 1
    }
    fn of(&self, kind: Kind) -> impl Iterator<Item = (usize, &Object)> {
        self.all.iter().enumerate().filter(move |(_, o)| o.kind == kind)
    }
    /// What is around an object, from the inside outwards.
    fn ancestors(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.all[at].parent, |&p| self.all[p].parent)
    }
    fn around(&self, at: usize) -> Around {
        let mut out = Around::default();
        for p in self.ancestors(at) {
            match self.all[p].kind {
                Kind::Package => out.package = out.package.or(Some(self.all[p].id)),
                Kind::Core => out.core = out.core.or(Some(p)),
                Kind::Cache(_) => out.llc = Some(p),
                _ => {}
            }
        }
        out
    }
    /// CPUs below each object, ascending.
    fn cpus_below(&self) -> Vec<Vec<u32>> {
        let mut below = vec![Vec::new(); self.all.len()];
        for (at, o) in self.of(Kind::Pu) {
            below[at].push(o.id);
            self.ancestors(at).for_each(|p| below[p].push(o.id));
        }
        below.iter_mut().for_each(|b: &mut Vec<u32>| b.sort_unstable());
        below
    }

    /// The machine, and the position of each node by its `gp_index`. `source` and `file` are for messages.
    ///
    /// # Errors
    /// There is no CPU, there are too many CPUs or nodes, or a node or CPU is named twice.
    pub(super) fn into_found(mut self, source: String, file: &str) -> Result<(Found, BTreeMap<u64, usize>), SpecError> {
        let below = self.cpus_below();
        let mut nodes: Vec<usize> = self.of(Kind::Node).map(|(at, _)| at).collect();
        nodes.sort_by_key(|&at| self.all[at].id);
        // In hwloc 1.x nodes contain their CPUs, so one that contains none has none.
        let containers = nodes.iter().any(|&at| !below[at].is_empty());
        let none = |at: usize| containers && below[at].is_empty() && self.all[at].cpus.is_none();
        let sets: Vec<Mask> =
            nodes.iter().map(|&at| if none(at) { Mask::default() } else { self.set(at, &below) }).collect();
        let mut found = Found { source, file: file.into(), model: self.model.take(), ..Found::default() };
        // Nodes in order of preference: ordinary memory first, then the smallest set, then the lowest id.
        let ordinary = |o: &Object| matches!(o.memory_kind(), None | Some(MemoryKind::Dram));
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by_key(|&i| (!ordinary(&self.all[nodes[i]]), sets[i].len(), self.all[nodes[i]].id));
        let mut cpus = vec![Vec::new(); nodes.len()];
        let mut packages = vec![BTreeSet::new(); nodes.len()];
        let mut lost = Vec::new();
        for (at, pu) in self.of(Kind::Pu) {
            match order.iter().find(|&&i| sets[i].contains(pu.id)) {
                Some(&home) => {
                    cpus[home].push(pu.id);
                    packages[home].extend(self.around(at).package);
                }
                None => lost.push(at),
            }
        }
        self.share(&below, &mut found);
        let sized = nodes.iter().any(|&at| self.all[at].bytes.is_some());
        for (i, &at) in nodes.iter().enumerate() {
            let o = &self.all[at];
            let mut packages: Vec<u32> = std::mem::take(&mut packages[i]).into_iter().collect();
            if packages.is_empty() {
                packages.extend(self.around(at).package);
            }
            found.nodes.push(FoundNode {
                id: o.id,
                packages,
                cpus: std::mem::take(&mut cpus[i]),
                // hwloc leaves out the size of a node without memory.
                memory_bytes: o.bytes.or(sized.then_some(0)),
                tier: o.tier,
                kind: o.memory_kind(),
                ..FoundNode::default()
            });
        }
        self.note_hidden(&nodes, &mut found);
        let (groups, free) = self.groups(&lost, &below, &nodes);
        found.adopt(groups, &free);
        found.settle_nodes()?;
        self.totals(&nodes, &mut found);
        let place = |at: usize| found.nodes.iter().position(|n| n.id == self.all[at].id);
        let gp = nodes.iter().filter_map(|&at| Some((self.all[at].gp_index?, place(at)?))).collect();
        Ok((found, gp))
    }

    /// What the object of the whole machine says: its CPUs, its nodes, and `Machine (126GB total)` in text.
    fn totals(&self, nodes: &[usize], found: &mut Found) {
        let Some(root) = self.all.first() else { return };
        found.declared.online = root.cpus.as_ref().map(Mask::cpus).filter(|c| !c.is_empty());
        let rounded = |at: &usize| self.all[*at].bytes.is_some();
        found.declared.memory =
            root.total_bytes.filter(|_| nodes.iter().any(rounded)).map(|b| (b, 0.02, "the machine"));
    }

    /// CPUs of a node: as the form states them, or those below it, or those of the object that it stands in.
    fn set(&self, at: usize, below: &[Vec<u32>]) -> Mask {
        let own = || {
            let inner = std::iter::once(at).chain(self.ancestors(at)).find(|&o| !below[o].is_empty());
            Mask::of(inner.map_or(&[], |o| &below[o]))
        };
        self.all[at].cpus.clone().unwrap_or_else(own)
    }

    /// Cores, caches and the size of the L2.
    fn share(&self, below: &[Vec<u32>], found: &mut Found) {
        let shared: Vec<Arc<Vec<u32>>> = below.iter().cloned().map(Arc::new).collect();
        for (at, pu) in self.of(Kind::Pu) {
            let around = self.around(at);
            let cpus = |o: Option<usize>| o.map(|o| shared[o].clone()).unwrap_or_default();
            let llc_bytes = around.llc.and_then(|l| self.all[l].bytes).filter(|b| *b > 0);
            found.sharing.insert(
                pu.id,
                Sharing { core: cpus(around.core), llc: cpus(around.llc), llc_bytes, package: around.package },
            );
        }
        found.l2_bytes = self.of(Kind::Cache(2)).find_map(|(_, o)| o.bytes).filter(|b| *b > 0);
    }

    /// Tells nodes whose CPUs are hidden from memory without CPUs.
    fn note_hidden(&self, nodes: &[usize], found: &mut Found) {
        let mut hidden = Vec::new();
        for (node, &at) in found.nodes.iter_mut().zip(nodes) {
            let of = |m: &Option<Mask>| m.as_ref().map_or(0, Mask::len);
            let o = &self.all[at];
            if node.cpus.is_empty() && of(&o.cpus) == 0 && of(&o.complete_cpus) > 0 {
                node.kind = node.kind.or(Some(MemoryKind::Dram));
                hidden.push(node.id);
            }
        }
        if !hidden.is_empty() {
            found.notes.push(format!(
                "CPUs of node {} are not in the source (not allowed or offline where lstopo ran): memory only here; run \
                 lstopo outside the container to have them",
                cpulist::format(&hidden)
            ));
        }
        // The machine knows of CPUs whose nodes it does not name.
        let root = self.all.first();
        let outside = root.and_then(|o| Some((o.complete_cpus.as_ref()?, o.cpus.as_ref()?)));
        let cpus: Vec<u32> = outside
            .map_or_else(Vec::new, |(all, shown)| all.cpus().into_iter().filter(|c| !shown.contains(*c)).collect());
        let bare: Vec<u32> =
            found.nodes.iter().filter(|n| n.cpus.is_empty() && !hidden.contains(&n.id)).map(|n| n.id).collect();
        if !cpus.is_empty() && !bare.is_empty() {
            found.hidden_cpus = true;
            found.doubt(format!(
                "CPU {} of the machine are hidden (not allowed or offline where lstopo ran), so node {} may have CPUs",
                cpulist::format(&cpus),
                cpulist::format(&bare)
            ));
        }
    }

    /// Groups of CPUs that no node has, with their packages, and ids for their nodes: the largest objects that have
    /// such CPUs only.
    fn groups(&self, lost: &[usize], below: &[Vec<u32>], nodes: &[usize]) -> (Vec<Lost>, Vec<u32>) {
        let ids: BTreeSet<u32> = lost.iter().map(|&at| self.all[at].id).collect();
        let whole = |o: &usize| below[*o].iter().all(|c| ids.contains(c));
        let mut roots: BTreeMap<u32, usize> = BTreeMap::new();
        for &at in lost {
            let root = std::iter::once(at).chain(self.ancestors(at)).take_while(whole).last().unwrap_or(at);
            roots.entry(below[root].first().copied().unwrap_or(0)).or_insert(root);
        }
        let present: BTreeSet<u32> = nodes.iter().map(|&at| self.all[at].id).collect();
        let absent = |at: usize| -> Vec<u32> {
            let nodes = self.all[at].complete_nodes.as_ref().map(Mask::cpus).unwrap_or_default();
            nodes.into_iter().filter(|n| !present.contains(n)).collect()
        };
        let own: Vec<Vec<u32>> = roots.values().map(|&r| absent(r)).collect();
        let package = |root: usize| match self.all[root].kind {
            Kind::Package => Some(self.all[root].id),
            _ => self.around(root).package,
        };
        if own.iter().all(|o| o.len() == 1) {
            // Several objects may stand for one node.
            let mut groups: BTreeMap<u32, Lost> = BTreeMap::new();
            for (&root, id) in roots.values().zip(own.iter().flatten()) {
                let group = groups.entry(*id).or_insert_with(|| (Vec::new(), package(root)));
                group.0.extend(below[root].iter().copied());
            }
            let ids = groups.keys().copied().collect();
            return (groups.into_values().collect(), ids);
        }
        let free = if self.all.is_empty() { Vec::new() } else { absent(0) };
        (roots.values().map(|&r| (below[r].clone(), package(r))).collect(), free)
    }
}

/// The first word of a type as hwloc and its users write it: `L3Cache`, `l3`, `PU`, `NUMANode`, `node`, `Package`,
/// `socket`. `None` if it is no type.
pub(super) fn kind_of(word: &str) -> Option<Kind> {
    let w = word.to_ascii_lowercase();
    Some(match w.as_str() {
        "pu" => Kind::Pu,
        "core" => Kind::Core,
        "package" | "pack" | "socket" => Kind::Package,
        "numanode" | "node" | "numa" => Kind::Node,
        "machine" | "system" | "die" | "module" | "tile" | "compute" | "cluster" | "memcache" | "memsidecache" => {
            Kind::Other
        }
        _ if w.starts_with("group") => Kind::Other,
        _ => {
            let rest = w.strip_prefix('l')?;
            let level = rest.chars().next()?.to_digit(10).filter(|l| (1..=5).contains(l))?;
            match &rest[1..] {
                "i" | "icache" => Kind::Other,
                "" | "cache" | "d" | "dcache" | "u" | "ucache" if level == 1 => Kind::Other,
                "" | "cache" | "d" | "dcache" | "u" | "ucache" => Kind::Cache(level as u8),
                _ => return None,
            }
        }
    })
}

/// A size as lstopo writes it (`20MB`, `65843684KB`), bytes; `None` if it is none. Units are of 1024.
pub(super) fn size_of(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "kb" | "kib" => 10,
        "mb" | "mib" => 20,
        "gb" | "gib" => 30,
        "tb" | "tib" => 40,
        _ => return None,
    };
    let bytes = number.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (bytes <= crate::machine::size::MAX_BYTES).then_some(bytes)
}

/// The error for a text with too many objects.
pub(super) fn too_many(file: &str, line: usize) -> SpecError {
    let what = format!("more than {MAX_OBJECTS} objects");
    SpecError { line, column: usize::from(line > 0), ..SpecError::plain(&clip(file), what, "a smaller machine") }
}
