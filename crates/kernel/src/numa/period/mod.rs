//! Scan period: bounds from the resident set (kernel-numa-balancing.md §3) and adaptation (§12).
//!
//! Periods are milliseconds of *runtime*. Everything is integer arithmetic of the kernel's widths: u64 inside,
//! truncated to u32 at the end. The adaptation adds in u32, so that it can wrap as the kernel's does.

mod adapt;
mod bounds;
mod group_scale;
mod interval;
pub mod v313;
pub mod v317;
pub mod v38;
mod v38_tunables;
pub mod v40;
pub mod v414;

pub use adapt::adapt;
pub use bounds::{scan_max, scan_min, scan_start, window_pages, windows, MAX_SCAN_WINDOW_MB};
pub use group_scale::GroupScale;
pub use interval::{Adapted, Interval};
pub use v38_tunables::V38Tunables;
