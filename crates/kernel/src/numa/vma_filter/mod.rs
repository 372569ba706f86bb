//! VMA access filters: which VMAs the scan work of a thread may touch (kernel-numa-balancing.md §6, §17).
//!
//! Problem: when every thread scans everything, scanning costs time in proportion to threads times memory, and a thread
//! learns little from VMAs it never touches. Since 6.4 the fault side records, per VMA and in two time windows, a hash of
//! the threads that faulted there. The scanner passes over VMAs that its thread did not touch. The variants differ in the
//! exceptions that keep untouched VMAs from starving.
//!
//! Approach: [`filter`] is the contract, and each variant is one file that implements it. [`VmaFilter`] is the visible
//! list: a new filter is its file and its line there.

pub mod filter;
mod filters;
pub mod off;
pub mod parts;
pub mod rfc_v2;
pub mod rfc_v3;
pub mod rfc_v3_cover;
pub mod v612;
pub mod v612_budget;
pub mod v64;
pub mod v67;
pub mod v68;

pub use filter::{Access, FilterContext, Shape, VmaPolicy};
pub use filters::VmaFilter;
pub use parts::{FreeVisits, Part, VmaFilterTunables, VmaRules};
