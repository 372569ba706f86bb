//! Distance classes of a machine, and ladders of (distance class, page size): sorted by latency, or given.

use super::latency::AccessLatency;
use crate::mm::zone::zonelist::distance_classes;
use numalab_base::node_mask::NodeMask;
use numalab_base::rung_list::RungList;
use numalab_nouns::machine::Machine;

/// A step of a ladder, as seen from one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Distance class: 0 is local, 1 the nearest other nodes, and so on.
    pub class: u8,
    /// Whether it is a huge page.
    pub huge: bool,
    /// Nodes of the class.
    pub nodes: NodeMask,
}

/// Distance classes and ladder of every node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ladders {
    classes: Vec<Vec<NodeMask>>,
    rungs: Vec<Vec<Rung>>,
}

impl Ladders {
    /// Only the distance classes, for rules without a ladder.
    pub fn classes_of(machine: &Machine) -> Self {
        let memory = NodeMask::of((0..machine.nodes.len()).filter(|n| machine.nodes[*n].memory_bytes > 0));
        let classes = |n: usize| distance_classes(n, &machine.distance[n], memory);
        Self { classes: (0..machine.nodes.len()).map(classes).collect(), rungs: Vec::new() }
    }
    /// All (class, size) pairs by predicted access latency; on ties a nearer class and a huge page come first
    /// (`ladder_sorted`).
    pub fn sorted(machine: &Machine, guest: bool) -> Self {
        let latency = AccessLatency::new(machine, guest);
        let mut out = Self::classes_of(machine);
        for (from, classes) in out.classes.iter().enumerate() {
            // Picoseconds as integers, which sort the same on all platforms.
            let cost = |r: &Rung| {
                let of = |to: usize| (latency.ns(from, to, r.huge) * 1000.0) as u64;
                r.nodes.iter().map(of).sum::<u64>() / r.nodes.len().max(1) as u64
            };
            let mut rungs: Vec<Rung> = pairs(classes).collect();
            rungs.sort_by_key(|r| (cost(r), r.class, !r.huge));
            out.rungs.push(rungs);
        }
        out
    }
    /// The given pairs in their order, without classes that a node does not have (`ladder_custom`).
    pub fn custom(machine: &Machine, ladder: &RungList) -> Self {
        let mut out = Self::classes_of(machine);
        for classes in &out.classes {
            let rung = |(class, huge): (u8, bool)| {
                let nodes = classes.get(usize::from(class)).copied()?;
                Some(Rung { class, huge, nodes })
            };
            out.rungs.push(ladder.iter().filter_map(rung).collect());
        }
        out
    }
    /// Distance classes seen from a node.
    pub fn classes(&self, node: usize) -> &[NodeMask] {
        self.classes.get(node).map_or(&[], |c| c)
    }
    /// Nodes of the classes up to `max` seen from a node.
    pub fn up_to(&self, node: usize, max: u8) -> NodeMask {
        NodeMask::of(self.classes(node).iter().take(usize::from(max) + 1).flat_map(|c| c.iter()))
    }
    /// Ladder of a node; empty for rules without a ladder.
    pub fn rungs(&self, node: usize) -> &[Rung] {
        self.rungs.get(node).map_or(&[], |r| r)
    }
}

fn pairs(classes: &[NodeMask]) -> impl Iterator<Item = Rung> + '_ {
    let some = classes.iter().enumerate().filter(|(_, nodes)| !nodes.is_empty());
    some.flat_map(|(c, nodes)| [true, false].map(|huge| Rung { class: c as u8, huge, nodes: *nodes }))
}
