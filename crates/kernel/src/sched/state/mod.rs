//! The scheduler's state. The modules that change it stand above: enqueue, wake-up, placement, balancing.

mod cache_state;
pub(in crate::sched) mod counters;
mod domain_state;

mod idle_type;
pub(in crate::sched) mod lines;
mod nohz;
mod scheduler;
pub mod sg_lb_stats;
pub(in crate::sched) mod task_counts;

pub use counters::{Counters, LevelCounters, COUNTED_LEVELS};
pub use idle_type::CpuIdleType;
pub use scheduler::Scheduler;
