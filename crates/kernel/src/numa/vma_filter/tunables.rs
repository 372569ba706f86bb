//! Tunables that replace single parts of a VMA filter.
//!
//! A filter of a release is several commits, and patches were posted between them. Every state between two releases must
//! be one that a kernel file can name.

use super::parts::FreeVisits;
use super::VmaFilter;
use crate::numa::rules::{ScanRole, BALANCING_ON};
use numalab_base::tunable::Needs;
use numalab_base::words;
use numalab_base::words::OrRole;

words! {
    /// Whether a part is there.
    pub enum Part {
        /// As in the filter of the role.
        ByRole = "by_role",
        /// It is.
        On = "on",
        /// It is not.
        Off = "off",
    }
}

numalab_base::tunables! {
    /// The parts of VMA filters (kernel-numa-balancing.md §6, §17).
    pub struct VmaFilterTunables: "vma" {
        read when "system.numa_balancing" is BALANCING_ON;
        read when "scan" is ScanRole::TASK_WORK;
        read when "vma_filter" is Needs::Not(VmaFilter::Off.word());

        /// A new VMA is left alone for a scan delay (6.4: ef6a22b70f6d).
        scan_delay: Part = Part::ByRole, "", "model";
        /// Only threads that faulted in a VMA lately scan it (6.4: fc137c0ddab2). Without it the exceptions below say
        /// nothing.
        pid_filter: Part = Part::ByRole, "", "model";
        /// Which visits need no access.
        free_visits: OrRole<FreeVisits> = OrRole::ByRole, "", "model",
            read when "vma.pid_filter" is Needs::Not("off");
        /// Free visits come back every so many passes. 0: as in the role; 1: never.
        renew_passes: u32 = 0, "passes", "model", range 0..=1_000_000, read when "vma.pid_filter" is Needs::Not("off");
        /// How many windows of accesses are remembered. RFC of 2023: 4 (NR_ACCESS_PID_HIST).
        pid_windows: u8 = 2, "windows", "model", range 1..=4, read when "vma.pid_filter" is Needs::Not("off");
        /// Windows shift before the filter is asked (6.7: 2e2675db1906), not only for VMAs that passed it.
        shift_before_filter: Part = Part::ByRole, "", "model", read when "vma.pid_filter" is Needs::Not("off");
        /// Any thread finishes a VMA in which a work stopped (6.7: b7a5b537c55c).
        finish_partial: Part = Part::ByRole, "", "model", read when "vma.pid_filter" is Needs::Not("off");
        /// A VMA is completed once per pass (6.7: f169c62ff7cd).
        completion: Part = Part::ByRole, "", "model";
        /// A walk that skipped a VMA as inactive scans one of them by force (6.7: f169c62ff7cd).
        force_inactive: Part = Part::ByRole, "", "model", read when "vma.pid_filter" is Needs::Not("off");
        /// A VMA left alone for more passes than the process has threads is open to all (6.12: f22cde4371f3).
        starvation: Part = Part::ByRole, "", "model", read when "vma.pid_filter" is Needs::Not("off");
        /// A VMA in which at least so many threads faulted lately is open to all. 0: none. RFC of 2023: 3
        /// (SHARED_VMA_THRESH).
        shared_threads: u32 = 0, "threads", "model", range 0..=64, read when "vma.pid_filter" is Needs::Not("off");
    }
}
