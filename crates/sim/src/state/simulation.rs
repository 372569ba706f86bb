//! The simulated machine at an instant, in parts.
//!
//! Mechanisms (`mm`, `numa`, `fault`, …) work on this and on nothing else. They cannot see the event queue, the
//! barriers or the plans of the CPUs' slices, which belong to the [engine](crate::engine): what they want to happen
//! later they note in [`Effects`], and the engine carries that out.

use crate::base_pages::check_workload;
use crate::grains::{grain_orders, side_by_side_bytes};
use crate::hardware::access_rates::AccessRates;
use crate::hardware::working_sets::WorkingSets;
use crate::sim_config::SimConfig;
use crate::state::clock_hand::ClockHands;
use crate::state::convoy::Convoy;
use crate::state::cpu::CpuState;
use crate::state::damon_state::Damon;
use crate::state::effects::Effects;
use crate::state::fault_locks::FaultLocks;
use crate::state::file_pages::FilePages;
use crate::state::interleaved_pages::InterleavedPages;
use crate::state::log::{Log, Observers};
use crate::state::maps::Maps;
use crate::state::memory_daemons::Daemons;
use crate::state::numa_2012::Numa2012;
use crate::state::pending_counts::PendingCounts;
use crate::state::pins::Pins;
use crate::state::process::ProcessState;
use crate::state::quiet_cpus::QuietCpus;
use crate::state::recorded_odds::RecordedOdds;
use crate::state::samples::Samples;
use crate::state::score_clock::ScoreClock;
use crate::state::settling::Settling;
use crate::state::stalls::Stalls;
use crate::state::swap_queue::SwapQueue;
use crate::state::sweep_positions::SweepPositions;
use crate::state::task::Task;
use crate::state::task_migration::TaskMigrations;
use crate::state::userspace_balance::UserspaceBalance;
use crate::state::vm_counters::VmCounters;
use numalab_base::rng::Rng;
use numalab_kernel::hw::cache::CacheTimes;
use numalab_kernel::hw::clock::Boost;
use numalab_kernel::hw::cost::CostModel;
use numalab_kernel::hw::tlb::TlbModel;
use numalab_kernel::mm::thp::locality::Locality;
use numalab_kernel::mm::thp::Ladders;
use numalab_kernel::mm::{
    Frame, LruBatches, MmConfig, PageRef, PhysicalMemory, SharedMemory, CHUNK_PAGES, MAX_FOLIO_ORDER,
};
use numalab_kernel::numa::{NumaBalancing, NumaTopology};
use numalab_kernel::sched::Scheduler;
use numalab_nouns::machine::Machine;
use numalab_nouns::record::Latencies;
use numalab_nouns::record::Status;
use numalab_nouns::workload::Workload;

/// A run at an instant. Times are ns of model time.
pub struct Simulation<'a> {
    /// The machine that is modelled.
    pub machine: &'a Machine,
    /// The program that runs on it.
    pub workload: &'a Workload,
    /// The kernel's settings.
    pub cfg: &'a SimConfig,
    /// Present instant, ns.
    pub now_ns: u64,
    /// How fast the hardware is, and what loads it.
    pub hw: Hardware,
    /// The kernel's scheduler, NUMA balancing and counters.
    pub kernel: Kernel,
    /// The kernel's memory management.
    pub mm: Memory,
    /// Processes, by number in the workload.
    pub processes: Vec<ProcessState>,
    /// Threads, in order of creation.
    pub tasks: Vec<Task<'a>>,
    /// CPUs.
    pub cpus: Vec<CpuState>,
    /// CPUs that are not up to date, because nobody has looked at them.
    pub quiet: QuietCpus,
    /// Where each thread is in the mapping that it sweeps.
    pub sweep_positions: SweepPositions,
    /// Who may come to the next missing pages of the slice that is being simulated.
    pub(crate) convoy: Convoy,
    /// Who may come to the next pages of the sweep that is being simulated, readers included.
    pub(crate) passers: Convoy,
    /// Pages of each randomly accessed span: where they are, and how many would fault.
    pub pending_counts: PendingCounts,
    /// With which odds accesses of recorded histograms fault.
    pub(crate) recorded_odds: RecordedOdds,
    /// Task migrations that NUMA balancing has decided.
    pub task_migrations: TaskMigrations,
    /// What mechanisms want to happen later.
    pub effects: Effects,
    /// What is recorded of the run.
    pub record: Recorder,
    /// Seed of the run.
    pub seed: u64,
    /// The run's own random stream.
    pub rng: Rng,
    /// How the run ended; completed as long as it goes on.
    pub status: Status,
    /// When the last process ended, ns.
    pub end_ns: u64,
}

