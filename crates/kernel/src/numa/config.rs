//! Settings and behaviour switches of NUMA balancing, and their resolved form.
//!
//! [`NumaSettings`] is what catalogs and `--set` edit: groups of tunables with names, units and ranges, and the roles.
//! [`NumaConfig`] is what the decisions read. Kernel releases differ only by these settings;
//! `catalog/releases.toml` lists them.

use super::caller::{PageMovePolicy, PeriodPolicy, PlacementPolicy, TaskMovePolicy};
use super::jiffies::Hz;
use super::page_filter::{PageFilter, PageFilterKind, PageFilterTunables};
use super::period::V38Tunables;
use super::rate_limit::RateLimit;
use super::rules::{
    FaultStats, FaultStatsRole, MigrateRule, PageMigrateRole, PeriodModel, ScanRole, SearchModel, TaskMigrateRole,
    TieringModel, BALANCING_ON, TIERING_ON,
};
use super::vma_filter::{VmaFilter, VmaFilterTunables, VmaRules};
use crate::sched::imbalance::{Allowance, ImbTunables, Rule};
use numalab_base::base_page::BasePage;
use numalab_base::hook::Hook;
use numalab_base::tunable::{Decl, Group, Needs, SetError, Value};

numalab_base::tunables! {
    /// The kernel's own settings (kernel-numa-balancing.md §1).
    pub struct Scan: "scan" {
        read when "system.numa_balancing" is BALANCING_ON;
        read when "scan" is ScanRole::TASK_WORK;

        given {
            /// `system.numa_balancing`: 0 off, 1 normal, 2 memory tiering, 3 both; 4 is on with neither bit.
            numa_balancing: u8 = 1;
            /// `system.base_page_kb`.
            base_page: BasePage = BasePage::Kib4;
            /// Bytes of a huge page (`HPAGE_PMD_SIZE`): see `system.huge_page_mb`.
            huge_page_bytes: u64 = 2 << 20;
        }

        /// First-scan delay, VMA delay and base of the PID window.
        scan_delay_ms: u32 = 1000, "ms", "debugfs sched/numa_balancing/scan_delay_ms", range 0..=86_400_000;
        /// Time to scan the whole resident set at the fastest rate.
        scan_period_min_ms: u32 = 1000, "ms", "debugfs sched/numa_balancing/scan_period_min_ms", range 0..=86_400_000;
        /// Time to scan the whole resident set at the slowest rate; also the tiering adjustment period.
        scan_period_max_ms: u32 = 60_000, "ms", "debugfs sched/numa_balancing/scan_period_max_ms", range 0..=86_400_000;
        /// Budget of one scan work. 0 would divide by zero and is refused.
        scan_size_mb: u32 = 256, "MiB", "debugfs sched/numa_balancing/scan_size_mb", range 1..=4_194_304;
        /// Hint latency below which a slow-tier page is hot (memory tiering).
        hot_threshold_ms: u32 = 1000, "ms", "debugfs sched/numa_balancing/hot_threshold_ms", range 0..=86_400_000,
            read when "system.numa_balancing" is TIERING_ON;
        /// Limit of promotions per target node (memory tiering). 0 allows none.
        promote_rate_limit_mbps: u32 = 65_536, "MiB/s", "kernel.numa_balancing_promote_rate_limit_MBps",
            range 0..=2_147_483_647, read when "system.numa_balancing" is TIERING_ON;
        /// Largest number of CPUs that the kernel was built for. It sets the width of the cpupid field of a page.
        max_cpus: u32 = 8192, "CPUs", "CONFIG_NR_CPUS", range 1..=65_536;
    }
}

