//! The scheduler's state, its clock and its getters.

use super::cache_state::CacheState;
use super::counters::Counters;
use super::domain_state::DomState;
use super::lines::Lines;
use super::nohz::Nohz;
use super::sg_lb_stats::SgLbStats;
use super::task_counts::TaskCounts;
use crate::sched::cache_aware::state::CacheAware;
use crate::sched::config::{Params, SchedConfig};
use crate::sched::domains::{DomId, Domains, Flags};
use crate::sched::error::SchedError;
use crate::sched::event::Event;
use crate::sched::quiet::{plain_domains, Unseen, UnseenPass};
use crate::sched::rq::runqueue::Rq;
use crate::sched::rq::sched_entity::{State, Task, TaskId, NONE};
use crate::sched::rq::task_group::TaskGroup;
use numalab_base::cpu_set::CpuSet;
use numalab_nouns::machine::Machine;

/// The modelled scheduler of one machine: a deterministic state machine without a clock of its own.
///
/// Every call takes the current time, which must not decrease. Calls that change other CPUs leave [`Event`]s, which the
/// caller takes with [`Scheduler::swap_events`]. A CPU named in [`Event::Resched`] must call [`Scheduler::pick_next`].
#[derive(Clone, Debug)]
pub struct Scheduler {
    pub(in crate::sched) params: Params,
    pub(in crate::sched) topo: Domains,
    pub(in crate::sched) rqs: Vec<Rq>,
    pub(in crate::sched) tasks: Vec<Task>,
    /// Control groups below the root.
    pub(in crate::sched) groups: Vec<TaskGroup>,
    /// Distinct affinity masks; tasks hold an index. Mask 0 is every CPU.
    pub(in crate::sched) masks: Vec<CpuSet>,
    pub(in crate::sched) dom: Vec<DomState>,
    /// The `imbalance` flag of each capacity record (kernel: `sgc->imbalance`).
    pub(in crate::sched) imbalanced: Vec<bool>,
    pub(in crate::sched) caches: Vec<CacheState>,
    /// CPUs that run the idle task and have nothing queued.
    pub(in crate::sched) idle: CpuSet,
    /// Tasks and idle CPUs, by node.
    pub(in crate::sched) node_tasks: Vec<TaskCounts>,
    /// The same by last-level cache.
    pub(in crate::sched) cache_tasks: Vec<TaskCounts>,
    pub(in crate::sched) nohz: Nohz,
    /// By CPU, ticks that the scheduler is not told of.
    pub(in crate::sched) unseen: Vec<Unseen>,
    pub(in crate::sched) unseen_passes: Vec<UnseenPass>,
    /// By domain, whether passes that find nothing may be made late.
    pub(in crate::sched) plain_domains: Vec<bool>,
    /// Number of CPUs with one task.
    pub(in crate::sched) lone: u32,
    /// Number of flags set in `imbalanced`.
    pub(in crate::sched) marked_imbalanced: u32,
    /// Some CPU had two tasks when the whole machine was last looked at (kernel: `rd->overload`).
    pub(in crate::sched) overload: bool,
    /// The CPU whose newly-idle search is at a domain that one CPU balances at a time.
    pub(in crate::sched) searching: Option<u32>,
    /// The CPU that last made a periodic pass over such a domain, and when that pass ends, ns.
    pub(in crate::sched) serialized: (u32, u64),
    /// The CPU that makes the present passes, if it is not the one that they are for (`nohz_idle_balance`).
    pub(in crate::sched) worker: Option<u32>,
    /// Latencies of cache lines between CPUs.
    pub(in crate::sched) lines: Lines,
    pub(in crate::sched) now: u64,
    pub(in crate::sched) jiffy: u64,
    jiffy_end_ns: u64,
    pub(in crate::sched) events: Vec<Event>,
    /// CPUs from which the present balance pass may still pull.
    pub(in crate::sched) candidates: CpuSet,
    /// CPUs that the present idle search has still to visit.
    pub(in crate::sched) unvisited: CpuSet,
    /// Statistics of the groups of the present balance pass.
    pub(in crate::sched) sg_lb_stats: Vec<SgLbStats>,
    pub(in crate::sched) detached: Vec<TaskId>,
    pub(in crate::sched) random_state: u64,
    pub(in crate::sched) counters: Counters,
    pub(in crate::sched) cache_aware: CacheAware,
}

