//! The event loop: CPUs run slices of their current task from one planned instant to the next.
//!
//! A CPU's *slice* ends at its next tick, or earlier when its task blocks, ends, forks, is moved or preempted.
//! What the task does to memory inside a slice happens when the slice is planned (at most one tick
//! early); everything that touches the scheduler happens at the planned end, in global time order.

use crate::asleep::NOBODY;
use crate::birth::Unborn;
use crate::config::{Harness, SimConfig};
use crate::counters::VmCounters;
use crate::daemons::Daemons;
use crate::designs::Designs;
use crate::event::{Event, EventQueue};
use crate::log::{Log, Observers};
use crate::maps::Maps;
use crate::moves::NumaMove;
use crate::process::ProcessState;
use crate::rates::Rates;
use crate::reclaim::{Hands, SwapQueue};
use crate::sample::Samples;
use crate::sets::{WorkingSets, NO_GROUP};
use crate::spans::Spans;
use crate::standstill::Standstill;
use crate::sync::{Barrier, Channel, ScoreClock, Waiter};
use crate::task::{Activity, Task};
use numalab_kernel::hw::cache::CacheTimes;
use numalab_kernel::hw::clock::Boost;
use numalab_kernel::hw::cost::CostModel;
use numalab_kernel::hw::rng::Rng;
use numalab_kernel::hw::tlb::TlbModel;
use numalab_kernel::mm::thp::Ladders;
use numalab_kernel::mm::{LruBatches, NodeMemory, PageRef, SharedMemory};
use numalab_kernel::numa::{NumaBalancing, NumaTopology};
use numalab_kernel::sched::{Event as SchedEvent, Scheduler, Why as SchedWhy};
use numalab_model::machine::Machine;
use numalab_model::record::Status;
use numalab_model::workload::Workload;

/// What a CPU does at the end of its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Nothing planned.
    None,
    /// Scheduler tick.
    Tick,
    /// The current task goes to sleep for the time given, ns.
    Sleep(u64),
    /// The current task goes to sleep at a barrier or channel; the sleep number tells a wake already due.
    Wait,
    /// The current task ends.
    Exit,
    /// The current task goes on to its next stage (fork, clone).
    Stage,
    /// A task (its own or another) is moved by NUMA balancing.
    Moves,
    /// The current task creates a thread by a message.
    Birth,
    /// The current task goes on: what it is about to do must happen in the order of time.
    Resume,
    /// The current task comes to the next instant of the page migration it carries out.
    Migration,
    /// The current task busy-waits alone on this CPU up to the tick, or until its barrier opens.
    Spin,
    /// The CPU has nothing to run and looks at others.
    Search,
}

impl Pending {
    /// The task stops by itself at the end of its slice.
    pub(crate) fn leaves(self) -> bool {
        matches!(self, Self::Sleep(_) | Self::Wait | Self::Exit | Self::Stage | Self::Birth | Self::Migration)
    }
}

/// A CPU as the engine sees it. What its events look at comes first, in one line of the cache, and what others ask of it in
/// the next.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct CpuState {
    /// Number of the current plan.
    pub plan: u32,
    /// Task on the CPU since the last switch.
    pub task: Option<u32>,
    /// Working set its task is counted with on the LLC.
    pub group: u32,
    /// End of the planned slice.
    pub pending: Pending,
    /// Kernel time to be paid at the start of the next slice (switches, balancing), ns.
    pub debt_ns: u64,
    /// Its next tick, if that has not passed.
    pub next_tick_ns: u64,
    /// LLC.
    pub llc: usize,
    /// Node.
    pub node: usize,
    /// Sibling CPUs of the core.
    pub siblings: Vec<u32>,
    /// Balancing that it does while idle keeps it busy until then, ns.
    pub busy_until_ns: u64,
    /// The most of that which a task that arrives has to wait for, ns.
    pub busy_stretch_ns: u64,
    /// Latest tick asked for while idle, ns.
    pub idle_tick_ns: u64,
}

const _: () = assert!(std::mem::offset_of!(CpuState, node) == 56, "what its events read is in one line of 64 bytes");

impl CpuState {
    /// CPU `cpu` of `machine` before anything has run on it.
    fn idle(machine: &Machine, cpu: usize) -> Self {
        let own = &machine.cpus[cpu];
        let sibling = |&o: &usize| o != cpu && machine.cpus[o].core == own.core;
        Self {
            plan: 0,
            pending: Pending::None,
            task: None,
            debt_ns: 0,
            busy_until_ns: 0,
            busy_stretch_ns: 0,
            group: NO_GROUP,
            next_tick_ns: 0,
            idle_tick_ns: 0,
            node: own.node,
            llc: own.llc,
            siblings: (0..machine.cpu_count()).filter(sibling).map(|o| o as u32).collect(),
        }
    }
}