numalab_base::tunables! {
    /// Behaviour switches that differ between releases (kernel-numa-balancing.md §16, §17).
    pub struct Behaviour: "numa" {
        read when "system.numa_balancing" is BALANCING_ON;

        /// How the search for a CPU compares nodes, CPUs and swaps. Before 4.19 it goes by spare capacity and loads of
        /// nodes.
        search: SearchModel = SearchModel::V419, "", "model",
            read when "task_migrate" is TaskMigrateRole::Preferred.only();
        /// Limit of migrations per node and time (up to 4.18).
        rate_limit: RateLimit = RateLimit::Off, "", "model";
        /// Form of memory tiering.
        tiering_model: TieringModel = TieringModel::V61, "", "model", read when "system.numa_balancing" is TIERING_ON;
        /// The scan budget is charged with entries changed, not with the length walked (3.8).
        scan_charges_updates: bool = false, "", "model";
        /// The trigger compares runtime less node_stamp without a sign. A stamp ahead of the runtime then passes at
        /// every tick (before 4.4).
        trigger_underflows: bool = false, "", "model";
        /// Once a scan work has changed an entry, it is charged for the whole length that it walks further (3.13 to
        /// 4.3).
        scan_charges_all_after: bool = false, "", "model";
        /// A scan work walks at most 8 times its size of address space (4.4 on).
        virtual_budget: bool = true, "", "model";
        /// Scanning postpones the next scan by 32 times its own runtime (4.5 on).
        overhead_guard: bool = true, "", "model";
        /// File mappings that are readable and not writable are not scanned (3.13 on).
        skip_shared_ro: bool = true, "", "model";
        /// Mappings without any permission are not scanned.
        skip_inaccessible: bool = true, "", "model";
        /// Mappings whose policy lacks migrate-on-fault are not scanned (after 3.8).
        skip_by_policy: bool = true, "", "model";
        /// Shared memory without a policy of its own follows the policy of the task. Otherwise it is not scanned (3.18
        /// to a fix of 2026).
        shmem_task_policy: bool = true, "", "model";
        /// Mixed-map mappings are not scanned (4.1 on).
        skip_mixed_map: bool = true, "", "model";
        /// Mappings smaller than a huge page are not scanned (3.8).
        skip_small_vma: bool = false, "", "model";
        /// A new thread's first scan is spread by its parent's period (4.18 on).
        stagger_threads: bool = true, "", "model";
        /// An mm is not scanned before a scan work of it runs on a second node (3.8).
        first_nid_gate: bool = false, "", "model";
        /// Page tables whose pages are all on one node are marked too. The first access handles all marked pages of the
        /// table (3.8 to 3.12: do_pmd_numa_page).
        table_marks: bool = false, "", "model",
            read when "scan" is ScanRole::TASK_WORK, read when "page_migrate" is PageMigrateRole::KERNEL;
        /// Pages handled with their table can migrate, as in 3.8. In the first stage of balancenuma they stayed where
        /// they were.
        table_faults_migrate: bool = true, "", "model",
            read when "numa.table_marks" is Needs::OneOf(&["true"]);
        /// How many migrations of shared pages a task passes over, after a page of another task came from another node
        /// (3.13, 3.14). 0: none.
        migrate_deferred: u32 = 0, "", "kernel.numa_balancing_migrate_deferred", range 0..=1_000_000,
            read when "page_migrate" is PageMigrateRole::KERNEL;
        /// A task whose busiest node is not its group's prefers the node with the most of both, by weight (3.13 to
        /// 3.16). Since then it prefers its group's busiest node.
        group_prefers_both: bool = false, "", "model",
            read when "fault_stats" is FaultStatsRole::V313.or_later();
        /// A group's active nodes are a mask with a hysteresis: in above 6/16 of the busiest node's CPU faults, out
        /// below 3/16 (3.15 to 4.5). Since 4142c3ebb685 (4.6) a node is active above a third, by the last count.
        active_node_mask: bool = false, "", "model",
            read when "fault_stats" is FaultStatsRole::V315.or_later();
        /// A task whose cpuset has one memory node scans nothing (6.16 on). Tasks of the simulator are in no cpuset.
        skip_single_node_cpuset: bool = false, "", "model", unread = true;
        /// Huge entries are marked by the same tests as base pages (6.19 on).
        huge_same_predicate: bool = false, "", "model";
        /// A search swaps with tasks of user space only. Before, the CPU of a kernel thread is compared like any other
        /// (until about 6.17).
        swap_user_tasks_only: bool = false, "", "model",
            read when "task_migrate" is TaskMigrateRole::Preferred.only();
        /// With memory tiering, VMAs that a filter takes out are still walked for pages of slow nodes (posted in
        /// September 2026).
        promote_only: bool = false, "", "model", read when "system.numa_balancing" is TIERING_ON;
        /// Promotions that ask for no rate limit have a counter of their own (6.18: 337135e6124b).
        count_candidate_nrl: bool = false, "", "model", read when "system.numa_balancing" is TIERING_ON;
        /// A scan work waits for the mm lock. Otherwise it gives up its period (4.13 on).
        scan_lock_blocks: bool = false, "", "model";
        /// Private base pages of a single-user mm that are already on the scanning node stay unmarked (4.10 on).
        single_user_shortcut: bool = true, "", "model";
        /// Dirty file pages are neither marked nor migrated (4.17 on).
        skip_dirty_file: bool = true, "", "model";
        /// Locality counts are zeroed also when the period backs off (scheduler tree, e81ee0630837 of September 2026;
        /// in no release). Without it one failed migration makes every later placement back off.
        locality_reset_on_backoff: bool = false, "", "model",
            read when "scan" is ScanRole::V313.or_later();
        /// Local hint faults update the last cpupid of the page too (before about 5.15).
        local_fault_updates_cpupid: bool = false, "", "model";
        /// A hint fault leaves private pages write-protected, whatever becomes of the page (4.0-rc1 to 4.0-rc6; fixed
        /// by b191f9b106ea).
        hint_fault_drops_write: bool = false, "", "model";
        /// A migration attempt leaves private pages write-protected (6.2 on).
        migration_drops_write: bool = true, "", "model";
        /// A refused migration leaves private pages write-protected too (6.2 to 6.10). Whether the page can be isolated
        /// is found out only after its entry was restored.
        refusal_drops_write: bool = false, "", "model";
        /// Until a page that is to move is unmapped, other tasks take hint faults on it as well (5.13 on: "NUMA
        /// balancing: reduce TLB flush via delaying mapping on hint page fault").
        second_hint_faults: bool = true, "", "model";
        /// Tasks that wait for a page under migration hold a reference to it. The move then fails and is tried again,
        /// ten times in all. True of kernels before 5.0 (9a1ea439b16b, put_and_wait_on_page_locked).
        migration_waiters_pin: bool = false, "", "model";
        /// A huge page that somebody else holds a reference to is refused before its migration is tried
        /// (numamigrate_isolate_page up to 5.13).
        huge_references_refuse: bool = false, "", "model";
        /// Direct I/O takes hint faults on the marked pages of its buffer (up to 6.4). Since d74943a2f3cd it takes the
        /// pages as they are, and only KVM asks for such faults (FOLL_HONOR_NUMA_FAULT).
        gup_takes_hint_faults: bool = false, "", "model";
        /// A new page cannot be isolated until its CPU has gathered a batch (vm.lru_batch) and put it on the LRU.
        /// True of all kernels. Other programs, which the model has not, fill the batches sooner.
        migration_lru_batch: bool = true, "", "model";
        /// A page that has moved goes to the LRU at once, with all pages that its CPU has gathered (5.18 to 6.6:
        /// c3096e6782b7, `migrate_folio_move`; since eebb3dabbb5c only locked memory does). Otherwise it waits in the
        /// batch of its CPU like a new page.
        migration_drains_lru: bool = false, "", "model";
        /// Pages do not migrate to nodes without memory (by 6.12, not in 6.1).
        refuse_memoryless_target: bool = true, "", "model";
        /// Huge pages mapped more than once are not migrated (6.1).
        refuse_shared_thp: bool = false, "", "model";
        /// Faults on huge pages can carry the shared flag (after 6.1).
        thp_shared_flag: bool = true, "", "model";
        /// A fault on a PTE-mapped large folio handles all of it (6.10 on). Before, its entry is only restored.
        large_folio_faults: bool = true, "", "model";
        /// A failed migration whose entry changed meanwhile records no fault (6.11 on, stable 6.1).
        changed_entry_drops_fault: bool = true, "", "model";
        /// Placement is tried at numa_migrate_retry only (4.19 on). Before, it is tried on every fault: a placement
        /// adapts the period first, and ends with a try to reach the preferred node at once.
        placement_paced: bool = true, "", "model";
        /// A new task may place itself at once (6.0 on). Before, a clone inherits the time of its parent's next try.
        fork_resets_retry: bool = true, "", "model";
        /// The preferred node is tried again every 1/16 of the period, at most every second (3.17 on). Before, every
        /// second.
        retry_by_period: bool = true, "", "model";
        /// A swap needs an importance of 30 and a lead of 15 (4.19 on).
        small_imp: bool = true, "", "model",
            read when "task_migrate" is TaskMigrateRole::Preferred.only(),
            read when "numa.search" is SearchModel::V419.or_later();
        /// The search of a node prefers swap partners that get to their own preferred node, and takes idle CPUs on
        /// whole idle cores first. It ends at the first good choice (5.7 on). Before, every CPU is compared, and moves
        /// go where select_idle_sibling sends them.
        bias_by_preference: bool = true, "", "model";
        /// A search makes the node of the CPU it has found, or the present node, the preferred node of a group's task
        /// (4.19 on). Before, that is the node examined last, if the group is active there and elsewhere.
        group_prefers_found: bool = true, "", "model";
        /// Tasks of one group, and tasks without groups, are not swapped while the target node has spare capacity (6.0
        /// on).
        no_swap_with_spare: bool = true, "", "model",
            read when "task_migrate" is TaskMigrateRole::Preferred.only();
        /// Any move to another node restarts the scan period of a task that leaves its preferred node or has none (4.19
        /// on). Before, only task placement restarts it, for the task whose search has found a CPU.
        conditional_period_reset: bool = true, "", "model";
    }
}

