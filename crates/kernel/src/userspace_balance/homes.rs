//! On which nodes the threads of each group are to run.

use super::groups::{pinned, Group};
use super::look::Look;
use crate::numa::topology::NumaTopology;
use crate::sched::imbalance::{NodeShape, PlacementLoad, Rule};

/// The rule whose allowance of imbalance holds.
const IMBALANCE: Rule = Rule::Imb60;

/// Number of busy threads that each node may take at most, so that nodes stay as balanced as the rule demands. `total`
/// busy threads are on the machine; `llc_cpus` has the CPUs of a last-level cache of each node.
pub(super) fn limits(topo: &NumaTopology, llc_cpus: &[u32], total: u32) -> Vec<u32> {
    let cpu_nodes = topo.cpu_nodes();
    let (all_cpus, others) = (topo.cpu_count().max(1) as u64, cpu_nodes.len().saturating_sub(1) as u32);
    let limit = |node: usize| {
        let cpus = topo.cpus(node).len() as u32;
        if cpus == 0 || !topo.has_memory(node) {
            return 0;
        }
        let fair = (u64::from(total) * u64::from(cpus)).div_ceil(all_cpus) as u32;
        if others == 0 {
            return fair;
        }
        let shape =
            NodeShape { llc: llc_cpus.get(node).copied().unwrap_or(cpus).max(1), node: cpus, nodes: others + 1 };
        let imb_numa_nr = IMBALANCE.threshold(shape).map_or(0, |t| t.base);
        let tolerated = |k: &u32| {
            let elsewhere = total.saturating_sub(*k) / others;
            let load = PlacementLoad {
                imbalance: k.saturating_sub(elsewhere),
                dst_running: *k,
                src_running: elsewhere,
                dst_weight: cpus,
                imb_numa_nr,
            };
            IMBALANCE.placement(&load) == Some(0)
        };
        (fair + 1..=cpus).take_while(tolerated).last().unwrap_or(fair)
    };
    (0..topo.nodes()).map(limit).collect()
}

/// Threads per node for every group, in the order of `groups`; `last` has what the last look asked for, empty for a new
/// group. Groups choose one after the other, those with most busy
/// threads first. Groups that must stay, and threads of no group, have taken their room before.
pub(super) fn plan(
    look: &Look,
    topo: &NumaTopology,
    llc_cpus: &[u32],
    groups: &[Group],
    fixed: &[bool],
    last: &[&[u32]],
) -> Vec<Vec<u32>> {
    let nodes = topo.nodes();
    let mut running: Vec<u32> = (0..nodes).map(|n| look.nodes.get(n).map_or(0, |l| l.busy_elsewhere)).collect();
    let total = running.iter().sum::<u32>() + groups.iter().map(|g| g.busy.len() as u32).sum::<u32>();
    let limits = limits(topo, llc_cpus, total);
    let mut out: Vec<Vec<u32>> = groups.iter().map(|g| g.threads(nodes)).collect();
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(groups[i].busy.len()), groups[i].id));
    for &i in order.iter().filter(|&&i| fixed[i]) {
        (0..nodes).for_each(|n| running[n] += out[i][n]);
    }
    for &i in order.iter().filter(|&&i| !fixed[i]) {
        let room: Vec<u32> = (0..nodes).map(|n| limits[n].saturating_sub(running[n])).collect();
        if let Some(homes) = choose(&groups[i], topo, &room, last[i]) {
            out[i] = homes;
        }
        (0..nodes).for_each(|n| running[n] += out[i][n]);
    }
    out
}

/// Threads per node for one group: all on one node if one has room, preferably the group's preferred node, else on as
/// few as possible. Where nodes are equal, those of the last look are chosen again. `None` if there is not room for
/// all.
fn choose(group: &Group, topo: &NumaTopology, room: &[u32], last: &[u32]) -> Option<Vec<u32>> {
    let nodes = topo.nodes();
    let (here, all) = (group.threads(nodes), group.busy.len() as u32);
    let room = usable(group, topo, room);
    let chosen = |n: usize| last.get(n).copied().unwrap_or(0);
    let alone = |n: usize| (0..nodes).map(|other| if other == n { all } else { 0 }).collect::<Vec<u32>>();
    let preferred = group.preferred(topo);
    let whole = (0..nodes).filter(|&n| room[n] >= all);
    let rank = |n: usize| (group.weight(topo, n), chosen(n), here[n], usize::MAX - n);
    if let Some(n) = whole.max_by_key(|&n| (group.locality(&alone(n)), Some(n) == preferred, rank(n))) {
        return Some(alone(n));
    }
    let mut fewest = fewest(&room, all)?;
    let mut out = vec![0; nodes];
    let mut left = all;
    let mut first = None;
    while left > 0 {
        // A node fits if the largest others have room for the rest.
        let fits = |n: usize| {
            let mut others: Vec<u32> = (0..nodes).filter(|&o| o != n && out[o] == 0).map(|o| room[o]).collect();
            others.sort_unstable_by_key(|&r| std::cmp::Reverse(r));
            room[n] + others.iter().take(fewest - 1).sum::<u32>() >= left
        };
        let distance = |n: usize| first.map_or(0, |f| topo.distance(f, n));
        let best = (0..nodes).filter(|&n| room[n] > 0 && out[n] == 0 && fits(n)).max_by_key(|&n| {
            let wish = first.is_none() && Some(n) == preferred;
            (wish, group.weight(topo, n), std::cmp::Reverse(distance(n)), rank(n))
        })?;
        first.get_or_insert(best);
        out[best] = room[best].min(left);
        left -= out[best];
        fewest = fewest.saturating_sub(1).max(1);
    }
    Some(out)
}

/// Threads that a group may put on each node: none beyond its CPUs, unless there are more threads than CPUs for them.
fn usable(group: &Group, topo: &NumaTopology, room: &[u32]) -> Vec<u32> {
    let may = |n: usize| if group.allowed.contains(n) { room[n] } else { 0 };
    let one_each: Vec<u32> = (0..topo.nodes()).map(|n| may(n).min(topo.cpus(n).len() as u32)).collect();
    if one_each.iter().sum::<u32>() >= group.busy.len() as u32 {
        one_each
    } else {
        (0..topo.nodes()).map(may).collect()
    }
}

/// Smallest number of nodes whose room together is enough; `None` if all of it is not.
fn fewest(room: &[u32], all: u32) -> Option<usize> {
    let mut sorted = room.to_vec();
    sorted.sort_unstable_by_key(|&r| std::cmp::Reverse(r));
    let mut left = all;
    for (i, r) in sorted.into_iter().enumerate() {
        left = left.saturating_sub(r);
        if left == 0 {
            return Some(i + 1);
        }
    }
    None
}

/// Whether nothing may be done about the threads of a group.
pub(super) fn stays(group: &Group) -> bool {
    group.busy.is_empty() || pinned(group) || group.held_tasks > 0
}
