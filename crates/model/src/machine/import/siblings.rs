//! Which CPUs are threads of one core, where a source does not tell.

use super::found::{Found, Sharing};
use crate::machine::cpulist;
use std::sync::Arc;

/// How threads of one core are numbered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbering {
    /// By neighbours, as on POWER and s390.
    Near,
    Unknown,
}

/// As [`assume`] by `(threads, cores, numbering)`, where CPUs are offline.
///
/// The places of offline CPUs tell which others are siblings, so nodes are looked at with them. A single node has all
/// of them. `listed` has the CPUs of each node where the source lists those that are offline too. Else nodes must be
/// runs of cores, as [`in_runs`] has them. If they are not, each CPU is a core of its own, which is said.
pub(super) fn assume_with_offline(
    found: &mut Found,
    (threads, cores, numbering): (Option<usize>, Option<usize>, Numbering),
    offline: &[u32],
    listed: Option<Vec<Vec<u32>>>,
) {
    if offline.is_empty() {
        return assume(found, threads, cores, numbering);
    }
    found.notes.push(format!("CPU {} is offline and left out", cpulist::format(offline)));
    let shown: Vec<Vec<u32>> = found.nodes.iter().map(|n| n.cpus.clone()).collect();
    let Some(whole) = listed.or_else(|| in_runs(&shown, offline, threads.unwrap_or(1))) else {
        found.sibling_notes.push("one thread per core (CPUs are offline, so which are siblings cannot be told)".into());
        return;
    };
    let set = |found: &mut Found, cpus: Vec<Vec<u32>>| {
        found.nodes.iter_mut().zip(cpus).for_each(|(node, cpus)| node.cpus = cpus);
    };
    set(found, whole);
    assume(found, threads, cores, numbering);
    found.sharing.retain(|cpu, _| !offline.contains(cpu));
    found.sharing.values_mut().for_each(|s| Arc::make_mut(&mut s.core).retain(|c| !offline.contains(c)));
    set(found, shown);
}

/// The CPUs of each node with those that are offline: all of them for a single node. Several must have as many cores
/// each, numbered node by node, and once more for each further thread. `None` if that does not fit what is shown.
fn in_runs(shown: &[Vec<u32>], offline: &[u32], threads: usize) -> Option<Vec<Vec<u32>>> {
    let mut all: Vec<u32> = shown.iter().flatten().chain(offline).copied().collect();
    all.sort_unstable();
    all.dedup();
    let with = shown.iter().filter(|cpus| !cpus.is_empty()).count();
    let each = all.len() / (with * threads).max(1);
    if each * with * threads != all.len() {
        return None;
    }
    let mut place = 0;
    let node = |cpus: &Vec<u32>| {
        if cpus.is_empty() {
            return Some(Vec::new());
        }
        let first = place * each;
        place += 1;
        let run = |t: usize| all[t * each * with + first..][..each].iter().copied();
        let whole: Vec<u32> = (0..threads).flat_map(run).collect();
        cpus.iter().all(|c| whole.contains(c)).then_some(whole)
    };
    shown.iter().map(node).collect()
}

