//! What a release decides: one type per question. The tunables of [`config`](super::config) have these types.
//!
//! A rule is an enum; its variants are named after the first release that follows them. The code that asks a rule
//! stands above this folder. The NUMA imbalance rule has a folder of its own, [`imbalance`](super::imbalance).

mod balancer;
mod domain_constants;
mod form;
mod idle_scan;
mod locality;
mod locality_verdict;
mod newidle;
mod nohz_kick;
mod queue_order;
mod recent_cpu;
mod tunable_scaling;
mod wake_affine;

pub use balancer::Balancer;
pub use domain_constants::DomainConstants;
pub use form::Form;
pub use idle_scan::IdleScan;
pub use locality::Locality;
pub use locality_verdict::LocalityVerdict;
pub use newidle::Newidle;
pub use nohz_kick::NohzKick;
pub use queue_order::QueueOrder;
pub use recent_cpu::RecentCpu;
pub use tunable_scaling::TunableScaling;
pub use wake_affine::WakeAffine;
