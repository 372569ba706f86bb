//! Cpusets: the CPUs and memory nodes that a process may use at all (`cpuset.cpus`, `cpuset.mems`).
//!
//! A cpuset is the outer limit. What `sched_setaffinity` and `set_mempolicy` ask for is cut down to it, and both return
//! EINVAL if nothing is left. A process without a cpuset of its own is in the cpuset of its parent.

use super::affinity::Affinities;
use super::ast::CpusetSpec;
use super::families::expand;
use super::{Policy, PolicyMode};
use crate::expr::Env;
use crate::machine::Machine;
use crate::spec::{SpecError, Spot};
use std::sync::Arc;

/// A cpuset resolved for one machine; the default has all CPUs and memory nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cpuset {
    /// Dense CPUs, ascending; `None` = all.
    pub cpus: Option<Arc<[u32]>>,
    /// Dense nodes with memory, ascending; `None` = all.
    pub mems: Option<Arc<[u32]>>,
}

impl Cpuset {
    /// The cpuset that `spec` describes in `env`.
    pub fn new(spec: &CpusetSpec, known: &mut Affinities, env: &Env, m: &Machine) -> Result<Self, SpecError> {
        let cpus = spec.cpus.as_ref().map_or(Ok(None), |a| known.resolve(a, env, m))?;
        let Some(list) = &spec.mems else { return Ok(Self { cpus, mems: None }) };
        let mut mems: Vec<u32> = Vec::new();
        for n in expand(list, env)? {
            match m.nodes.get(n as usize).map(|node| node.memory_bytes > 0) {
                None => {
                    let what = format!("a cpuset with node {n}, which `{}` does not have", m.name);
                    return Err(list.spot.error(what, format!("0 to {}", m.nodes.len() - 1)));
                }
                Some(false) => {
                    return Err(list.spot.error(format!("node {n} has no memory"), "a node with memory"));
                }
                Some(true) => mems.push(n as u32),
            }
        }
        if mems.is_empty() {
            return Err(list.spot.error("a cpuset without memory nodes", "at least one node"));
        }
        mems.sort_unstable();
        mems.dedup();
        let all = mems.len() == m.nodes.iter().filter(|n| n.memory_bytes > 0).count();
        Ok(Self { cpus, mems: (!all).then(|| mems.into()) })
    }

    /// The CPUs of an affinity that the cpuset allows, if any (`__sched_setaffinity`).
    pub fn affinity(&self, wanted: Option<Arc<[u32]>>, known: &mut Affinities) -> Option<Option<Arc<[u32]>>> {
        let (Some(cpus), Some(wanted)) = (&self.cpus, &wanted) else {
            return Some(wanted.or_else(|| self.cpus.clone()));
        };
        let both: Vec<u32> = wanted.iter().filter(|c| cpus.binary_search(c).is_ok()).copied().collect();
        (!both.is_empty()).then(|| Some(known.shared(both)))
    }

    /// A policy cut down to the memory nodes of the cpuset (`mpol_set_nodemask`).
    pub fn policy(&self, mut policy: Policy, at: &Spot<String>) -> Result<Policy, SpecError> {
        let Some(mems) = &self.mems else { return Ok(policy) };
        if matches!(policy.mode, PolicyMode::Default | PolicyMode::Local) {
            return Ok(policy);
        }
        let keep: Vec<bool> = policy.nodes.iter().map(|n| mems.binary_search(n).is_ok()).collect();
        if !keep.contains(&true) {
            let what = format!("policy `{}` has no node of the process's cpuset (the kernel returns EINVAL)", at.value);
            let list: Vec<String> = mems.iter().map(u32::to_string).collect();
            return Err(at.error(what, format!("one of its memory nodes: {}", list.join(", "))));
        }
        let mut kept = keep.iter();
        policy.nodes.retain(|_| kept.next() == Some(&true));
        let mut kept = keep.iter();
        policy.weights.retain(|_| kept.next() == Some(&true));
        Ok(policy)
    }
}
