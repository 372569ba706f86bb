//! Lists of (distance class, page size): the machine's classes, and ladders sorted by latency or given.

use super::latency::AccessLatency;
use super::{Locality, ThpTunables};
use crate::mm::zone::zonelist::distance_classes;
use crate::numa::topology::NodeMask;
use numalab_model::machine::Machine;

/// A step of a ladder, seen from one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Distance class: 0 local, 1 the nearest others, and so on.
    pub class: u8,
    /// Huge page.
    pub huge: bool,
    /// Nodes of that class.
    pub nodes: NodeMask,
}

/// Classes and ladder of every node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ladders {
    classes: Vec<Vec<NodeMask>>,
    rungs: Vec<Vec<Rung>>,
}

impl Ladders {
    /// What the locality rule of these settings needs; latencies as seen in a guest if `guest`.
    pub fn of(machine: &Machine, thp: &ThpTunables, guest: bool) -> Self {
        match thp.locality() {
            Locality::LadderSorted => Self::sorted(machine, guest),
            Locality::LadderCustom => Self::custom(machine, &thp.ladder),
            _ => Self::classes_of(machine),
        }
    }
    /// Only the distance classes: for rules that need no ladder.
    pub fn classes_of(machine: &Machine) -> Self {
        let memory = NodeMask::of((0..machine.nodes.len()).filter(|n| machine.nodes[*n].memory_bytes > 0));
        let classes = |n: usize| distance_classes(n, &machine.distance[n], memory);
        Self { classes: (0..machine.nodes.len()).map(classes).collect(), rungs: Vec::new() }
    }
    /// All (class, size) pairs by predicted access latency, the local huge page first on ties (`ladder_sorted`).
    pub fn sorted(machine: &Machine, guest: bool) -> Self {
        let latency = AccessLatency::new(machine, guest);
        let mut out = Self::classes_of(machine);
        for (from, classes) in out.classes.iter().enumerate() {
            // Picoseconds: integers sort the same everywhere.
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
    /// The pairs given, in their order; classes a node does not have are left out (`ladder_custom`).
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
    /// The ladder of a node; empty for rules that have none.
    pub fn rungs(&self, node: usize) -> &[Rung] {
        self.rungs.get(node).map_or(&[], |r| r)
    }
}

fn pairs(classes: &[NodeMask]) -> impl Iterator<Item = Rung> + '_ {
    let some = classes.iter().enumerate().filter(|(_, nodes)| !nodes.is_empty());
    some.flat_map(|(c, nodes)| [true, false].map(|huge| Rung { class: c as u8, huge, nodes: *nodes }))
}

/// Rungs a list may have.
const MOST_RUNGS: usize = 32;
/// Distance classes a list may name: D0 to D15.
const MOST_CLASSES: u8 = 16;

/// The list of `ladder_custom` as a setting: (distance class, huge) pairs in order, written `D0 THP | D0 4k | D1 THP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RungList {
    len: u8,
    /// Twice the class, and 1 for a huge page.
    rungs: [u8; MOST_RUNGS],
}

impl RungList {
    /// No list given; written `none`.
    pub const NONE: Self = Self { len: 0, rungs: [0; MOST_RUNGS] };

    /// Whether no list was given.
    pub fn is_none(&self) -> bool {
        self.len == 0
    }
    /// Its (class, huge) pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (u8, bool)> + '_ {
        self.rungs[..usize::from(self.len)].iter().map(|r| (r >> 1, r & 1 != 0))
    }
    /// Reads a list like `D0 THP | D0 4k | D1 THP`, or `none`.
    ///
    /// # Errors
    /// A sentence naming the rung that is none, or that is too many, and what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut out = Self::NONE;
        if text.trim() == "none" {
            return Ok(out);
        }
        for part in text.split('|') {
            let (class, huge) =
                rung(part).ok_or_else(|| format!("`{}` is no rung like `D1 THP` or `D0 4k`", part.trim()))?;
            let code = class << 1 | u8::from(huge);
            if out.iter().any(|known| known == (class, huge)) {
                return Err(format!("`{}` is in the list twice", part.trim()));
            }
            let Some(free) = out.rungs.get_mut(usize::from(out.len)) else {
                return Err(format!("more than {MOST_RUNGS} rungs"));
            };
            *free = code;
            out.len += 1;
        }
        Ok(out)
    }
}

impl std::fmt::Display for RungList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_none() {
            return f.write_str("none");
        }
        for (i, (class, huge)) in self.iter().enumerate() {
            let bar = if i > 0 { " | " } else { "" };
            write!(f, "{bar}D{class} {}", if huge { "THP" } else { "4k" })?;
        }
        Ok(())
    }
}

fn rung(part: &str) -> Option<(u8, bool)> {
    let (class, size) = part.trim().split_once(char::is_whitespace)?;
    let class = class.strip_prefix(['D', 'd'])?.parse().ok().filter(|c| *c < MOST_CLASSES)?;
    match size.trim() {
        "THP" | "thp" => Some((class, true)),
        "4k" | "4K" => Some((class, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ladders_are_read_and_bad_rungs_named() {
        let list = RungList::parse("D0 THP | D0 4k|D12  thp").unwrap();
        assert_eq!(list.iter().collect::<Vec<_>>(), [(0, true), (0, false), (12, true)]);
        assert_eq!(list.to_string(), "D0 THP | D0 4k | D12 THP");
        assert_eq!(RungList::parse(&list.to_string()), Ok(list));
        assert_eq!((RungList::parse(" none "), RungList::NONE.to_string()), (Ok(RungList::NONE), "none".into()));
        for bad in ["", "D0", "D0 2M", "X0 THP", "D0 THP |", "D16 THP", "none | D0 4k"] {
            assert!(RungList::parse(bad).is_err_and(|e| e.contains("is no rung")), "{bad}");
        }
        assert!(RungList::parse("D0 4k | d0 4K").is_err_and(|e| e.contains("twice")));
    }
}