/// Assumes cores of `threads` CPUs each.
///
/// Every node must list `threads` runs of equal length at one common stride, as most machines number threads. A single
/// node of one run is taken for such runs end to end, several nodes of one run each for neighbours, as in guests.
/// Without `threads`, two runs at a stride mean two threads, and anything else means one.
///
/// A single node of one run whose number of `cores` lies between its CPUs and half of them is hybrid: pairs of threads
/// come first, then cores of one thread.
pub(super) fn assume(found: &mut Found, threads: Option<usize>, cores: Option<usize>, numbering: Numbering) {
    if let Some(pairs) = cores.and_then(|cores| pairs(found, cores)) {
        found.siblings_assumed = true;
        found.sibling_notes.push(format!(
            "hybrid cores: {pairs} of two threads, which are neighbours by number, then {} of one (the source has only \
             how many)",
            cores.unwrap_or_default().saturating_sub(pairs)
        ));
        join(found, |cpus, i| match i / 2 < pairs {
            true => vec![cpus[i / 2 * 2], cpus[i / 2 * 2 + 1]],
            false => vec![cpus[i]],
        });
        return;
    }
    if threads == Some(1) {
        return;
    }
    let count = threads.unwrap_or(2);
    let with: Vec<&[u32]> = found.nodes.iter().map(|n| &n.cpus[..]).filter(|c| !c.is_empty()).collect();
    let single = with.len() == 1 && threads.is_some();
    let strides: Option<Vec<usize>> = with.iter().map(|cpus| stride(cpus, count, single)).collect();
    let common = strides.filter(|s| s.windows(2).all(|w| w[0] == w[1])).and_then(|s| s.first().copied());
    let common = common.filter(|_| numbering == Numbering::Unknown);
    let adjacent = found.nodes.iter().all(|n| n.cpus.len() % count == 0);
    let touching = with.first().zip(common).is_some_and(|(cpus, stride)| cpus.len() == stride * count);
    match (common, threads) {
        (Some(stride), _) => {
            found.siblings_assumed = true;
            let why = match touching {
                true => "(the source does not tell)".to_string(),
                false => format!("because every node lists {count} runs of CPUs that far apart"),
            };
            let what = match count {
                2 => format!("two threads per core, CPU c and c + {stride}, {why}"),
                _ => format!("{count} threads per core, {stride} apart, {why}"),
            };
            found.sibling_notes.push(what);
            join(found, |cpus, i| {
                let cores = cpus.len() / count;
                (0..count).map(|t| cpus[i % cores + t * cores]).collect()
            });
        }
        (None, Some(_)) if adjacent => {
            found.siblings_assumed = true;
            found
                .sibling_notes
                .push(format!("{count} threads per core, neighbours by number (the source does not tell)"));
            join(found, |cpus, i| cpus[i / count * count..(i / count + 1) * count].to_vec());
        }
        _ => found.sibling_notes.push("one thread per core (the source does not tell)".into()),
    }
}

/// Cores of two threads of a hybrid machine, if it is one.
fn pairs(found: &Found, cores: usize) -> Option<usize> {
    let mut with = found.nodes.iter().map(|n| &n.cpus).filter(|c| !c.is_empty());
    let (cpus, None) = (with.next()?, with.next()) else { return None };
    let run = cpus.windows(2).all(|w| w[1] == w[0] + 1);
    (run && (cores + 1..2 * cores).contains(&cpus.len())).then(|| cpus.len() - cores)
}

impl Found {
    /// Whether a number of cores tells that some have one thread and others two.
    pub(super) fn is_hybrid(&self, cores: Option<usize>) -> bool {
        cores.and_then(|cores| pairs(self, cores)).is_some()
    }
}

/// Distance of the runs, if the CPUs are `count` runs of equal length, which may touch or not.
fn stride(cpus: &[u32], count: usize, touch: bool) -> Option<usize> {
    let length = cpus.len() / count;
    if length == 0 || length * count != cpus.len() {
        return None;
    }
    let run = |r: &[u32]| r.windows(2).all(|w| w[1] == w[0] + 1);
    let starts: Vec<u32> = cpus.chunks(length).map(|r| r[0]).collect();
    let stride = (starts[1] - starts[0]) as usize;
    let even = starts.windows(2).all(|w| (w[1] - w[0]) as usize == stride);
    (even && (stride > length || touch) && cpus.chunks(length).all(run)).then_some(stride)
}

/// Sets the core of each CPU, by its position among the CPUs of its node.
fn join(found: &mut Found, core: impl Fn(&[u32], usize) -> Vec<u32>) {
    for n in &found.nodes {
        for (i, cpu) in n.cpus.iter().enumerate() {
            let mut core = core(&n.cpus, i);
            core.sort_unstable();
            found.sharing.insert(*cpu, Sharing { core: core.into(), ..Sharing::default() });
        }
    }
}