impl Scheduler {
    /// A scheduler of `machine` with all CPUs idle and no task.
    ///
    /// # Errors
    /// The errors of [`Domains::build`].
    pub fn new(machine: &Machine, config: &SchedConfig) -> Result<Self, SchedError> {
        let params = Params::new(machine, config)?;
        let topo = Domains::with_params(machine, &params)?;
        let cpus = topo.cpus();
        let cache_aware = CacheAware::new(machine, &topo, &params.llc_balancing);
        let cost = params.migration_cost_ns.max(0) as u64;
        let dom = (0..topo.domain_count() as u32).map(|d| DomState::new(topo.domain(d).interval_ms)).collect();
        let caches = (0..topo.cache_count() as u32).map(|c| CacheState::new(topo.cache(c).size)).collect();
        let idle = |cpus: u32| TaskCounts { idle: cpus, ..TaskCounts::default() };
        let node_tasks = (0..topo.node_count() as u32).map(|n| idle(topo.node(n).len())).collect();
        let cache_tasks = (0..topo.cache_count() as u32).map(|c| idle(topo.cache(c).size)).collect();
        Ok(Self {
            rqs: vec![Rq::new(cost); cpus],
            tasks: Vec::new(),
            groups: Vec::new(),
            masks: vec![CpuSet::full(cpus)],
            dom,
            imbalanced: vec![false; topo.record_count()],
            caches,
            idle: CpuSet::full(cpus),
            node_tasks,
            cache_tasks,
            nohz: Nohz::new(cpus),
            unseen: vec![Unseen::default(); cpus],
            unseen_passes: Vec::new(),
            plain_domains: plain_domains(&topo),
            lone: 0,
            marked_imbalanced: 0,
            overload: false,
            searching: None,
            serialized: (0, 0),
            worker: None,
            lines: Lines::new(machine, &topo),
            now: 0,
            jiffy: 0,
            jiffy_end_ns: params.jiffy_ns,
            events: Vec::with_capacity(256),
            candidates: CpuSet::empty(cpus),
            unvisited: CpuSet::empty(cpus),
            sg_lb_stats: Vec::with_capacity(64),
            detached: Vec::with_capacity(64),
            random_state: 0x9e37_79b9_7f4a_7c15,
            counters: Counters::default(),
            cache_aware,
            params,
            topo,
        })
    }
    /// Lets lines of other caches come at once, for machines whose clock does not see them.
    pub fn free_lines(&mut self) {
        self.lines = self.lines.clone().free();
    }
    pub(in crate::sched) fn clock(&mut self, now_ns: u64) {
        self.now = self.now.max(now_ns);
        if self.now >= self.jiffy_end_ns {
            self.jiffy = self.now / self.params.jiffy_ns;
            self.jiffy_end_ns = (self.jiffy + 1) * self.params.jiffy_ns;
        }
    }
    /// Time that a balance pass over a domain takes, ns ([`lines`](super::lines)).
    pub(in crate::sched) fn pass_ns(&self, dom: DomId) -> u64 {
        let domain = self.topo.domain(dom);
        // Inside a cache no line is far. Such passes are the most, and do not look it up.
        let far_ns = if domain.flags.has(Flags::SHARE_LLC) { 0 } else { self.lines.far_ns(dom) };
        self.params.balance_cpu_ps * u64::from(domain.weight) / 1000 + far_ns
    }
    /// Notes whether `cpu` runs the idle task and has nothing queued.
    pub(in crate::sched) fn set_idle(&mut self, cpu: u32, idle: bool) {
        if self.idle.contains(cpu) == idle {
            return;
        }
        let node = &mut self.node_tasks[self.topo.node_of(cpu) as usize].idle;
        let cache = &mut self.cache_tasks[self.topo.cache_of(cpu) as usize].idle;
        if idle {
            self.idle.insert(cpu);
            (*node, *cache) = (*node + 1, *cache + 1);
        } else {
            self.idle.remove(cpu);
            (*node, *cache) = (*node - 1, *cache - 1);
        }
    }
    pub(in crate::sched) fn resched(&mut self, cpu: u32) {
        let rq = &mut self.rqs[cpu as usize];
        if !rq.need_resched {
            rq.need_resched = true;
            self.events.push(Event::Resched { cpu });
        }
    }
    /// The running task of `cpu`.
    pub fn current(&self, cpu: u32) -> Option<TaskId> {
        let cur = self.rqs[cpu as usize].cur;
        (cur != NONE).then_some(cur)
    }
    /// Whether `cpu` should call [`Scheduler::pick_next`].
    pub fn need_resched(&self, cpu: u32) -> bool {
        self.rqs[cpu as usize].need_resched
    }
    /// Shift of the ticks of `cpu`, ns. Each CPU has an equal share of a jiffy, so that not all of them balance at
    /// once.
    pub fn tick_offset_ns(&self, cpu: u32) -> u64 {
        u64::from(cpu) * (self.params.jiffy_ns / self.topo.cpus() as u64)
    }
    /// Length of a tick, ns.
    pub fn tick_ns(&self) -> u64 {
        self.params.jiffy_ns
    }
    /// CPU time charged to a task, ns.
    pub fn runtime_ns(&self, task: TaskId) -> u64 {
        self.tasks[task as usize].runtime_ns
    }
    /// The CPU on which a task runs or waits, or ran last.
    pub fn cpu_of(&self, task: TaskId) -> u32 {
        self.tasks[task as usize].cpu
    }
    /// Run state of a task.
    pub fn state(&self, task: TaskId) -> State {
        self.tasks[task as usize].state
    }
    /// Whether the affinity of `task` includes `cpu`.
    pub fn allowed(&self, task: TaskId, cpu: u32) -> bool {
        self.masks[self.tasks[task as usize].allowed as usize].contains(cpu)
    }
    /// Tasks queued on `cpu`, including the running one and, in 6.12, delayed sleepers.
    pub fn nr_running(&self, cpu: u32) -> u32 {
        self.rqs[cpu as usize].nr()
    }
    /// Whether `cpu` runs the idle task and has nothing queued.
    pub fn is_idle(&self, cpu: u32) -> bool {
        self.idle.contains(cpu)
    }
    /// The scheduling domains of all CPUs.
    pub fn domains(&self) -> &Domains {
        &self.topo
    }
    /// The tunables as resolved on this machine.
    pub fn params(&self) -> &Params {
        &self.params
    }
    /// Counters of what was done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
    /// Exchanges the filled event buffer for `empty`, which is cleared first. Once both buffers have grown, nothing is
    /// allocated.
    pub fn swap_events(&mut self, empty: &mut Vec<Event>) {
        empty.clear();
        std::mem::swap(&mut self.events, empty);
    }
}
