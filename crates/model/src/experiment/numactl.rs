//! How a workload is started: the memory policy and the nodes that `numactl` would give it.
//!
//! A column of an experiment may start the program under `numactl`. The options are those of numactl(8); they are
//! applied to the resolved workload, so every backend carries them out. The program keeps what it asks for itself: its
//! own policies, those of its mappings, and the affinities of its threads.

use crate::machine::{cpulist, Machine};
use crate::spec::{nearest, SpecError, Spot};
use crate::workload::{Op, Policy, PolicyMode, Process, Workload};
use std::sync::Arc;

/// The options that are understood, with their short forms.
const OPTIONS: [(&str, &str); 7] = [
    ("--interleave", "-i"),
    ("--weighted-interleave", "-w"),
    ("--membind", "-m"),
    ("--preferred", "-p"),
    ("--localalloc", "-l"),
    ("--cpunodebind", "-N"),
    ("--balancing", "-b"),
];

/// Nodes of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Nodes {
    /// Every node that fits: with memory, or with CPUs.
    All,
    /// These nodes, ascending.
    List(Vec<u32>),
}

/// The options of `numactl`.
#[derive(Clone, Debug, PartialEq)]
pub struct Numactl {
    /// The options as written.
    text: Spot<String>,
    /// Mode and nodes of the memory policy.
    memory: Option<(PolicyMode, Nodes)>,
    /// Nodes whose CPUs the threads may use.
    cpus: Option<Nodes>,
    /// Whether NUMA balancing may move pages among the nodes of `--membind` (`MPOL_F_NUMA_BALANCING`).
    balancing: bool,
}

impl Numactl {
    /// Reads the options of a command line of `numactl`, such as `--interleave=all` or `-N 0 -m 0`.
    ///
    /// # Errors
    /// An unknown option, a list of nodes that cannot be read, two memory policies, or no option.
    pub fn parse(text: Spot<String>) -> Result<Self, SpecError> {
        let mut out = Self { text: text.clone(), memory: None, cpus: None, balancing: false };
        let mut words = text.value.split_whitespace().peekable();
        let names = || OPTIONS.iter().map(|o| o.0).collect::<Vec<_>>();
        if words.peek().is_none() {
            return Err(text.error("no option of numactl", format!("one of {}", names().join(", "))));
        }
        while let Some(word) = words.next() {
            let (name, value) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
            let Some((option, _)) = OPTIONS.iter().find(|(long, short)| name == *long || name == *short) else {
                let e = text.error(format!("no option `{name}` of numactl"), format!("one of {}", names().join(", ")));
                return Err(SpecError { nearest: nearest(name, names()), ..e });
            };
            let mode = match *option {
                "--interleave" => Some(PolicyMode::Interleave),
                "--weighted-interleave" => Some(PolicyMode::WeightedInterleave),
                "--membind" => Some(PolicyMode::Bind),
                "--preferred" => Some(PolicyMode::Preferred),
                "--localalloc" => Some(PolicyMode::Local),
                _ => None,
            };
            if *option == "--balancing" {
                out.balancing = true;
                continue;
            }
            let nodes = if mode == Some(PolicyMode::Local) {
                Nodes::List(Vec::new())
            } else {
                nodes(&text, option, value.or_else(|| words.next()))?
            };
            match mode {
                Some(mode) if out.memory.is_none() => out.memory = Some((mode, nodes)),
                Some(_) => return Err(text.error("two memory policies", "one of them")),
                None => out.cpus = Some(nodes),
            }
        }
        if out.balancing && !matches!(out.memory, Some((PolicyMode::Bind, _))) {
            return Err(text.error("`--balancing` without `--membind`", "both, as numactl(8) has it"));
        }
        Ok(out)
    }

    /// The options as written.
    pub fn text(&self) -> &str {
        &self.text.value
    }

    /// The workload as these options start it on `machine`.
    ///
    /// # Errors
    /// A node that the machine does not have, that has no memory or no CPUs, or that the cpuset of a process lacks.
    pub fn start(&self, workload: &Workload, machine: &Machine) -> Result<Workload, SpecError> {
        let mut w = workload.clone();
        if let Some((mode, nodes)) = &self.memory {
            let nodes = self.with_memory(*mode, nodes, machine)?;
            for p in &mut w.processes {
                let policy = self.policy((*mode, &nodes), p, machine)?;
                under_policy(p, &policy);
            }
        }
        if let Some(nodes) = &self.cpus {
            let cpus = self.cpus_of(nodes, machine)?;
            if cpus.len() < machine.cpus.len() {
                for t in w.processes.iter_mut().flat_map(|p| &mut p.threads) {
                    // A thread that sets its own affinity is not held by the one that it was started with.
                    t.affinity.get_or_insert_with(|| Arc::clone(&cpus));
                }
            }
        }
        Ok(w)
    }

