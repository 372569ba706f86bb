//! Load balancing: idle and, rarely, busy CPUs pull tasks from the busiest group of each of their domains
//! (kernel-scheduler.md §4).
//!
//! Three entries share one pass (`pass`): `periodic` at the tick, `nohz` on behalf of tickless idle CPUs,
//! `newidle` when a CPU runs dry. A pass classifies groups ([`stats`]), decides what to move ([`decide`]), picks the
//! queue and the tasks (`detach`), and after repeated failure pushes a running task. Kernels before 5.5 compared
//! loads: [`v37`] and [`v311`] find and weigh groups in their place.
//! Invariants: interval, last balance and failures are per (CPU, domain); a running task moves only after failures.

mod active_balance;
pub mod calculate_imbalance;
mod can_migrate_task;
mod detach_tasks;
mod find_src;
mod idle_scan;
pub(in crate::sched) mod lb_env;
mod locality;
pub mod migrate_degrades_locality;
pub mod migration_type;
pub(in crate::sched) mod newidle;
mod newidle_cost;
mod nohz;
mod periodic;
mod sched_balance_rq;
mod update_sd_lb_stats;
pub mod v311;
pub mod v37;

pub use idle_scan::scan_limit;
pub use periodic::get_sd_balance_interval;
