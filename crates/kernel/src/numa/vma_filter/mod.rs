//! VMA access filters: which VMAs the scan work of a thread may touch (kernel-numa-balancing.md §6, §17).
//!
//! Problem: when every thread scans everything, scanning costs time in proportion to threads times memory, and a thread
//! learns little from VMAs it never touches. Since 6.4 the fault side records, per VMA and in two time windows, a hash of
//! the threads that faulted there. The scanner passes over VMAs that its thread did not touch. The variants differ in the
//! exceptions that keep untouched VMAs from starving.
//!
//! Approach: [`parts`] says what a filter consists of, and each variant is one file with its [`Parts`]. [`VmaFilter`] is
//! the visible list: a new filter is its file and its line there. [`rule`] carries the parts out, with those of
//! [`tunables`] in place of the variant's own.

pub mod parts;
mod rule;
#[cfg(test)]
mod tests;
mod tunables;

pub use parts::{Access, FilterContext, FreeVisits, Parts};
pub use rule::{VmaPolicy, VmaRules};
pub use tunables::{Part, VmaFilterTunables};

numalab_base::variants! {
    /// Which VMAs a thread may scan.
    pub enum VmaFilter of Parts {
        Off in off,
        V64 in v64,
        RfcV3 in rfc_v3,
        RfcV3Cover in rfc_v3_cover,
        RfcV2 in rfc_v2,
        V67 in v67,
        V68 in v68,
        V612 in v612,
        V612Budget in v612_budget,
    }
}
