//! The dictionary of counters: what every counter means, since when it exists, and what it does *not* count.
//!
//! Problem: the same name means different things to different readers ("pages migrated" by whom?), and half of the
//! questions about a NUMA report are about its counters. Approach: one table. `numalab counters`,
//! `docs/reference/counters.md`, the tooltips of the page and the units and directions of reports are made from it. A
//! new counter is one entry here and the place where it increments. Units: see [`Unit`]. Sources:
//! kernel-numa-balancing.md §15.2, thp-and-allocation.md §1.3 and mmtests-report.md §2.2; releases that were not
//! checked there are marked [`Since::About`].

mod allocation;
mod damon;
mod doc;
mod huge;
mod locks;
mod numa;
mod others;
mod printed;
mod reclaim;
mod scheduler;
mod stalls;

pub use doc::{CounterDoc, Kind, Since, Unit};
pub use numalab_nouns::record::ALWAYS_RECORDED;
pub use others::{Word, OTHERS};
pub use printed::{printed, Printed};

/// Counters of automatic NUMA balancing by which runs are compared, in the order of reports.
pub const BALANCING: [&str; 4] =
    ["numa_pte_updates", "numa_hint_faults", "numa_hint_faults_local", "numa_pages_migrated"];

/// Every counter, by kind.
pub fn all() -> impl Iterator<Item = &'static CounterDoc> {
    numa::COUNTERS
        .iter()
        .chain(allocation::COUNTERS)
        .chain(huge::COUNTERS)
        .chain(reclaim::COUNTERS)
        .chain(stalls::COUNTERS)
        .chain(locks::COUNTERS)
        .chain(damon::COUNTERS)
        .chain(scheduler::COUNTERS)
}

/// A counter by its kernel name.
pub fn find(name: &str) -> Option<&'static CounterDoc> {
    all().find(|c| c.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_documented_and_kinds_are_together() {
        let list: Vec<_> = all().collect();
        for (i, c) in list.iter().enumerate() {
            assert!(list[..i].iter().all(|d| d.name != c.name), "{} twice", c.name);
            assert!(c.meaning.ends_with('.') && c.meaning.len() > 20, "{}", c.name);
            assert!(c.not_counted.is_empty() || c.not_counted.ends_with('.'), "{}", c.name);
        }
        let mut kinds: Vec<Kind> = list.iter().map(|c| c.kind).collect();
        kinds.dedup();
        let mut once = kinds.clone();
        once.sort();
        once.dedup();
        assert_eq!(kinds.len(), once.len(), "{kinds:?}");
    }

    #[test]
    fn other_names_are_no_counters_of_the_dictionary_and_stand_once() {
        for (i, (name, _, meaning)) in OTHERS.iter().enumerate() {
            assert!(find(name).is_none() && OTHERS[..i].iter().all(|o| o.0 != *name), "{name}");
            assert!(meaning.ends_with('.'), "{name}");
        }
    }

    #[test]
    fn every_name_of_this_kernel_is_known() {
        let Ok(text) = std::fs::read_to_string("/proc/vmstat") else { return };
        let names = text.lines().filter_map(|l| l.split_whitespace().next());
        let known = |name: &str| find(name).is_some() || OTHERS.iter().any(|o| o.0 == name);
        let unknown: Vec<&str> = names.filter(|n| !known(n)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn counters_of_releases_after_6_12_say_when_they_exist() {
        let since = |name: &str| find(name).map(|c| (c.since.to_string(), c.until));
        assert_eq!(since("pgpromote_candidate_nrl"), Some(("6.18".into(), None)));
        for name in ["numa_task_migrated", "numa_task_swapped"] {
            assert_eq!(since(name), Some(("6.16-rc1 only, reverted in 6.16-rc6".into(), None)), "{name}");
            assert!(!ALWAYS_RECORDED.contains(&name));
        }
    }

    #[test]
    fn counters_of_the_references_are_known() {
        let named = "numa_pte_updates numa_huge_pte_updates numa_hint_faults numa_hint_faults_local numa_pages_migrated \
            pgmigrate_success pgmigrate_fail thp_migration_success thp_migration_fail thp_migration_split pgreuse \
            pgpromote_candidate pgpromote_success numa_hit numa_miss numa_local numa_other numa_foreign numa_interleave \
            thp_fault_alloc thp_fault_fallback thp_collapse_alloc thp_collapse_alloc_failed thp_split_page thp_split_pmd \
            compact_stall compact_fail compact_success compact_migrate_scanned compact_free_scanned compact_isolated \
            zone_reclaim_success zone_reclaim_failed pgscan_kswapd pgscan_direct pgsteal_kswapd pgsteal_direct pswpin pswpout \
            allocstall pgactivate pgdeactivate pgrefill workingset_refault_anon";
        for name in named.split_whitespace() {
            assert!(find(name).is_some(), "{name}");
        }
        for name in BALANCING.iter().chain(&ALWAYS_RECORDED) {
            assert!(find(name).is_some(), "{name}");
        }
        assert!(find("numa_hint_fault").is_none());
    }
}
