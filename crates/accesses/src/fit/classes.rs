//! Threads that behave alike, and mappings that play the same part for different threads.

use super::pattern::{self, Caches, Phase};
use super::stretch::Stretch;
use super::timeline::MOST_PHASES;
use super::usage::Use;
use super::windows;
use super::written_parts;
use std::collections::{BTreeMap, BTreeSet};

/// Difference of a phase from which threads are of different kinds.
const OTHER_KIND: f64 = 0.3;
/// Ratio of lines of a phase from which they are.
const OTHER_AMOUNT: f64 = 2.0;
/// Share of the largest user's lines below which a thread is no user of a region.
const USER: f64 = 0.02;
/// Difference in size up to which regions are of one family.
const SAME_SIZE: f64 = 0.03;

/// A kind of threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Class {
    /// Numbers of its threads in the image, in the order in which the workload counts them.
    pub threads: Vec<u16>,
    /// For each thread the member that it uses of regions that come in several. Empty if there are none.
    pub members: Vec<usize>,
    /// What each of them does.
    pub phases: Vec<Phase>,
    /// Where they may run: anywhere, or by a change, which no record shows.
    pub kept: Kept,
}

/// Where the threads of a kind may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// Where the scheduler puts them.
    #[default]
    Free,
    /// Each on a node: equally many on each, neighbours together.
    Spread,
    /// All on the first node.
    First,
}

/// Where a chosen area stands in the workload: number of its region, and of its place among the members of the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// Number of the region.
    pub region: usize,
    /// Number of the member; `None` if the region is a single one.
    pub member: Option<usize>,
    /// Whether processes have it of each other by a fork.
    pub is_forked: bool,
}

/// A thread with its phases.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its number.
    pub thread: u16,
    /// Its phases, with uses by area.
    pub phases: Vec<Stretch>,
}

/// A chosen area: first page and bytes.
pub type Extent = (u64, u64);

/// Puts areas of one size with equally many users each, which share no user, together as members of a region, but for
/// those that stay `alone`.
pub fn roles(workers: &[Worker], extents: &[Extent], alone: &BTreeSet<usize>) -> Vec<Role> {
    let users: Vec<BTreeSet<u16>> = (0..extents.len()).map(|a| users_of(workers, a)).collect();
    let mut out: Vec<Option<Role>> = vec![None; extents.len()];
    let mut region = 0;
    for a in 0..extents.len() {
        if out[a].is_some() {
            continue;
        }
        let mut family = vec![a];
        let mut taken = users[a].clone();
        for b in a + 1..extents.len() {
            let (x, y) = (extents[a].1 as f64, extents[b].1 as f64);
            let alike = (x - y).abs() <= SAME_SIZE * x.max(y) && users[b].len() == users[a].len();
            let stays = alone.contains(&a) || alone.contains(&b);
            if out[b].is_none() && !stays && alike && !users[a].is_empty() && users[b].is_disjoint(&taken) {
                taken.extend(&users[b]);
                family.push(b);
            }
        }
        let is_family = family.len() > 1;
        for (member, area) in family.into_iter().enumerate() {
            out[area] = Some(Role { region, member: is_family.then_some(member), is_forked: alone.contains(&area) });
        }
        region += 1;
    }
    out.into_iter().flatten().collect()
}

fn users_of(workers: &[Worker], area: usize) -> BTreeSet<u16> {
    let lines = |w: &Worker| w.phases.iter().filter_map(|p| p.uses.get(&area)).map(|u| u.lines).sum::<u64>();
    let most = workers.iter().map(lines).max().unwrap_or(0);
    let counts = |w: &&Worker| lines(w) > 0 && lines(w) as f64 >= USER * most as f64;
    workers.iter().filter(counts).map(|w| w.thread).collect()
}

/// The stretch with uses by region instead of area.
fn by_region(s: &Stretch, roles: &[Role]) -> Stretch {
    let mut out = Stretch { uses: BTreeMap::new(), ..s.clone() };
    for (area, u) in &s.uses {
        out.uses.entry(roles[*area].region).or_default().join(u);
    }
    out
}

