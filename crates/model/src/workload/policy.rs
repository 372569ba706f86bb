//! Memory policies, resolved for one machine and cpuset.

use super::ast::PolicySpec;
use super::cpuset::Cpuset;
use super::families::expand;
use super::{Policy, PolicyMode};
use crate::expr::Env;
use crate::machine::Machine;
use crate::spec::SpecError;

/// The policy that `spec` describes in `env`, for a process in `cpuset`. Its nodes exist and have memory.
pub(super) fn resolve(spec: &PolicySpec, env: &Env, machine: &Machine, cpuset: &Cpuset) -> Result<Policy, SpecError> {
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