/// A run in progress.
pub struct World<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) workload: &'a Workload,
    pub(crate) cfg: &'a SimConfig,
    pub(crate) now_ns: u64,
    pub(crate) queue: EventQueue,
    pub(crate) sched: Scheduler,
    pub(crate) numa: NumaBalancing,
    pub(crate) memory: NodeMemory,
    pub(crate) processes: Vec<ProcessState>,
    pub(crate) tasks: Vec<Task<'a>>,
    pub(crate) cpus: Vec<CpuState>,
    pub(crate) rates: Rates,
    pub(crate) costs: CostModel,
    /// Working sets, and their use of every LLC by the tasks now running.
    pub(crate) sets: WorkingSets,
    /// Latencies and rates of cache hits.
    pub(crate) cache: CacheTimes,
    /// Distance classes and huge-page ladders of the machine.
    pub(crate) ladders: Ladders,
    /// Where reclaim of anonymous pages goes on, by node.
    pub(crate) hands: Vec<Hands>,
    /// The swap device.
    pub(crate) swap_queue: SwapQueue,
    /// Waits for devices in the faults being handled, ns.
    pub(crate) io_wait_ns: u64,
    /// kswapd, kcompactd, khugepaged.
    pub(crate) daemons: Daemons,
    /// TLB reach and page walks.
    pub(crate) tlb: TlbModel,
    /// Clocks by busy cores.
    pub(crate) clock: Boost,
    /// Busy cores of each socket.
    pub(crate) busy_cores: Vec<u32>,
    /// Threads that a message will create.
    pub(crate) unborn: Unborn,
    /// Pages of the spans accessed at random.
    pub(crate) spans: Spans,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) channels: Vec<Channel>,
    /// The designs of 2012.
    pub(crate) designs: Designs,
    pub(crate) vm: VmCounters,
    pub(crate) scores: Vec<f64>,
    pub(crate) score_clocks: Vec<ScoreClock>,
    pub(crate) samples: Samples,
    pub(crate) maps: Maps,
    pub(crate) log: Log,
    /// Moves decided in the slice being planned.
    pub(crate) moves: Vec<NumaMove>,
    /// Moves waiting for the end of their task's slice.
    pub(crate) due_moves: Vec<NumaMove>,
    /// Threads that sweep what the current one does.
    pub(crate) sweepers: crate::sweepers::Sweepers,
    pub(crate) released: Vec<Waiter>,
    /// Pages that several processes show.
    pub(crate) shared: SharedMemory,
    /// Those among them that are not on the LRU yet.
    pub(crate) lru_batches: LruBatches,
    /// Scratch space of scans: pages of a mapping that are in batches.
    pub(crate) batched: Vec<(u32, u16)>,
    /// Pages of each flush of the scan at hand.
    pub(crate) flushes: Vec<u64>,
    /// Tasks asleep until the migration of a page ends.
    pub(crate) page_waiters: Vec<(PageRef, u32)>,
    /// Pages under migration, and the task that migrates each.
    pub(crate) migrating: Vec<(PageRef, u32)>,
    /// Shared pages have been on the move until then, ns: those who share look at them often.
    pub(crate) sharing_until_ns: u64,
    pub(crate) rng: Rng,
    pub(crate) next_pid: u32,
    pub(crate) status: Status,
    pub(crate) live_processes: usize,
    pub(crate) end_ns: u64,
    events: Vec<SchedEvent>,
    /// Scratch: other CPUs of a process on each node.
    pub(crate) others: Vec<u32>,
    pub(crate) ticks: u64,
    /// Most resident pages at a sample, and the bytes of page state then.
    pub(crate) peak: (u64, u64),
}

/// Lines that a receiver reads one after the other before it can go on: queue, descriptor, lock, head (estimate).
const MESSAGE_LINES: f64 = 10.0;

/// Time between two solutions of the bandwidth model.
pub const EPOCH_NS: u64 = 4_000_000;

