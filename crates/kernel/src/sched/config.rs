//! Tunables of the scheduler, and their resolved form.
//!
//! A kernel composition and `--set sched.key=value` write [`SchedConfig`]. [`Params`] holds the same values once
//! resolved on a machine: the kernel's scaling by CPU count is applied.

use super::cache_aware::CacheAwareTunables;
use super::error::SchedError;
use super::imbalance::{Allowance, ImbTunables, ImbalancePolicy, Rule};
use super::rules::{
    Balancer, DomainConstants, Form, IdleScan, Locality, LocalityVerdict, Newidle, NohzKick, QueueOrder, RecentCpu,
    TunableScaling, WakeAffine,
};
use numalab_base::hook::Hook;
use numalab_base::tunable::Needs;
use numalab_nouns::machine::Machine;

numalab_base::tunables! {
    /// Tunables of the modelled CPU scheduler (defaults of 6.12).
    pub struct SchedConfig: "sched" {
        given {
            /// Timer interrupts per second, `system.hz`. Jiffies and every balance interval are counted in it.
            hz: u32 = 250;
            /// NUMA imbalance that fork and load balance tolerate: the role `imbalance`.
            imbalance: Rule = Rule::Imb60;
            /// Single decisions of that rule that are replaced: the group `imb`.
            imb: ImbTunables = ImbTunables::default();
            /// Cache-aware scheduling: the group `llc_balancing`.
            llc_balancing: CacheAwareTunables = CacheAwareTunables::default();
            /// What the preferred node of a task means to the balancer: follows from the role `task_migrate`.
            locality: Locality = Locality::Preferred;
            /// Non-idle balancing may not take a task off its selected node: `autonuma.sched_load_balance_strict`.
            locality_strict: bool = false;
            /// Imbalance rule of the caller, in place of the role.
            policy: Option<Hook<dyn ImbalancePolicy>> = None;
        }

        /// Run queue and balancer: CFS with the rules of 6.1, or EEVDF with the rules of 6.12.
        form: Form = Form::V612, "", "model";
        /// How groups are compared at fork, exec and balancing: by load per capacity, each word as from that release
        /// on, or by type and idle CPUs (5.5 on; as it is since 5.12: `types`).
        balancer: Balancer = Balancer::Types, "", "model";
        /// How a wake-up looks for an idle CPU: limited by the cache's use, by the waker's idle time, or whole cores
        /// only.
        idle_scan: IdleScan = IdleScan::Util, "", "features SIS_UTIL, SIS_PROP; before 4.9 the only way";
        /// The recently used CPU that a wake-up tries: none (to 4.15), the one where the task last woke another task,
        /// or its last but one (5.15 on).
        recent_used_cpu: RecentCpu = RecentCpu::Previous, "", "model";
        /// A waker of many partners does not pull them (3.12 on).
        wake_wide: bool = true, "", "model";
        /// How a wake-up chooses between the waker's and the previous CPU: by load alone (to 4.13), or by idleness
        /// first.
        wake_affine: WakeAffine = WakeAffine::V511, "", "model";
        /// When a newly idle CPU searches: by its idle time (to 3.12), also by the cost (3.13), only if some CPU has
        /// two tasks (3.17), by the cost alone (5.16).
        newidle: Newidle = Newidle::V516, "", "model";
        /// Which task balancing takes off a queue first: the one that came last (to 4.14), or the one that has not run
        /// for longest.
        queue_order: QueueOrder = QueueOrder::V415, "", "model";
        /// When a busy CPU has idle CPUs balance: with two tasks, or if a thread of its core is busy too (to 3.12), or
        /// a CPU of its cache.
        nohz_kick: NohzKick = NohzKick::V313, "", "model";
        /// Intervals and thresholds of domains: per level (to 3.15), 32 times longer while busy and 25 % (to 5.9), 16
        /// times and 17 %.
        domain_constants: DomainConstants = DomainConstants::V510, "", "model";
        /// A wake-up of a task whose CPU still searches for other work is left to that CPU (5.8 on). Before, the waker
        /// waits for the end of the search.
        wakelist_on_cpu: bool = true, "", "model";
        /// A CPU expected to idle for less than a tick keeps its tick (cpuidle governors, 4.17 on).
        idle_tick: bool = true, "", "model";
        /// EEVDF request size of one CPU, before the scaling by CPU count (0.70 ms late, 0.75 ms in 6.6 to 6.12.0).
        base_slice_ns: u64 = 700_000, "ns", "debugfs sched/base_slice_ns (normalised)",
            range 10_000..=1_000_000_000, read when "sched.form" is Form::V612.only();
        /// The rest of EEVDF (6.12 on). A sleeping task stays queued until its lag is worked off, and a moved task
        /// keeps the time to its deadline. A task that has had its share may lose the CPU before its request is used
        /// up.
        complete_eevdf: bool = true, "", "features DELAY_DEQUEUE, PLACE_REL_DEADLINE, PREEMPT_SHORT",
            read when "sched.form" is Form::V612.only();
        /// CFS targeted latency of one CPU, before the scaling by CPU count.
        latency_ns: u64 = 6_000_000, "ns", "debugfs sched/latency_ns (normalised)",
            range 10_000..=1_000_000_000, read when "sched.form" is Form::V61.only();
        /// CFS shortest slice of one CPU, before the scaling by CPU count.
        min_granularity_ns: u64 = 750_000, "ns", "debugfs sched/min_granularity_ns (normalised)",
            range 10_000..=1_000_000_000, read when "sched.form" is Form::V61.only();
        /// CFS lead a woken task needs to pre-empt, before the scaling by CPU count.
        wakeup_granularity_ns: u64 = 1_000_000, "ns", "debugfs sched/wakeup_granularity_ns (normalised)",
            range 0..=1_000_000_000, read when "sched.form" is Form::V61.only();
        /// How the four values above grow with the CPU count.
        tunable_scaling: TunableScaling = TunableScaling::Log, "", "debugfs sched/tunable_scaling";
        /// A task that ran within this time is cache-hot; -1 means always, 0 never.
        migration_cost_ns: i64 = 500_000, "ns", "debugfs sched/migration_cost_ns", range -1..=1_000_000_000;
        /// Most tasks one balance pass looks at.
        nr_migrate: u32 = 32, "tasks", "debugfs sched/nr_migrate", range 1..=1_000_000;
        /// Distance above which fork, exec and wake-affine stop; 0 takes the machine's own (30, on Zen 32).
        node_reclaim_distance: u32 = 0, "", "model (node_reclaim_distance)", range 0..=255;
        /// Fork and exec count the CPUs of a group that the task may use, not all of them (6.19 on, stable 6.12).
        fork_counts_allowed: bool = true, "", "model";
        /// A group whose CPUs are all used pulls nothing from an overloaded group while its load is above the domain's
        /// average (6.3 on, stable 6.1).
        below_average: bool = true, "", "model";
        /// Failed passes halve what a task's utilisation counts for where utilisation moves, as they do its load (6.8
        /// on, stable 6.1).
        relax_util: bool = true, "", "model";
        /// The kernel is built with CONFIG_PREEMPTION, as PREEMPT_DYNAMIC is (distributions from 5.12 on). A newly idle
        /// CPU then pulls one task only.
        preempt_full: bool = true, "", "CONFIG_PREEMPTION";
        /// Newly-idle balancing is randomised by past success (stable trees from 2026 on).
        ni_random: bool = false, "", "features NI_RANDOM";
        /// The dice of newly-idle balancing weighs by rate, and is not thrown where balancing is rare (7.1:
        /// 9fe89f022c05).
        ni_rate: bool = false, "", "features NI_RATE", read when "sched.ni_random" is Needs::OneOf(&["true"]);
        /// A failed newly-idle pass counts as half dearer than the dearest one (6.17 and 6.18: 155213a2aed4).
        failed_newidle_costs: bool = false, "", "model";
        /// While one CPU balances a domain that spans nodes, such a pass of another CPU counts as balanced (6.19).
        /// Before, a newly-idle pass does not ask, and a periodic one stays due.
        serialize_busy: bool = false, "", "model";
        /// What NUMA balancing says to a pull between nodes.
        locality_verdict: LocalityVerdict = LocalityVerdict::V46, "", "model",
            read when "system.numa_balancing" is Needs::Not("0");
        /// A first attempt pulls no task that is not eligible on its queue (6.14 on).
        pull_needs_eligible: bool = false, "", "model", read when "sched.form" is Form::V612.only();
        /// Only a balance of loads pulls tasks that sleep but are still queued (6.14 on).
        pull_keeps_delayed: bool = false, "", "model", read when "sched.form" is Form::V612.only();
        /// Domains are built from simplified distances on Granite Rapids and Clearwater Forest with sub-NUMA clusters
        /// (6.19).
        snc_mean: bool = false, "", "model";
    }
}

