//! One decision per look.

use super::decision::{Action, Decision, Left, Reason, Verdict};
use super::groups::{groups, pinned, Averages, Group};
use super::homes::{plan, stays};
use super::look::{Hold, Look, MappingLook};
use super::pages::{follow, Homes, Space};
use super::settings::Settings;
use crate::numa::topology::NumaTopology;
use std::collections::BTreeMap;

/// Looks for which pages wait for threads that are about to move.
const PENDING_LOOKS: u32 = 3;

/// What is remembered of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Memory {
    /// Threads per node that the last look asked for.
    wanted: Vec<u32>,
    /// Looks until its threads may move again.
    settle: u32,
    /// Looks for which its threads have been about to move.
    pending: u32,
}

/// Decides about threads and pages, look after look.
#[derive(Clone, Debug)]
pub struct Balancer {
    topo: NumaTopology,
    llc_cpus: Vec<u32>,
    set: Settings,
    averages: Averages,
    memory: BTreeMap<u64, Memory>,
}

impl Balancer {
    /// A balancer of a machine. `llc_cpus` has, for each node, the number of CPUs that share a last-level cache.
    pub fn new(topo: NumaTopology, llc_cpus: Vec<u32>, set: Settings) -> Self {
        Self { topo, llc_cpus, set, averages: Averages::default(), memory: BTreeMap::new() }
    }

    /// Decides about a look. Looks come at a fixed interval; two are needed before anything happens.
    pub fn decide(&mut self, look: &Look) -> Verdict {
        let busy = self.averages.take(look);
        let groups = groups(look, &self.topo, &busy, &self.set);
        let now: Vec<Vec<u32>> = groups.iter().map(|g| g.threads(self.topo.nodes())).collect();
        let wanted = self.wanted(look, &groups, &now);
        let mut verdict = Verdict { local_permille: local_permille(&groups, &now), ..Verdict::default() };
        let mut homes = Vec::new();
        for (i, group) in groups.iter().enumerate() {
            let moves = self.agreed(group, &now[i], &wanted[i]);
            homes.push(if moves { wanted[i].clone() } else { now[i].clone() });
            if moves {
                move_tasks(group, &now[i], &wanted[i], &mut verdict);
            }
            if group.held_tasks > 0 {
                let hold = group.busy.iter().find_map(|t| t.hold).unwrap_or(Hold::Pinned);
                verdict.left.push(Left { group: group.id, start: None, count: group.held_tasks, hold });
            }
        }
        self.memory.retain(|id, _| groups.iter().any(|g| g.id == *id));
        let mut space = Space::new(look, self.topo.nodes(), &self.set);
        let mut mappings: BTreeMap<u64, Vec<&MappingLook>> = BTreeMap::new();
        look.mappings.iter().for_each(|m| mappings.entry(m.group).or_default().push(m));
        for (group, homes) in groups.iter().zip(&homes) {
            // Pages wait for threads that are about to move, but not for ever: the plan may change with every look.
            let unsettled = self.memory.get(&group.id).is_some_and(|m| (1..=PENDING_LOOKS).contains(&m.pending));
            if pinned(group) || unsettled {
                continue;
            }
            let own = mappings.get(&group.id).map_or(&[][..], Vec::as_slice);
            let moving = homes != &group.threads(self.topo.nodes());
            follow(group, own, Homes { threads: homes, moving }, &self.topo, &mut space, &mut verdict);
        }
        verdict
    }

    /// Threads per node of every group as they should be: the plan if it gains enough, else as they are.
    fn wanted(&self, look: &Look, groups: &[Group], now: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let settling = |g: &Group| self.memory.get(&g.id).is_some_and(|m| m.settle > 0);
        let fixed: Vec<bool> = groups.iter().map(|g| stays(g) || settling(g)).collect();
        let last: Vec<&[u32]> = groups.iter().map(|g| self.memory.get(&g.id).map_or(&[][..], |m| &m.wanted)).collect();
        let planned = plan(look, &self.topo, &self.llc_cpus, groups, &fixed, &last);
        let worth = |threads: &[Vec<u32>]| -> u64 {
            groups.iter().zip(threads).map(|(g, t)| g.locality(t) * g.busy.len() as u64).sum()
        };
        let busy: u64 = groups.iter().map(|g| g.busy.len() as u64).sum();
        if worth(&planned) >= worth(now) + self.set.gain_permille * busy.max(1) {
            planned
        } else {
            now.to_vec()
        }
    }

    /// Whether the threads of a group move now: the last look asked for the same. Remembers what this one asks for.
    fn agreed(&mut self, group: &Group, now: &[u32], wanted: &[u32]) -> bool {
        let memory = self.memory.entry(group.id).or_default();
        memory.settle = memory.settle.saturating_sub(1);
        let agreed = wanted != now && memory.wanted == wanted;
        memory.pending = if wanted == now || agreed { 0 } else { memory.pending + 1 };
        memory.wanted = wanted.to_vec();
        if agreed {
            memory.settle = self.set.settle_looks;
        }
        agreed
    }
}

/// Moves threads so that `wanted` of them are on each node. Threads on a node that keeps as many stay, and are kept
/// there: else the kernel's load balancing would take them elsewhere, and the group's memory would follow.
fn move_tasks(group: &Group, now: &[u32], wanted: &[u32], verdict: &mut Verdict) {
    let reason = Reason::of_threads(group.locality(now), group.locality(wanted));
    let mut room = wanted.to_vec();
    let mut tasks = group.busy.clone();
    tasks.sort_by_key(|t| t.task);
    let mut movers = Vec::new();
    let mut kept = Vec::new();
    for t in tasks {
        if room[t.node] == 0 {
            movers.push(t);
        } else {
            room[t.node] -= 1;
            kept.push(Action::KeepTask { task: t.task, group: group.id, node: t.node });
        }
    }
    for t in movers {
        let Some(to) = room.iter().position(|&r| r > 0) else { break };
        room[to] -= 1;
        let action = Action::MoveTask { task: t.task, group: group.id, from: t.node, to };
        verdict.decisions.push(Decision { action, reason });
    }
    verdict.decisions.extend(kept.into_iter().map(|action| Decision { action, reason }));
}

/// Share of the pages of busy groups that is local to their CPU time, in thousandths; 1000 without any.
fn local_permille(groups: &[Group], now: &[Vec<u32>]) -> u64 {
    let (mut local, mut all) = (0u128, 0u128);
    for (group, threads) in groups.iter().zip(now) {
        let busy: u64 = threads.iter().map(|&t| u64::from(t)).sum();
        if busy > 0 {
            let sum: u128 = threads.iter().zip(&group.mem).map(|(&t, &m)| u128::from(t) * u128::from(m)).sum();
            local += sum / u128::from(busy);
            all += u128::from(group.pages());
        }
    }
    (local * 1000).checked_div(all).unwrap_or(1000) as u64
}
