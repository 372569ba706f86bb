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

/// Plans moves of a group's pages. `threads` are its busy threads per node, after those that move have moved.
pub(super) fn follow(
    group: &Group,
    mappings: &[&MappingLook],
    threads: &[u32],
    topo: &NumaTopology,
    space: &mut Space,
    verdict: &mut Verdict,
) {
    let cpu: Vec<u64> = threads.iter().map(|&t| u64::from(t)).collect();
    let cpu_all: u64 = cpu.iter().sum();
    if cpu_all == 0 || group.pages() == 0 {
        return;
    }
    let mut spread = Spread { cpu: &cpu, cpu_all, mem: group.mem.clone(), total: group.pages() };
    let mut order: Vec<&MappingLook> = mappings.to_vec();
    order.sort_by_key(|m| (std::cmp::Reverse(m.pages.iter().sum::<u64>()), m.start));
    for m in order {
        for src in 0..topo.nodes() {
            follow_from(m, src, topo, &mut spread, space, verdict);
        }
    }
}

/// Plans moves of a mapping's pages on `src`, to the nearest nodes that lack memory first.
fn follow_from(
    m: &MappingLook,
    src: usize,
    topo: &NumaTopology,
    spread: &mut Spread<'_>,
    space: &mut Space,
    verdict: &mut Verdict,
) {
    let unit = if m.huge { u64::from(HPAGE_PAGES) } else { 1 };
    let mut here = m.pages.get(src).copied().unwrap_or(0);
    let mut order: Vec<usize> = (0..topo.nodes()).filter(|&n| n != src && spread.cpu[n] > 0).collect();
    order.sort_by_key(|&n| (topo.distance(src, n), std::cmp::Reverse(spread.lack(n)), n));
    for dst in order {
        let pages = here.min(spread.surplus(src)).min(spread.lack(dst));
        if pages == 0 || !spread.wants(src, dst) || !topo.has_memory(dst) {
            continue;
        }
        if let Some(hold) = m.hold {
            verdict.left.push(Left { group: m.group, start: Some(m.start), count: pages, hold });
            return;
        }
        if !m.allowed.contains(dst) {
            continue;
        }
        // A mapping with huge pages moves whole ones, except for its last pages.
        let whole = if pages == here { pages } else { pages / unit * unit };
        let fits = whole.min(space.free[dst]);
        let now = fits.min(space.budget);
        let now = if now == here { now } else { now / unit * unit };
        verdict.over_budget_pages += fits - now;
        if now == 0 {
            continue;
        }
        let reason = spread.reason(src, dst);
        let action = Action::MovePages { group: m.group, start: m.start, from: src, to: dst, pages: now };
        verdict.decisions.push(Decision { action, reason });
        spread.mem[src] -= now;
        spread.mem[dst] += now;
        space.free[dst] -= now;
        space.free[src] += now;
        space.budget -= now;
        here -= now;
    }
}
