//! The modelled CPU scheduler: domains, run queues, placement, load balance, imbalance rules.
pub mod balance;
mod check;
pub mod config;
pub mod cpuset;
pub mod domains;
pub mod error;
pub mod event;
pub mod imbalance;
pub mod numa;
pub mod pelt;
pub mod place;
mod queue;
mod rq;
mod scheduler;
pub mod shapes;

pub use config::{Form, SchedConfig};
pub use domains::Domains;
pub use error::SchedError;
pub use event::{Event, Why};
pub use numa::{NoNuma, NodeStats, NumaDomain, NumaView};
pub use rq::cfs::slice_ns;
pub use rq::task::{weight_of_nice, State, TaskId};
pub use scheduler::{Counters, Scheduler};
