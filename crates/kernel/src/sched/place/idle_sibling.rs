//! An idle CPU in the cache of the target: select_idle_sibling (kernel-scheduler.md §3.4).

use super::super::config::IdleScan;
use super::super::rq::task::TaskId;
use super::super::scheduler::Scheduler;

/// CPUs an idle search may visit in a cache of `llc` CPUs with `util_sum` in use (SIS_UTIL); 0 near 85 %.
pub fn scan_limit(util_sum: u64, llc: u32, imbalance_pct: u32) -> u32 {
    let (llc, pct) = (u64::from(llc.max(1)), u64::from(imbalance_pct));
    let mean = util_sum / llc;
    let used = (mean * mean * pct * pct / (10_000 * 1024)).min(1024);
    ((1024 - used) * llc / 1024) as u32
}

impl Scheduler {
    /// `target` or an idle CPU sharing its cache; `this` is the CPU that wakes.
    pub(super) fn idle_sibling(&mut self, task: TaskId, prev: u32, target: u32, this: u32) -> u32 {
        let shares = |cpu: u32| self.topo.share_cache(cpu, target);
        if self.idle.contains(target) {
            return target;
        }
        if prev != target && shares(prev) && self.idle.contains(prev) {
            return prev;
        }
        let recent = std::mem::replace(&mut self.tasks[task as usize].recent_used_cpu, prev);
        let usable = recent != prev && recent != target && self.idle.contains(recent) && self.allowed(task, recent);
        if usable && self.topo.share_cache(recent, target) {
            return recent;
        }
        let cache = self.topo.cache_of(target);
        if !self.topo.cache(cache).has_domain {
            return target;
        }
        let whole_core = self.topo.has_smt() && self.caches[cache as usize].has_idle_cores;
        if self.topo.has_smt() && !whole_core && self.topo.share_cache(prev, target) {
            let span = &self.topo.cache(cache).span;
            let mut threads = self.topo.siblings(prev).iter_and(&self.idle);
            let free = threads.find(|c| *c != prev && span.contains(*c) && self.allowed(task, *c));
            if let Some(free) = free {
                return free;
            }
        }
        self.search_cache(task, target, this, whole_core).unwrap_or(target)
    }
    fn search_cache(&mut self, task: TaskId, target: u32, this: u32, whole_core: bool) -> Option<u32> {
        let cache = self.topo.cache_of(target);
        let prop = self.p.idle_scan == IdleScan::Prop;
        let limit = if prop { u32::MAX } else { self.caches[cache as usize].nr_idle_scan };
        if limit == 0 {
            return None;
        }
        let allowed = &self.masks[self.tasks[task as usize].allowed as usize];
        self.unvisited.copy_and(&self.topo.cache(cache).span, allowed);
        if !whole_core && prop {
            return self.search_paid(target, this);
        }
        if !whole_core {
            let mut visited = self.unvisited.iter_wrap(target + 1).take(limit as usize);
            return visited.find(|c| self.idle.contains(*c));
        }
        self.search_idle_core(task, target, cache)
    }
    /// The first idle one of `unvisited`, as far as the waking CPU can pay for the search (SIS_PROP).
    fn search_paid(&mut self, target: u32, this: u32) -> Option<u32> {
        let history = &mut self.rqs[this as usize].search;
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
        self.rqs[this as usize].search.searched(visited);
        found
    }
    /// A CPU of a wholly idle core, else the first idle CPU met; not finding a core is remembered.
    fn search_idle_core(&mut self, task: TaskId, target: u32, cache: u32) -> Option<u32> {
        let Self { topo, idle, masks, tasks, unvisited, caches, .. } = self;
        let allowed = &masks[tasks[task as usize].allowed as usize];
        let mut single = None;
        for core in topo.cache(cache).span.iter_wrap(target + 1) {
            if !unvisited.contains(core) {
                continue;
            }
            let threads = topo.siblings(core);
            if threads.is_subset(idle) {
                return Some(core);
            }
            if single.is_none() {
                single = threads.iter_and(idle).find(|c| allowed.contains(*c));
            }
            unvisited.subtract(threads);
        }
        caches[cache as usize].has_idle_cores = false;
        single
    }
}
