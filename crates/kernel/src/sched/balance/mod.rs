//! Load balancing: idle CPUs, and rarely busy ones, pull tasks from the busiest group of each of their domains
//! (kernel-scheduler.md §4).
//!
//! Three entries share one pass, `sched_balance_rq`: `periodic` at the tick, `nohz` on behalf of tickless idle CPUs,
//! and `newidle` when a CPU has nothing left to run. A pass goes through these files:
//!
//! * `due_domains` says which domains are due, and `finish_pass` how long until the next pass that moved nothing;
//! * `update_sd_lb_stats` classifies the groups;
//! * `find_src` and [`calculate_imbalance`] decide from which group and queue to pull, and how much;
//! * `detach_tasks` and `can_migrate_task` choose the tasks;
//! * `active_balance` pushes a running task after repeated failures.
//!
//! Kernels before 5.5 compare loads: [`v37`] and [`v311`] find the busiest group and queue there.
//!
//! Invariants: interval, last balance and failures are kept per CPU and domain; a running task moves only after
//! failures.

mod active_balance;
pub mod calculate_imbalance;
mod can_migrate_task;
mod detach_tasks;
pub mod dice;
mod due_domains;
mod find_src;
mod finish_pass;
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

pub use due_domains::get_sd_balance_interval;
pub use idle_scan::scan_limit;