/// The hardware: fixed costs, and what depends on the present load.
pub struct Hardware {
    /// What kernel operations cost.
    pub costs: CostModel,
    /// Rates of memory accesses under the present load.
    pub contention: AccessRates,
    /// Working sets, and how the running tasks use every LLC.
    pub working_sets: WorkingSets,
    /// Latencies and rates of cache hits.
    pub cache: CacheTimes,
    /// TLB reach and page walks.
    pub tlb: TlbModel,
    /// Clock rates by number of busy cores.
    pub boost: Boost,
    /// Busy cores of each socket.
    pub busy_cores: Vec<u32>,
    /// Scratch: CPUs of each node that a TLB flush interrupts.
    pub flush_targets: Vec<u32>,
    /// Scratch: pages of each node in the stretch that an access is at.
    pub touched_pages: Vec<u16>,
    /// Scratch: pages of each node in a run of hint faults.
    pub run_pages: Vec<u16>,
}

/// The kernel without its memory management.
pub struct Kernel {
    /// The scheduler.
    pub sched: Scheduler,
    /// NUMA balancing of 3.8 and later.
    pub numa: NumaBalancing,
    /// NUMA balancing as AutoNUMA and schednuma proposed it.
    pub numa_2012: Numa2012,
    /// DAMON, if a scheme is set up.
    pub damon: Option<Box<Damon>>,
    /// The daemon that balances from user space, if there is one.
    pub userspace_balance: Option<Box<UserspaceBalance>>,
    /// Counters that no other part keeps.
    pub vm: VmCounters,
    /// Buffers of the scanner.
    pub scan_scratch: ScanScratch,
    /// PID of the next thread.
    pub next_pid: u32,
}

/// Buffers of the scanner, kept so that a scan allocates nothing.
pub struct ScanScratch {
    /// Pages of the present mapping that are still in LRU batches: chunk and page.
    pub batched: Vec<(u32, u16)>,
    /// Page ranges of the present mapping that devices hold.
    pub pinned: Vec<(u64, u64)>,
    /// Pages of each TLB flush of the present scan.
    pub flushes: Vec<u64>,
}

/// The kernel's memory management.
pub struct Memory {
    /// Frames, zones and the page allocator.
    pub physical: PhysicalMemory,
    /// Pages that several processes may map.
    pub shared: SharedMemory,
    /// Pages that each CPU has not yet put on the LRU.
    pub lru_batches: LruBatches,
    /// Distance classes of the machine, and its huge-page ladders.
    pub ladders: Ladders,
    /// Pages of grains in LRU batches whose hint faults are still to be refused.
    pub refusals_owed: u64,
    /// Logarithm of the base pages of a grain of each region, by process.
    pub grain_orders: Vec<Vec<u32>>,
    /// From so many bytes on the ops of a loop over them go on side by side.
    pub side_by_side_bytes: u64,
    /// Where reclaim of anonymous pages stands, by node.
    pub clock_hands: Vec<ClockHands>,
    /// Node and number of base pages that the last fault has cleared, whose lines are still in the CPU's cache.
    pub cleared: Option<(u16, u32)>,
    /// Frames of the folio that is being allocated.
    pub folio_frames: Vec<Frame>,
    /// Interleaved pages that are being allocated.
    pub interleaved: InterleavedPages,
    /// Pages of a file that are being copied.
    pub file_pages: FilePages,
    /// The swap device.
    pub swap_queue: SwapQueue,
    /// Waits for devices in the faults of the present step, ns.
    pub io_wait_ns: u64,
    /// kswapd, kcompactd and khugepaged.
    pub daemons: Daemons,
    /// Tasks that sleep until the migration of a page ends.
    pub page_waiters: Vec<(PageRef, u32)>,
    /// Shared pages under migration, and the task that migrates each.
    pub migrating: Vec<(PageRef, u32)>,
    /// Pages that devices hold.
    pub pins: Pins,
    /// Locks that faults meet, and what was waited for them.
    pub locks: FaultLocks,
    /// Until then shared pages are under migration, ns; accesses of processes that share memory look often meanwhile.
    pub shared_migration_until_ns: u64,
}

