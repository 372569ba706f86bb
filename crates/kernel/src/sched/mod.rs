//! The modelled CPU scheduler.
pub mod config;
pub mod cpuset;
pub mod domains;
pub mod error;
pub mod imbalance;
pub mod shapes;
