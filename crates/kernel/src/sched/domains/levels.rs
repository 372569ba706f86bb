//! The level list of a machine: which CPUs each level joins, and its flags (kernel-scheduler.md §1.2, §1.4).

use super::distances::Distances;
use super::flags::Flags;
use super::layout::Layout;
use super::level::Level;
use crate::sched::config::Params;
use crate::sched::rules::Form;
use numalab_base::cpu_set::CpuSet;
use numalab_nouns::machine::Machine;

/// One level: `masks[mask_of[cpu]]` are the CPUs that it joins with `cpu`.
pub(super) struct LevelDef {
    pub level: Level,
    pub flags: Flags,
    pub masks: Vec<CpuSet>,
    pub mask_of: Vec<u32>,
}

impl LevelDef {
    /// The CPUs that the level joins with `cpu`.
    pub fn mask(&self, cpu: u32) -> &CpuSet {
        &self.masks[self.mask_of[cpu as usize] as usize]
    }
}

const COMMON: Flags =
    Flags(Flags::NEWIDLE.0 | Flags::EXEC.0 | Flags::FORK.0 | Flags::WAKE_AFFINE.0 | Flags::PREFER_SIBLING.0);

/// The level list, from the bottom up.
pub(super) fn levels(machine: &Machine, layout: &Layout, distances: &Distances, params: &Params) -> Vec<LevelDef> {
    let own = |level, flags: Flags, masks: &[CpuSet], mask_of: &[u32]| LevelDef {
        level,
        flags: COMMON.with(flags),
        masks: masks.to_vec(),
        mask_of: mask_of.to_vec(),
    };
    let smt = Flags::SHARE_CPUCAPACITY.with(Flags::SHARE_LLC);
    // The level exists from 5.16 on, its flag from 6.7 on.
    let cls = if params.form == Form::V61 { Flags::SHARE_LLC } else { Flags::CLUSTER.with(Flags::SHARE_LLC) };
    let mut out = vec![
        own(Level::Smt, smt, &layout.cores, &layout.core_of),
        own(Level::Cls, cls, &layout.cores, &layout.core_of),
        own(Level::Mc, Flags::SHARE_LLC, &layout.caches, &layout.cache_of),
    ];
    // "NUMA in package": a package level of the size of a node would cut a package, so x86 leaves it out.
    let in_package = (0..machine.sockets.max(1))
        .any(|s| distances.nodes.iter().filter(|&&n| machine.nodes[n].socket == s).count() > 1);
    if !in_package {
        out.push(own(Level::Pkg, Flags(0), &layout.nodes, &layout.node_of));
    }
    for (i, limit) in distances.values.iter().enumerate() {
        let masks: Vec<CpuSet> = (0..machine.node_count())
            .map(|j| {
                let mut m = CpuSet::empty(layout.cpus);
                let near = |k: usize| distances.at(machine, j, k) <= *limit;
                distances.nodes.iter().filter(|&&k| near(k)).for_each(|&k| m.union_with(&layout.nodes[k]));
                m
            })
            .collect();
        let flags = match i {
            0 => COMMON,
            _ => {
                let far = Flags::NUMA.with(Flags::OVERLAP).with(Flags::NEWIDLE).with(Flags::SERIALIZE);
                let near = far.with(Flags::EXEC).with(Flags::FORK).with(Flags::WAKE_AFFINE);
                if *limit > params.node_reclaim_distance {
                    far
                } else {
                    near
                }
            }
        };
        let level = if i == 0 { Level::Node } else { Level::Numa(i as u8) };
        out.push(LevelDef { level, flags, masks, mask_of: layout.node_of.clone() });
    }
    out
}
