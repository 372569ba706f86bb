//! What a run needs to know of its kernel, in typed form.

use crate::base_pages::{check_kernel, Settings};
use numalab_base::base_page::BasePage;
use numalab_base::hook::Hook;
use numalab_kernel::damon::DamonConfig;
use numalab_kernel::hw::cost::FlushRules;
use numalab_kernel::mm::MmConfig;
use numalab_kernel::numa::caller::{PageMovePolicy, PeriodPolicy, PlacementPolicy, TaskMovePolicy};
use numalab_kernel::numa::page_filter::PagePolicy;
use numalab_kernel::numa::vma_filter::VmaPolicy;
use numalab_kernel::numa::{Design, NumaConfig};
use numalab_kernel::registry::{
    damon_config, design, flush_rules, mm_config, numa_settings, sched_config, userspace_balance,
};
use numalab_kernel::sched::imbalance::ImbalancePolicy;
use numalab_kernel::sched::SchedConfig;
use numalab_kernel::userspace_balance::UserspaceTunables;
use numalab_nouns::kernel::Kernel;

/// Settings of a run, resolved.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// NUMA balancing.
    pub numa: NumaConfig,
    /// Scheduler.
    pub sched: SchedConfig,
    /// Who needs a TLB flush.
    pub flush: FlushRules,
    /// Memory: zones, reclaim, huge pages.
    pub mm: MmConfig,
    /// The designs of 2012.
    pub design: Design,
    /// DAMON as an administrator has set it up.
    pub damon: DamonConfig,
    /// The daemon that balances from user space.
    pub userspace_balance: UserspaceTunables,
    /// What carries out the workload.
    pub harness: Harness,
    /// Processes, the last ones of the workload, that do not keep the run alive.
    pub background: usize,
    /// Whether the machine does what it does beside a workload ([`Background`](numalab_nouns::machine::Background)).
    pub machine_background: bool,
    /// Processes, the last ones of those in the background, that stand for the machine's own threads. The run sets it.
    pub machine_threads: usize,
    /// A timer of the workload fires up to so much late, ns. The run sets it.
    pub timer_slack_ns: u64,
    /// Whether the rest of a run that has settled is left out.
    pub until_settled: bool,
    /// Whether each page is a step of its own, also where pages side by side could be one.
    pub exact: bool,
    /// Logarithm of the base pages of each grain, for tests; `None`: as the size of a region allows.
    pub grain_order: Option<u32>,
    /// Time between two checks of the run's invariants, ns of model time; 0 for none on the way. Builds with debug
    /// assertions check every second.
    pub check_every_ns: u64,
}

/// Time between two checks of a run that is to check itself, ns of model time.
pub const CHECK_NS: u64 = 1_000_000_000;

/// Decisions of the caller, each in place of a role of the kernel.
#[derive(Clone, Copy, Default)]
pub struct Policies {
    /// Which VMAs a thread may scan.
    pub vma_filter: Option<&'static dyn VmaPolicy>,
    /// Which pages stay unmarked.
    pub page_filter: Option<&'static dyn PagePolicy>,
    /// Imbalance that fork, balancing and task placement tolerate.
    pub imbalance: Option<&'static dyn ImbalancePolicy>,
    /// Which node a task prefers.
    pub placement: Option<&'static dyn PlacementPolicy>,
    /// How long the next scan period of a task is.
    pub period: Option<&'static dyn PeriodPolicy>,
    /// Which pages move to the node of a fault.
    pub page_move: Option<&'static dyn PageMovePolicy>,
    /// Which tasks move to the CPU that a search has found.
    pub task_move: Option<&'static dyn TaskMovePolicy>,
}

/// Time in which each busy CPU of an emulated guest has its turn once, ns of the guest (`ROUND_PS` of the plugin for
/// QEMU; docs/explanation/guest-timing.md).
pub const ROUND_NS: u64 = 1_000_000;

/// What kind of program carries out the workload: where its stacks are, and how its threads wake each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Harness {
    /// A C program: stacks of `ulimit -s` below its other mappings; messages go through pipes and sockets, which tell
    /// the scheduler that the waker is about to sleep (`WF_SYNC`; `pipe_write`, `sock_def_readable`).
    #[default]
    Program,
    /// A C program in a guest of timing `modelled`, whose CPUs take turns. The task that samples the guest is the worker
    /// program: those of the processes that are in the background.
    GuestProgram,
    /// The worker program: small stacks above all regions; messages are futexes, which tell nothing (`futex_wake`). Its
    /// CPUs are those of a guest that one host thread runs by turns (timing `modelled`).
    Worker,
    /// The worker program as it was in the guests of docs/reference/fidelity.md: as [`Self::Worker`], with fewer pages
    /// of its own (measured; docs/log/linux-series.md), and with the frame of the loop that forks on the page of what
    /// it calls.
    EarlierWorker,
    /// The worker program on CPUs that run at the same time, as the host's and those of guests with timing `counters`.
    ParallelWorker,
}

