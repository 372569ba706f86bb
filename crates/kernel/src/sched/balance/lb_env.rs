//! The state and the result of a balance pass (kernel: `struct lb_env`).

use super::migration_type::MigrationType;
use crate::sched::domains::DomId;
use crate::sched::event::Why;
use crate::sched::state::CpuIdleType;

/// State of a balance pass.
#[derive(Clone, Copy, Debug)]
pub(in crate::sched) struct LbEnv {
    /// The CPU that the pass is made for.
    pub cpu: u32,
    /// The CPU that tasks go to: another one of the group if affinity forbids `cpu`.
    pub dst: u32,
    pub src: u32,
    pub dom: DomId,
    pub idle: CpuIdleType,
    pub why: Why,
    pub kind: MigrationType,
    /// How much is still to be moved.
    pub amount: i64,
    /// Nothing moves, but the local group is less loaded than the busiest one and than the domain (`Balancer::V37`).
    pub near: bool,
    /// Highest NUMA class of a queue to pull from (`fbq_type`).
    pub class: u8,
    /// The candidates are fewer than the domain's CPUs.
    pub narrowed: bool,
    /// Averages are read even where they cannot change the outcome. A test checks that they cannot.
    pub thorough: bool,
    pub all_pinned: bool,
    pub some_pinned: bool,
    /// A cache kept a task that could have moved.
    pub llc_pinned: bool,
    pub other_dst: Option<u32>,
    pub examined: u32,
}

impl LbEnv {
    /// A pass that has looked at nothing yet.
    pub fn new(cpu: u32, dom: DomId, idle: CpuIdleType, why: Why) -> Self {
        Self {
            cpu,
            dst: cpu,
            src: cpu,
            dom,
            idle,
            why,
            kind: MigrationType::Task,
            amount: 0,
            near: false,
            class: 2,
            narrowed: false,
            thorough: false,
            all_pinned: false,
            some_pinned: false,
            llc_pinned: false,
            other_dst: None,
            examined: 0,
        }
    }
}

/// Result of a balance pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) struct PassResult {
    /// Number of tasks moved.
    pub moved: u32,
    /// Whether larger domains may be balanced too.
    pub go_on: bool,
    /// The pass was not made since another CPU balances such a domain, and stays due.
    pub skipped: bool,
}
