//! Reclaim: page cache, swap, demotion, and when they are used (thp-and-allocation.md section 4).
//!
//! * [`balance`] how much of each LRU list is scanned; `scan_control` limits of one pass;
//! * [`files`] page cache; [`swap`] the swap device; `demotion` slower tiers;
//! * [`references`] which pages are in use; `workingset` pages that are read back too soon (`shadow`);
//! * `shrink` one pass over a node; `direct` reclaim in the allocating task; `kswapd` in the background (`daemons`);
//!   `node_reclaim` for `zone_reclaim_mode`;
//! * `cache` how pages enter and leave the page cache.
//!
//! Page cache belongs to a node. Anonymous pages belong to address spaces, which reclaim calls through
//! [`AnonReclaim`].

pub(in crate::mm) mod anon_reclaim;
pub mod balance;
mod cache;
pub(in crate::mm) mod daemons;
pub(in crate::mm) mod demotion;
mod direct;
pub mod files;
mod kswapd;
pub(in crate::mm) mod node_reclaim;
pub mod references;
mod scan_control;
mod shadow;
mod shrink;
pub mod swap;
mod workingset;

pub use anon_reclaim::{AnonReclaim, AnonShrunk, NoAnonReclaim};
pub use daemons::{Kcompactd, Kswapd, KswapdStep};
pub use demotion::{demotion_targets, DemotionTarget, DemotionTargets, Lower};
pub use files::FileLists;
pub use node_reclaim::NodeReclaim;
pub use references::{check_references, References};
pub use shadow::Shadow;
pub use swap::{SwapDevice, SwapTunables};