impl<'a> World<'a> {
    /// A world at time 0 with the first process about to be started.
    pub fn new(
        machine: &'a Machine,
        workload: &'a Workload,
        cfg: &'a SimConfig,
        seed: u64,
        observers: Observers,
    ) -> Result<Self, String> {
        let nodes = machine.node_count();
        let rates = Rates::new(machine, workload, cfg.design.oracle);
        let sets = WorkingSets::new(machine, workload, &rates);
        let spans = Spans::new(sets.spans(), nodes);
        let mut rng = Rng::new(seed);
        let memory = NodeMemory::with_config(machine, &cfg.mm, seed);
        Ok(Self {
            machine,
            workload,
            cfg,
            now_ns: 0,
            queue: EventQueue::default(),
            sched: Scheduler::new(machine, &cfg.sched).map_err(|e| e.to_string())?,
            numa: NumaBalancing::new(cfg.numa, NumaTopology::new(machine).map_err(|e| e.to_string())?),
            processes: ProcessState::all(workload, nodes, memory.memory_nodes()),
            memory,
            tasks: Vec::new(),
            cpus: (0..machine.cpu_count()).map(|c| CpuState::idle(machine, c)).collect(),
            costs: CostModel::new(machine),
            others: vec![0; nodes],
            sets,
            cache: CacheTimes::new(machine),
            ladders: crate::place::ladders(machine, &cfg.mm)?,
            hands: (0..nodes).map(|node| Hands::new(seed, node)).collect(),
            swap_queue: SwapQueue::default(),
            io_wait_ns: 0,
            daemons: Daemons::new(nodes, &cfg.mm),
            tlb: TlbModel::new(machine, machine.tlb.nested),
            clock: Boost::new(machine),
            busy_cores: vec![0; machine.sockets.max(1)],
            unborn: Unborn::new(workload.channels),
            spans,
            rates,
            barriers: workload.barrier_widths.iter().map(|&w| Barrier::new(w)).collect(),
            channels: Channel::all(workload),
            designs: Designs::new(&cfg.design, nodes, workload.processes.len()),
            vm: VmCounters::default(),
            scores: vec![0.0; workload.scores.len()],
            score_clocks: vec![ScoreClock::default(); workload.scores.len()],
            samples: Samples::new(workload, machine),
            maps: Maps::new(workload, nodes),
            log: Log::new(observers, machine.cpu_count(), nodes, cfg.numa_enabled()),
            moves: Vec::new(),
            due_moves: Vec::new(),
            sweepers: crate::sweepers::Sweepers::new(),
            released: Vec::new(),
            shared: SharedMemory::default(),
            lru_batches: LruBatches::new(machine.cpu_count(), cfg.mm.vm.lru_batch as usize),
            batched: Vec::with_capacity(cfg.mm.vm.lru_batch as usize * machine.cpu_count()),
            flushes: Vec::with_capacity(64),
            page_waiters: Vec::new(),
            migrating: Vec::new(),
            sharing_until_ns: 0,
            next_pid: 2000 + rng.below(20_000) as u32,
            rng,
            status: Status::Completed,
            live_processes: workload.processes.len().saturating_sub(cfg.background),
            end_ns: 0,
            events: Vec::new(),
            ticks: 0,
            peak: (0, 0),
        })
    }

    /// Runs to the end of the workload, its limit, or a failure.
    pub fn run(&mut self) {
        self.start_roots();
        self.start_daemons();
        self.queue.push(EPOCH_NS, Event::Epoch);
        let mut standstill = Standstill::default();
        while self.live_processes > 0 && self.status == Status::Completed {
            let Some((at, event)) = self.queue.pop() else { break };
            self.now_ns = at;
            if at > self.workload.limit_ns {
                self.status = Status::Timeout;
                break;
            }
            if standstill.is_stuck(at) {
                let why = format!("time stands still at {at} ns ({event:?}): a fault of the model, please report it");
                self.status = Status::Failed(why);
                break;
            }
            match event {
                Event::Epoch => self.epoch(),
                Event::Daemon(which) => self.daemon(which),
                Event::IdleTick { cpu } => self.idle_tick(cpu as usize),
                Event::Push { from, to } => {
                    self.sched.push(from, to, self.now_ns);
                    self.after_sched();
                }
                Event::Wake { task, waker, sleep } => self.wake(task, waker, sleep),
                Event::Cpu { cpu, plan } => {
                    if self.cpus[cpu as usize].plan == plan {
                        self.cpu_event(cpu as usize);
                    }
                }
            }
        }
        // A run that was cut off lasted until then, whichever of its processes had ended.
        if self.status != Status::Completed {
            self.end_ns = self.now_ns.min(self.workload.limit_ns);
        }
        self.sample_now(true);
    }

