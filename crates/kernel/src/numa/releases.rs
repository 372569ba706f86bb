//! Kernel releases as settings (kernel-numa-balancing.md §16): each row says what changed since the row it is based on.
//!
//! For the vectors of the reference, which name more releases than the catalog has kernels; runs resolve the catalog's
//! files, and a test of the registry holds every one of them against its row.

use super::config::NumaSettings;
use numalab_base::tunable::SetError;

/// A release: its changes against another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Name.
    pub name: &'static str,
    /// Release it is based on; `None` for the first.
    pub base: Option<&'static str>,
    /// `group.key` and value.
    pub changes: &'static [(&'static str, &'static str)],
}

const fn row(name: &'static str, base: &'static str, changes: &'static [(&'static str, &'static str)]) -> Release {
    Release { name, base: Some(base), changes }
}

/// The rows, oldest first. Releases the specification gives "from memory" are so here.
pub const RELEASES: &[Release] = &[
    Release {
        name: "3.8",
        base: None,
        changes: &[
            ("scan.scan_period_min_ms", "100"),
            ("scan.scan_period_max_ms", "5000"),
            ("numa.vma_filter", "off"),
            ("numa.page_filter", "mapcount1_any"),
            ("numa.period_model", "v38"),
            ("numa.fault_stats", "none"),
            ("numa.migrate_rule", "v38"),
            ("numa.search", "v313"),
            ("numa.imbalance_model", "none"),
            ("numa.rate_limit", "legacy_and_marking"),
            ("numa.tiering_model", "basic"),
            ("numa.scan_charges_updates", "true"),
            ("numa.trigger_underflows", "true"),
            ("numa.scan_charges_all_after", "false"),
            ("numa.virtual_budget", "false"),
            ("numa.overhead_guard", "false"),
            ("numa.skip_shared_ro", "false"),
            ("numa.skip_inaccessible", "false"),
            ("numa.skip_by_policy", "false"),
            ("numa.shmem_task_policy", "true"),
            ("numa.skip_mixed_map", "false"),
            ("numa.skip_small_vma", "true"),
            ("numa.stagger_threads", "false"),
            ("numa.first_nid_gate", "true"),
            ("numa.table_marks", "true"),
            ("numa.table_faults_migrate", "true"),
            ("numa.migrate_deferred", "0"),
            ("numa.group_prefers_both", "true"),
            ("numa.scan_lock_blocks", "true"),
            ("numa.single_user_shortcut", "false"),
            ("numa.skip_dirty_file", "false"),
            ("numa.locality_reset_on_backoff", "false"),
            ("numa.local_fault_updates_cpupid", "true"),
            ("numa.migration_drops_write", "false"),
            ("numa.refusal_drops_write", "false"),
            ("numa.second_hint_faults", "false"),
            ("numa.migration_waiters_pin", "false"),
            ("numa.migration_lru_batch", "false"),
            ("numa.migration_drains_lru", "false"),
            ("numa.refuse_memoryless_target", "false"),
            ("numa.refuse_shared_thp", "true"),
            ("numa.thp_shared_flag", "false"),
            ("numa.large_folio_faults", "false"),
            ("numa.changed_entry_drops_fault", "false"),
            ("numa.placement_paced", "false"),
            ("numa.fork_resets_retry", "false"),
            ("numa.retry_by_period", "false"),
            ("numa.task_migration", "false"),
            ("numa.small_imp", "false"),
            ("numa.bias_by_preference", "false"),
            ("numa.group_prefers_found", "false"),
            ("numa.no_swap_with_spare", "false"),
            ("numa.conditional_period_reset", "false"),
        ],
    },
    row(
        "3.13",
        "3.8",
        &[
            ("scan.scan_period_min_ms", "1000"),
            ("scan.scan_period_max_ms", "60000"),
            ("numa.page_filter", "none"),
            ("numa.period_model", "v313"),
            ("numa.fault_stats", "v313"),
            ("numa.migrate_rule", "v313"),
            ("numa.rate_limit", "legacy"),
            ("numa.scan_charges_updates", "false"),
            ("numa.scan_charges_all_after", "true"),
            ("numa.skip_shared_ro", "true"),
            ("numa.skip_by_policy", "true"),
            ("numa.skip_small_vma", "false"),
            ("numa.first_nid_gate", "false"),
            ("numa.table_marks", "false"),
            ("numa.migrate_deferred", "16"),
            ("numa.task_migration", "true"),
        ],
    ),
    row(
        "3.15",
        "3.13",
        &[
            ("numa.fault_stats", "v315"),
            ("numa.migrate_rule", "v315"),
            ("numa.migrate_deferred", "0"),
            ("numa.skip_inaccessible", "true"),
        ],
    ),
    row(
        "3.17",
        "3.15",
        &[
            ("numa.period_model", "v317"),
            ("numa.retry_by_period", "true"),
            ("numa.search", "v317"),
            ("numa.group_prefers_both", "false"),
        ],
    ),
    row("3.18", "3.17", &[("numa.shmem_task_policy", "false")]),
    row("4.0", "3.18", &[("numa.period_model", "v40"), ("numa.search", "v40")]),
    row("4.1", "4.0", &[("numa.skip_mixed_map", "true")]),
    row(
        "4.4",
        "4.1",
        &[
            ("numa.trigger_underflows", "false"),
            ("numa.scan_charges_all_after", "false"),
            ("numa.virtual_budget", "true"),
            ("numa.search", "v42"),
        ],
    ),
    row("4.5", "4.4", &[("numa.overhead_guard", "true")]),
    row("4.10", "4.5", &[("numa.single_user_shortcut", "true")]),
    row("4.13", "4.10", &[("numa.scan_lock_blocks", "false")]),
    row("4.14", "4.13", &[("numa.period_model", "v414")]),
    row("4.15", "4.14", &[]),
    row("4.16", "4.15", &[("numa.page_filter", "cow_mapcount1")]),
    row("4.17", "4.16", &[("numa.skip_dirty_file", "true")]),
    row("4.18", "4.17", &[("numa.stagger_threads", "true")]),
    row(
        "4.19",
        "4.18",
        &[
            ("numa.rate_limit", "off"),
            ("numa.migrate_rule", "v420"),
            ("numa.search", "v419"),
            ("numa.small_imp", "true"),
            ("numa.placement_paced", "true"),
            ("numa.conditional_period_reset", "true"),
            ("numa.group_prefers_found", "true"),
        ],
    ),
    row("4.20", "4.19", &[]),
    row("5.7", "4.20", &[("numa.imbalance_model", "fixed2"), ("numa.bias_by_preference", "true")]),
    row("5.11", "5.7", &[("numa.imbalance_model", "quarter")]),
    row("5.13", "5.11", &[("numa.second_hint_faults", "true")]),
    row("5.15", "5.13", &[("numa.local_fault_updates_cpupid", "false")]),
    row("5.16", "5.15", &[]),
    row("5.16+imb-v3", "5.16", &[("numa.imbalance_model", "v3")]),
    row("5.16-stable", "5.16", &[("numa.imbalance_model", "quarter_dst")]),
    row("5.17", "5.16", &[("numa.page_filter", "cow_refcount1")]),
    row("5.18", "5.17", &[("numa.imbalance_model", "imb_numa_nr_4"), ("numa.migration_drains_lru", "true")]),
    row(
        "6.0",
        "5.18",
        &[
            ("numa.imbalance_model", "imb_numa_nr_8"),
            ("numa.no_swap_with_spare", "true"),
            ("numa.fork_resets_retry", "true"),
        ],
    ),
    row("6.1", "6.0", &[("numa.tiering_model", "v61"), ("numa.changed_entry_drops_fault", "true")]),
    row(
        "6.2",
        "6.1",
        &[
            ("numa.migration_drops_write", "true"),
            ("numa.refusal_drops_write", "true"),
            ("numa.changed_entry_drops_fault", "false"),
        ],
    ),
    row("6.3", "6.2", &[]),
    row("6.4", "6.3", &[("numa.vma_filter", "v64")]),
    row("6.4+rfc-v2", "6.4", &[("numa.vma_filter", "rfc_v2")]),
    row("6.4+rfc-v3", "6.4", &[("numa.vma_filter", "rfc_v3")]),
    row("6.4+rfc-v3-cover", "6.4", &[("numa.vma_filter", "rfc_v3_cover")]),
    row("6.7", "6.4", &[("numa.vma_filter", "v67"), ("numa.migration_drains_lru", "false")]),
    row("6.8", "6.7", &[("numa.vma_filter", "v68")]),
    row(
        "6.10",
        "6.8",
        &[
            ("numa.page_filter", "cow_shared_or_pinned"),
            ("numa.large_folio_faults", "true"),
            ("numa.refuse_shared_thp", "false"),
            ("numa.thp_shared_flag", "true"),
        ],
    ),
    row("6.11", "6.10", &[("numa.refusal_drops_write", "false"), ("numa.changed_entry_drops_fault", "true")]),
    row(
        "6.12",
        "6.11",
        &[
            ("numa.vma_filter", "v612"),
            ("numa.shmem_task_policy", "true"),
            ("numa.refuse_memoryless_target", "true"),
            ("numa.locality_reset_on_backoff", "true"),
        ],
    ),
];

/// The row of a release, `None` if there is none of that name.
pub fn find(name: &str) -> Option<&'static Release> {
    RELEASES.iter().find(|r| r.name == name)
}

/// Settings of a release; `None` if it has no row.
///
/// # Errors
/// A row that sets what no declaration allows (a test goes through all rows).
pub fn settings(name: &str) -> Option<Result<NumaSettings, SetError>> {
    find(name).map(resolve)
}

fn resolve(release: &Release) -> Result<NumaSettings, SetError> {
    let mut settings = match release.base.and_then(find) {
        Some(base) => resolve(base)?,
        None => NumaSettings::default(),
    };
    for (key, value) in release.changes {
        let (group, key) = key.split_once('.').ok_or(SetError::Unknown)?;
        settings.set(group, key, value)?;
    }
    Ok(settings)
}
