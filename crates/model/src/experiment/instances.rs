//! Several smaller programs beside each other in place of one large program, each on nodes of its own.
//!
//! A column of an experiment may start its workload several times. Each instance is started as by
//! `numactl --cpunodebind --membind` on its share of the nodes. Parameters are not divided here: a column that shares
//! memory and threads out sets them too.

use super::numactl::Numactl;
use crate::machine::{cpulist, Machine};
use crate::spec::{SpecError, Spot};
use crate::workload::{Op, Process, Workload};
use std::sync::Arc;

/// The word for one instance on each node.
const PER_NODE: &str = "per_node";
/// Most instances of a workload.
const MOST: u32 = 64;

/// How many instances of a workload run.
#[derive(Clone, Debug, PartialEq)]
pub struct Instances {
    /// As written.
    text: Spot<String>,
    /// Their number; `None` for one on each node that has CPUs and memory.
    count: Option<u32>,
}

impl Instances {
    /// Reads `per_node`, or a number from 2 to 64.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: Spot<String>) -> Result<Self, SpecError> {
        if text.value == PER_NODE {
            return Ok(Self { text, count: None });
        }
        match text.value.parse() {
            Ok(count) if (2..=MOST).contains(&count) => Ok(Self { count: Some(count), text }),
            _ => {
                let what = format!("`instances` is `{}`", text.value);
                Err(text.error(what, format!("`{PER_NODE}`, or a number from 2 to {MOST}")))
            }
        }
    }

    /// As written.
    pub fn text(&self) -> &str {
        &self.text.value
    }

    /// The nodes of each instance. Instances share the nodes out if their numbers allow it; else none is bound, and the
    /// lists are empty.
    ///
    /// # Errors
    /// `per_node` on a machine with one such node.
    pub fn nodes(&self, machine: &Machine) -> Result<Vec<Vec<u32>>, SpecError> {
        let has_cpus = |n: u32| machine.cpus.iter().any(|c| c.node == n as usize);
        let all = (0..machine.nodes.len() as u32).filter(|n| machine.nodes[*n as usize].memory_bytes > 0);
        let own: Vec<u32> = all.filter(|n| has_cpus(*n)).collect();
        let count = self.count.map_or(own.len(), |c| c as usize);
        if count < 2 {
            let what = format!("{} has one node with CPUs and memory", machine.name);
            return Err(self.text.error(what, "a machine with several, or a number of instances"));
        }
        let share = |i: usize| match (own.len() % count, count % own.len().max(1)) {
            (0, _) => own[i * own.len() / count..(i + 1) * own.len() / count].to_vec(),
            (_, 0) => vec![own[i * own.len() / count]],
            _ => Vec::new(),
        };
        Ok((0..count).map(share).collect())
    }

    /// The workload, so many times on `machine`. Scores are those of all instances together.
    ///
    /// # Errors
    /// Those of [`Instances::nodes`], and a cpuset that lacks the nodes of its instance.
    pub fn start(&self, workload: &Workload, machine: &Machine) -> Result<Workload, SpecError> {
        let mut out: Option<Workload> = None;
        for (i, nodes) in self.nodes(machine)?.into_iter().enumerate() {
            let mut own = if nodes.is_empty() {
                workload.clone()
            } else {
                let list = cpulist::format(&nodes);
                let options = format!("--cpunodebind={list} --membind={list}");
                Numactl::parse(self.text.clone().map(|_| options))?.start(workload, machine)?
            };
            match &mut out {
                None => out = Some(own),
                Some(all) => {
                    renumber(&mut own, workload, i as u32);
                    all.processes.append(&mut own.processes);
                    all.barrier_widths.append(&mut own.barrier_widths);
                    all.futexes.append(&mut own.futexes);
                    all.channels += own.channels;
                }
            }
        }
        Ok(out.unwrap_or_else(|| workload.clone()))
    }
}

/// Gives instance number `i` of `workload` numbers of its own, behind those of the instances before.
fn renumber(own: &mut Workload, workload: &Workload, i: u32) {
    let groups = workload.processes.iter().filter_map(|p| p.cpu_group).map(|g| g.id + 1).max().unwrap_or(0);
    let barriers = workload.barrier_widths.len() as u32;
    own.futexes.iter_mut().for_each(|channel| *channel += i * workload.channels);
    let shifted = |ops: &Arc<[Op]>| -> Arc<[Op]> {
        let shift = |op: &Op| match op {
            Op::Barrier { id, spin } => Op::Barrier { id: id + i * barriers, spin: *spin },
            Op::Signal { channel } => Op::Signal { channel: channel + i * workload.channels },
            Op::Wait { channel } => Op::Wait { channel: channel + i * workload.channels },
            other => other.clone(),
        };
        ops.iter().map(shift).collect()
    };
    for p in &mut own.processes {
        p.name = name(&p.name, &workload.processes, i as usize);
        p.parent = p.parent.map(|parent| parent + i as usize * workload.processes.len());
        if let Some(group) = &mut p.cpu_group {
            group.id += i * groups;
        }
        p.prologue = shifted(&p.prologue);
        // Threads that share their ops share them still.
        let mut last: Option<[Arc<[Op]>; 2]> = None;
        for t in &mut p.threads {
            let done = match &last {
                Some([old, new]) if Arc::ptr_eq(old, &t.ops) => Arc::clone(new),
                _ => shifted(&t.ops),
            };
            last = Some([Arc::clone(&t.ops), Arc::clone(&done)]);
            t.ops = done;
        }
    }
}

/// The name of a process of instance `i`: `server.1` for `server.0`, where the workload has one server.
fn name(own: &str, processes: &[Process], i: usize) -> String {
    let Some((stem, number)) = own.rsplit_once('.').and_then(|(s, n)| Some((s, n.parse::<usize>().ok()?))) else {
        return format!("{own}.{i}");
    };
    let of_stem = processes.iter().filter(|p| p.name.rsplit_once('.').is_some_and(|(s, _)| s == stem)).count();
    format!("{stem}.{}", number + i * of_stem)
}