    fn epoch(&mut self) {
        self.rates.end_epoch(EPOCH_NS as f64);
        self.memory_daemons();
        self.sample();
        if self.queue.is_empty() {
            // Nobody runs and nobody will be woken.
            self.status = Status::Failed("every thread waits for another: the workload is deadlocked".into());
        }
        self.queue.push(self.now_ns + EPOCH_NS, Event::Epoch);
    }

    fn wake(&mut self, task: u32, waker: u32, sleep: u32) {
        let t = &mut self.tasks[task as usize];
        if t.sleep != sleep || t.activity != Activity::Asleep {
            return;
        }
        t.activity = Activity::Running;
        t.sleep += 1;
        if let Some(since) = t.blocked_since_ns.take() {
            self.processes[t.process as usize].blocked_ns += self.now_ns - since;
        }
        (t.wakes_ns, t.waker) = (0, NOBODY);
        let message = std::mem::take(&mut t.message);
        self.sweepers.planned(task);
        let waker = (waker != NOBODY).then(|| self.sched.cpu_of(waker));
        // Pipes and sockets tell the scheduler that who writes is about to wait for the answer.
        let sync = message && self.cfg.harness == Harness::Program;
        let cpu = self.sched.wake(task, waker, sync, self.now_ns);
        self.cpus[cpu as usize].debt_ns += self.costs.wake_ns() as u64;
        if let (true, Some(from)) = (message, waker) {
            self.cpus[cpu as usize].debt_ns += self.message_ns(from as usize, cpu as usize);
        }
        self.after_sched();
    }

    /// What it costs CPU `to` to read a message that CPU `from` has just written: lines that are dirty in another cache
    /// come from there, which takes about as long as from that node's memory.
    pub(crate) fn message_ns(&self, from: usize, to: usize) -> u64 {
        let (from, to) = (&self.cpus[from], &self.cpus[to]);
        if from.llc == to.llc {
            return 0;
        }
        (MESSAGE_LINES * self.machine.latency_ns[to.node][from.node]) as u64
    }

    /// Handles what the scheduler reported: CPUs that must look for work, time spent balancing, moves.
    pub(crate) fn after_sched(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        loop {
            self.sched.swap_events(&mut events);
            if events.is_empty() {
                break;
            }
            for e in &events {
                match *e {
                    SchedEvent::Resched { cpu } => self.kick(cpu as usize),
                    SchedEvent::Moved { task, from, to, why } => {
                        self.log_moved(task, from, to, why);
                        if self.cpus[from as usize].node != self.cpus[to as usize].node {
                            let rss = self.processes[self.tasks[task as usize].process as usize].space.rss_pages();
                            self.numa.migration_happened(task, from as usize, to as usize, rss);
                        }
                        if self.cpus[from as usize].task == Some(task) {
                            self.taken_away(from as usize, task);
                        }
                    }
                    SchedEvent::Push { from, to, cpus } => {
                        let ns = self.costs.balance_ns(cpus) + self.costs.switch_ns(false);
                        self.queue.push(self.now_ns + ns as u64, Event::Push { from, to });
                    }
                    // That time has passed, and no task had the CPU.
                    SchedEvent::Balanced { why: SchedWhy::Newidle, .. } => {}
                    SchedEvent::Balanced { cpu, cpus, stretch, .. } => self.balanced(cpu, cpus, stretch),
                }
            }
        }
        self.events = events;
    }

    /// `cpu` has looked at `cpus` CPUs for work. Its task pays for that; what an idle CPU does passes while it is idle, and
    /// work that arrives ends it after the `stretch` at hand (`_nohz_idle_balance`).
    fn balanced(&mut self, cpu: u32, cpus: u32, stretch: u32) {
        let ns = |cpus: u32| self.costs.balance_ns(cpus) as u64;
        let (all, stretch) = (ns(cpus), ns(stretch));
        let c = &mut self.cpus[cpu as usize];
        if self.sched.current(cpu).is_some() {
            c.debt_ns += all;
        } else {
            c.busy_until_ns = c.busy_until_ns.max(self.now_ns) + all;
            c.busy_stretch_ns = stretch;
        }
    }

    pub(crate) fn plan(&mut self, cpu: usize, at_ns: u64, pending: Pending) {
        let c = &mut self.cpus[cpu];
        c.plan += 1;
        c.pending = pending;
        if let Some(task) = c.task {
            self.sweepers.planned(task);
        }
        self.queue.push(at_ns, Event::Cpu { cpu: cpu as u32, plan: c.plan });
    }