fn are_alike(a: &[Stretch], b: &[Stretch]) -> bool {
    let amount = |a: &Stretch, b: &Stretch| (a.lines() as f64 + 1000.0) / (b.lines() as f64 + 1000.0);
    let pair = |(a, b): (&Stretch, &Stretch)| {
        a.distance(b) < OTHER_KIND && (1.0 / OTHER_AMOUNT..=OTHER_AMOUNT).contains(&amount(a, b))
    };
    a.len() == b.len() && a.iter().zip(b).all(pair)
}

/// Threads by kind. The first thread of the image is in the first kind, if it works at all.
pub fn of(workers: &[Worker], extents: &[Extent], roles: &[Role], caches: &Caches) -> Vec<Class> {
    let mut groups: Vec<(Vec<Stretch>, Vec<Worker>)> = Vec::new();
    for worker in workers {
        let mut worker = worker.clone();
        if worker.phases.len() > MOST_PHASES {
            worker.phases = vec![Stretch::sum(&worker.phases)];
        }
        let seen: Vec<Stretch> = worker.phases.iter().map(|p| by_region(p, roles)).collect();
        match groups.iter_mut().find(|(first, _)| are_alike(first, &seen)) {
            Some((_, same)) => same.push(worker),
            None => groups.push((seen, vec![worker])),
        }
    }
    groups.into_iter().map(|(_, threads)| class(threads, extents, roles, caches)).collect()
}

/// The kind that these threads are.
fn class(mut workers: Vec<Worker>, extents: &[Extent], roles: &[Role], caches: &Caches) -> Class {
    let member = |w: &Worker| {
        let used = w.phases.iter().flat_map(|p| &p.uses).filter(|(a, _)| roles[**a].member.is_some());
        used.max_by_key(|(_, u)| u.lines).and_then(|(a, _)| roles[*a].member)
    };
    let low = |w: &Worker| {
        let used = w.phases.iter().flat_map(|p| &p.uses);
        used.max_by_key(|(_, u)| u.lines).map_or(0, |(_, u)| u.low_page)
    };
    // Slices and members are counted in the order of threads.
    let has_members = workers.iter().all(|w| member(w).is_some());
    workers.sort_by_key(|w| (member(w), if has_members { 0 } else { low(w) / 16 }, w.thread));
    let members = if has_members { workers.iter().filter_map(member).collect() } else { Vec::new() };
    let n = workers.iter().map(|w| w.phases.len()).min().unwrap_or(0);
    // Those that have members take turns with others, phase by phase.
    let may_move = members.is_empty();
    let phases = (0..n).flat_map(|p| phases((&workers, p, may_move), extents, roles, caches)).collect();
    Class { threads: workers.iter().map(|w| w.thread).collect(), members, phases, kept: Kept::Free }
}

/// A phase of a kind, or several if its threads move through their memory.
fn phases(
    (workers, number, may_move): (&[Worker], usize, bool),
    extents: &[Extent],
    roles: &[Role],
    caches: &Caches,
) -> Vec<Phase> {
    let stretches: Vec<&Stretch> = workers.iter().map(|w| &w.phases[number]).collect();
    let parts = if may_move { windows::of(&stretches) } else { Vec::new() };
    if parts.is_empty() {
        return vec![phase(&stretches, extents, roles, caches)];
    }
    let one = |p: &Vec<Stretch>| phase(&p.iter().collect::<Vec<_>>(), extents, roles, caches);
    parts.iter().map(one).collect()
}