/// Tunables as resolved on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Generation of the run queue and the balancer.
    pub form: Form,
    /// How groups are compared.
    pub balancer: Balancer,
    /// NUMA imbalance rule.
    pub rule: Allowance,
    /// How a wake-up looks for an idle CPU.
    pub idle_scan: IdleScan,
    /// Which recently used CPU a wake-up tries.
    pub recent_used_cpu: RecentCpu,
    /// A waker of many partners does not pull them.
    pub wake_wide: bool,
    /// How a wake-up chooses between the waker's and the previous CPU.
    pub wake_affine: WakeAffine,
    /// When a newly idle CPU searches for work.
    pub newidle: Newidle,
    /// In which order balancing looks at queued tasks.
    pub queue_order: QueueOrder,
    /// When a busy CPU asks idle CPUs to balance.
    pub nohz_kick: NohzKick,
    /// Intervals and thresholds of domains.
    pub domain_constants: DomainConstants,
    /// Wake-ups do not wait for a CPU that searches to switch away from the task.
    pub wakelist_on_cpu: bool,
    /// A CPU with short idle periods keeps its tick.
    pub idle_tick: bool,
    /// What a task's preferred node means to the balancer.
    pub locality: Locality,
    /// Non-idle balancing keeps tasks on their selected node.
    pub locality_strict: bool,
    /// Ticks per second.
    pub hz: u64,
    /// Length of a jiffy, ns.
    pub jiffy_ns: u64,
    /// EEVDF slice, ns, scaled by CPU count.
    pub base_slice_ns: i64,
    /// The parts of EEVDF that 6.12 completed: DELAY_DEQUEUE, PLACE_REL_DEADLINE, PREEMPT_SHORT.
    pub complete_eevdf: bool,
    /// CFS latency, ns, scaled by CPU count.
    pub latency_ns: i64,
    /// CFS minimum granularity, ns, scaled by CPU count.
    pub min_granularity_ns: i64,
    /// CFS wake-up granularity, ns, scaled by CPU count.
    pub wakeup_granularity_ns: i64,
    /// Time for which a task that ran is cache-hot, ns; negative: always; 0: never.
    pub migration_cost_ns: i64,
    /// Largest number of tasks that one balance pass looks at.
    pub nr_migrate: u32,
    /// Fork counts only those CPUs of a group that the task may use.
    pub fork_counts_allowed: bool,
    /// A full group pulls only up to the average load of the domain.
    pub below_average: bool,
    /// Failed passes let tasks of large utilisation move.
    pub relax_util: bool,
    /// The kernel was built with CONFIG_PREEMPTION.
    pub preempt_full: bool,
    /// Newly-idle balancing is randomised by past success (NI_RANDOM).
    pub ni_random: bool,
    /// Cache-aware scheduling.
    pub llc_balancing: CacheAwareTunables,
    /// The dice weighs by rate (NI_RATE).
    pub ni_rate: bool,
    /// A failed newly-idle pass counts as dear.
    pub failed_newidle_costs: bool,
    /// A pass over a domain that another CPU balances counts as balanced.
    pub serialize_busy: bool,
    /// What NUMA balancing says to a pull.
    pub locality_verdict: LocalityVerdict,
    /// A first attempt pulls eligible tasks only.
    pub pull_needs_eligible: bool,
    /// Delayed sleepers are pulled by a balance of loads only.
    pub pull_keeps_delayed: bool,
    /// Domains are built from simplified distances where the kernel has them.
    pub snc_mean: bool,
    /// Distance between nodes above which fork and wake-affine do not cross.
    pub node_reclaim_distance: u32,
    /// Modelled cost of a balance pass, picoseconds per CPU of the domain.
    pub balance_cpu_ps: u64,
}

