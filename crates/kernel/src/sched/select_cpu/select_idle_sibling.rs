//! An idle CPU in the cache of the target (kernel: `select_idle_sibling`, kernel-scheduler.md §3.4).
//!
//! Before 4.9 the search walks the groups of the cache's domains and takes only wholly idle ones. From 4.9 on it looks
//! for an idle core first and then for an idle thread; from 4.13 on SIS_PROP or SIS_UTIL limit it. Up to 5.11 these are
//! two walks, and the target's own core comes last. From 5.14 on it is one walk, and the own core comes first when no
//! core is idle. 5.12 and 5.13 lie in between and are modelled as 4.13.

use crate::sched::domains::Flags;
use crate::sched::rq::sched_entity::TaskId;
use crate::sched::rules::{IdleScan, RecentCpu};
use crate::sched::state::Scheduler;

impl Scheduler {
    /// `target`, or an idle CPU that shares its cache; `this` is the waking CPU.
    pub(in crate::sched) fn select_idle_sibling(&mut self, task: TaskId, prev: u32, target: u32, this: u32) -> u32 {
        let shares = |cpu: u32| self.topo.share_cache(cpu, target);
        if self.idle.contains(target) {
            return target;
        }
        let scan = self.params.idle_scan;
        if scan != IdleScan::GroupsV37 && prev != target && shares(prev) && self.idle.contains(prev) {
            return prev;
        }
        if self.params.recent_used_cpu != RecentCpu::Off {
            let recent = self.tasks[task as usize].recent_used_cpu;
            let usable = recent != prev && recent != target && self.idle.contains(recent) && self.allowed(task, recent);
            let usable = usable && self.topo.share_cache(recent, target);
            if usable || self.params.recent_used_cpu == RecentCpu::Previous {
                self.tasks[task as usize].recent_used_cpu = prev;
            }
            if usable {
                return recent;
            }
        }
        if !self.topo.cache(self.topo.cache_of(target)).has_domain {
            return target;
        }
        let found = match scan {
            IdleScan::Util | IdleScan::Prop => self.search_cache_v514(task, prev, target, this),
            IdleScan::PropV413 => self.search_cache_v413(task, target, this),
            IdleScan::Groups | IdleScan::GroupsV37 => self.search_groups(task, target),
        };
        found.unwrap_or(target)
    }
    /// 5.14 and later: the own core first if no core is known to be idle (`select_idle_smt`), then one walk.
    fn search_cache_v514(&mut self, task: TaskId, prev: u32, target: u32, this: u32) -> Option<u32> {
        let cache = self.topo.cache_of(target);
        let whole_core = self.topo.has_smt() && self.caches[cache as usize].has_idle_cores;
        if self.topo.has_smt() && !whole_core && self.topo.share_cache(prev, target) {
            let span = &self.topo.cache(cache).span;
            let mut threads = self.topo.siblings(prev).iter_and(&self.idle);
            let free = threads.find(|c| *c != prev && span.contains(*c) && self.allowed(task, *c));
            if free.is_some() {
                return free;
            }
        }
        self.select_idle_cpu(task, target, this, whole_core)
    }
    /// 4.13 to 5.13: an idle core, then an idle thread within SIS_PROP's limit, then a thread of the target's core.
    fn search_cache_v413(&mut self, task: TaskId, target: u32, this: u32) -> Option<u32> {
        let cache = self.topo.cache_of(target);
        let allowed = self.tasks[task as usize].allowed as usize;
        if self.topo.has_smt() && self.caches[cache as usize].has_idle_cores {
            self.unvisited.copy_and(&self.topo.cache(cache).span, &self.masks[allowed]);
            let (core, _) = self.select_idle_core(task, target, cache);
            if core.is_some() {
                return core;
            }
        }
        let rq = &mut self.rqs[this as usize];
        let size = self.topo.cache(cache).size;
        let limit = rq.sis_prop.visits_v413(rq.avg_idle_ns, size) as usize;
        let mut visited = 0;
        // The walk visits the target again, and counts CPUs that are not allowed.
        for cpu in self.topo.cache(cache).span.iter_wrap(target).take(limit) {
            visited += 1;
            if self.idle.contains(cpu) && self.masks[allowed].contains(cpu) {
                self.rqs[this as usize].sis_prop.searched(visited);
                return Some(cpu);
            }
        }
        if visited == size {
            self.rqs[this as usize].sis_prop.searched(visited);
        }
        self.topo.siblings(target).iter_and(&self.idle).find(|c| self.allowed(task, *c))
    }
    /// Before 4.9: the first wholly idle group of the target's domains, from the cache's domain down to the core's.
    fn search_groups(&self, task: TaskId, target: u32) -> Option<u32> {
        let allowed = &self.masks[self.tasks[task as usize].allowed as usize];
        let in_cache = |d: &u32| self.topo.domain(*d).flags.has(Flags::SHARE_LLC);
        for d in self.topo.ids(target).rev().filter(in_cache) {
            for group in self.topo.domain(d).groups.iter() {
                let span = &self.topo.group(*group).span;
                if !span.is_subset(&self.idle) {
                    continue;
                }
                if let Some(cpu) = span.iter_and(allowed).next() {
                    return Some(cpu);
                }
            }
        }
        None
    }
    fn select_idle_cpu(&mut self, task: TaskId, target: u32, this: u32, whole_core: bool) -> Option<u32> {
        let cache = self.topo.cache_of(target);
        let prop = self.params.idle_scan == IdleScan::Prop;
        let limit = if prop { u32::MAX } else { self.caches[cache as usize].nr_idle_scan };
        if limit == 0 {
            return None;
        }
        let allowed = &self.masks[self.tasks[task as usize].allowed as usize];
        self.unvisited.copy_and(&self.topo.cache(cache).span, allowed);
        if !whole_core && prop {
            return self.select_idle_cpu_prop(target, this);
        }
        if !whole_core {
            let mut visited = self.unvisited.iter_wrap(target + 1).take(limit as usize);
            return visited.find(|c| self.idle.contains(*c));
        }
        let (core, single) = self.select_idle_core(task, target, cache);
        core.or(single)
    }
    /// The first idle CPU of `unvisited`, within the limit that the waking CPU's idle time sets (SIS_PROP).
    fn select_idle_cpu_prop(&mut self, target: u32, this: u32) -> Option<u32> {
        let history = &mut self.rqs[this as usize].sis_prop;
        let limit = history.visits(self.jiffy, self.topo.cache(self.topo.cache_of(target)).size);
        let mut visited = 0;
        let mut found = None;
        for cpu in self.unvisited.iter_wrap(target + 1) {
            if visited == limit {
                return None;
            }
            visited += 1;
            if self.idle.contains(cpu) {
                found = Some(cpu);
                break;
            }
        }
        self.rqs[this as usize].sis_prop.searched(visited);
        found
    }
    /// A CPU of a wholly idle core of `unvisited`, and the first idle CPU on the way. That no core is idle is
    /// remembered.
    fn select_idle_core(&mut self, task: TaskId, target: u32, cache: u32) -> (Option<u32>, Option<u32>) {
        let Self { topo, idle, masks, tasks, unvisited, caches, .. } = self;
        let allowed = &masks[tasks[task as usize].allowed as usize];
        let mut single = None;
        for core in topo.cache(cache).span.iter_wrap(target + 1) {
            if !unvisited.contains(core) {
                continue;
            }
            let threads = topo.siblings(core);
            if threads.is_subset(idle) {
                return (Some(core), single);
            }
            if single.is_none() {
                single = threads.iter_and(idle).find(|c| allowed.contains(*c));
            }
            unvisited.subtract(threads);
        }
        caches[cache as usize].has_idle_cores = false;
        (None, single)
    }
}
