//! Lists, families, policies and affinities of a workload, resolved for one machine.

use super::ast::{Affinity, AffinityUnit, Family, List, ListItem, PolicySpec, Ref};
use super::cpuset::Cpuset;
use super::{Policy, PolicyMode};
use crate::expr::{Env, Formula};
use crate::machine::Machine;
use crate::spec::{SpecError, Spot};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most numbers in a list.
const MAX_LIST: u64 = 1_000_000;

/// The numbers of a list, in its order.
pub(super) fn expand(list: &List, env: &Env) -> Result<Vec<u64>, SpecError> {
    let mut out: Vec<u64> = Vec::new();
    for item in &list.items {
        match item {
            ListItem::One(f) => out.push(f.whole(env, 0, u64::MAX)?),
            ListItem::Range { from, to, by } => {
                let (low, high) = (from.whole(env, 0, u64::MAX)?, to.plain(env)?);
                let step = by.as_ref().map_or(Ok(1), |b| b.whole(env, 1, u64::MAX))?;
                if high < low as f64 {
                    // `0..nodes-2` is an empty list on a machine with one node.
                    continue;
                }
                let high = to.whole(env, 0, u64::MAX)?;
                if (high - low) / step >= MAX_LIST {
                    return Err(list.spot.error("the list is too long", format!("at most {MAX_LIST} numbers")));
                }
                out.extend((low..=high).step_by(usize::try_from(step).unwrap_or(usize::MAX)));
            }
        }
        if out.len() as u64 > MAX_LIST {
            return Err(list.spot.error("the list is too long", format!("at most {MAX_LIST} numbers")));
        }
    }
    Ok(out)
}

/// Members of a family and their ids. A family without `over` has one member, 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Members {
    name: String,
    listed: bool,
    ids: BTreeMap<u64, Option<u32>>,
}

impl Members {
    /// The members of `family`, in `env`.
    pub fn new(family: &Family, env: &Env) -> Result<Self, SpecError> {
        let mut ids = BTreeMap::new();
        for n in numbers(family, env)? {
            if ids.insert(n, None).is_some() {
                let what = format!("`{}` has member {n} twice", family.name.value);
                return Err(family.name.error(what, "different numbers in `over`"));
            }
        }
        Ok(Self { name: family.name.value.clone(), listed: family.over.is_some(), ids })
    }
    /// Number of members.
    pub fn len(&self) -> usize {
        self.ids.len()
    }
    /// Members with their names for reports, in ascending order.
    pub fn labels(&self) -> Vec<(u64, String)> {
        let label = |n: &u64| if self.listed { format!("{}-{n}", self.name) } else { self.name.clone() };
        self.ids.keys().map(|n| (*n, label(n))).collect()
    }
    /// Gives all members ids from `first` on, in ascending order; returns their names.
    pub fn number_from(&mut self, first: u32) -> Vec<String> {
        for (id, slot) in (first..).zip(self.ids.values_mut()) {
            *slot = Some(id);
        }
        self.labels().into_iter().map(|(_, name)| name).collect()
    }
    /// The id of the member `reference` means; the first use of a member takes `next` and advances it.
    pub fn id(&mut self, reference: &Ref, env: &Env, next: &mut u32) -> Result<(u32, bool), SpecError> {
        let n = member(reference.at.as_ref(), env)?;
        let Some(id) = self.ids.get_mut(&n) else {
            return Err(absent(&self.name, n, self.ids.keys().copied(), &reference.spot));
        };
        let fresh = id.is_none();
        let got = *id.get_or_insert(*next);
        *next += u32::from(fresh);
        Ok((got, fresh))
    }
}

/// Numbers of the members of a family.
pub(super) fn numbers(family: &Family, env: &Env) -> Result<Vec<u64>, SpecError> {
    family.over.as_ref().map_or_else(|| Ok(vec![0]), |list| expand(list, env))
}

/// The member number that an index expression gives.
pub(super) fn member(at: Option<&Formula>, env: &Env) -> Result<u64, SpecError> {
    at.map_or(Ok(0), |f| f.whole(env, 0, u64::MAX))
}

/// The error that refuses a member that the family does not have.
pub(super) fn absent(name: &str, n: u64, all: impl Iterator<Item = u64>, at: &Spot<String>) -> SpecError {
    let all: Vec<u64> = all.collect();
    if all.is_empty() {
        return at.error(format!("`{name}` is not mapped here"), "a `when` that holds, or a step with the same `when`");
    }
    let expected = match (all.first(), all.last()) {
        (Some(a), Some(b)) if b - a + 1 == all.len() as u64 => format!("a member from {a} to {b}"),
        _ => format!("one of its {} members", all.len()),
    };
    at.error(format!("`{name}` has no member {n}"), expected)
}

