//! What a VMA filter is: the steps of the walk that it brings with it, and a question it answers.

use crate::numa::state::VmaNuma;

/// A VMA filter.
pub trait Filter {
    /// Steps of the walk that this filter brings with it.
    const SHAPE: Shape;
    /// Whether the thread may scan the VMA (`vma_is_accessed`). Called once per VMA and scan work.
    fn access(vma: &VmaNuma, c: &FilterContext) -> Access;
}

/// A VMA filter of the caller, in place of the one of the role. Steps of the walk are those of the role and its parts.
pub trait VmaPolicy: Sync {
    /// Whether the thread may scan the VMA; see [`Filter::access`].
    fn access(&self, vma: &VmaNuma, c: &FilterContext) -> Access;
    /// Whether visits are counted although the role does not need it.
    fn counts_visits(&self) -> bool {
        false
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

/// Which steps of the walk a filter brings with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// VMAs have state, and PID windows.
    pub state: bool,
    /// New VMAs are left alone for a scan delay.
    pub delay: bool,
    /// The PID window shifts before the filter (6.7), not only for VMAs that passed it (6.4).
    pub shift_before_filter: bool,
    /// Completed VMAs are remembered per pass (6.7).
    pub completion: bool,
    /// One inactive VMA is forced when a walk ends (6.7).
    pub force_inactive: bool,
    /// Scan visits are counted in `scan_counter`.
    pub counts_visits: bool,
    /// `scan_counter` returns to 0 on visits in every pass divisible by this number; 0: never.
    pub refill_passes: i32,
}

impl Shape {
    /// VMAs have no state, and none of the steps exists.
    pub const NONE: Self = Self {
        state: false,
        delay: false,
        shift_before_filter: false,
        completion: false,
        force_inactive: false,
        counts_visits: false,
        refill_passes: 0,
    };
}
