//! From a machine to its domains, in the kernel's order: spans, groups, thresholds, removal of useless levels (kernel:
//! `build_sched_domains`).

use super::degenerate::degenerate;
use super::distances::Distances;
use super::domain::{Cache, DomId, Domain, Lead};
use super::flags::Flags;
use super::groups::GroupMaker;
use super::layout::Layout;
use super::levels::{levels, LevelDef};
use super::raw::RawDomain;
use super::ring::Ring;
use super::simplify::simplified;
use super::towers::Domains;
use crate::sched::config::{Params, SchedConfig};
use crate::sched::error::SchedError;
use crate::sched::imbalance::{Allowance, NodeShape, Scale};
use crate::sched::rules::DomainConstants;
use numalab_base::cpu_set::CpuSet;
use numalab_nouns::machine::Machine;

impl Domains {
    /// Builds the towers of `machine` for `config`.
    ///
    /// # Errors
    /// [`SchedError::Machine`] for inconsistent tables. [`SchedError::Distances`] for distances below 10, or a node
    /// nearer to another than that is to itself. [`SchedError::Tunable`] for a bad word in `config`.
    pub fn build(machine: &Machine, config: &SchedConfig) -> Result<Self, SchedError> {
        Self::with_params(machine, &Params::new(machine, config)?)
    }
    pub(in crate::sched) fn with_params(machine: &Machine, params: &Params) -> Result<Self, SchedError> {
        let layout = Layout::new(machine)?;
        let distances = match simplified(machine).filter(|_| params.snc_mean) {
            None => Distances::new(machine)?,
            Some(table) => Distances::with_table(machine, table)?,
        };
        let levels = levels(machine, &layout, &distances, params);
        let mut towers = build_sched_domain(&layout, &levels)?;
        let mut groups = {
            let mut maker = GroupMaker::new(&layout, &levels, &towers);
            let mut rings: Vec<Vec<Ring>> = Vec::with_capacity(towers.len());
            for (cpu, tower) in towers.iter().enumerate() {
                let ring: Result<_, _> = (0..tower.len()).map(|l| maker.build_groups(cpu as u32, l)).collect();
                rings.push(ring?);
            }
            let groups = maker.groups;
            for (tower, ring) in towers.iter_mut().zip(rings) {
                tower.iter_mut().zip(ring).for_each(|(d, r)| d.groups = r);
            }
            groups
        };
        for tower in &mut towers {
            set_imb_numa_nr(tower, params.rule, machine.node_count() as u32);
        }
        let records = levels.len() * layout.cpus;
        let towers: Vec<Vec<RawDomain>> = towers.into_iter().map(|t| degenerate(t, &mut groups, params.form)).collect();
        let mut out = Self {
            cpus: layout.cpus,
            form: params.form,
            ids: machine.cpus.iter().map(|c| c.id).collect(),
            start: vec![0],
            domains: Vec::new(),
            leads: Vec::new(),
            groups,
            records,
            caches: Vec::new(),
            cache_of: vec![u32::MAX; layout.cpus],
            smt: layout.cores.iter().any(|c| c.len() > 1),
            cores: layout.cores,
            core_of: layout.core_of,
            nodes: layout.nodes,
            node_of: layout.node_of,
            sd_numa: Vec::new(),
            class: distances.class,
            distance: machine.distance.iter().flatten().map(|d| u32::from(*d)).collect(),
        };
        out.finish(towers, params.domain_constants);
        Ok(out)
    }
    /// Lays the towers out contiguously and derives the per-CPU pointers of §1.7.
    fn finish(&mut self, towers: Vec<Vec<RawDomain>>, constants: DomainConstants) {
        for (cpu, tower) in towers.into_iter().enumerate() {
            let base = self.domains.len() as u32;
            self.domains.extend(tower.into_iter().map(|raw| sd_init(cpu as u32, raw, constants)));
            self.start.push(self.domains.len() as u32);
            let own = &self.domains[base as usize..];
            let numa = own.iter().position(|d| d.flags.has(Flags::NUMA));
            self.sd_numa.push(numa.map(|i| base + i as u32));
            if self.cache_of[cpu] != u32::MAX {
                continue;
            }
            let shared = own.iter().rev().find(|d| d.flags.has(Flags::SHARE_LLC)).map(|d| d.span.clone());
            let has_domain = shared.is_some();
            let span = shared.unwrap_or_else(|| CpuSet::from_iter(self.cpus, [cpu as u32]));
            span.iter().for_each(|c| self.cache_of[c as usize] = self.caches.len() as u32);
            self.caches.push(Cache { size: span.len(), span, has_domain });
        }
        self.leads = (0..self.domains.len() as u32).map(|id| self.find_lead(id)).collect();
    }
    fn find_lead(&self, id: DomId) -> Lead {
        let own = |id: DomId| self.domain(id).groups.first().map(|g| self.group(*g));
        let parent_record = self.parent(id).and_then(own).map(|g| g.record);
        let node = self.node(self.node_of(self.domain(id).cpu));
        let in_node = own(id).is_some_and(|g| g.span.is_subset(node));
        Lead { balance_cpu: own(id).map(|g| g.balance_cpu), parent_record, in_node }
    }
}