/// The roles that NUMA balancing fills (kernel-numa-balancing.md §8, §16, §17). The defaults are those of 6.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumaRoles {
    /// Who scans, and how fast.
    pub scan: ScanRole,
    /// Which VMAs a thread may scan.
    pub vma_filter: VmaFilter,
    /// Which pages stay unmarked.
    pub page_filter: PageFilterKind,
    /// What is remembered of hint faults.
    pub fault_stats: FaultStatsRole,
    /// Whether a misplaced page migrates.
    pub page_migrate: PageMigrateRole,
    /// Whether a task moves to its memory.
    pub task_migrate: TaskMigrateRole,
    /// NUMA imbalance that the scheduler and task placement tolerate.
    pub imbalance: Rule,
}

impl Default for NumaRoles {
    fn default() -> Self {
        Self {
            scan: ScanRole::V414,
            vma_filter: VmaFilter::V612,
            page_filter: PageFilterKind::CowSharedOrPinned,
            fault_stats: FaultStatsRole::V315,
            page_migrate: PageMigrateRole::V420,
            task_migrate: TaskMigrateRole::Preferred,
            imbalance: Rule::Imb60,
        }
    }
}

/// Everything that can be set, by group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NumaSettings {
    /// Roles.
    pub roles: NumaRoles,
    /// The kernel's own settings.
    pub scan: Scan,
    /// Behaviour switches.
    pub numa: Behaviour,
    /// Parameters of the mapcount limit.
    pub page_filter: PageFilterTunables,
    /// Parameters of the 3.8 period.
    pub scan_v38: V38Tunables,
    /// Parts of the VMA filter.
    pub vma: VmaFilterTunables,
    /// Parts of the imbalance rule.
    pub imb: ImbTunables,
}

