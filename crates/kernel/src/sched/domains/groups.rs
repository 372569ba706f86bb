//! Groups of a domain, between which tasks are balanced (kernel-scheduler.md §1.5).

use super::domain::Group;
use super::flags::Flags;
use super::layout::Layout;
use super::levels::LevelDef;
use super::raw::RawDomain;
use super::ring::{GroupId, Ring};
use crate::sched::error::SchedError;
use numalab_base::cpu_set::CpuSet;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Makes the groups of all towers into one vector.
pub(super) struct GroupMaker<'a> {
    pub layout: &'a Layout,
    pub levels: &'a [LevelDef],
    pub towers: &'a [Vec<RawDomain>],
    pub groups: Vec<Group>,
    /// Shared groups, by level and first CPU.
    shared: Vec<Option<GroupId>>,
    /// The last ring made of shared groups, and the CPU that it was made for, by level and first CPU.
    rings: Vec<Option<(u32, Arc<[GroupId]>)>>,
    /// The last group made from a child, by level and first CPU. The domains of other CPUs have groups of the same
    /// CPUs.
    alike: Vec<Option<GroupId>>,
    /// The same, of groups that are nobody's own. Their flags never change, so that domains share them.
    common: Vec<Option<GroupId>>,
}

impl<'a> GroupMaker<'a> {
    /// A maker for the towers of a layout. It has made no group yet.
    pub fn new(layout: &'a Layout, levels: &'a [LevelDef], towers: &'a [Vec<RawDomain>]) -> Self {
        let shared = vec![None; levels.len() * layout.cpus];
        let (alike, common, rings) = (shared.clone(), shared.clone(), vec![None; shared.len()]);
        Self { layout, levels, towers, groups: Vec::new(), rings, alike, common, shared }
    }
    /// Groups of the domain of `cpu` at `level`, in ring order.
    pub fn build_groups(&mut self, cpu: u32, level: usize) -> Result<Ring, SchedError> {
        if self.levels[level].flags.has(Flags::OVERLAP) {
            Ok(Ring::new(self.build_overlap_sched_groups(cpu, level)?.into(), 0))
        } else {
            Ok(self.build_sched_groups(cpu, level))
        }
    }
    fn cores(&self, span: &CpuSet) -> u32 {
        let mut seen = CpuSet::empty(self.layout.cores.len());
        span.iter().for_each(|c| seen.insert(self.layout.core_of[c as usize]));
        seen.len()
    }
    /// The nodes that `span` consists of, if it has no part of a node, else the caches, if it has no part of one.
    fn whole_parts(&self, span: &CpuSet) -> (Box<[u32]>, Box<[u32]>) {
        let layout = self.layout;
        let whole = |sets: &[CpuSet], ids: BTreeSet<u32>| -> Box<[u32]> {
            let all = ids.iter().all(|&id| sets[id as usize].is_subset(span));
            if all {
                ids.into_iter().collect()
            } else {
                Box::default()
            }
        };
        let nodes = whole(&layout.nodes, span.iter().map(|c| layout.node_of[c as usize]).collect());
        if !nodes.is_empty() {
            return (nodes, Box::default());
        }
        (nodes, whole(&layout.caches, span.iter().map(|c| layout.cache_of[c as usize]).collect()))
    }
    fn build_sched_groups(&mut self, cpu: u32, level: usize) -> Ring {
        let towers = self.towers;
        let span = &towers[cpu as usize][level].span;
        let slot = level * self.layout.cpus + span.first().unwrap_or(0) as usize;
        let alike = self.rings[slot].as_ref().filter(|(maker, _)| towers[*maker as usize][level].span == *span);
        if let Some((_, ring)) = alike {
            if let Some(own) = self.own_group(cpu, level, ring) {
                return Ring::new(ring.clone(), own);
            }
        }
        let mut covered = CpuSet::empty(self.layout.cpus);
        let mut ring = Vec::new();
        let mut own = 0;
        for i in span.iter() {
            if covered.contains(i) {
                continue;
            }
            let child = level.checked_sub(1).map(|l| &towers[i as usize][l]);
            let members = match child {
                Some(child) => child.span.clone(),
                None => CpuSet::from_iter(self.layout.cpus, [i]),
            };
            covered.union_with(&members);
            if members.contains(cpu) {
                own = ring.len();
            }
            ring.push(self.get_group(level, i, members, child.map_or(Flags(0), |c| c.flags)));
        }
        let ring: Arc<[GroupId]> = ring.into();
        self.rings[slot] = Some((cpu, ring.clone()));
        Ring::new(ring, own)
    }
    /// The place of the group of `cpu` in a ring. The groups of one are in the order of their first CPUs.
    fn own_group(&self, cpu: u32, level: usize, ring: &[GroupId]) -> Option<usize> {
        let below = level.checked_sub(1).and_then(|l| self.towers[cpu as usize][l].span.first());
        let first = below.unwrap_or(cpu);
        let own = ring.binary_search_by_key(&first, |id| self.groups[*id as usize].balance_cpu).ok()?;
        self.groups[ring[own] as usize].span.contains(cpu).then_some(own)
    }
    fn get_group(&mut self, level: usize, first: u32, span: CpuSet, flags: Flags) -> GroupId {
        let slot = level * self.layout.cpus + first as usize;
        if let Some(id) = self.shared[slot] {
            return id;
        }
        let id = self.groups.len() as GroupId;
        let (weight, cores) = (span.len(), self.cores(&span));
        let balance_mask = span.clone();
        let (nodes, caches) = self.whole_parts(&span);
        let record = slot as u32;
        self.groups.push(Group { span, nodes, caches, weight, flags, cores, balance_mask, balance_cpu: first, record });
        self.shared[slot] = Some(id);
        id
    }
    fn build_overlap_sched_groups(&mut self, cpu: u32, level: usize) -> Result<Vec<GroupId>, SchedError> {
        let towers = self.towers;
        let span = &towers[cpu as usize][level].span;
        let mut covered = CpuSet::empty(self.layout.cpus);
        let mut ring = Vec::new();
        for i in span.iter_wrap(cpu) {
            if covered.contains(i) || level >= towers[i as usize].len() {
                continue;
            }
            let at = self.find_descended_sibling(span, i, level);
            let tower = &towers[i as usize];
            let (members, flags) = match at.checked_sub(1) {
                Some(child) => (tower[child].span.clone(), tower[child].flags),
                None => (tower[at].span.clone(), Flags(0)),
            };
            covered.union_with(&members);
            let own = ring.is_empty();
            ring.push(self.build_group_from_child(at, members, flags, own)?);
        }
        // Asymmetric distances can leave CPUs uncovered, whose towers end below this level: no group has them, and the
        // domain does not balance with them (build_overlap_sched_groups). The first group has `cpu` in any case.
        Ok(ring)
    }
    /// The level whose child's span becomes the group of CPU `i` inside `span`. The search descends below children that
    /// reach beyond `span`, and below levels that would degenerate (§1.5).
    fn find_descended_sibling(&self, span: &CpuSet, i: u32, level: usize) -> usize {
        let tower = &self.towers[i as usize];
        let mut at = level;
        if at > 0 && !tower[at - 1].span.is_subset(span) {
            while at > 0 && !tower[at - 1].span.is_subset(span) {
                at -= 1;
            }
            while at > 0 && tower[at - 1].span == tower[at].span {
                at -= 1;
            }
        }
        at
    }
    /// The group of `span`, a domain's `own` one or another.
    fn build_group_from_child(
        &mut self,
        at: usize,
        span: CpuSet,
        flags: Flags,
        own: bool,
    ) -> Result<GroupId, SchedError> {
        let slot = at * self.layout.cpus + span.first().unwrap_or(0) as usize;
        let is_it = |id: &GroupId| self.groups[*id as usize].span == span && self.groups[*id as usize].flags == flags;
        if let (false, Some(id)) = (own, self.common[slot].filter(is_it)) {
            return Ok(id);
        }
        let id = self.groups.len() as GroupId;
        let alike = self.alike[slot].replace(id).map(|id| &self.groups[id as usize]);
        let group = match alike {
            Some(group) if group.span == span => Group { flags, ..group.clone() },
            _ => self.group_from_child(at, span, flags)?,
        };
        self.groups.push(group);
        if !own {
            self.common[slot] = Some(id);
        }
        Ok(id)
    }
    fn group_from_child(&self, at: usize, span: CpuSet, flags: Flags) -> Result<Group, SchedError> {
        let same = |i: &u32| {
            let tower = &self.towers[*i as usize];
            at < tower.len() && at > 0 && tower[at - 1].span == span
        };
        let balance_mask = CpuSet::from_iter(self.layout.cpus, span.iter().filter(same));
        let Some(balance_cpu) = balance_mask.first() else {
            let what = format!("no CPU of a group at {} sees exactly that group", self.levels[at].level);
            return Err(SchedError::Machine { what, expected: "cores and caches inside one node".into() });
        };
        let record = (at * self.layout.cpus + balance_cpu as usize) as u32;
        let (weight, cores) = (span.len(), self.cores(&span));
        let (nodes, caches) = self.whole_parts(&span);
        Ok(Group { span, nodes, caches, weight, flags, cores, balance_mask, balance_cpu, record })
    }
}
