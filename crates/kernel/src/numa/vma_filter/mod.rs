//! VMA access filters: which VMAs the scan work of a thread may touch (kernel-numa-balancing.md §6, §17).
//!
//! Problem: every thread scanning everything costs time in proportion to threads times memory; a thread
//! learns little from VMAs it never touches. Since 6.4 the fault side records, per VMA and in two time
//! windows, a hash of the threads that faulted there, and the scanner passes over VMAs its thread did not touch.
//! The variants differ in the exceptions that keep untouched VMAs from starving.
//!
//! A variant is a [`Shape`] (which steps of the walk exist) and an `access` function, one file each.

pub mod off;
pub mod rfc_v2;
pub mod rfc_v3;
pub mod rfc_v3_cover;
pub mod v612;
pub mod v612_budget;
pub mod v64;
pub mod v67;
pub mod v68;

use super::state::VmaNuma;
use numalab_base::words;

words! {
    /// The VMA filters.
    pub enum VmaFilter {
        /// No filter and no per-VMA state (until 6.3).
        Off = "off",
        /// 6.4: two passes of the mm free, then only VMAs the thread faulted in.
        V64 = "v64",
        /// RFC V3 of May 2023: a budget of unconditional visits by size of the VMA.
        RfcV3 = "rfc_v3",
        /// The budget as the covering letter of RFC V3 words it.
        RfcV3Cover = "rfc_v3_cover",
        /// RFC V2: the budget, refilled every 16 passes.
        RfcV2 = "rfc_v2",
        /// 6.7: partial VMAs are finished by anyone, one inactive VMA is forced per exhausted walk.
        V67 = "v67",
        /// 6.8: the two free passes count from the creation of the VMA's state.
        V68 = "v68",
        /// 6.12: a VMA not completed for as many passes as there are threads is free.
        V612 = "v612",
        /// 6.12 with the idea of the 2023 fix: the free passes are a budget of visits by size of the VMA.
        V612Budget = "v612_budget",
    }
}

/// What a filter looks at besides the VMA's state.
#[derive(Clone, Copy, Debug)]
pub struct FilterContext {
    /// Pass counter of the mm.
    pub seq: i32,
    /// Thread that scans.
    pub tid: u32,
    /// Stored scan offset of the mm (not the walk's own position).
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
    /// Scan it.
    Allow,
    /// Scan it because a work stopped inside it (traced as `ignore_pid_inactive`).
    AllowPartial,
    /// Leave it (traced as `pid_inactive`).
    Deny,
}

impl Access {
    pub(crate) fn allow_if(allowed: bool) -> Self {
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
    /// VMAs have state: initialisation, scan delay, PID windows.
    pub state: bool,
    /// The PID window shifts before the filter (6.7), not only for VMAs that passed it (6.4).
    pub shift_before_filter: bool,
    /// Completed VMAs are remembered per pass, and one inactive VMA is forced when a walk ends (6.7).
    pub completion: bool,
    /// Scan visits are counted in `scan_counter`.
    pub counts_visits: bool,
    /// `scan_counter` returns to 0 on visits in every pass divisible by this; 0 never.
    pub refill_passes: i32,
}

impl VmaFilter {
    /// Steps of the walk this filter brings with it.
    pub const fn shape(self) -> Shape {
        match self {
            Self::Off => off::SHAPE,
            Self::V64 => v64::SHAPE,
            Self::RfcV3 => rfc_v3::SHAPE,
            Self::RfcV3Cover => rfc_v3_cover::SHAPE,
            Self::RfcV2 => rfc_v2::SHAPE,
            Self::V67 => v67::SHAPE,
            Self::V68 => v68::SHAPE,
            Self::V612 => v612::SHAPE,
            Self::V612Budget => v612_budget::SHAPE,
        }
    }

    /// Whether the thread may scan the VMA (`vma_is_accessed`).
    #[inline]
    pub fn access(self, vma: &VmaNuma, c: &FilterContext) -> Access {
        match self {
            Self::Off => Access::Allow,
            Self::V64 => v64::access(vma, c),
            Self::RfcV3 => rfc_v3::access(vma, c),
            Self::RfcV3Cover => rfc_v3_cover::access(vma, c),
            Self::RfcV2 => rfc_v2::access(vma, c),
            Self::V67 => v67::access(vma, c),
            Self::V68 => v68::access(vma, c),
            Self::V612 => v612::access(vma, c),
            Self::V612Budget => v612_budget::access(vma, c),
        }
    }
}
