//! Counters with the kernel's names, and the reasons behind skips, refusals and moves.
//!
//! [`NumaCounters`] grows exactly where vmstat's counters do (kernel-numa-balancing.md §15.2). Amounts are base pages
//! unless a line says events. [`NumaReasons`] counts reasons, which the kernel shows as trace points only, or not at
//! all.

use numalab_base::{counters, words};

counters! {
    /// The counters of `/proc/vmstat` that NUMA balancing moves.
    pub struct NumaCounters {
        /// Base pages made PROT_NONE by the scanner (512 per huge entry).
        numa_pte_updates,
        /// Huge entries made PROT_NONE by the scanner, events.
        numa_huge_pte_updates,
        /// Hint faults on a page, events (one per huge page).
        numa_hint_faults,
        /// Hint faults whose page was on the faulting CPU's node before any migration, events.
        numa_hint_faults_local,
        /// Base pages migrated by hint faults.
        numa_pages_migrated,
        /// Base pages of successful migrations.
        pgmigrate_success,
        /// Base pages of attempted but failed migrations.
        pgmigrate_fail,
        /// Huge pages migrated, events.
        thp_migration_success,
        /// Huge page migrations that failed, events.
        thp_migration_fail,
        /// Write-protection faults resolved by making the existing entry writable, events.
        pgreuse,
        /// Base pages that were hot enough to be promoted (memory tiering).
        pgpromote_candidate,
        /// Base pages promoted past the rate limit, as the target had much free memory (tiering, 6.18 on).
        pgpromote_candidate_nrl,
        /// Base pages promoted from a slow tier to the top tier (memory tiering).
        pgpromote_success,
    }
}

words! {
    /// Why the scanner skipped a VMA (reasons of `sched_skip_vma_numa`, and one of 3.8).
    pub enum SkipReason {
        /// Not migratable, policy without migrate-on-fault, hugetlb, mixed map.
        Unsuitable = "unsuitable",
        /// File mapping that is readable but not writable.
        SharedRo = "shared_ro",
        /// No access permitted.
        Inaccessible = "inaccessible",
        /// Younger than the scan delay.
        ScanDelay = "scan_delay",
        /// The access filter refused it.
        PidInactive = "pid_inactive",
        /// Not a skip: scanned although the thread is inactive, to finish a partial VMA.
        IgnorePidInactive = "ignore_pid_inactive",
        /// Already completed in this pass.
        SeqCompleted = "seq_completed",
        /// Smaller than a huge page (3.8 only; not a kernel trace reason).
        Small = "small",
    }
}

words! {
    /// Why a misplaced page stayed although it should migrate (kernel-numa-balancing.md §9.4). All but the last two are
    /// refusals before the migration is tried; a pin is one only for huge pages before 5.14.
    pub enum Refusal {
        /// Mapped other than once, in kernels that migrate only such pages (3.8).
        MapcountNotOne = "mapcount_not_one",
        /// Mapped more often than the mapcount limit (optional fault-time use of the limit).
        MapcountLimit = "mapcount_limit",
        /// Huge page mapped more than once (6.1).
        SharedThp = "shared_thp",
        /// File page in an executable VMA, mapped shared.
        ExecShared = "exec_shared",
        /// Dirty file page.
        Dirty = "dirty",
        /// Legacy per-node migration rate limit (3.8 to 4.18).
        RateLimited = "rate_limited",
        /// Target node nearly full.
        NearlyFull = "nearly_full",
        /// Page cannot be isolated from the LRU.
        NotIsolated = "not_isolated",
        /// Tasks that wait for the end of the migration hold the page (before 5.0).
        Waiters = "waiters",
        /// A device reads or writes the page: direct I/O in flight, or a pin for good.
        Pinned = "pinned",
    }
}

words! {
    /// Why a page on another node stayed there (kernel-numa-balancing.md §10, §15.1).
    pub enum Denial {
        /// The faulting node has no memory.
        Memoryless = "memoryless",
        /// Slow-tier page whose hint latency reached the threshold.
        NotHot = "not_hot",
        /// Promotion rate limit of the target.
        PromoteRate = "promote_rate",
        /// The recorded CPU cannot exist: a stale access time.
        StaleTime = "stale_time",
        /// The last fault came from another node.
        TwoStage = "two_stage",
        /// The page has several users, and the task skips such pages for a while (3.13).
        Deferred = "deferred",
        /// The group uses the source node as much as this one.
        Group = "group",
    }
}

words! {
    /// Outcome of task placement (`sched_*_numa` trace points).
    pub enum Placement {
        /// No destination, or the destination could not be taken.
        Stick = "stick",
        /// Moved to another CPU.
        Move = "move",
        /// Swapped with a running task.
        Swap = "swap",
    }
}

/// Counts by reason. The arrays are indexed with the enum (`skip[SkipReason::ScanDelay as usize]`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumaReasons {
    /// VMA visits that ended in a skip, by [`SkipReason`].
    pub skip: [u64; SkipReason::ALL.len()],
    /// Hint faults whose migration was refused, by [`Refusal`].
    pub refused: [u64; Refusal::ALL.len()],
    /// Pages on another node that stayed there, by [`Denial`].
    pub denied: [u64; Denial::ALL.len()],
    /// Outcomes of task placement, by [`Placement`].
    pub placed: [u64; Placement::ALL.len()],
    /// Number of scan works that ended at once because their cpuset has one memory node.
    pub cpuset_skips: u64,
    /// Number of groups created.
    pub groups_created: u64,
    /// Number of times a task joined another group.
    pub groups_joined: u64,
}

impl NumaReasons {
    /// Every count with a name like `skip.scan_delay`, in a fixed order.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> + '_ {
        fn part<'a>(
            role: &'static str,
            words: &'static [&'static str],
            counts: &'a [u64],
        ) -> impl Iterator<Item = (&'static str, &'static str, u64)> + 'a {
            words.iter().zip(counts).map(move |(w, c)| (role, *w, *c))
        }
        part("skip", SkipReason::WORDS, &self.skip)
            .chain(part("refused", Refusal::WORDS, &self.refused))
            .chain(part("denied", Denial::WORDS, &self.denied))
            .chain(part("placed", Placement::WORDS, &self.placed))
            .chain([("groups", "created", self.groups_created), ("groups", "joined", self.groups_joined)])
            .chain([("scan", "single_node_cpuset", self.cpuset_skips)])
    }
}
