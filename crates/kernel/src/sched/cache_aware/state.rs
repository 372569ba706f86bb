//! What cache-aware scheduling remembers of CPUs, processes and tasks, and how the scheduler keeps it.

use super::decide::{can_migrate, CacheMove, CachePair, Limits};
use super::epoch::{average_running, elects, preferred_cache, timed_out, CpuEpoch, MmRuntime};
use super::size::{exceeds, too_many_threads};
use super::{CacheAwareTunables, Precedence};
use crate::sched::domains::Domains;
use crate::sched::numa_view::NumaView;
use crate::sched::rq::sched_entity::{TaskId, NONE, NO_NODE};
use crate::sched::state::Scheduler;
use numalab_nouns::machine::Machine;

/// A process, as cache-aware scheduling sees it.
#[derive(Clone, Debug, Default)]
struct Process {
    /// The CPU whose cache the process prefers (`mm->sc_stat.cpu`).
    cpu: Option<u32>,
    epoch: u64,
    next_scan_ns: u64,
    nr_avg: u64,
    threads: u32,
    footprint_pages: u64,
    runtime: Vec<MmRuntime>,
}

/// State of cache-aware scheduling.
#[derive(Clone, Debug)]
pub(in crate::sched) struct CacheAware {
    /// Some node has several caches, and the knob is on.
    pub active: bool,
    knobs: CacheAwareTunables,
    limits: Limits,
    smt: u32,
    llc_bytes: Vec<u64>,
    numa_balancing: bool,
    cpus: Vec<CpuEpoch>,
    processes: Vec<Process>,
    /// Process of each task.
    process_of: Vec<Option<u32>>,
    /// Preferred cache of each task.
    preferred: Vec<Option<u32>>,
    /// Utilisation and capacity of each cache, as the last periodic balance above it found them.
    utils: Vec<Option<(u64, u64)>>,
}

/// A pull whose caches are asked about.
#[derive(Clone, Copy, Debug)]
pub(in crate::sched) struct CachePull {
    pub src: u32,
    pub dst: u32,
}

impl CacheAware {
    /// The state before anything has run.
    pub fn new(machine: &Machine, topo: &Domains, knobs: &CacheAwareTunables) -> Self {
        let caches_of = |node: u32| {
            (0..topo.cache_count() as u32)
                .filter(|c| topo.cache(*c).span.iter().any(|cpu| topo.node_of(cpu) == node))
                .count()
        };
        let several = (0..machine.node_count() as u32).any(|n| caches_of(n) > 1);
        let smt = topo.siblings(0).len().max(1);
        let bytes = |c: u32| {
            let first = topo.cache(c).span.iter().next().unwrap_or(0) as usize;
            machine.cpus.get(first).and_then(|cpu| machine.llcs.get(cpu.llc)).map_or(0, |l| l.size_bytes)
        };
        Self {
            active: knobs.enabled && several,
            knobs: *knobs,
            limits: Limits::new(knobs, smt > 1),
            smt,
            llc_bytes: (0..topo.cache_count() as u32).map(bytes).collect(),
            numa_balancing: false,
            cpus: vec![CpuEpoch::default(); topo.cpus()],
            processes: Vec::new(),
            process_of: Vec::new(),
            preferred: Vec::new(),
            utils: vec![None; topo.cache_count()],
        }
    }
    /// Preferred cache of a task.
    pub fn preferred(&self, t: TaskId) -> Option<u32> {
        self.preferred.get(t as usize).copied().flatten()
    }
    /// The caches decide before NUMA balancing.
    pub fn first(&self) -> bool {
        self.active && self.knobs.precedence == Precedence::Cache
    }
    /// Notes what a periodic balance found.
    pub fn publish(&mut self, cache: u32, util: u64, capacity: u64) {
        self.utils[cache as usize] = Some((util, capacity));
    }
    fn pair(&self, src: u32, dst: u32) -> Option<CachePair> {
        let ((src_util, src_capacity), (dst_util, dst_capacity)) =
            (self.utils[src as usize]?, self.utils[dst as usize]?);
        Some(CachePair { src_util, dst_util, src_capacity, dst_capacity })
    }
    /// Whether the process may aggregate on a cache.
    fn fits(&self, process: &Process, cache: u32, llc_cpus: u32) -> bool {
        let bytes = Some(self.llc_bytes[cache as usize]);
        let (tolerance, smt) = (self.knobs.aggr_tolerance, self.smt);
        !too_many_threads(process.threads, process.nr_avg, smt, llc_cpus, tolerance)
            && !exceeds(self.numa_balancing, bytes, tolerance, process.footprint_pages)
    }
}