impl Harness {
    /// Whether the worker program carries out the workload.
    pub fn is_worker(self) -> bool {
        !matches!(self, Self::Program | Self::GuestProgram)
    }

    /// Whether one host thread runs the busy CPUs by turns, each once in [`ROUND_NS`], while the time of all goes on.
    pub fn cpus_take_turns(self) -> bool {
        matches!(self, Self::GuestProgram | Self::Worker | Self::EarlierWorker)
    }

    /// What a process runs that is in the background, or is not.
    pub(crate) fn of_process(self, in_background: bool) -> Self {
        if self == Self::GuestProgram && in_background {
            Self::Worker
        } else {
            self
        }
    }

    /// Whether its own pages are those that were counted in guests of today's worker program (docs/log/linux-series.md).
    pub fn is_current_worker(self) -> bool {
        self == Self::Worker
    }
}

impl SimConfig {
    /// The settings of a resolved kernel. A C program carries out the workload, and no process is in the background.
    ///
    /// # Errors
    /// Roles or settings that do not work together, or a value outside its declaration, as a sentence.
    pub fn of(kernel: &Kernel) -> Result<Self, String> {
        let sched = sched_config(kernel);
        let cfg = Self {
            numa: numa_settings(kernel).resolve(sched.hz).map_err(|e| e.to_string())?,
            sched,
            flush: flush_rules(kernel),
            mm: mm_config(kernel),
            design: design(kernel)?,
            damon: damon_config(kernel),
            userspace_balance: userspace_balance(kernel),
            harness: Harness::default(),
            background: 0,
            machine_background: false,
            machine_threads: 0,
            timer_slack_ns: 0,
            until_settled: false,
            exact: false,
            grain_order: None,
            check_every_ns: if cfg!(debug_assertions) { CHECK_NS } else { 0 },
        };
        check_kernel(&Settings {
            mm: &cfg.mm,
            numa: &cfg.numa,
            design: &cfg.design,
            damon: &cfg.damon,
            userspace_balance: &cfg.userspace_balance,
        })?;
        Ok(cfg)
    }
    /// The settings with decisions of the caller.
    #[must_use]
    pub fn with_policies(mut self, p: Policies) -> Self {
        if let Some(policy) = p.vma_filter {
            self.numa.vma_filter = self.numa.vma_filter.with_policy(policy);
        }
        if let Some(policy) = p.page_filter {
            self.numa.page_filter = self.numa.page_filter.with_policy(policy);
        }
        if let Some(policy) = p.imbalance {
            self.sched.policy = Some(Hook(policy));
            self.numa.imbalance = self.numa.imbalance.with_policy(self.sched.policy);
        }
        self.numa.placement = p.placement.map(Hook);
        self.numa.period_policy = p.period.map(Hook);
        self.numa.page_move_policy = p.page_move.map(Hook);
        self.numa.task_move_policy = p.task_move.map(Hook);
        self
    }
    /// The settings with another kind of program that carries out the workload.
    pub fn with_harness(self, harness: Harness) -> Self {
        Self { harness, ..self }
    }
    /// The settings with the last `background` processes of the workload in the background: the run ends when all
    /// others have ended.
    pub fn with_background(self, background: usize) -> Self {
        Self { background, ..self }
    }
    /// The settings with the machine's own threads and late timers, or without them. Guests have none.
    pub fn with_machine_background(self, on: bool) -> Self {
        Self { machine_background: on && self.harness == Harness::Program, ..self }
    }
    /// The settings with the rest of a settled run left out (`on`), or simulated.
    pub fn with_settling(self, on: bool) -> Self {
        Self { until_settled: on, ..self }
    }
    /// The settings with each page as a step of its own (`on`), or with runs of pages.
    pub fn with_exact_pages(self, on: bool) -> Self {
        Self { exact: on, ..self }
    }
    /// The settings with grains of 2^`order` base pages, whatever the size of a region. Tests compare them with single
    /// pages.
    pub fn with_grains_of(self, order: u32) -> Self {
        Self { grain_order: Some(order.min(9)), ..self }
    }
    /// The settings with checks of the run's invariants in every second of model time (`on`), or as they are. A run
    /// that checks itself has the same outcome.
    pub fn with_checks(self, on: bool) -> Self {
        Self { check_every_ns: if on { CHECK_NS } else { self.check_every_ns }, ..self }
    }
    /// Base pages of the kernel.
    #[inline]
    pub fn base_page(&self) -> BasePage {
        self.mm.vm.base_page
    }
    /// Length of a jiffy, ns.
    #[inline]
    pub fn jiffy_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.sched.hz)
    }
    /// NUMA balancing is on in some mode.
    #[inline]
    pub fn numa_enabled(&self) -> bool {
        self.numa.enabled()
    }
}