/// What is recorded of the run.
pub struct Recorder {
    /// Event log, first decisions and counts with reasons.
    pub log: Log,
    /// Time series.
    pub samples: Samples,
    /// Node of each stretch of memory and of each thread over time.
    pub maps: Maps,
    /// Scores of the workload so far.
    pub scores: Vec<f64>,
    /// Clocks of the scores.
    pub score_clocks: Vec<ScoreClock>,
    /// Latencies of the requests of each score; empty for the others.
    pub requests: Vec<Latencies>,
    /// How long threads could not go on with their program.
    pub stalls: Stalls,
    /// Wake-up latencies.
    pub wake_ups: Latencies,
    /// Whether the run has settled, and what was left out of it since.
    pub settling: Settling,
    /// Most resident pages at a sample, and the bytes of page state at that sample.
    pub peak: (u64, u64),
    /// Scheduler ticks.
    pub ticks: u64,
    /// Events of the simulation.
    pub events: u64,
    /// Steps of programs, each as often as a slice came to it.
    pub steps: u64,
}

impl<'a> Simulation<'a> {
    /// The machine at time 0, before the first process starts.
    ///
    /// # Errors
    /// A machine that cannot be scheduled on, `ladder_custom` without a list, a DAMON scheme for a node without memory,
    /// or a workload that the base pages do not allow, as a sentence.
    pub fn new(
        machine: &'a Machine,
        workload: &'a Workload,
        cfg: &'a SimConfig,
        seed: u64,
        observers: Observers,
    ) -> Result<Self, String> {
        check_workload(workload, cfg.base_page())?;
        let nodes = machine.node_count();
        let hw = Hardware::new(machine, workload, cfg);
        let pending_counts = PendingCounts::new(hw.working_sets.spans(), nodes);
        let recorded_odds = RecordedOdds::new(hw.working_sets.spans());
        let mut rng = Rng::new(seed);
        let next_pid = 2000 + rng.below(20_000) as u32;
        let mm = Memory::new((machine, workload), cfg, seed)?;
        Ok(Self {
            machine,
            workload,
            cfg,
            now_ns: 0,
            hw,
            kernel: Kernel {
                damon: damon(machine, cfg, &mm.physical, seed)?,
                ..Kernel::new(machine, workload, cfg, next_pid)?
            },
            processes: ProcessState::all(workload, cfg.base_page(), nodes, mm.physical.memory_nodes()),
            mm,
            tasks: Vec::new(),
            cpus: (0..machine.cpu_count()).map(|c| CpuState::idle(machine, c)).collect(),
            quiet: QuietCpus::new(machine.cpu_count()),
            sweep_positions: SweepPositions::new(),
            convoy: Convoy::default(),
            passers: Convoy::of_anybody(),
            pending_counts,
            recorded_odds,
            task_migrations: TaskMigrations::default(),
            effects: Effects::default(),
            record: Recorder::new(machine, workload, cfg, observers),
            seed,
            rng,
            status: Status::Completed,
            end_ns: 0,
        })
    }
}

impl Hardware {
    fn new(machine: &Machine, workload: &Workload, cfg: &SimConfig) -> Self {
        let contention = AccessRates::new(machine, workload, cfg.design.oracle, cfg.jiffy_ns());
        let working_sets = WorkingSets::new(machine, workload, &contention);
        Self {
            costs: CostModel::with_pages(machine, cfg.base_page()),
            contention,
            working_sets,
            cache: CacheTimes::new(machine),
            tlb: TlbModel::with_pages(machine, machine.tlb.nested, cfg.base_page()),
            boost: Boost::new(machine),
            busy_cores: vec![0; machine.sockets.max(1)],
            flush_targets: vec![0; machine.node_count()],
            touched_pages: vec![0; machine.node_count()],
            run_pages: vec![0; machine.node_count()],
        }
    }
}

