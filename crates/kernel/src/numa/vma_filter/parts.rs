//! The parts that a VMA filter is made of: steps of the walk, and who may scan a VMA.

use crate::numa::state::VmaNuma;
use numalab_base::words;

words! {
    /// Which visits of a VMA need no access of its thread.
    pub enum FreeVisits {
        /// None.
        None = "none",
        /// Those of the first two passes of the address space.
        Mm = "mm" ("6.4 to 6.7"),
        /// Those of the two passes after the VMA's own first visit (84db47ca7146).
        Vma = "vma" ("6.8 on"),
        /// As many as 1 + size/scan size/2.
        Budget = "budget" ("RFC V3, May 2023"),
        /// As many as size/scan size/2, exactly.
        BudgetCover = "budget_cover" ("covering letter of RFC V3"),
        /// As many as 2 + size/scan size/2.
        BudgetV2 = "budget_v2" ("RFC V2"),
    }
}

/// What a filter consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// VMAs have state, and PID windows. Without it there is nothing that the other parts could look at.
    pub state: bool,
    /// New VMAs are left alone for a scan delay (6.4).
    pub delay: bool,
    /// The PID window shifts before the filter (6.7), not only for VMAs that passed it (6.4).
    pub shift_before_filter: bool,
    /// Completed VMAs are remembered per pass (6.7).
    pub completion: bool,
    /// One inactive VMA is forced when a walk ends (6.7).
    pub force_inactive: bool,
    /// `scan_counter` returns to 0 on visits in every pass divisible by this number; 0: never.
    pub refill_passes: i32,
    /// Only threads that faulted in a VMA lately scan it, with the exceptions below.
    pub pid_filter: bool,
    /// Which visits need no access.
    pub free_visits: FreeVisits,
    /// How many windows of accesses are remembered.
    pub pid_windows: u8,
    /// Any thread finishes a VMA in which a work stopped (6.7).
    pub finish_partial: bool,
    /// A VMA left alone for more passes than the process has threads is open to all (6.12).
    pub starvation: bool,
    /// A VMA in which at least so many threads faulted lately is open to all; 0: none.
    pub shared_threads: u32,
}

impl Parts {
    /// Every thread scans every VMA, VMAs have no state, and none of the steps exists.
    pub const NONE: Self = Self {
        state: false,
        delay: false,
        shift_before_filter: false,
        completion: false,
        force_inactive: false,
        refill_passes: 0,
        pid_filter: false,
        free_visits: FreeVisits::None,
        pid_windows: 2,
        finish_partial: false,
        starvation: false,
        shared_threads: 0,
    };
    /// Whether scan visits are counted in `scan_counter`.
    pub const fn counts_visits(&self) -> bool {
        match self.free_visits {
            FreeVisits::None | FreeVisits::Mm | FreeVisits::Vma => false,
            FreeVisits::Budget | FreeVisits::BudgetCover | FreeVisits::BudgetV2 => true,
        }
    }
    /// Whether the thread may scan the VMA (`vma_is_accessed`): the parts in the order of 6.12.
    pub fn access(&self, vma: &VmaNuma, c: &FilterContext) -> Access {
        if !self.pid_filter || self.is_free(vma, c) || vma.accessed_by(c.tid) {
            return Access::Allow;
        }
        // The stored offset: during one work it changes only by completion and reset.
        if self.finish_partial && c.scan_offset > c.start {
            return Access::AllowPartial;
        }
        let starved = self.starvation && c.seq > vma.prev_scan_seq.wrapping_add(c.nr_threads as i32);
        let shared = self.shared_threads > 0 && vma.accessed_count() >= self.shared_threads;
        Access::allow_if(starved || shared)
    }
    fn is_free(&self, vma: &VmaNuma, c: &FilterContext) -> bool {
        let visits = u64::from(vma.scan_counter);
        match self.free_visits {
            FreeVisits::None => false,
            FreeVisits::Mm => c.seq < 2,
            // Signed: a fork may have reset the pass counter below the VMA's.
            FreeVisits::Vma => c.seq.wrapping_sub(vma.start_scan_seq) < 2,
            FreeVisits::Budget => visits < c.budget(),
            FreeVisits::BudgetV2 => visits <= c.budget(),
            FreeVisits::BudgetCover => {
                2 * u128::from(visits) * (u128::from(c.scan_size_mb) << 20) < u128::from(c.end - c.start)
            }
        }
    }
}

/// What a filter looks at besides the state of the VMA.
#[derive(Clone, Copy, Debug)]
pub struct FilterContext {
    /// Pass counter of the mm.
    pub seq: i32,
    /// Thread that scans.
    pub tid: u32,
    /// Stored scan offset of the mm, which is not the walk's own position.
    pub scan_offset: u64,
    /// Threads of the process.
    pub nr_threads: u32,
    /// `scan_size_mb`.
    pub scan_size_mb: u32,
    /// First address of the VMA.
    pub start: u64,
    /// Address after the VMA.
    pub end: u64,
}

impl FilterContext {
    /// Unconditional visits of the VMA in RFC V3: 1 + ⌊⌊MiB/scan_size⌋/2⌋.
    pub fn budget(&self) -> u64 {
        let vma_mb = (self.end - self.start) >> 20;
        1 + vma_mb / u64::from(self.scan_size_mb) / 2
    }
}

/// Answer of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The thread scans the VMA.
    Allow,
    /// The thread scans the VMA because a work stopped inside it (traced as `ignore_pid_inactive`).
    AllowPartial,
    /// The thread passes over the VMA (traced as `pid_inactive`).
    Deny,
}

impl Access {
    pub(super) fn allow_if(allowed: bool) -> Self {
        if allowed {
            Self::Allow
        } else {
            Self::Deny
        }
    }
}
