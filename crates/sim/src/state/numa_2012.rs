//! State of the designs of 2012, AutoNUMA and schednuma.

use crate::state::anon_vma_lock::AnonVmaLocks;
use crate::state::inflight_thp_copy::InflightThpCopies;
use crate::state::khugepaged_cursor::KhugepagedCursor;
use crate::state::mmap_lock::LongReadLocks;
use crate::state::split_thp_migration::SplitThpMigrations;
use numalab_kernel::mm::khugepaged::{KhugepagedTunables, Pace};
use numalab_kernel::numa::autonuma::{AutoNuma, Scand};
use numalab_kernel::numa::design::{Design, Faults, Scanner};
use numalab_kernel::numa::schednuma::SchedNuma;

/// What a run reports of a design beside the counters every kernel has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numa2012Counters {
    /// Huge pages split.
    pub thp_split: u64,
    /// Huge pages made by khugepaged.
    pub thp_collapse_alloc: u64,
    /// Base pages copied between nodes by the kernel, thrown-away copies included.
    pub pages_copied: u64,
    /// Copies of huge pages thrown away.
    pub copies_lost: u64,
    /// Scans done.
    pub scans: u64,
    /// Migrations refused by the rate limit.
    pub rate_limited: u64,
    /// Migrations refused for lack of free memory.
    pub nearly_full: u64,
    /// Faults whose page the filter kept where it was.
    pub filtered: u64,
    /// Exchanges of two tasks.
    pub exchanges: u64,
    /// Homes set.
    pub homes: u64,
    /// Time of kernel threads, ns (not part of any process's time).
    pub daemon_ns: u64,
}

/// State of the designs in a run.
#[derive(Debug)]
pub struct Numa2012 {
    /// Roles and knobs.
    pub cfg: Design,
    /// AutoNUMA.
    pub autonuma: AutoNuma,
    /// schednuma.
    pub schednuma: SchedNuma,
    /// Place and pace of the daemon.
    pub scand: Scand,
    /// khugepaged.
    pub khugepaged: Khugepaged2012,
    /// Copies of huge pages under way.
    pub inflight_thp_copies: InflightThpCopies,
    /// Huge pages being moved page by page.
    pub split_thp_migrations: SplitThpMigrations,
    /// Mappings whose pages are being moved one after the other.
    pub anon_vma_locks: AnonVmaLocks,
    /// Faults that hold the lock of their address space while they move pages.
    pub long_read_locks: LongReadLocks,
    /// Counts.
    pub counters: Numa2012Counters,
    /// Threads with scan work queued.
    pub(crate) queued: Vec<bool>,
}

/// khugepaged: its settings, where it is, and how fast it goes.
#[derive(Debug)]
pub struct Khugepaged2012 {
    /// Settings.
    pub knobs: KhugepagedTunables,
    /// Where it is.
    pub cursor: KhugepagedCursor,
    /// Pages looked at and pauses taken in this round.
    pub pace: Pace,
}

impl Numa2012 {
    /// State for so many nodes and processes.
    pub fn new(cfg: &Design, nodes: usize, processes: usize) -> Self {
        let mut kh = KhugepagedTunables::default();
        if cfg.faults == Faults::AutoNuma {
            kh.scan_sleep_millisecs = cfg.autonuma.khugepaged_scan_sleep_millisecs;
            kh.alloc_sleep_millisecs = cfg.autonuma.khugepaged_alloc_sleep_millisecs;
        }
        Self {
            autonuma: AutoNuma::new(cfg.autonuma, nodes, processes),
            schednuma: SchedNuma::new(cfg.schednuma, nodes, processes),
            scand: Scand::default(),
            khugepaged: Khugepaged2012 { knobs: kh, cursor: KhugepagedCursor::default(), pace: Pace::new(&kh) },
            inflight_thp_copies: InflightThpCopies::default(),
            split_thp_migrations: SplitThpMigrations::default(),
            anon_vma_locks: AnonVmaLocks::default(),
            long_read_locks: LongReadLocks::default(),
            counters: Numa2012Counters::default(),
            queued: Vec::new(),
            cfg: *cfg,
        }
    }
    /// A design of 2012 handles faults.
    #[inline]
    pub fn active(&self) -> bool {
        self.cfg.active()
    }
    /// Scanning and placement of 3.8 and later are in force.
    #[inline]
    pub fn leaves_scans(&self) -> bool {
        self.cfg.scan == Scanner::TaskWork
    }
    /// Scan work of a task, taken from the queue.
    #[inline]
    pub fn take_queued(&mut self, task: u32) -> bool {
        self.active() && std::mem::take(&mut self.queued[task as usize])
    }
    /// The counters by name, for the record.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        let c = &self.counters;
        [
            ("thp_collapse_alloc", c.thp_collapse_alloc),
            ("thp_split", c.thp_split),
            // A page of 64 lines is loaded and stored once each; a base load of the rest of the system is not modelled.
            ("node_load_store_misses", 128 * c.pages_copied),
            ("numa_scans", c.scans),
        ]
    }
    /// Reasons by name, for the record.
    pub fn reasons(&self) -> [(&'static str, u64); 6] {
        let c = &self.counters;
        [
            ("design.rate_limited", c.rate_limited),
            ("design.nearly_full", c.nearly_full),
            ("design.filtered", c.filtered),
            ("design.copies_lost", c.copies_lost),
            ("design.exchanges", c.exchanges),
            ("design.homes", c.homes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_1_6_khugepaged_is_retuned_under_autonuma() {
        let sleeps = |faults| {
            let d = Numa2012::new(&Design { faults, ..Design::default() }, 2, 1);
            (d.khugepaged.knobs.scan_sleep_millisecs, d.khugepaged.knobs.alloc_sleep_millisecs)
        };
        assert_eq!(sleeps(Faults::AutoNuma), (100, 10_000));
        assert_eq!(sleeps(Faults::SchedNuma), (10_000, 60_000));
    }
}