impl Kernel {
    fn new(machine: &Machine, workload: &Workload, cfg: &SimConfig, next_pid: u32) -> Result<Self, String> {
        let topology = NumaTopology::new(machine).map_err(|e| e.to_string())?;
        let mut sched = Scheduler::new(machine, &cfg.sched).map_err(|e| e.to_string())?;
        for group in workload.processes.iter().filter_map(|p| p.cpu_group) {
            // Groups are numbered in this order.
            if group.id as usize == sched.group_count() {
                sched.add_group(group.cpu_weight);
            }
        }
        if cfg.harness.cpus_take_turns() {
            // The clock of such a guest counts instructions and misses of its own caches; lines of others cost nothing.
            sched.free_lines();
        }
        let mut numa = cfg.numa;
        numa.moves_tasks &= !sched.caches_come_first();
        Ok(Self {
            sched,
            damon: None,
            userspace_balance: UserspaceBalance::new(cfg.userspace_balance, machine, topology.clone()),
            numa: NumaBalancing::new(numa, topology),
            numa_2012: Numa2012::new(&cfg.design, machine.node_count(), workload.processes.len()),
            vm: VmCounters::default(),
            scan_scratch: ScanScratch {
                batched: Vec::with_capacity(cfg.mm.vm.lru_batch as usize * machine.cpu_count()),
                pinned: Vec::new(),
                flushes: Vec::with_capacity(64),
            },
            next_pid,
        })
    }
}

impl Memory {
    fn new((machine, workload): (&Machine, &Workload), cfg: &SimConfig, seed: u64) -> Result<Self, String> {
        let nodes = machine.node_count();
        Ok(Self {
            physical: PhysicalMemory::with_config(machine, &cfg.mm, seed),
            shared: SharedMemory::default(),
            lru_batches: LruBatches::new(machine.cpu_count(), cfg.mm.vm.lru_batch as usize),
            ladders: ladders(machine, &cfg.mm)?,
            refusals_owed: 0,
            grain_orders: grain_orders(workload, cfg),
            side_by_side_bytes: side_by_side_bytes(workload, cfg),
            clock_hands: (0..nodes).map(|node| ClockHands::new(seed, node)).collect(),
            cleared: None,
            folio_frames: Vec::with_capacity(1 << MAX_FOLIO_ORDER),
            interleaved: InterleavedPages::default(),
            file_pages: FilePages::default(),
            swap_queue: SwapQueue::default(),
            io_wait_ns: 0,
            daemons: Daemons::new(nodes, &cfg.mm),
            page_waiters: Vec::new(),
            migrating: Vec::new(),
            pins: Pins::default(),
            locks: FaultLocks::new(machine),
            shared_migration_until_ns: 0,
        })
    }
}

/// What the huge-page rule needs to know of the machine.
///
/// # Errors
/// `ladder_custom` without a list.
fn ladders(machine: &Machine, cfg: &MmConfig) -> Result<Ladders, String> {
    if cfg.thp.locality == Locality::LadderCustom && cfg.thp.ladder.is_none() {
        return Err("thp_locality = ladder_custom needs its list: thp.ladder=\"D0 THP | D1 THP | D0 4k\"".into());
    }
    Ok(cfg.thp.ladders(machine, machine.tlb.nested))
}

/// DAMON as it is set up.
///
/// # Errors
/// A node that the machine does not have, or a design of 2012 beside it.
fn damon(machine: &Machine, cfg: &SimConfig, memory: &PhysicalMemory, seed: u64) -> Result<Option<Box<Damon>>, String> {
    let damon = Damon::new(cfg.damon, machine, memory, seed)?;
    if damon.is_some() && cfg.design.active() {
        return Err("damon.schemes: DAMON is not modelled beside AutoNUMA and schednuma".into());
    }
    Ok(damon)
}

impl Recorder {
    fn new(machine: &Machine, workload: &Workload, cfg: &SimConfig, observers: Observers) -> Self {
        let nodes = machine.node_count();
        let own = &workload.processes[..workload.processes.len() - cfg.machine_threads];
        Self {
            log: Log::new(observers, machine.cpu_count(), nodes, cfg.numa_enabled()),
            samples: Samples::new(own, &workload.scores, machine),
            maps: Maps::new(own, nodes, cfg.base_page().bytes_of(CHUNK_PAGES)),
            scores: vec![0.0; workload.scores.len()],
            score_clocks: vec![ScoreClock::default(); workload.scores.len()],
            requests: vec![Latencies::default(); workload.scores.len()],
            stalls: Stalls::default(),
            wake_ups: Latencies::default(),
            settling: Settling::default(),
            peak: (0, 0),
            ticks: 0,
            events: 0,
            steps: 0,
        }
    }
}
