//! A group as the rules see it: CPU time and memory by node.

use super::look::{Hold, Look, TaskLook};
use super::settings::Settings;
use crate::numa::group::preferred_group_nid;
use crate::numa::topology::NumaTopology;
use crate::numa::weights::nearby_faults;
use numalab_base::node_mask::NodeMask;
use std::collections::BTreeMap;

/// A group at one look.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Its id.
    pub id: u64,
    /// Its busy threads.
    pub busy: Vec<TaskLook>,
    /// Number of busy threads that must stay.
    pub held_tasks: u64,
    /// All its pages that count, by node.
    pub mem: Vec<u64>,
    /// Those of its pages that may move, by node.
    pub movable: Vec<u64>,
    /// Nodes on which every busy thread may run and its memory may be.
    pub allowed: NodeMask,
}

impl Group {
    /// Number of busy threads on each node.
    pub fn threads(&self, nodes: usize) -> Vec<u32> {
        let mut out = vec![0; nodes];
        self.busy.iter().for_each(|t| out[t.node] += 1);
        out
    }

    /// All pages.
    pub fn pages(&self) -> u64 {
        self.mem.iter().sum()
    }

    /// Weight of a node in thousandths of the group's pages, with those on nodes near it.
    pub fn weight(&self, topo: &NumaTopology, node: usize) -> u64 {
        let near = nearby_faults(topo, node, topo.max_distance(), |n| self.mem[n]);
        (self.mem[node] + near).saturating_mul(1000) / self.pages().max(1)
    }

    /// The node that the group prefers: that of most of its pages, or the one nearest to them that has CPUs. `None`
    /// without pages.
    pub fn preferred(&self, topo: &NumaTopology) -> Option<usize> {
        let most = (0..self.mem.len()).filter(|&n| self.mem[n] > 0).max_by_key(|&n| (self.mem[n], usize::MAX - n))?;
        let candidate = topo.nearest_cpu_node(most);
        preferred_group_nid(topo, candidate, |n| self.weight(topo, n), |n| self.mem[n])
    }

    /// Expected local accesses, in thousandths, when `threads` run on each node and memory that may move follows them.
    pub fn locality(&self, threads: &[u32]) -> u64 {
        let (all, total) = (threads.iter().map(|&t| u64::from(t)).sum::<u64>(), self.pages());
        if all == 0 || total == 0 {
            return 1000;
        }
        let movable: u64 = self.movable.iter().sum();
        let local = |(n, &t): (usize, &u32)| {
            let held = self.mem[n] - self.movable[n];
            u128::from(t) * (u128::from(held) * u128::from(all) + u128::from(movable) * u128::from(t))
        };
        let sum: u128 = threads.iter().enumerate().map(local).sum();
        (sum * 1000 / (u128::from(all) * u128::from(all) * u128::from(total))) as u64
    }
}

/// Averages of the threads' CPU time, kept between looks.
#[derive(Clone, Debug, Default)]
pub(super) struct Averages(BTreeMap<u64, u32>);

impl Averages {
    /// Takes in a look: half the old average and half of what is new. A thread that is new has no average yet and is
    /// not busy, so that every decision rests on two looks.
    pub fn take(&mut self, look: &Look) -> BTreeMap<u64, u32> {
        let mut next = BTreeMap::new();
        let mut known = BTreeMap::new();
        for t in &look.tasks {
            let old = self.0.get(&t.task).copied();
            let new = old.map_or(t.busy_permille, |old| (old + t.busy_permille).div_ceil(2));
            next.insert(t.task, new);
            if old.is_some() {
                known.insert(t.task, new);
            }
        }
        self.0 = next;
        known
    }
}

/// The groups of a look in the order of their ids. Nodes beyond the topology are ignored.
pub(super) fn groups(look: &Look, topo: &NumaTopology, busy: &BTreeMap<u64, u32>, set: &Settings) -> Vec<Group> {
    let nodes = topo.nodes();
    let mut out: BTreeMap<u64, Group> = BTreeMap::new();
    let new = |id: u64| Group {
        id,
        mem: vec![0; nodes],
        movable: vec![0; nodes],
        allowed: NodeMask::of(0..nodes),
        ..Group::default()
    };
    for t in look.tasks.iter().filter(|t| t.node < nodes) {
        let group = out.entry(t.group).or_insert_with(|| new(t.group));
        if busy.get(&t.task).is_some_and(|&b| b >= set.busy_permille) {
            group.busy.push(*t);
            group.held_tasks += u64::from(t.hold.is_some());
            group.allowed = group.allowed.and(&t.allowed);
        }
    }
    for m in &look.mappings {
        let group = out.entry(m.group).or_insert_with(|| new(m.group));
        for n in 0..nodes {
            let pages = m.counted(n);
            group.mem[n] = group.mem[n].saturating_add(pages);
            if m.hold.is_none() {
                group.movable[n] = group.movable[n].saturating_add(pages);
            }
        }
        if m.hold.is_none() && (0..nodes).any(|n| m.counted(n) > 0) {
            group.allowed = group.allowed.and(&m.allowed);
        }
    }
    out.into_values().collect()
}

/// Whether a thread of the group is pinned: then nothing of the group is touched.
pub(super) fn pinned(group: &Group) -> bool {
    group.busy.iter().any(|t| t.hold == Some(Hold::Pinned))
}
