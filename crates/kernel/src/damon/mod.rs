//! DAMON: a kernel thread that watches how often memory is accessed, and schemes that migrate what it finds hot or cold
//! (kernel: mm/damon; kernel-after-6.12.md section 3.4).
//!
//! Problem: whether a page is hot must be known without a fault per page and without looking at every page.
//! Approach: an address space is cut into *regions* whose pages are taken to be alike. At every sampling one page of
//! each region is looked at. At the end of an aggregation, regions of like access counts are merged and others are
//! split at random, so that borders settle where accesses differ. A *scheme* names an access pattern, an action, and a
//! quota. Its regions are taken in order of their score, until the quota of the window is used up.
//!
//! | part | module |
//! |---|---|
//! | settings of an administrator, and what a release can do | [`tunables`], [`destination`], [`goal`] |
//! | regions, their merges and splits | [`region`], [`regions`] |
//! | how hot or cold a region is | [`score`] |
//! | how much may move, by a limit and by a goal | [`quota`] |
//! | which regions a scheme takes, in which order | [`scheme`] |
//!
//! The caller looks at pages and moves them. Units: pages of 4096 bytes by their virtual page number; accesses per
//! aggregation; ages in aggregations. Invariant: the regions of a process are in order and do not overlap.

pub mod destination;
pub mod goal;
pub mod quota;
pub mod region;
pub mod regions;
pub mod scheme;
pub mod score;
pub mod tunables;

pub use destination::{Destination, Destinations};
pub use goal::{GoalMetric, Goals};
pub use quota::Quota;
pub use region::{Region, Span};
pub use regions::Regions;
pub use scheme::{Action, Scheme, SchemeSettings};
pub use tunables::{DamonConfig, DamonTunables, MigrateColdTunables, MigrateHotTunables, Schemes};