fn phase(stretches: &[&Stretch], extents: &[Extent], roles: &[Role], caches: &Caches) -> Phase {
    let n = stretches.len() as f64;
    let mean = |of: &dyn Fn(&Stretch) -> u64| stretches.iter().map(|s| of(s) as f64).sum::<f64>() / n;
    let (waited, insns) = (mean(&|s| s.waited), mean(&|s| s.insns));
    let mut regions = BTreeMap::<usize, Vec<(usize, &Use)>>::new();
    for s in stretches {
        // Of a region with members a thread has its own; what it does to others is noise, or joins it.
        for (area, u) in &s.uses {
            regions.entry(roles[*area].region).or_default().push((*area, u));
        }
    }
    let least = mean(&|s| s.lines()) * n * 0.005;
    let mut visits = Vec::new();
    for (region, uses) in regions {
        if (uses.iter().map(|(_, u)| u.lines).sum::<u64>() as f64) < least {
            continue;
        }
        let is_family = roles[uses[0].0].member.is_some();
        let mut visit = if is_family {
            let mut own: Vec<pattern::Visit> =
                uses.iter().map(|(a, u)| pattern::visit(region, &[u], extents[*a], caches)).collect();
            own.sort_by(|a, b| b.lines.total_cmp(&a.lines));
            own.swap_remove(0)
        } else {
            let own: Vec<&Use> = uses.iter().map(|(_, u)| *u).collect();
            pattern::visit(region, &own, extents[uses[0].0], caches)
        };
        // The mean over all threads, whether or not each of them was seen there.
        if !is_family && visit.part != pattern::Part::Slice {
            let share = uses.len() as f64 / n;
            visit.lines *= share;
            visit.passes *= share;
        }
        if roles[uses[0].0].is_forked {
            let mut all = Use::default();
            uses.iter().for_each(|(_, u)| all.join(u));
            visits.extend(written_parts::apart(visit, &all, extents[uses[0].0]));
        } else if !is_family {
            let mut all = Use::default();
            uses.iter().for_each(|(_, u)| all.join(u));
            visits.extend(windows::apart(visit, &all, extents[uses[0].0], (stretches, uses[0].0)));
        } else {
            visits.push(visit);
        }
    }
    Phase {
        insns,
        kernel: mean(&|s| s.kernel),
        awaited: mean(&|s| s.awaited),
        slept_ns: mean(&|s| s.slept_ns),
        waited: waited / (insns + waited).max(1.0),
        waits: mean(&|s| s.waits),
        visits,
        once: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Cell;

    const CACHES: Caches = Caches { near_bytes: 2 << 20, far_bytes: 4 << 20 };

    /// A thread that sweeps areas, each of 8 MiB: area n from chunk 4n on.
    fn worker(thread: u16, areas: &[usize], writes: bool) -> Worker {
        let mut phase = Stretch { insns: 1_000_000, ..Stretch::default() };
        for area in areas {
            for chunk in 0..4u32 {
                let lines = 32768;
                let writes = if writes { lines } else { 0 };
                let cell =
                    Cell { chunk: *area as u32 * 4 + chunk, lines, writes, runs: 1, high: 511, ..Cell::default() };
                phase.uses.entry(*area).or_default().add(&cell);
            }
        }
        Worker { thread, phases: vec![phase] }
    }

    fn extents(n: usize) -> Vec<Extent> {
        (0..n as u64).map(|a| (a * 2048, 8 << 20)).collect()
    }

    #[test]
    fn threads_with_memory_of_their_own_are_one_kind() {
        let workers: Vec<Worker> = (1..=4).map(|t| worker(t, &[usize::from(4 - t)], true)).collect();
        let roles = roles(&workers, &extents(4), &BTreeSet::new());
        assert_eq!(roles[2], Role { region: 0, member: Some(2), is_forked: false });
        let classes = of(&workers, &extents(4), &roles, &CACHES);
        assert_eq!(classes.len(), 1);
        assert_eq!((classes[0].threads.clone(), classes[0].members.clone()), (vec![4, 3, 2, 1], vec![0, 1, 2, 3]));
        assert_eq!(classes[0].phases[0].visits[0].passes, 1.0);
    }

    #[test]
    fn pairs_are_two_kinds_that_share_members() {
        let mut workers = Vec::new();
        for pair in 0..3u16 {
            workers.push(worker(2 * pair, &[usize::from(pair)], true));
            workers.push(worker(2 * pair + 1, &[usize::from(pair)], false));
        }
        let roles = roles(&workers, &extents(3), &BTreeSet::new());
        let classes = of(&workers, &extents(3), &roles, &CACHES);
        assert_eq!(classes.iter().map(|c| c.threads.clone()).collect::<Vec<_>>(), [vec![0, 2, 4], vec![1, 3, 5]]);
        assert_eq!(classes[0].members, classes[1].members);
    }

    #[test]
    fn a_region_that_all_use_is_one() {
        let workers: Vec<Worker> = (0..4).map(|t| worker(t, &[0, 1], true)).collect();
        let roles = roles(&workers, &extents(2), &BTreeSet::new());
        let alone = |region: usize| Role { region, member: None, is_forked: false };
        assert_eq!(roles, [alone(0), alone(1)]);
        let classes = of(&workers, &extents(2), &roles, &CACHES);
        assert_eq!((classes.len(), classes[0].phases[0].visits.len()), (1, 2));
    }
}