impl Scheduler {
    /// Tells cache-aware scheduling the process of a task. Tasks without one are left alone.
    pub fn set_process(&mut self, task: TaskId, process: u32) {
        if !self.cache_aware.active {
            return;
        }
        let cpus = self.topo.cpus();
        let c = &mut self.cache_aware;
        let tasks = c.process_of.len().max(task as usize + 1);
        c.process_of.resize(tasks, None);
        c.preferred.resize(tasks, None);
        let processes = c.processes.len().max(process as usize + 1);
        c.processes.resize_with(processes, Process::default);
        let p = &mut c.processes[process as usize];
        p.runtime.resize(cpus, MmRuntime::default());
        p.threads += 1;
        c.process_of[task as usize] = Some(process);
    }
    /// Forgets an exiting task.
    pub(in crate::sched) fn leave_process(&mut self, task: TaskId) {
        let c = &mut self.cache_aware;
        if let Some(p) = c.process_of.get_mut(task as usize).and_then(Option::take) {
            c.processes[p as usize].threads -= 1;
            c.preferred[task as usize] = None;
        }
    }
    /// Accounts runtime of the running task of `cpu`, and renews its preferred cache (`account_mm_sched`).
    pub(in crate::sched) fn account_process(&mut self, cpu: u32, ran_ns: u64) {
        let Self { cache_aware: c, topo, rqs, tasks, now, .. } = self;
        let t = rqs[cpu as usize].cur;
        let Some(p) = c.process_of.get(t as usize).copied().flatten() else { return };
        let period_ns = u64::from(c.knobs.epoch_period_ms) * 1_000_000;
        let here = &mut c.cpus[cpu as usize];
        here.advance(*now, period_ns);
        here.account(&mut c.processes[p as usize].runtime[cpu as usize], ran_ns);
        let (epoch, cache) = (here.epoch, topo.cache_of(cpu));
        let process = &c.processes[p as usize];
        let late = timed_out(epoch, process.epoch, c.knobs.epoch_affinity_timeout);
        if late || !c.fits(process, cache, topo.cache(cache).size) {
            c.processes[p as usize].cpu = None;
        }
        let at = c.processes[p as usize].cpu;
        let node = tasks[t as usize].preferred_nid;
        let asks_numa = c.numa_balancing && c.knobs.precedence == Precedence::Numa && node != NO_NODE;
        let its_node = at.map_or(NO_NODE, |c| topo.node_of(c));
        c.preferred[t as usize] = preferred_cache(at.map(|c| topo.cache_of(c)), its_node, asks_numa.then_some(node));
    }
    /// The look at all CPUs that a tick of `cpu` starts once per epoch (`task_tick_cache`, `task_cache_work`).
    pub(in crate::sched) fn elect_cache<V: NumaView>(&mut self, cpu: u32, view: &V) {
        let Self { cache_aware: c, topo, rqs, tasks, now, .. } = self;
        let t = rqs[cpu as usize].cur;
        let Some(p) = c.process_of.get(t as usize).copied().flatten() else { return };
        c.numa_balancing = view.enabled();
        let epoch = c.cpus[cpu as usize].epoch;
        let process = &mut c.processes[p as usize];
        if process.epoch >= epoch {
            return;
        }
        process.epoch = epoch;
        process.footprint_pages = view.footprint_pages(t);
        if *now < process.next_scan_ns {
            return;
        }
        process.next_scan_ns = *now + u64::from(c.knobs.epoch_period_ms.max(1)) * 1_000_000;
        let here = topo.cache_of(cpu);
        if !c.fits(&c.processes[p as usize], here, topo.cache(here).size) {
            c.processes[p as usize].cpu = None;
            return;
        }
        let process = &c.processes[p as usize];
        let preferred = tasks[t as usize].preferred_nid;
        let all = !c.numa_balancing || preferred == NO_NODE;
        let near = |node: u32| {
            node == preferred || node == topo.node_of(cpu) || process.cpu.is_some_and(|c| node == topo.node_of(c))
        };
        let (mut best, mut present, mut running) = ((0, None), 0, 0);
        for cache in 0..topo.cache_count() as u32 {
            let (mut sum, mut top) = (0, (0, None));
            for at in topo.cache(cache).span.iter().filter(|at| all || near(topo.node_of(*at))) {
                let share = c.cpus[at as usize].occupancy(&process.runtime[at as usize]);
                sum += share;
                if share > top.0 {
                    top = (share, Some(at));
                }
                let cur = rqs[at as usize].cur;
                let same = cur != NONE && c.process_of.get(cur as usize).copied().flatten() == Some(p);
                running += u64::from(same);
            }
            if sum > best.0 {
                best = (sum, top.1);
            }
            if process.cpu.is_some_and(|at| topo.cache_of(at) == cache) {
                present = sum;
            }
        }
        let process = &mut c.processes[p as usize];
        if elects(best.0, present) {
            process.cpu = best.1;
        }
        process.nr_avg = average_running(process.nr_avg, running, topo.cache(here).size);
    }
    /// What caches say to a move of a task (`can_migrate_llc_task`).
    pub(in crate::sched) fn cache_verdict(&mut self, pull: CachePull, t: TaskId) -> CacheMove {
        let (src, dst) = (self.topo.cache_of(pull.src), self.topo.cache_of(pull.dst));
        let util = self.tasks[t as usize].pelt.util;
        let c = &mut self.cache_aware;
        let Some(p) = c.process_of.get(t as usize).copied().flatten() else { return CacheMove::Unrestricted };
        if src == dst || c.processes[p as usize].cpu.is_none() {
            return CacheMove::Unrestricted;
        }
        if !c.fits(&c.processes[p as usize], dst, self.topo.cache(dst).size) {
            c.processes[p as usize].cpu = None;
            return CacheMove::Unrestricted;
        }
        match c.preferred(t) {
            Some(cache) if cache == dst => can_migrate(c.pair(src, dst), util, true, &c.limits),
            Some(cache) if cache == src => can_migrate(c.pair(src, dst), util, false, &c.limits),
            _ => CacheMove::Unrestricted,
        }
    }
    /// Number of queued tasks of `cpu` that prefer the cache.
    pub(in crate::sched) fn nr_preferring(&self, cpu: u32, cache: u32) -> u32 {
        let list = &self.rqs[cpu as usize].list;
        list.iter().filter(|t| self.cache_aware.preferred(**t) == Some(cache)).count() as u32
    }
    /// Whether a group of CPUs has tasks for the cache of `dst`, and the caches let them come (`llc_balance`).
    pub(in crate::sched) fn group_has_tasks_for(&self, cpus: impl Iterator<Item = u32>, dst: u32) -> bool {
        let to = self.topo.cache_of(dst);
        let c = &self.cache_aware;
        let allowed = |from: u32| can_migrate(c.pair(from, to), 0, true, &c.limits) == CacheMove::Towards;
        cpus.into_iter().any(|cpu| {
            let from = self.topo.cache_of(cpu);
            from != to && self.nr_preferring(cpu, to) > 0 && allowed(from)
        })
    }
    /// Whether an active balance would take the running task of a queue away from the cache that all its tasks prefer
    /// (`alb_break_llc`).
    pub(in crate::sched) fn breaks_cache(&self, pull: CachePull) -> bool {
        let (src, dst) = (self.topo.cache_of(pull.src), self.topo.cache_of(pull.dst));
        let rq = &self.rqs[pull.src as usize];
        let nr = rq.list.len() as u32;
        if !self.cache_aware.active || src == dst || nr == 0 || self.nr_preferring(pull.src, src) < nr {
            return false;
        }
        let c = &self.cache_aware;
        let util = if rq.cur == NONE { 0 } else { self.tasks[rq.cur as usize].pelt.util };
        nr == 1 || can_migrate(c.pair(src, dst), util, false, &c.limits) == CacheMove::Forbid
    }
    /// Caches decide before NUMA balancing, which then only moves pages (`llc_balancing.precedence`).
    pub fn caches_come_first(&self) -> bool {
        self.cache_aware.first()
    }
    /// Preferred cache of a task: an index of [`Domains::cache`].
    pub fn preferred_cache(&self, task: TaskId) -> Option<u32> {
        self.cache_aware.preferred(task)
    }
}