    fn cpu_event(&mut self, cpu: usize) {
        self.late_tick(cpu);
        let pending = std::mem::replace(&mut self.cpus[cpu].pending, Pending::None);
        match pending {
            Pending::None => {}
            Pending::Tick => self.tick(cpu),
            Pending::Spin => self.end_lazy_spin(cpu),
            Pending::Sleep(ns) => self.go_to_sleep(cpu, Some(ns)),
            Pending::Wait => self.go_to_sleep(cpu, None),
            Pending::Exit => self.exit_task(cpu),
            Pending::Stage => self.next_stage(cpu),
            Pending::Birth => self.give_birth(cpu),
            Pending::Moves => self.apply_moves(cpu),
            Pending::Resume | Pending::Search => {}
            Pending::Migration => self.migration_phase(cpu),
        }
        self.after_sched();
        // A kick of this very CPU while it handled its event has planned it anew.
        if self.cpus[cpu].pending == Pending::None {
            self.cpus[cpu].plan += 1;
            self.dispatch(cpu);
        }
    }

    /// A slice that ended inside the kernel has gone past its tick: the interrupt comes there as well.
    fn late_tick(&mut self, cpu: usize) {
        let c = &self.cpus[cpu];
        let own_tick = matches!(c.pending, Pending::None | Pending::Tick | Pending::Spin);
        if !own_tick && c.task.is_some() && c.next_tick_ns <= self.now_ns {
            self.tick(cpu);
            self.next_tick(cpu);
        }
    }

    fn tick(&mut self, cpu: usize) {
        let now = self.now_ns;
        self.ticks += 1;
        self.cpus[cpu].debt_ns += self.costs.tick_ns() as u64;
        let balanced = self.designs.active() && self.sched.balance_due(cpu as u32, now);
        self.sched.tick(cpu as u32, now, &self.numa);
        let Some(task) = self.cpus[cpu].task else { return };
        if !self.due_moves.is_empty() {
            self.apply_moves(cpu);
        }
        self.designs_tick(cpu, task, balanced);
        if !self.designs.leaves_scans()
            || !self.cfg.numa_enabled()
            || !self.numa.trigger_due(task, self.sched.runtime_ns(task))
        {
            return;
        }
        let jiffies = now / self.cfg.jiffy_ns();
        let rss = self.processes[self.tasks[task as usize].process as usize].space.rss_pages();
        self.numa.tick(task, self.sched.runtime_ns(task), jiffies, rss);
    }

    /// Asks for the next tick of `cpu` if it idles with its tick on.
    pub(crate) fn arm_idle_tick(&mut self, cpu: usize) {
        if self.sched.idles_ticking(cpu as u32) {
            let at = self.next_tick(cpu);
            if self.cpus[cpu].idle_tick_ns < at {
                self.cpus[cpu].idle_tick_ns = at;
                self.queue.push(at, Event::IdleTick { cpu: cpu as u32 });
            }
        }
    }

    fn idle_tick(&mut self, cpu: usize) {
        self.sched.idle_tick(cpu as u32, self.now_ns, &self.numa);
        self.after_sched();
        self.arm_idle_tick(cpu);
    }

    fn go_to_sleep(&mut self, cpu: usize, ns: Option<u64>) {
        let Some(task) = self.cpus[cpu].task else { return };
        let t = &self.tasks[task as usize];
        if t.activity != Activity::Asleep {
            // Woken between the decision and now.
            return;
        }
        if let Some(ns) = ns {
            self.queue.push(self.now_ns + ns, Event::Wake { task, waker: t.waker, sleep: t.sleep });
        }
        self.sched.account(cpu as u32, self.now_ns);
        self.sched.block_current(cpu as u32, self.now_ns);
    }

    /// A stretch of busy-waiting is over: at the tick, which such a CPU has like every busy one, or before it.
    fn end_lazy_spin(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].task else { return };
        self.charge_spin(task, self.now_ns);
        if self.cpus[cpu].next_tick_ns <= self.now_ns {
            self.tick(cpu);
        } else {
            self.sched.account(cpu as u32, self.now_ns);
        }
    }

    /// Charges the busy-waiting of a task up to `now`.
    pub(crate) fn charge_spin(&mut self, task: u32, now: u64) {
        match self.tasks[task as usize].activity {
            Activity::Spinning { since_ns } if since_ns < now => {
                self.charge_user(task, now - since_ns);
                self.tasks[task as usize].activity = Activity::Spinning { since_ns: now };
            }
            _ => {}
        }
    }
}
