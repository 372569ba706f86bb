//! What a release decides about NUMA balancing: one enum per question.
//!
//! [`ScanRole`], [`FaultStatsRole`], [`PageMigrateRole`] and [`TaskMigrateRole`] are roles: the releases from 3.8 on
//! fill them, and so do the designs of 2012. [`PeriodModel`], [`FaultStats`] and [`MigrateRule`] are what the releases
//! need to know of them. The code that asks a rule stands above. VMA filters and page filters have folders of their
//! own, and so have the imbalance rules, in [`sched::imbalance`](crate::sched::imbalance).

mod balancing;
mod fault_stats;
mod migrate_rule;
mod period_model;
mod search_model;
mod task_migrate;
mod tiering_model;

pub use balancing::{BALANCING_ON, TIERING_ON};
pub use fault_stats::{FaultStats, FaultStatsRole};
pub use migrate_rule::{MigrateRule, PageMigrateRole};
pub use period_model::{PeriodModel, ScanRole};
pub use search_model::SearchModel;
pub use task_migrate::TaskMigrateRole;
pub use tiering_model::TieringModel;