    /// The nodes of a policy: they exist and have memory.
    fn with_memory(&self, mode: PolicyMode, nodes: &Nodes, m: &Machine) -> Result<Vec<u32>, SpecError> {
        let has = |n: u32| m.nodes.get(n as usize).is_some_and(|node| node.memory_bytes > 0);
        let list = self.existing(nodes, m, &has, "memory")?;
        if mode == PolicyMode::Preferred && list.len() != 1 {
            return Err(self.text.error(format!("`--preferred` names {} nodes", list.len()), "one node"));
        }
        Ok(list)
    }

    fn policy(&self, (mode, nodes): (PolicyMode, &[u32]), p: &Process, machine: &Machine) -> Result<Policy, SpecError> {
        let allowed = |n: &&u32| p.mems.as_ref().is_none_or(|mems| mems.contains(n));
        let list: Vec<u32> = nodes.iter().filter(allowed).copied().collect();
        if list.is_empty() && mode != PolicyMode::Local {
            let what = format!("the cpuset of process {} has none of these nodes", p.name);
            return Err(self.text.error(what, "a node that its cpuset has"));
        }
        let weights = if mode == PolicyMode::WeightedInterleave { weights(&list, machine) } else { Vec::new() };
        Ok(Policy { mode, nodes: list, weights, numa_balancing: self.balancing })
    }

    /// The CPUs of nodes, ascending.
    fn cpus_of(&self, nodes: &Nodes, m: &Machine) -> Result<Arc<[u32]>, SpecError> {
        let has = |n: u32| m.cpus.iter().any(|c| c.node == n as usize);
        let list = self.existing(nodes, m, &has, "CPUs")?;
        let cpus = (0..m.cpus.len()).filter(|c| list.contains(&(m.cpus[*c].node as u32))).map(|c| c as u32);
        Ok(cpus.collect())
    }

    /// The nodes of an option, each of which must have what the option is about.
    fn existing(
        &self,
        nodes: &Nodes,
        m: &Machine,
        has: &dyn Fn(u32) -> bool,
        what: &str,
    ) -> Result<Vec<u32>, SpecError> {
        let count = m.nodes.len() as u32;
        let list = match nodes {
            Nodes::All => return Ok((0..count).filter(|n| has(*n)).collect()),
            Nodes::List(list) => list,
        };
        match list.iter().find(|n| !has(**n)) {
            None => Ok(list.clone()),
            Some(n) if *n < count => {
                Err(self.text.error(format!("node {n} of {} has no {what}", m.name), format!("a node with {what}")))
            }
            Some(n) => Err(self.text.error(format!("{} has no node {n}", m.name), format!("nodes 0 to {}", count - 1))),
        }
    }
}

/// Weights of nodes by their bandwidths, the greatest at most 16. numactl takes those of
/// `/sys/kernel/mm/mempolicy/weighted_interleave`, which Linux 6.16 sets so by itself and older ones leave at 1.
fn weights(nodes: &[u32], machine: &Machine) -> Vec<u8> {
    let gbps = |n: &u32| machine.nodes.get(*n as usize).map_or(0.0, |node| node.dram_sustained_gbps);
    let most = nodes.iter().map(gbps).fold(0.0, f64::max);
    let least = nodes.iter().map(gbps).fold(most, f64::min).max(most / 16.0);
    let weight = |n: &u32| if least > 0.0 { (gbps(n) / least).round().clamp(1.0, 16.0) as u8 } else { 1 };
    nodes.iter().map(weight).collect()
}

/// Reads the nodes of an option: `all`, or a list such as `0-1,3`.
fn nodes(text: &Spot<String>, option: &str, value: Option<&str>) -> Result<Nodes, SpecError> {
    let expected = "`all` or a list of nodes such as 0-1,3";
    let value = value.ok_or_else(|| text.error(format!("`{option}` names no nodes"), expected))?;
    if value == "all" {
        return Ok(Nodes::All);
    }
    let list = cpulist::parse(value).ok().filter(|l| !l.is_empty());
    let mut list: Vec<u32> =
        list.ok_or_else(|| text.error(format!("`{option}` names `{value}`"), expected))?.into_iter().collect();
    list.sort_unstable();
    list.dedup();
    Ok(Nodes::List(list))
}

/// Starts a process and all of its threads under `policy`. Where the program goes back to the default, it goes back to
/// this policy, as its threads inherited it.
fn under_policy(p: &mut Process, policy: &Policy) {
    let start = |ops: &Arc<[Op]>| -> Arc<[Op]> {
        let back = |op: &Op| match op {
            Op::SetPolicy(own) if own.mode == PolicyMode::Default => Op::SetPolicy(policy.clone()),
            other => other.clone(),
        };
        std::iter::once(Op::SetPolicy(policy.clone())).chain(ops.iter().map(back)).collect()
    };
    p.prologue = start(&p.prologue);
    // Threads that share their ops share them still.
    let mut last: Option<[Arc<[Op]>; 2]> = None;
    for t in &mut p.threads {
        let done = match &last {
            Some([old, new]) if Arc::ptr_eq(old, &t.ops) => Arc::clone(new),
            _ => start(&t.ops),
        };
        last = Some([Arc::clone(&t.ops), Arc::clone(&done)]);
        t.ops = done;
    }
}