/// The complete tower of every CPU: levels from the bottom up until one spans the machine (`build_sched_domain`).
fn build_sched_domain(layout: &Layout, levels: &[LevelDef]) -> Result<Vec<Vec<RawDomain>>, SchedError> {
    let all = CpuSet::full(layout.cpus);
    let mut towers = Vec::with_capacity(layout.cpus);
    for cpu in 0..layout.cpus as u32 {
        let mut tower: Vec<RawDomain> = Vec::new();
        for def in levels {
            let mask = def.mask(cpu);
            let mut span = mask.clone();
            if let Some(child) = tower.last() {
                // A parent never loses CPUs of its child. This matters with broken firmware only.
                span.union_with(&child.span);
            }
            let done = span == all;
            tower.push(RawDomain {
                level: def.level,
                mask_weight: mask.len(),
                flags: def.flags,
                span,
                groups: Ring::default(),
                imb_numa_nr: 0,
            });
            if done {
                break;
            }
        }
        if tower.last().is_none_or(|top| top.span != all) {
            return Err(SchedError::Distances {
                what: format!("the domains of CPU {cpu} do not reach every CPU"),
                expected: "a distance between every pair of nodes".into(),
            });
        }
        towers.push(tower);
    }
    Ok(towers)
}

/// Sets `imb_numa_nr` of the domains of one complete tower (§5.1).
fn set_imb_numa_nr(tower: &mut [RawDomain], rule: Allowance, nodes: u32) {
    let llc = |d: &RawDomain| d.flags.has(Flags::SHARE_LLC);
    let Some(first) = (1..tower.len()).find(|&i| !llc(&tower[i]) && llc(&tower[i - 1])) else { return };
    let weight = |i: usize| tower[i].span.len();
    let shape = NodeShape { llc: weight(first - 1), node: weight(first), nodes };
    let Some(t) = rule.threshold(shape) else { return };
    let first_numa = (first + 1..tower.len()).find(|&i| tower[i].flags.has(Flags::NUMA)).unwrap_or(first);
    let reference = match t.scale {
        Scale::Same => u32::MAX,
        Scale::ByFirstNuma => weight(first_numa),
        Scale::ByNode => weight(first),
    };
    tower[first].imb_numa_nr = t.base;
    for d in &mut tower[first + 1..] {
        d.imb_numa_nr = t.base * (d.span.len() / reference.max(1)).max(1);
    }
}

fn sd_init(cpu: u32, raw: RawDomain, constants: DomainConstants) -> Domain {
    let smt = raw.flags.has(Flags::SHARE_CPUCAPACITY);
    let numa = raw.flags.has(Flags::NUMA);
    let constants = constants.of(raw.level, raw.mask_weight, smt, raw.flags.has(Flags::SHARE_LLC));
    Domain {
        cpu,
        level: raw.level,
        flags: raw.flags,
        weight: raw.span.len(),
        span: raw.span,
        interval_ms: constants.interval_ms,
        max_interval_ms: constants.max_interval_ms,
        busy: constants.busy,
        groups: raw.groups,
        imbalance_pct: constants.imbalance_pct,
        cache_nice_tries: if smt { 0 } else { 1 + u32::from(numa) },
        imb_numa_nr: raw.imb_numa_nr,
    }
}
