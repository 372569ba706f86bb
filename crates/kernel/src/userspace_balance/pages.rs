//! Which pages follow the threads of their group.

use super::decision::{Action, Decision, Left, Reason, Verdict};
use super::groups::Group;
use super::look::{Look, MappingLook};
use super::settings::Settings;
use crate::numa::fault::should_migrate::v46::GroupSides;
use crate::numa::page::HPAGE_PAGES;
use crate::numa::topology::NumaTopology;

/// What is left of the machine for moves of one look.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// Pages that each node may still take.
    pub free: Vec<u64>,
    /// Pages that may still move.
    pub budget: u64,
}

impl Space {
    /// The space at a look: free pages of each node above its reserve.
    pub fn new(look: &Look, nodes: usize, set: &Settings) -> Self {
        let free = |n: usize| {
            let node = look.nodes.get(n).copied().unwrap_or_default();
            node.free_pages.saturating_sub(node.total_pages / 1000 * set.reserve_permille)
        };
        Self { free: (0..nodes).map(free).collect(), budget: look.budget_pages }
    }
}

/// Distribution of a group's memory over the nodes while pages are being planned.
struct Spread<'a> {
    cpu: &'a [u64],
    cpu_all: u64,
    mem: Vec<u64>,
    total: u64,
}

impl Spread<'_> {
    /// Pages that a node should have: its share of the group's CPU time.
    fn want(&self, node: usize) -> u64 {
        (u128::from(self.total) * u128::from(self.cpu[node]) / u128::from(self.cpu_all)) as u64
    }
    fn surplus(&self, node: usize) -> u64 {
        self.mem[node].saturating_sub(self.want(node))
    }
    fn lack(&self, node: usize) -> u64 {
        self.want(node).saturating_sub(self.mem[node])
    }
    fn wants(&self, src: usize, dst: usize) -> bool {
        let sides = GroupSides {
            cpu_dst: self.cpu[dst],
            cpu_src: self.cpu[src],
            mem_dst: self.mem[dst],
            mem_src: self.mem[src],
        };
        sides.wants()
    }
    fn permille(&self, node: usize) -> u64 {
        self.cpu[node] * 1000 / self.cpu_all
    }
    fn reason(&self, src: usize, dst: usize) -> Reason {
        match self.cpu[src] {
            0 => Reason::NobodyThere { cpu_permille: self.permille(dst) },
            _ => Reason::Follow { cpu_src_permille: self.permille(src), cpu_dst_permille: self.permille(dst) },
        }
    }
}

/// Where the threads of a group run.
#[derive(Clone, Copy)]
pub(super) struct Homes<'a> {
    /// Busy threads on each node, after those that move have moved.
    pub threads: &'a [u32],
    /// Threads move at this look: who uses which page is about to change.
    pub moving: bool,
}

/// Plans moves of a group's pages.
pub(super) fn follow(
    group: &Group,
    mappings: &[&MappingLook],
    homes: Homes<'_>,
    topo: &NumaTopology,
    space: &mut Space,
    verdict: &mut Verdict,
) {
    let cpu: Vec<u64> = homes.threads.iter().map(|&t| u64::from(t)).collect();
    let cpu_all: u64 = cpu.iter().sum();
    if cpu_all == 0 || group.pages() == 0 {
        return;
    }
    let mut spread = Spread { cpu: &cpu, cpu_all, mem: group.mem.clone(), total: group.pages() };
    let nodes = topo.nodes();
    let mut order: Vec<&MappingLook> = mappings.to_vec();
    order.sort_by_key(|m| (std::cmp::Reverse((0..nodes).map(|n| m.counted(n)).sum::<u64>()), m.start));
    for m in order {
        for src in 0..nodes {
            let mut plan = Plan { m, src, here: m.counted(src), topo, spread: &mut spread, space, verdict };
            if !homes.moving {
                plan.move_to_users();
            }
            plan.move_to_cpu_time();
        }
    }
}

/// Moves of a mapping's pages from one node.
struct Plan<'a, 'b> {
    m: &'a MappingLook,
    src: usize,
    /// Pages on the node that may be chosen.
    here: u64,
    topo: &'a NumaTopology,
    spread: &'a mut Spread<'b>,
    space: &'a mut Space,
    verdict: &'a mut Verdict,
}

impl Plan<'_, '_> {
    /// Pages that CPUs of one other node alone use go there.
    fn move_to_users(&mut self) {
        let src = self.src;
        for dst in (0..self.topo.nodes()).filter(|&n| n != src) {
            let pages = self.m.used_alone(src, dst).min(self.here);
            // Its users may have ended since.
            if pages > 0 && self.spread.cpu[dst] > 0 && !self.moves(dst, pages, Reason::UsedThere) {
                return;
            }
        }
    }

    /// The others go to the nearest nodes that lack memory for their CPU time first. Pages that the CPUs beside them
    /// alone use stay.
    fn move_to_cpu_time(&mut self) {
        let src = self.src;
        self.here = self.here.saturating_sub(self.m.used_alone(src, src));
        let mut order: Vec<usize> = (0..self.topo.nodes()).filter(|&n| n != src && self.spread.cpu[n] > 0).collect();
        order.sort_by_key(|&n| (self.topo.distance(src, n), std::cmp::Reverse(self.spread.lack(n)), n));
        for dst in order {
            let pages = self.here.min(self.spread.surplus(src)).min(self.spread.lack(dst));
            if pages > 0 && self.spread.wants(src, dst) && !self.moves(dst, pages, self.spread.reason(src, dst)) {
                return;
            }
        }
    }

    /// Moves pages to `dst` as far as there is room and budget. Returns whether the mapping may be moved at all.
    fn moves(&mut self, dst: usize, pages: u64, reason: Reason) -> bool {
        let (m, src) = (self.m, self.src);
        if !self.topo.has_memory(dst) {
            return true;
        }
        if let Some(hold) = m.hold {
            self.verdict.left.push(Left { group: m.group, start: Some(m.start), count: pages, hold });
            return false;
        }
        if !m.allowed.contains(dst) {
            return true;
        }
        let unit = if m.huge { u64::from(HPAGE_PAGES) } else { 1 };
        // A mapping with huge pages moves whole ones, except for its last pages.
        let whole = if pages == self.here { pages } else { pages / unit * unit };
        let fits = whole.min(self.space.free[dst]);
        let now = fits.min(self.space.budget);
        let now = if now == self.here { now } else { now / unit * unit };
        self.verdict.over_budget_pages += fits - now;
        if now == 0 {
            return true;
        }
        let action = Action::MovePages { group: m.group, start: m.start, from: src, to: dst, pages: now };
        self.verdict.decisions.push(Decision { action, reason });
        self.spread.mem[src] -= now;
        self.spread.mem[dst] += now;
        self.space.free[dst] -= now;
        self.space.free[src] += now;
        self.space.budget -= now;
        self.here -= now;
        true
    }
}
