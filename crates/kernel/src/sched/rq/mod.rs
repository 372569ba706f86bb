//! Run queues: what is queued on a CPU, in which order it runs, and its averages (kernel-scheduler.md §7).

pub(in crate::sched) mod cfs;
pub(in crate::sched) mod eevdf;
pub(in crate::sched) mod newidle_search;
pub(in crate::sched) mod rounding;
pub(in crate::sched) mod runqueue;
pub(in crate::sched) mod sched_entity;
pub(in crate::sched) mod sis_prop;
pub(in crate::sched) mod task_group;