impl Params {
    /// Resolves `config` on `machine`.
    ///
    /// # Errors
    /// [`SchedError::Tunable`] for a tick rate of 0.
    pub fn new(machine: &Machine, config: &SchedConfig) -> Result<Self, SchedError> {
        let cpus = machine.cpu_count().clamp(1, 8) as u64;
        let factor = match config.tunable_scaling {
            TunableScaling::None => 1,
            TunableScaling::Log => 1 + u64::from(cpus.ilog2()),
            TunableScaling::Linear => cpus,
        };
        if config.hz == 0 {
            let expected = "a whole number from 100 to 1000".to_string();
            return Err(SchedError::Tunable { what: "`sched.hz` is `0`".into(), expected });
        }
        let scaled = |ns: u64| ns.saturating_mul(factor).min(i64::MAX as u64 / 4096) as i64;
        Ok(Self {
            form: config.form,
            balancer: config.balancer,
            rule: Allowance::new(config.imbalance, &config.imb).with_policy(config.policy),
            idle_scan: config.idle_scan,
            recent_used_cpu: config.recent_used_cpu,
            wake_wide: config.wake_wide,
            wake_affine: config.wake_affine,
            newidle: config.newidle,
            queue_order: config.queue_order,
            nohz_kick: config.nohz_kick,
            domain_constants: config.domain_constants,
            wakelist_on_cpu: config.wakelist_on_cpu,
            idle_tick: config.idle_tick,
            locality: config.locality,
            locality_strict: config.locality_strict,
            hz: u64::from(config.hz),
            jiffy_ns: 1_000_000_000 / u64::from(config.hz),
            base_slice_ns: scaled(config.base_slice_ns),
            complete_eevdf: config.complete_eevdf,
            latency_ns: scaled(config.latency_ns),
            min_granularity_ns: scaled(config.min_granularity_ns),
            wakeup_granularity_ns: scaled(config.wakeup_granularity_ns),
            migration_cost_ns: config.migration_cost_ns,
            nr_migrate: config.nr_migrate,
            fork_counts_allowed: config.fork_counts_allowed,
            below_average: config.below_average,
            relax_util: config.relax_util,
            preempt_full: config.preempt_full,
            ni_random: config.ni_random,
            llc_balancing: config.llc_balancing,
            ni_rate: config.ni_rate,
            failed_newidle_costs: config.failed_newidle_costs,
            serialize_busy: config.serialize_busy,
            locality_verdict: config.locality_verdict,
            pull_needs_eligible: config.pull_needs_eligible,
            pull_keeps_delayed: config.pull_keeps_delayed,
            snc_mean: config.snc_mean,
            node_reclaim_distance: match config.node_reclaim_distance {
                0 => u32::from(machine.node_reclaim_distance),
                d => d,
            },
            balance_cpu_ps: (machine.costs.balance_cpu_ns.clamp(0.0, 1e6) * 1000.0) as u64,
        })
    }
    /// Converts milliseconds to jiffies, rounded up.
    pub fn jiffies_of_ms(&self, ms: u64) -> u64 {
        (ms * self.hz).div_ceil(1000)
    }
}