impl NumaSettings {
    /// Every declaration with its group and effective value, in a fixed order.
    pub fn effective(&self) -> Vec<(&'static str, &'static Decl, Value)> {
        fn group<G: Group>(g: &G, out: &mut Vec<(&'static str, &'static Decl, Value)>) {
            out.extend(G::DECLS.iter().enumerate().map(|(i, d)| (G::NAME, d, g.get(i))));
        }
        let mut out = Vec::new();
        group(&self.scan, &mut out);
        group(&self.numa, &mut out);
        group(&self.page_filter, &mut out);
        group(&self.scan_v38, &mut out);
        group(&self.vma, &mut out);
        out
    }

    /// Sets `group.key` from text.
    ///
    /// # Errors
    /// [`SetError::Unknown`] for an unknown group or key, [`SetError::Expected`] for an illegal value.
    pub fn set(&mut self, group: &str, key: &str, text: &str) -> Result<(), SetError> {
        match group {
            Scan::NAME => self.scan.set(key, text),
            Behaviour::NAME => self.numa.set(key, text),
            PageFilterTunables::NAME => self.page_filter.set(key, text),
            V38Tunables::NAME => self.scan_v38.set(key, text),
            VmaFilterTunables::NAME => self.vma.set(key, text),
            _ => Err(SetError::Unknown),
        }
    }

