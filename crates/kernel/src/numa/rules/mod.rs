//! What a release decides about NUMA balancing: one enum per question. [`config`](super::config) resolves words to
//! these.
//!
//! The code that asks a rule stands above. VMA filters, page filters and imbalance rules have folders of their own.

mod fault_stats;
mod migrate_rule;
mod period_model;
mod search_model;
mod tiering_model;

pub use fault_stats::FaultStats;
pub use migrate_rule::MigrateRule;
pub use period_model::PeriodModel;
pub use search_model::SearchModel;
pub use tiering_model::TieringModel;