/// The policy that `spec` describes in `env`, for a process in `cpuset`. Its nodes exist and have memory.
pub(super) fn policy(spec: &PolicySpec, env: &Env, machine: &Machine, cpuset: &Cpuset) -> Result<Policy, SpecError> {
    let has_memory = |n: u64| machine.nodes.get(n as usize).map(|node| node.memory_bytes > 0);
    let listed = match (&spec.nodes, spec.mode) {
        (Some(list), _) => expand(list, env)?,
        (None, PolicyMode::Default | PolicyMode::Local) => Vec::new(),
        (None, _) => (0..machine.nodes.len() as u64).filter(|n| has_memory(*n) == Some(true)).collect(),
    };
    let at = spec.nodes.as_ref().map_or(&spec.name, |l| &l.spot);
    for n in &listed {
        match has_memory(*n) {
            None => {
                let what = format!("policy `{}` names node {n}", spec.name.value);
                return Err(at.error(what, format!("nodes 0 to {} of `{}`", machine.nodes.len() - 1, machine.name)));
            }
            Some(false) => return Err(at.error(format!("node {n} has no memory"), "a node with memory")),
            Some(true) => {}
        }
    }
    let nodes_needed = !matches!(spec.mode, PolicyMode::Default | PolicyMode::Local);
    if (nodes_needed && listed.is_empty()) || (spec.mode == PolicyMode::Preferred && listed.len() != 1) {
        let expected = if spec.mode == PolicyMode::Preferred { "one node" } else { "at least one node" };
        return Err(at.error(format!("policy `{}` names {} nodes", spec.name.value, listed.len()), expected));
    }
    let mut weights = Vec::new();
    for w in &spec.weights {
        weights.push(w.whole(env, 1, 255)? as u8);
    }
    if spec.mode == PolicyMode::WeightedInterleave && weights.len() != listed.len() {
        let what = format!("policy `{}` has {} weights", spec.name.value, weights.len());
        return Err(spec.name.error(what, format!("{}, one per node", listed.len())));
    }
    // Weights stay with their nodes when these are sorted. A node that is named twice counts once.
    let mut pairs: Vec<(u32, Option<u8>)> =
        listed.iter().enumerate().map(|(i, n)| (*n as u32, weights.get(i).copied())).collect();
    pairs.sort_by_key(|(n, _)| *n);
    pairs.dedup_by_key(|(n, _)| *n);
    if !weights.is_empty() && pairs.len() != weights.len() {
        return Err(at.error(format!("policy `{}` names a node twice", spec.name.value), "each node once"));
    }
    let nodes = pairs.iter().map(|(n, _)| *n).collect();
    let weights = pairs.iter().filter_map(|(_, w)| *w).collect();
    let out = Policy { mode: spec.mode, nodes, weights, numa_balancing: spec.numa_balancing };
    cpuset.policy(out, &spec.name)
}

/// Affinities resolved so far, so that equal ones are shared.
#[derive(Default)]
pub(super) struct Affinities {
    known: BTreeMap<Vec<u32>, Arc<[u32]>>,
}

impl Affinities {
    /// The one copy of equal lists.
    pub fn shared(&mut self, cpus: Vec<u32>) -> Arc<[u32]> {
        Arc::clone(self.known.entry(cpus).or_insert_with_key(|c| c.as_slice().into()))
    }
    /// The CPUs that `spec` allows in `env`, ascending; `None` if they are all CPUs of the machine.
    pub fn resolve(&mut self, spec: &Affinity, env: &Env, m: &Machine) -> Result<Option<Arc<[u32]>>, SpecError> {
        let wanted = expand(&spec.list, env)?;
        let (word, total) = match spec.unit {
            AffinityUnit::Cpus => ("CPU", m.cpus.len()),
            AffinityUnit::Cores => ("core", m.cores),
            AffinityUnit::Llcs => ("LLC", m.llcs.len()),
            AffinityUnit::Nodes => ("node", m.nodes.len()),
            AffinityUnit::Sockets => ("socket", m.sockets),
        };
        if wanted.is_empty() {
            let what = format!("the list of {word}s of the affinity is empty");
            return Err(spec.list.spot.error(what, format!("at least one {word}")));
        }
        let mut allowed = vec![false; total];
        for n in wanted {
            let Some(slot) = usize::try_from(n).ok().and_then(|n| allowed.get_mut(n)) else {
                let what = format!("affinity to {word} {n}, which `{}` does not have", m.name);
                return Err(spec.list.spot.error(what, format!("0 to {}", total.saturating_sub(1))));
            };
            *slot = true;
        }
        let of = |c: usize| match spec.unit {
            AffinityUnit::Cpus => c,
            AffinityUnit::Cores => m.cpus[c].core,
            AffinityUnit::Llcs => m.cpus[c].llc,
            AffinityUnit::Nodes => m.cpus[c].node,
            AffinityUnit::Sockets => m.cpus[c].socket,
        };
        let cpus: Vec<u32> =
            (0..m.cpus.len()).filter(|c| allowed.get(of(*c)) == Some(&true)).map(|c| c as u32).collect();
        if cpus.is_empty() {
            return Err(spec.list.spot.error("the affinity allows no CPU", format!("a {word} that has CPUs")));
        }
        if cpus.len() == m.cpus.len() {
            return Ok(None);
        }
        Ok(Some(self.shared(cpus)))
    }
}