    /// Checks ranges and tells apart what belongs to which decision; `hz` is the kernel's tick rate.
    ///
    /// # Errors
    /// A field that was set from code to something its declaration forbids, or an impossible tick rate.
    pub fn resolve(&self, hz: u32) -> Result<NumaConfig, ConfigError> {
        for (group, decl, value) in self.effective() {
            if let Value::Int(v) = value {
                if v < decl.range.0 || v > decl.range.1 {
                    let expected = format!("{} to {}", decl.range.0, decl.range.1);
                    return Err(ConfigError { group, key: decl.key, found: v.to_string(), expected });
                }
            }
        }
        let hz = Hz::new(hz).ok_or(ConfigError {
            group: "kernel",
            key: "hz",
            found: hz.to_string(),
            expected: "1 to 10000".into(),
        })?;
        let roles = &self.roles;
        Ok(NumaConfig {
            hz,
            scan: self.scan,
            switches: self.numa,
            scan_v38: self.scan_v38,
            vma_filter: VmaRules::new(roles.vma_filter, &self.vma),
            page_filter: PageFilter::new(roles.page_filter, &self.page_filter),
            period_model: roles.scan.kernel(),
            fault_stats: roles.fault_stats.kernel(),
            migrate_rule: roles.page_migrate.kernel(),
            moves_tasks: roles.task_migrate == TaskMigrateRole::Preferred,
            imbalance: Allowance::new(roles.imbalance, &self.imb),
            placement: None,
            period_policy: None,
            page_move_policy: None,
            task_move_policy: None,
        })
    }
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Group of the setting.
    pub group: &'static str,
    /// Key in the group.
    pub key: &'static str,
    /// Value found.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{} is {}; expected {}", self.group, self.key, self.found, self.expected)
    }
}

impl std::error::Error for ConfigError {}

/// Resolved settings; made by [`NumaSettings::resolve`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumaConfig {
    /// Tick rate.
    pub hz: Hz,
    /// The kernel's own settings.
    pub scan: Scan,
    /// Behaviour switches.
    pub switches: Behaviour,
    /// Parameters of the 3.8 period.
    pub scan_v38: V38Tunables,
    /// Which VMAs a thread may scan.
    pub vma_filter: VmaRules,
    /// Which pages stay unmarked.
    pub page_filter: PageFilter,
    /// Scan-period model.
    pub period_model: PeriodModel,
    /// Fault statistics.
    pub fault_stats: FaultStats,
    /// Page migration rule.
    pub migrate_rule: MigrateRule,
    /// Tasks are moved to their preferred node (3.13 on).
    pub moves_tasks: bool,
    /// Imbalance that task placement tolerates.
    pub imbalance: Allowance,
    /// Chooses preferred nodes in place of the kernel.
    pub placement: Option<Hook<dyn PlacementPolicy>>,
    /// Chooses scan periods after a pass in place of the kernel.
    pub period_policy: Option<Hook<dyn PeriodPolicy>>,
    /// Decides whether a page moves in place of `migrate_rule`.
    pub page_move_policy: Option<Hook<dyn PageMovePolicy>>,
    /// Decides whether a task moves to where a search has found a place.
    pub task_move_policy: Option<Hook<dyn TaskMovePolicy>>,
}

impl NumaConfig {
    /// Whether balancing is on (the static key): any non-zero `numa_balancing` turns balancing on.
    #[inline]
    pub fn enabled(&self) -> bool {
        self.scan.numa_balancing != 0
    }
    /// Whether ordinary balancing is on.
    #[inline]
    pub fn normal(&self) -> bool {
        self.scan.numa_balancing & 1 != 0
    }
    /// Whether memory tiering is on.
    #[inline]
    pub fn tiering(&self) -> bool {
        self.scan.numa_balancing & 2 != 0
    }
}
