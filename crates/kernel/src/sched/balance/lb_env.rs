//! What a pass knows and does (`struct lb_env`).

use super::migration_type::MigrationType;
use crate::sched::domains::DomId;
use crate::sched::event::Why;
use crate::sched::state::CpuIdleType;

/// State of a pass.
#[derive(Clone, Copy, Debug)]
pub(in crate::sched) struct LbEnv {
    /// CPU the pass is made for.
    pub cpu: u32,
    /// CPU tasks go to (another of the group when affinity forbids `cpu`).
    pub dst: u32,
    pub src: u32,
    pub dom: DomId,
    pub idle: CpuIdleType,
    pub why: Why,
    pub kind: MigrationType,
    /// What is still to be moved.
    pub amount: i64,
    /// Nothing moves, but this group is better off than the busiest one and than the domain (`Balancer::V37`).
    pub near: bool,
    /// Highest NUMA class of queue to pull from.
    pub class: u8,
    /// Candidates are fewer than the domain's CPUs.
    pub narrowed: bool,
    /// Read averages even where they cannot change the outcome (to check that they cannot).
    pub thorough: bool,
    pub all_pinned: bool,
    pub some_pinned: bool,
    pub other_dst: Option<u32>,
    pub examined: u32,
}

impl LbEnv {
    /// A pass that has looked at nothing yet: for which CPU and domain, how idle the CPU is, and what caused it.
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
            other_dst: None,
            examined: 0,
        }
    }
}

/// What a pass did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sched) struct PassResult {
    /// Tasks moved.
    pub moved: u32,
    /// Whether larger domains may be balanced too.
    pub go_on: bool,
}
