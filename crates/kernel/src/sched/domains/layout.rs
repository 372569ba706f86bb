//! The cores, caches and nodes of a machine as sets of CPUs, from which levels are made.

use crate::sched::error::SchedError;
use numalab_base::cpu_set::CpuSet;
use numalab_nouns::machine::Machine;

/// The cores, caches and nodes of a machine.
pub(super) struct Layout {
    pub cpus: usize,
    pub cores: Vec<CpuSet>,
    pub core_of: Vec<u32>,
    pub caches: Vec<CpuSet>,
    pub cache_of: Vec<u32>,
    pub nodes: Vec<CpuSet>,
    pub node_of: Vec<u32>,
}

impl Layout {
    /// Reads the CPU lists of `machine`.
    pub fn new(machine: &Machine) -> Result<Self, SchedError> {
        let cpus = machine.cpu_count();
        let nodes = machine.node_count();
        let bad = |what: String, expected: &str| SchedError::Machine { what, expected: expected.to_string() };
        if cpus == 0 || nodes == 0 {
            return Err(bad(
                format!("machine `{}` has {cpus} CPUs and {nodes} nodes", machine.name),
                "at least one of each",
            ));
        }
        let llcs = machine.llcs.len();
        for (i, c) in machine.cpus.iter().enumerate() {
            if c.node >= nodes || c.core >= machine.cores || c.llc >= llcs {
                let what = format!("CPU {i} is on node {}, cache {}, core {}", c.node, c.llc, c.core);
                return Err(bad(what, &format!("below {nodes}, {llcs} and {}", machine.cores)));
            }
        }
        let group = |count: usize, key: &dyn Fn(usize) -> usize| {
            let mut sets = vec![CpuSet::empty(cpus); count];
            (0..cpus).for_each(|c| sets[key(c)].insert(c as u32));
            (sets, (0..cpus).map(|c| key(c) as u32).collect::<Vec<_>>())
        };
        let (cores, core_of) = group(machine.cores, &|c| machine.cpus[c].core);
        let (node_sets, node_of) = group(nodes, &|c| machine.cpus[c].node);
        let (caches, _) = group(llcs, &|c| machine.cpus[c].llc);
        // x86 clips the cache mask to one node; a cache reported across nodes would break the tower.
        let mut clipped = Vec::new();
        let mut clipped_of = vec![0; cpus];
        for set in caches {
            for node in &node_sets {
                let part = CpuSet::from_iter(cpus, set.iter_and(node));
                if !part.is_empty() {
                    part.iter().for_each(|c| clipped_of[c as usize] = clipped.len() as u32);
                    clipped.push(part);
                }
            }
        }
        Ok(Self { cpus, cores, core_of, caches: clipped, cache_of: clipped_of, nodes: node_sets, node_of })
    }
}
