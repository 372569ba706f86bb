//! AutoNUMA, version 27 of October 2012 (designs-2012.md section 1).
//!
//! # Structure
//! One daemon, knuma_scand, walks every process, counts where its pages are and marks the mappings so that the next
//! access faults ([`scand`]). The fault counts, per thread, the node of the page and may migrate the page to the
//! faulting CPU's node at once ([`fault`], [`limit`]). A hook at the end of the load-balance softirq compares threads by
//! their own statistics inside a process and by those of their processes across processes ([`stats`]), and exchanges the
//! running task with one that runs where it would rather be ([`balance`]). CFS keeps a soft preference for the node
//! chosen ([`sched::Locality`](crate::sched::Locality)).
//!
//! The daemon is the only source of events: without it nothing of this runs.
//!
//! Units: pages of 4 KiB, ms, weights in thousandths. Ties go to the lowest number.

pub mod balance;
pub mod fault;
pub mod limit;
pub mod scand;
pub mod stats;

pub use balance::{BalanceHost, Choice};
pub use limit::MigrateWindow;
pub use scand::{Pause, Scand};
pub use stats::{MmStats, TaskStats};

crate::tunables! {
    /// AutoNUMA's knobs (designs-2012.md section 1.3), its retuning of khugepaged, and switches to take parts of it away.
    pub struct AutoNumaTunables: "autonuma" {
        /// Sleep after all processes were walked once.
        scan_sleep_pass_millisecs: u32 = 10_000, "ms", "sys/kernel/mm/autonuma/knuma_scand/scan_sleep_pass_millisecs",
            range 0..=86_400_000;
        /// Sleep after each burst of `pages_to_scan`.
        scan_sleep_millisecs: u32 = 100, "ms", "sys/kernel/mm/autonuma/knuma_scand/scan_sleep_millisecs", range 1..=86_400_000;
        /// Progress per burst (128 MiB).
        pages_to_scan: u32 = 32_768, "pages", "sys/kernel/mm/autonuma/knuma_scand/pages_to_scan", range 1..=2_147_483_647;
        /// Length of the migration rate window.
        migrate_sleep_millisecs: u32 = 100, "ms", "sys/kernel/mm/autonuma/migrate_sleep_millisecs", range 1..=86_400_000;
        /// Pages that may move into one node per window (128 MiB).
        pages_to_migrate: u32 = 32_768, "pages", "sys/kernel/mm/autonuma/pages_to_migrate", range 0..=2_147_483_647;
        /// Mark at page-table (2 MiB) granularity instead of per 4 KiB entry.
        scan_pmd: bool = true, "", "sys/kernel/mm/autonuma/knuma_scand/scan_pmd";
        /// Non-idle load balancing may not take a task off its selected node.
        sched_load_balance_strict: bool = false, "", "sys/kernel/mm/autonuma/sched/load_balance_strict (debug)";
        /// New threads inherit their parent's counters.
        child_inheritance: bool = false, "", "sys/kernel/mm/autonuma/sched/child_inheritance (debug)";
        /// The first hinting fault a page takes may migrate it.
        migrate_allow_first_fault: bool = true, "", "sys/kernel/mm/autonuma/migrate_allow_first_fault (debug)";
        /// Pages untouched since the last pass are not counted for the process.
        mm_working_set: bool = true, "", "sys/kernel/mm/autonuma/mm_working_set (debug)";
        /// Tasks of different processes are compared by the statistics of their processes, not by their own.
        process_weights: bool = true, "", "model";
        /// Huge pages migrate as a whole instead of being split (a port of November 2012).
        native_huge: bool = false, "", "model";
        /// Moves of split huge pages of one mapping wait for each other: `try_to_unmap` and `remove_migration_ptes` of 3.7
        /// hold the mutex of its `anon_vma`, the flush in between included.
        anon_vma_mutex: bool = true, "", "model";
        /// khugepaged's sleep between rounds while AutoNUMA is on.
        khugepaged_scan_sleep_millisecs: u32 = 100, "ms", "sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs",
            range 1..=86_400_000;
        /// khugepaged's sleep after a failed allocation while AutoNUMA is on.
        khugepaged_alloc_sleep_millisecs: u32 = 10_000, "ms",
            "sys/kernel/mm/transparent_hugepage/khugepaged/alloc_sleep_millisecs", range 1..=86_400_000;
    }
}

/// All state of AutoNUMA in a run, by dense task, address space and node.
#[derive(Clone, Debug)]
pub struct AutoNuma {
    /// Knobs.
    pub knobs: AutoNumaTunables,
    /// Threads.
    pub tasks: Vec<TaskStats>,
    /// Processes.
    pub mms: Vec<MmStats>,
    /// Migration windows by destination node.
    pub windows: Vec<MigrateWindow>,
    nodes: usize,
}

impl AutoNuma {
    /// Nothing known yet, for `nodes` nodes and `mms` address spaces.
    pub fn new(knobs: AutoNumaTunables, nodes: usize, mms: usize) -> Self {
        Self {
            knobs,
            tasks: Vec::new(),
            mms: (0..mms).map(|_| MmStats::new(nodes)).collect(),
            windows: vec![MigrateWindow::default(); nodes],
            nodes,
        }
    }
    /// A task is created, by `parent` if it is a thread or forked: the selected node is inherited, counters start at
    /// zero (unless `child_inheritance`). Tasks are created in the order of their numbers.
    pub fn fork(&mut self, parent: Option<u32>) {
        let mut child = TaskStats::new(self.nodes);
        if let Some(parent) = parent.map(|p| &self.tasks[p as usize]) {
            child.selected = parent.selected;
            if self.knobs.child_inheritance {
                child = parent.clone();
            }
        }
        self.tasks.push(child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_1_3_defaults() {
        let k = AutoNumaTunables::default();
        assert_eq!((k.scan_sleep_pass_millisecs, k.scan_sleep_millisecs, k.pages_to_scan), (10_000, 100, 32_768));
        assert_eq!((k.migrate_sleep_millisecs, k.pages_to_migrate), (100, 32_768));
        assert!(k.scan_pmd && k.migrate_allow_first_fault && k.mm_working_set);
        assert!(!k.sched_load_balance_strict && !k.child_inheritance);
        let khugepaged = (k.khugepaged_scan_sleep_millisecs, k.khugepaged_alloc_sleep_millisecs);
        assert_eq!(khugepaged, (100, 10_000), "section 1.6");
    }

    #[test]
    fn section_1_8_children_inherit_the_node_but_not_the_counters() {
        let mut a = AutoNuma::new(AutoNumaTunables::default(), 2, 1);
        a.fork(None);
        a.tasks[0].record(1, 1, 100);
        a.tasks[0].selected = Some(1);
        a.fork(Some(0));
        assert_eq!((a.tasks[1].selected, a.tasks[1].total), (Some(1), 0));
        a.knobs.child_inheritance = true;
        a.fork(Some(0));
        assert_eq!(a.tasks[2].total, 100);
    }
}
